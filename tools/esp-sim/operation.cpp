#include "tools/esp-sim/operation.hpp"

#include "tools/esp-sim/grid.hpp"

namespace espalier::sim {
namespace {

std::size_t number_of(Rank rank) noexcept {
  return static_cast<std::size_t>(rank);
}

std::size_t blocks_of(const Operation& operation, Extent extent, std::uint32_t ranks) noexcept {
  if (extent == Extent::kNone) return 0;
  if (extent == Extent::kOne) return 1;
  return traits_of(operation.collective).neighbors ? kGridNeighbors : ranks;
}

// A buffer that matters at the root alone is no other rank's, if it has blocks.
bool is_there(const Operation& operation, Extent extent, bool of_root, Rank rank) noexcept {
  return !of_root || extent <= Extent::kOne || rank == operation.root;
}

}  // namespace

std::uint64_t call_count(const Operation& operation, std::uint32_t ranks) noexcept {
  const Collective collective = operation.collective;
  if (!is_irregular(collective)) return operation.elements();
  const bool all_know =
      collective == Collective::kAllgatherv || collective == Collective::kReduceScatter;
  return all_know ? (ranks - 1) * operation.elements() : 0;
}

std::size_t input_blocks(const Operation& operation, Rank rank, std::uint32_t ranks) noexcept {
  const CollectiveTraits& traits = traits_of(operation.collective);
  const bool has = is_there(operation, traits.input, traits.root_sends, rank);
  return has ? blocks_of(operation, traits.input, ranks) : 0;
}

std::size_t output_blocks(const Operation& operation, Rank rank, std::uint32_t ranks) noexcept {
  const CollectiveTraits& traits = traits_of(operation.collective);
  const bool has = is_there(operation, traits.output, traits.root_gets, rank);
  return has ? blocks_of(operation, traits.output, ranks) : 0;
}

Sides sides_of(const Operation& operation, Rank rank, std::uint32_t ranks) noexcept {
  const CollectiveTraits& traits = traits_of(operation.collective);
  const bool is_root = rank == operation.root;
  const std::uint64_t in = operation.bytes * input_blocks(operation, rank, ranks);
  const std::uint64_t out = operation.bytes * output_blocks(operation, rank, ranks);
  // A broadcast's root has its input in the output.
  if (traits.rooted && traits.input == Extent::kNone)
    return is_root ? Sides{out, 0} : Sides{0, out};
  return {traits.root_sends && !is_root ? 0 : in, traits.root_gets && !is_root ? 0 : out};
}

// The 0 of an exchange of all with all stands in the middle of twice as many entries: each rank
// sees those from another place on.
UnevenBlocks::UnevenBlocks(const Operation& operation, std::uint32_t ranks)
    : operation_(operation), ranks_(ranks) {
  const CollectiveTraits& traits = traits_of(operation.collective);
  if (!is_irregular(operation.collective)) return;
  if (traits.neighbors) {
    add_grid();
    return;
  }
  const bool exchange = traits.input == Extent::kCounts && traits.output == Extent::kCounts;
  counts_.assign(exchange ? 2 * std::size_t{ranks} : ranks, operation.elements());
  counts_[exchange ? ranks : ranks - 1] = 0;
}

// What each rank sends, all alike, and what it gets.
void UnevenBlocks::add_grid() {
  counts_.assign(2 * kGridNeighbors * ranks_, operation_.elements());
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    const auto rank = static_cast<Rank>(r);
    const Neighbors near = grid_neighbors(rank, ranks_);
    std::size_t* counts = counts_.data() + 2 * kGridNeighbors * r;
    for (std::size_t b = 0; b < kGridNeighbors; ++b) {
      counts[b] = own_elements(rank);
      counts[kGridNeighbors + b] = own_elements(near.sources[b]);
    }
  }
}

// Of a block that is the rank's own.
std::uint64_t UnevenBlocks::own_elements(Rank rank) const noexcept {
  return number_of(rank) + 1 == ranks_ ? 0 : operation_.elements();
}

const std::size_t* UnevenBlocks::counts(Rank rank, bool output) const noexcept {
  const CollectiveTraits& traits = traits_of(operation_.collective);
  if (traits.neighbors) {
    return counts_.data() + kGridNeighbors * (2 * number_of(rank) + (output ? 1 : 0));
  }
  const bool exchange = traits.input == Extent::kCounts && traits.output == Extent::kCounts;
  return counts_.data() + (exchange ? number_of(rank) == 0 ? ranks_ : number_of(rank) : 0);
}

BlockArrays UnevenBlocks::input(Rank rank) const noexcept {
  if (counts_.empty()) return {};
  const bool many = traits_of(operation_.collective).input == Extent::kCounts &&
                    input_blocks(operation_, rank, ranks_) > 0;
  return {many ? counts(rank, false) : nullptr, nullptr, own_elements(rank)};
}

BlockArrays UnevenBlocks::output(Rank rank) const noexcept {
  if (counts_.empty()) return {};
  const bool many = traits_of(operation_.collective).output == Extent::kCounts &&
                    output_blocks(operation_, rank, ranks_) > 0;
  return {many ? counts(rank, true) : nullptr, nullptr, own_elements(rank)};
}

}  // namespace espalier::sim
