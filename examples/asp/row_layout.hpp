// Which rank holds which rows of the distance matrix: consecutive blocks whose sizes differ by at
// most one. Ranks beyond the number of rows hold none.
#pragma once

#include <cstdint>

namespace asp {

class RowLayout {
 public:
  RowLayout(int row_count, int rank_count)
      : row_count_(row_count),
        small_(row_count / rank_count),
        large_ranks_(row_count % rank_count) {}

  int row_count() const { return row_count_; }
  int rows_of(int rank) const { return small_ + (rank < large_ranks_ ? 1 : 0); }
  int first_row(int rank) const {
    return rank * small_ + (rank < large_ranks_ ? rank : large_ranks_);
  }
  int owner(int row) const {
    const int in_large = large_ranks_ * (small_ + 1);
    return row < in_large ? row / (small_ + 1) : large_ranks_ + (row - in_large) / small_;
  }

 private:
  int row_count_;
  int small_;        // Rows of the smaller blocks, which come last.
  int large_ranks_;  // Ranks that hold one row more.
};

}  // namespace asp
