// The blocks of an operation: who sends which to whom, and how long they are.
//
// A block has room for `floats` floats. In the regular forms all are full. In the others:
//   allgatherv              the last rank's is empty
//   gatherv, scatterv       rank 0's is empty
//   alltoallv, alltoallw    those between ranks whose sum is 0 modulo their number are empty
//   reduce_scatter          the last rank's is one float shorter
//   ...-skewed              those of the last rank are full, those of the others have one float
// So no rank's whole work is gone for two ranks either. Blocks lie where those of the regular form
// do, whatever their lengths; those that a reduce_scatter takes follow one another, as it demands.
//
// Neighbours are those on a periodic grid, row-major, as square as the number of ranks allows: a
// ring for a prime. In each dimension there is the lower one, then the upper one.
// Ownership: a value. Threads: any. path: setup
#pragma once

#include <cstddef>
#include <vector>

#include "esp-bench/op_kind.hpp"

namespace espalier::bench {

class BlockLayout {
 public:
  // What one rank of `ranks` sees of it.
  BlockLayout(OpKind kind, int rank, int ranks, std::size_t floats);

  // Blocks in the buffers; 1: the rank's own.
  std::size_t inputs() const;
  std::size_t outputs() const;
  // Floats before block `i` of the input.
  std::size_t input_at(std::size_t i) const {
    return kind_ == OpKind::kReduceScatterSkewed ? i : i * floats_;
  }
  // Floats of what goes from one rank to another.
  std::size_t between(int from, int to) const;
  // Floats of block `i` of the output.
  std::size_t received(std::size_t i) const { return between(origin(i, 0).rank, rank_); }

  // Where block `i` of the output comes from: from whom, and its number there. Not of reductions.
  struct Origin {
    int rank;
    int block;
  };
  Origin origin(std::size_t i, int root) const;

  // Of the grid, one entry per dimension; empty where there is none.
  const std::vector<int>& extents() const { return extents_; }

 private:
  const OpKind kind_;
  const int rank_;
  const int ranks_;
  const std::size_t floats_;
  std::vector<int> extents_;
  std::vector<int> neighbors_;
};

}  // namespace espalier::bench
