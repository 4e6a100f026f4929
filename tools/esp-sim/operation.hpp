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
  // Of the message; of what has blocks: of each.
  std::uint64_t bytes = 0;
  std::int32_t root = 0;
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  // Calls, back to back: a rank enters the next one as soon as it is done with the one before.
  std::uint32_t calls = 1;
  // Roots of rooted collectives: of one call after the other `root` and those behind it, in turn.
  std::uint32_t sources = 1;
  // A rank enters all calls at the beginning. All work on the same buffers: without data alone.
  bool at_once = false;

  // Integers, of 8 bytes where that divides the message. A broadcast is cut anywhere, and so are
  // blocks with types.
  std::uint32_t element_bytes() const noexcept {
    const bool bytewise = collective == Collective::kBcast || traits_of(collective).types;
    return !bytewise && bytes % 8 == 0 ? 8 : 1;
  }
  std::uint64_t elements() const noexcept { return bytes / element_bytes(); }
  // Of a call, counted from 0.
  std::int32_t root_of(std::uint32_t call, std::uint32_t ranks) const noexcept {
    const auto first = static_cast<std::uint32_t>(root);
    return static_cast<std::int32_t>((first + call % sources) % ranks);
  }
};

// Of operations whose buffers lie on the devices of the machine. kWhole: each rank copies what it
// gives to the host, enters the operation, and copies what it has got to the device. kPieces: the
// library's plans do (PlanRequest::moves). kShared: and ranks of a node read each other's memory
// where it lies, of calls from DEVICE_SHARE_BYTES on (PlanRequest::shares).
enum class Staging : std::uint8_t { kNone, kWhole, kPieces, kShared };
// Who combines, in pieces: the processor what is packed, or the device where buffers lie
// (PlanRequest::combines).
enum class Reducer : std::uint8_t { kHost, kDevice };

// As Call::count: of all blocks where they differ and all ranks know them.
std::uint64_t call_count(const Operation& operation, std::uint32_t ranks) noexcept;

// Blocks in a buffer of this rank; 0: it has no such buffer.
std::size_t input_blocks(const Operation& operation, Rank rank, std::uint32_t ranks) noexcept;
std::size_t output_blocks(const Operation& operation, Rank rank, std::uint32_t ranks) noexcept;

// What this rank gives and gets, in bytes; of collectives whose blocks are alike.
struct Sides {
  std::uint64_t gives = 0, gets = 0;
};
Sides sides_of(const Operation& operation, Rank rank, std::uint32_t ranks) noexcept;

// The lengths of the blocks of an irregular collective, in elements. All are alike but empty ones:
// those of the last rank, with neighbours what it sends; of an alltoallv and alltoallw those
// between ranks whose sum is 0 modulo their number, which makes one in each buffer of each rank. Of
// other collectives there are none.
class UnevenBlocks {
 public:
  UnevenBlocks() = default;
  UnevenBlocks(const Operation& operation, std::uint32_t ranks);

  // What Binding wants to know of this rank's buffers: the blocks lie one after the other. Without
  // counts where the buffer is one block, or is not there.
  BlockArrays input(Rank rank) const noexcept;
  BlockArrays output(Rank rank) const noexcept;

 private:
  void add_grid();
  const std::size_t* counts(Rank rank, bool output) const noexcept;
  std::uint64_t own_elements(Rank rank) const noexcept;

  Operation operation_;
  std::uint32_t ranks_ = 0;
  std::vector<std::size_t> counts_;
};

}  // namespace espalier::sim
