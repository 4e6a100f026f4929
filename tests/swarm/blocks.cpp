#include "tests/swarm/blocks.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tests/swarm/drawing.hpp"

namespace espalier::swarm {
namespace {

// Of a block of nothing a call may name any place.
constexpr std::size_t kNowhere = std::size_t{1} << 40;

// By `seed` alone: all that look at a layout see the same.
void displace(Blocks& blocks, Gaps gaps, std::uint64_t seed) {
  Prng prng(seed ^ 0x67617073);
  std::vector<std::size_t> order(blocks.counts.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t k = order.size(); gaps == Gaps::kScattered && k > 1; --k) {
    std::swap(order[k - 1], order[prng.below(k)]);
  }
  std::size_t at = 0;
  for (const std::size_t block : order) {
    const std::size_t count = blocks.counts[block];
    if (gaps != Gaps::kNone) at += prng.below(4);
    const bool nowhere = gaps != Gaps::kNone && count == 0 && prng.chance(0.5);
    blocks.begins[block] = nowhere ? kNowhere : at;
    at += count;
  }
  blocks.displaced = gaps != Gaps::kNone;
}

std::uint64_t layout_seed(const OpSpec& op, std::int32_t member, bool output) {
  if (op.collective == Collective::kAllgatherv) return op.values;  // equal on all
  return op.values + 2 * static_cast<std::uint64_t>(member) + (output ? 1 : 0);
}

Blocks blocks_of(const OpSpec& op, std::int32_t member, bool output) {
  const auto members = static_cast<std::size_t>(op.members), me = static_cast<std::size_t>(member);
  const Extent extent = output ? op.traits().output : op.traits().input;
  Blocks blocks;
  switch (extent) {
    case Extent::kNone:
      break;
    case Extent::kOne:
      blocks.counts = {op.counts.empty() ? op.count : op.counts[me]};
      break;
    case Extent::kPerMember:
      blocks.counts.assign(members, op.count);
      break;
    case Extent::kCounts:
      for (std::size_t other = 0; other < members; ++other) {
        std::size_t at = other;
        if (op.collective == Collective::kAlltoallv) {
          at = output ? other * members + me : me * members + other;
        }
        blocks.counts.push_back(op.counts[at]);
      }
      break;
  }
  blocks.begins.resize(blocks.counts.size());
  displace(blocks, extent == Extent::kCounts ? op.gaps : Gaps::kNone,
           layout_seed(op, member, output));
  return blocks;
}

}  // namespace

std::uint64_t Blocks::extent() const noexcept {
  std::uint64_t end = 0;
  for (std::size_t b = 0; b < counts.size(); ++b) {
    if (counts[b] > 0) end = std::max<std::uint64_t>(end, begins[b] + counts[b]);
  }
  return end;
}

Blocks input_blocks(const OpSpec& op, std::int32_t member) {
  return blocks_of(op, member, false);
}

Blocks output_blocks(const OpSpec& op, std::int32_t member) {
  return blocks_of(op, member, true);
}

std::size_t block_for(const OpSpec& op, std::int32_t from, std::int32_t to) noexcept {
  if (replaces_blocks(op.collective)) return static_cast<std::size_t>(to);
  return op.in_place_at(from) ? static_cast<std::size_t>(from) : 0;
}

}  // namespace espalier::swarm
