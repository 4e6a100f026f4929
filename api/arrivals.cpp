#include "api/arrivals.hpp"

#include <bit>
#include <new>

#include "api/partitions.hpp"

namespace espalier::api {

Arrivals::Arrivals(BlockMap map, UserBlocks user, bool by_segments)
    : map_(std::move(map)),
      user_(std::move(user)),
      by_segments_(by_segments),
      // One more than there are blocks, so that nothing is subtracted from a size.
      left_(std::make_unique<std::atomic<std::uint64_t>[]>(map_.begins.size())) {
  begin_round();
}

// A portion becomes a segment in each block that it reaches into.
bool Arrivals::reserve(std::uint64_t portions) noexcept {
  const auto blocks = static_cast<std::uint64_t>(map_.blocks());
  const std::uint64_t most = by_segments_ ? portions + blocks : blocks;
  if (capacity_ >= most) return true;
  ring_.reset(new (std::nothrow) Entry[most]);
  capacity_ = ring_ != nullptr ? most : 0;
  return ring_ != nullptr;
}

void Arrivals::begin_round() noexcept {
  round_ = landed_.load(std::memory_order_relaxed);
  taken_.store(round_, std::memory_order_release);  // the rest was given up
  for (std::size_t b = 0; b + 1 < map_.begins.size(); ++b) {
    left_[b].store(map_.length(b), std::memory_order_relaxed);
  }
}

void Arrivals::land(const Portion& portion) noexcept {
  const std::uint64_t position = map_.position(portion);
  map_.for_each_part(position, portion.bytes,
                     [&](std::size_t block, std::uint64_t offset, std::uint64_t bytes) {
                       const std::uint64_t before = map_.begins[block] + offset - position;
                       if (portion.order.at(0) >= 0) {
                         const auto at = static_cast<std::uint32_t>(block);
                         block = static_cast<std::size_t>(portion.order.at(at));
                       }
                       const std::byte* data = portion.data;
                       if (data != nullptr) data += before;  // else it is known by the block
                       land_part(block, offset, bytes, data);
                     });
}

void Arrivals::land_part(std::size_t block, std::uint64_t offset, std::uint64_t bytes,
                         const std::byte* data) noexcept {
  esp_segment segment;
  segment.source = user_.source(block);
  segment.block = static_cast<int>(block);
  std::atomic<std::uint64_t>& left = left_[block];
  const std::uint64_t rest = left.load(std::memory_order_relaxed) - bytes;
  left.store(rest, std::memory_order_release);
  if (!by_segments_) {
    if (rest > 0) return;
    if (data != nullptr) data -= offset;
    offset = 0;
    bytes = map_.length(block);
  }
  segment.offset = user_.in_user_bytes(offset);
  segment.bytes = user_.in_user_bytes(bytes);
  segment.address = const_cast<std::byte*>(data);
  if (!user_.begins.empty()) {
    segment.address = user_.begins[block] + (user_.apart ? 0 : segment.offset);
  }
  append(segment);
  for (Partitions* follower : followers_) follower->landed(segment.address, segment.bytes);
}

namespace {

using Words = std::array<std::uint64_t, sizeof(esp_segment) / sizeof(std::uint64_t)>;
static_assert(sizeof(Words) == sizeof(esp_segment));

}  // namespace

void Arrivals::append(const esp_segment& segment) noexcept {
  const std::uint64_t at = landed_.load(std::memory_order_relaxed);
  const auto words = std::bit_cast<Words>(segment);
  Entry& entry = ring_[at % capacity_];
  for (std::size_t w = 0; w < words.size(); ++w) {
    entry.words[w].store(words[w], std::memory_order_release);
  }
  landed_.store(at + 1, std::memory_order_release);
}

esp_segment Arrivals::read(std::uint64_t at) const noexcept {
  Words words;
  const Entry& entry = ring_[at % capacity_];
  for (std::size_t w = 0; w < words.size(); ++w) {
    words[w] = entry.words[w].load(std::memory_order_acquire);
  }
  return std::bit_cast<esp_segment>(words);
}

// Who has read a word of a later round has seen that round begin (words are acquired), and claims
// nothing.
bool Arrivals::take(esp_segment& segment) noexcept {
  std::uint64_t at = taken_.load(std::memory_order_acquire);
  do {
    if (at >= landed_.load(std::memory_order_acquire)) return false;
    segment = read(at);
  } while (!taken_.compare_exchange_weak(at, at + 1, std::memory_order_acq_rel));
  return true;
}

int Arrivals::arrived(int block) const noexcept {
  if (block < 0 || block >= map_.blocks()) return -1;
  return left_[static_cast<std::size_t>(block)].load(std::memory_order_acquire) == 0 ? 1 : 0;
}

void Arrivals::add_follower(Partitions& follower) {
  followers_.push_back(&follower);
  const std::uint64_t landed = landed_.load(std::memory_order_relaxed);
  for (std::uint64_t at = round_; at < landed; ++at) {
    const esp_segment segment = read(at);
    follower.landed(segment.address, segment.bytes);
  }
}

void Arrivals::remove_follower(Partitions& follower) noexcept {
  std::erase(followers_, &follower);
}

}  // namespace espalier::api
