// Operation: what a simulated job runs, and how long its blocks are.
//
// Values. path: setup
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coll/plan/binding.hpp"
#include "coll/plan/collective.hpp"
#include "core/wire.hpp"

namespace espalier::sim {

struct Operation {
  Collective collective = Collective::kBcast;
  // Of the message; of allgather and alltoall: of each rank's block.
  std::uint64_t bytes = 0;
  std::int32_t root = 0;
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  // Calls, back to back: a rank enters the next one as soon as it is done with the one before.
  std::uint32_t calls = 1;

  // Integers, of 8 bytes where that divides the message. A broadcast is cut anywhere.
  std::uint32_t element_bytes() const noexcept {
    return collective != Collective::kBcast && bytes % 8 == 0 ? 8 : 1;
  }
  std::uint64_t elements() const noexcept { return bytes / element_bytes(); }
};

// As Call::count: of all blocks where they differ and all ranks know them.
std::uint64_t call_count(const Operation& operation, std::uint32_t ranks) noexcept;

// The lengths of blocks of allgatherv and alltoallv, in elements. All are alike but an empty one:
// of an allgatherv that of the last rank, of an alltoallv those between ranks whose sum is 0 modulo
// their number, which makes one in each buffer of each rank. Of other collectives there are none.
class UnevenBlocks {
 public:
  UnevenBlocks() = default;
  UnevenBlocks(const Operation& operation, std::uint32_t ranks);

  // Of this rank's buffers, an entry for each rank.
  const std::size_t* counts(Rank rank) const noexcept;
  // What Binding wants to know: the blocks lie one after the other.
  BlockArrays arrays(Rank rank) const noexcept { return {counts(rank), nullptr}; }

 private:
  std::vector<std::size_t> counts_;
  std::size_t ranks_ = 0;
};

}  // namespace espalier::sim
