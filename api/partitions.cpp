#include "api/partitions.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "api/arrivals.hpp"

namespace espalier::api {

Partitions::Partitions(BlockMap blocks, BlockMap parts, const std::byte* input)
    : blocks_(std::move(blocks)),
      parts_(std::move(parts)),
      input_(input),
      word_count_((static_cast<std::size_t>(parts_.blocks()) + 63) / 64) {
  words_ = std::make_unique<std::atomic<std::uint64_t>[]>(word_count_);
  left_.resize(static_cast<std::size_t>(count()));
  close_all();
}

bool Partitions::set(std::size_t partition) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << partition % 64;
  return (words_[partition / 64].fetch_or(bit, std::memory_order_acq_rel) & bit) == 0;
}

bool Partitions::ready(int partition) noexcept {
  return set(static_cast<std::size_t>(partition));
}

void Partitions::open_all() noexcept {
  for (std::size_t p = 0; p < left_.size(); ++p) (void)set(p);
  notice(context);
}

void Partitions::close_all() noexcept {
  for (std::size_t w = 0; w < word_count_; ++w) words_[w].store(0, std::memory_order_relaxed);
  for (std::size_t p = 0; p < left_.size(); ++p) left_[p] = parts_.length(p);
}

int Partitions::first_closed() const noexcept {
  for (std::size_t w = 0; w < word_count_; ++w) {
    const std::uint64_t word = words_[w].load(std::memory_order_acquire);
    if (~word != 0) {
      return std::min(count(), static_cast<int>(w * 64) + std::countr_one(word));
    }
  }
  return count();
}

bool Partitions::is_open(const Portion& portion) const noexcept {
  bool open = true;
  parts_.for_each_part(blocks_.position(portion), portion.bytes,
                       [&](std::size_t partition, std::uint64_t, std::uint64_t) {
                         open = open && is_set(partition);
                       });
  return open;
}

// Of a segment, the part that lies in the input.
void Partitions::landed(const void* address, std::uint64_t bytes) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto input = reinterpret_cast<std::uintptr_t>(input_);
  const std::uintptr_t begin = std::max(at, input);
  const std::uintptr_t end = std::min(at + bytes, input + parts_.bytes());
  if (begin >= end) return;
  bool more = false;
  parts_.for_each_part(begin - input, end - begin,
                       [&](std::size_t partition, std::uint64_t, std::uint64_t part) {
                         left_[partition] -= std::min(left_[partition], part);
                         more = (left_[partition] == 0 && set(partition)) || more;
                       });
  if (more) notice(context);
}

void Partitions::follow(Arrivals& leader) {
  unfollow();
  leader_ = &leader;
  leader.add_follower(*this);
}

void Partitions::unfollow() noexcept {
  Arrivals* leader = std::exchange(leader_, nullptr);
  if (leader != nullptr) leader->remove_follower(*this);
}

}  // namespace espalier::api
