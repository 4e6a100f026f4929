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

bool is_exchange_of_all(Collective collective) noexcept {
  return collective == Collective::kAlltoallv || collective == Collective::kAlltoallw;
}

std::size_t others_of(const OpSpec& op, std::int32_t member, bool output) {
  if (op.graph.empty()) return static_cast<std::size_t>(op.members);
  const Neighbors& near = op.graph[static_cast<std::size_t>(member)];
  return output ? near.sources.size() : near.destinations.size();
}

// Of a neighbour that is not there a call may give any length.
std::size_t length_of_edge(const OpSpec& op, std::int32_t member, bool output, std::size_t at) {
  const auto me = static_cast<std::size_t>(member);
  if (!output) return op.counts[me * OpSpec::kEdgesMax + at];
  const auto end = other_end(op, member, at);
  if (!end) return 2;
  const auto from = static_cast<std::size_t>(end->first);
  const bool gathers = op.traits().input == Extent::kOne;
  return op.counts[gathers ? from : from * OpSpec::kEdgesMax + end->second];
}

Blocks blocks_of(const OpSpec& op, std::int32_t member, bool output) {
  const auto members = static_cast<std::size_t>(op.members), me = static_cast<std::size_t>(member);
  const Extent extent = output ? op.traits().output : op.traits().input;
  Blocks blocks;
  const bool of_root = output ? op.traits().root_gets : op.traits().root_sends;
  if (op.has_root_blocks() && of_root && member != op.root) return blocks;
  const std::size_t others = others_of(op, member, output);
  switch (extent) {
    case Extent::kNone:
      break;
    case Extent::kOne:
      blocks.counts = {op.counts.empty() ? op.count : op.counts[me]};
      break;
    case Extent::kPerMember:
      blocks.counts.assign(others, op.count);
      break;
    case Extent::kCounts:
      for (std::size_t other = 0; other < others; ++other) {
        std::size_t at = other;
        if (is_exchange_of_all(op.collective)) {
          at = output ? other * members + me : me * members + other;
        }
        blocks.counts.push_back(!op.graph.empty() ? length_of_edge(op, member, output, other)
                                                  : op.counts[at]);
      }
      break;
  }
  blocks.begins.resize(blocks.counts.size());
  const bool has_gaps = extent == Extent::kCounts && !op.shares_sum();
  displace(blocks, has_gaps ? op.gaps : Gaps::kNone, layout_seed(op, member, output));
  for (std::size_t b = 0; !op.packs_at(member) && b < blocks.counts.size(); ++b) {
    blocks.counts[b] *= op.scale();
    blocks.begins[b] *= op.scale();
  }
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

Blocks output_memory(const OpSpec& op, std::int32_t member) {
  if (op.keeps_block_at(member)) return {};
  return blocks_of(op, member, !(op.shares_sum() && op.in_place_at(member)));
}

std::optional<std::pair<std::int32_t, std::size_t>> other_end(const OpSpec& op, std::int32_t member,
                                                              std::size_t source) {
  const Neighbors& mine = op.graph[static_cast<std::size_t>(member)];
  const std::int32_t from = mine.sources[source];
  if (from == Neighbors::kNone) return std::nullopt;
  const Neighbors& theirs = op.graph[static_cast<std::size_t>(from)];
  for (std::size_t j = 0; j < theirs.destinations.size(); ++j) {
    const bool same = theirs.destinations[j] == member &&
                      theirs.destination_edges[j] == mine.source_edges[source];
    if (same) return std::pair(from, j);
  }
  return std::nullopt;
}

std::size_t block_for(const OpSpec& op, std::int32_t from, std::int32_t to) noexcept {
  if (replaces_blocks(op.collective)) return static_cast<std::size_t>(to);
  return op.in_place_at(from) ? static_cast<std::size_t>(from) : 0;
}

}  // namespace espalier::swarm
