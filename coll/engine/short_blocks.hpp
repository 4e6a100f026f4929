// ShortBlocks: which bytes of an operation stand on the lines of a board, for one of its members.
//
// A member puts at most one run of bytes, its own line. The others' lines that it needs are those
// of a run of rows; of each it takes one part: its block (a copy), or an operand (reductions).
//
//   collective              puts                needs lines of   takes of each
//   (all)gather, scans      its block           all, or lower    all of it
//   alltoall                a block for each    all              the block for itself
//   scatter                 root: as alltoall   the root         the block for itself
//   reduce_scatter_block    an operand for each all              the operand for itself
//
// Made for one call, and used at once. Threads: owner. path: short
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/engine/lines.hpp"
#include "coll/team/team.hpp"

namespace espalier {

class ShortBlocks {
 public:
  // `output`: where the result goes, if not to the call's.
  ShortBlocks(const Team& team, const Call& call, std::byte* output = nullptr) noexcept;

  // Does this member put a line?
  bool puts() const noexcept { return puts_; }
  // Of each line.
  std::uint64_t bytes() const noexcept { return line_bytes_; }
  // Rows whose lines are needed, this member's among them where it has a part.
  int begin() const noexcept { return begin_; }
  int end() const noexcept { return end_; }

  // In the order of rows: what stands on a line.
  void take(const void* line) noexcept;
  void finish() noexcept { reduction_.finish(); }

 private:
  std::byte* to_;  // of the next block
  std::uint64_t line_bytes_ = 0;
  std::uint64_t part_at_ = 0;  // in each
  std::uint64_t part_bytes_ = 0;
  int begin_ = 0, end_ = 0;
  bool puts_ = true, reduces_ = false;
  LineReduction reduction_;
};

}  // namespace espalier
