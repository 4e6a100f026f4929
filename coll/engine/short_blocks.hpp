// ShortBlocks: which bytes of an operation stand on the lines of a board, for one of its members.
//
// A member puts at most one run of bytes, its own line. The others' lines that it needs are those
// of a run of rows; of each it takes one part: its block (a copy), or an operand (reductions).
//
//   collective              puts                needs lines of   takes of each
//   gather(v: all), scan    its block           all or lower     all of it
//   alltoall                a block for each    all              the block for itself
//   scatter                 root: as alltoall   the root         the block for itself
//   reduce_scatter(_block)  an operand for each all              the operand for itself
//
// Made for one call, and used at once: borrows its arrays. Threads: owner. path: short
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
  // What a row's member puts, if it does.
  std::uint64_t bytes(int row) const noexcept {
    return call_.collective == Collective::kAllgatherv ? counted(row) : line_bytes_;
  }
  // Rows whose lines are needed, this member's among them where it has a part.
  int begin() const noexcept { return begin_; }
  int end() const noexcept { return end_; }

  // In the order of rows; `line`: what stands there.
  void take(int row, const void* line) noexcept;
  void finish() noexcept { reduction_.finish(); }

 private:
  std::uint64_t counted(int row) const noexcept;

  const Call& call_;
  std::byte* to_;                 // of the next block
  std::uint64_t line_bytes_ = 0;  // of each line, where all are alike
  std::uint64_t part_at_ = 0;     // in each
  std::uint64_t part_bytes_ = 0;
  int begin_ = 0, end_ = 0;
  bool puts_ = true, reduces_ = false;
  LineReduction reduction_;
};

}  // namespace espalier
