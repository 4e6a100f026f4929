#include "tools/esp-sim/operation.hpp"

#include "core/assert.hpp"

namespace espalier::sim {

std::uint64_t call_count(const Operation& operation, std::uint32_t ranks) noexcept {
  if (!is_irregular(operation.collective)) return operation.elements();
  return operation.collective == Collective::kAllgatherv ? (ranks - 1) * operation.elements() : 0;
}

// The 0 of an alltoallv stands in the middle of twice as many entries: each rank sees those from
// another place on.
UnevenBlocks::UnevenBlocks(const Operation& operation, std::uint32_t ranks) : ranks_(ranks) {
  if (!is_irregular(operation.collective)) return;
  const bool gathers = operation.collective == Collective::kAllgatherv;
  counts_.assign(gathers ? ranks_ : 2 * ranks_, operation.elements());
  counts_[gathers ? ranks_ - 1 : ranks_] = 0;
}

const std::size_t* UnevenBlocks::counts(Rank rank) const noexcept {
  if (counts_.size() == ranks_) return counts_.data();
  ESP_ASSERT(counts_.size() == 2 * ranks_);
  const auto at = static_cast<std::size_t>(rank);
  return counts_.data() + (at == 0 ? ranks_ : at);
}

}  // namespace espalier::sim
