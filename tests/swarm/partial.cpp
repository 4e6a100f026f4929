#include "tests/swarm/partial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/datatype.hpp"
#include "core/prng.hpp"
#include "tests/swarm/blocks.hpp"

namespace espalier::swarm {
namespace {

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t state = a ^ b * 0x9e3779b97f4a7c15ULL;
  return splitmix64(state);
}

bool gives(const OpSpec& spec, std::int32_t member) noexcept {
  if (spec.flow() || spec.collective == Collective::kBcast) return member == spec.root;
  if (spec.traits().root_sends) return member == spec.root;
  return spec.collective != Collective::kBarrier;
}

// In place, exchanges and the last member of an exscan may overwrite what is not there yet.
bool may_await(const OpSpec& spec, std::int32_t member) noexcept {
  if (!gives(spec, member)) return false;
  const bool exchanges =
      replaces_blocks(spec.collective) && !spec.traits().root_sends && !spec.traits().reduces;
  return !spec.in_place || !(exchanges || spec.collective == Collective::kExscan);
}

bool gets(const OpSpec& spec, std::int32_t member) noexcept {
  if (spec.flow()) return member == spec.peer;
  if (spec.collective == Collective::kBarrier) return false;
  if (spec.collective == Collective::kExscan && member == 0) return false;
  if (spec.traits().root_gets) return member == spec.root;
  return !spec.keeps_block_at(member);
}

}  // namespace

void PartialUse::choose(const OpSpec& spec, std::int32_t member) {
  seed_ = mixed(spec.values, static_cast<std::uint64_t>(member) + 1);
  awaits_ = (seed_ & 3) == 0 && may_await(spec, member);
  delivers_ = (seed_ >> 2 & 1) != 0 && gets(spec, member);
}

void PartialUse::begin(const OpSpec& spec, std::int32_t member, Buffer& input, Buffer& output,
                       std::uint64_t now_ns) {
  begun_ns_ = now_ns_ = now_ns;
  packs_input_ = spec.packs_input_at(member) || spec.packs_output_at(member);
  packs_output_ = spec.packs_output_at(member);
  wanted_bytes_ = expected_bytes(spec, member);
  // In place, results come to stand there, too.
  const bool alone = spec.has_input(member) || spec.brings(member);
  if (!awaits_ || packs_input_ || !alone) return;
  Buffer& from = spec.has_input(member) ? input : output;
  memory_ = from.data();
  truth_.assign(memory_, memory_ + from.bytes());
  there_.assign(from.bytes(), false);
  std::fill(memory_, memory_ + from.bytes(), std::byte{0x5a});
}

// Of what a member gets, packed.
std::uint64_t PartialUse::expected_bytes(const OpSpec& spec, std::int32_t member) const {
  if (!gets(spec, member)) return 0;
  if (spec.flow()) return spec.count;
  const std::uint64_t element = type_size(spec.type);
  const Blocks out = output_blocks(spec, member);
  if (!spec.moves_blocks() && out.counts.empty()) return spec.count * spec.scale() * element;
  std::uint64_t elements = 0;
  for (std::size_t b = 0; b < out.counts.size(); ++b) {
    const bool near = spec.traits().neighbors;
    if (!near || other_end(spec, member, b).has_value()) elements += out.counts[b];
  }
  // Counted in elements of the pattern where they lie apart.
  return elements * element * (spec.packs_at(member) ? spec.scale() : 1);
}

std::uint64_t PartialUse::opens_ns(std::uint64_t chunk) const noexcept {
  return begun_ns_ + mixed(seed_, chunk) % kLatestNs;
}

bool PartialUse::arrives(const Portion& portion) noexcept {
  const std::uint64_t first =
      memory_ == nullptr ? portion.at : static_cast<std::uint64_t>(portion.data - memory_);
  for (std::uint64_t chunk = first / kChunk; chunk * kChunk < first + portion.bytes; ++chunk) {
    if (opens_ns(chunk) > now_ns_) return false;
  }
  for (std::uint64_t at = first; memory_ != nullptr && at < first + portion.bytes; ++at) {
    if (there_[at]) continue;
    there_[at] = true;
    memory_[at] = truth_[at];
  }
  return true;
}

bool PartialUse::is_open(void* self, const Portion& portion) noexcept {
  auto& use = *static_cast<PartialUse*>(self);
  return portion.bytes == Portion::kAll ? use.now_ns_ >= use.open_ns() : use.arrives(portion);
}

bool PartialUse::consume(void* self, const Portion& portion) noexcept {
  auto& use = *static_cast<PartialUse*>(self);
  if (use.starting_) use.wrong_ = "a portion was handed out in a start";
  if (mixed(use.seed_, ++use.asked_) % 4 == 0) {
    use.refused_ = true;
    return false;
  }
  use.handed_bytes_ += portion.bytes;
  if (use.packs_output_) return true;
  use.handed_.push_back({portion.data, {portion.data, portion.data + portion.bytes}});
  return true;
}

Gate PartialUse::gate() noexcept {
  return awaits_ ? Gate{is_open, nullptr, this} : Gate{};
}
Consumer PartialUse::consumer() noexcept {
  return delivers_ ? Consumer{consume, nullptr, this} : Consumer{};
}

void PartialUse::end() noexcept {
  for (std::size_t at = 0; at < there_.size(); ++at) {
    if (!there_[at]) memory_[at] = truth_[at];
  }
}

std::string PartialUse::complaint(bool ended_well) const {
  if (!wrong_.empty() || !ended_well || !delivers_) return wrong_;
  if (handed_bytes_ != wanted_bytes_) {
    return fmt::format("{} bytes of {} were handed out", handed_bytes_, wanted_bytes_);
  }
  std::vector<const Handed*> order;
  for (const Handed& handed : handed_) {
    if (std::memcmp(handed.at, handed.bytes.data(), handed.bytes.size()) != 0) {
      return "a portion was not final when it was handed out";
    }
    order.push_back(&handed);
  }
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->at < b->at; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i - 1]->at + order[i - 1]->bytes.size() > order[i]->at) {
      return "a byte was handed out twice";
    }
  }
  return "";
}

}  // namespace espalier::swarm
