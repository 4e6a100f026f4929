// Parallel Floyd-Warshall: every rank holds a block of rows of the distance matrix; step k needs
// row k everywhere, so its owner broadcasts it.
//
// Lookahead D: row k + D is under way while the rows of step k are computed. For that its owner
// brings this one row up to date before the others ("the panel first"):
//
//   step k:   wait for row k | row k+1 first, start its broadcast | all other rows
//                                         ...which travels meanwhile...
//
// How rows travel is a parameter (RowBroadcast over the library; threads in the tests). The matrix
// belongs to this file's objects, except that the buffer of a row is the broadcast's from start()
// until wait() returns; in that time nobody writes the row here.
// Single thread per object. path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph.hpp"
#include "relax.hpp"
#include "row_layout.hpp"

namespace asp {

// This rank's rows of the distance matrix.
template <typename Distance>
class RowBlock {
 public:
  RowBlock(const RowLayout& layout, int rank)
      : first_(layout.first_row(rank)),
        count_(layout.rows_of(rank)),
        columns_(static_cast<std::size_t>(layout.row_count())),
        distances_(static_cast<std::size_t>(count_) * columns_, kInfinity<Distance>) {
    for (int row = first_; row < end(); ++row) at(row)[row] = 0;
  }

  int first() const { return first_; }
  int end() const { return first_ + count_; }
  std::size_t columns() const { return columns_; }
  bool holds(int row) const { return row >= first_ && row < end(); }
  Distance* at(int row) { return distances_.data() + offset(row); }
  const Distance* at(int row) const { return distances_.data() + offset(row); }

  // Parallel arcs: the shortest counts. Arcs of other ranks' rows are skipped.
  void insert(const Arc& arc) {
    if (!holds(arc.from)) return;
    Distance& distance = at(arc.from)[arc.to];
    const auto weight = static_cast<Distance>(arc.weight);
    if (weight < distance) distance = weight;
  }

 private:
  std::size_t offset(int row) const { return static_cast<std::size_t>(row - first_) * columns_; }

  int first_;
  int count_;
  std::size_t columns_;
  std::vector<Distance> distances_;
};

// Broadcast must offer:
//   void start(int row, Distance* own);   // own: the row's buffer on its owner, nullptr elsewhere.
//                                         // Called for rows 0, 1, 2, ... on every rank.
//   const Distance* wait(int row);        // Valid until row + lookahead + 1 starts; may be asked
//                                         // again until then.
//   void step_done(int row);
template <typename Distance, typename Broadcast>
class FloydWarshall {
 public:
  FloydWarshall(RowBlock<Distance>& block, int lookahead, Broadcast& broadcast)
      : block_(block),
        lookahead_(lookahead),
        broadcast_(broadcast),
        relax_(choose_relax<Distance>()),
        steps_done_(static_cast<std::size_t>(block.end() - block.first()), 0) {}

  void run() {
    const int steps = static_cast<int>(block_.columns());
    for (int step = 0; step < steps; ++step) {
      start_rows_through(step);
      broadcast_.wait(step);
      start_rows_through(step + lookahead_ < steps ? step + lookahead_ : steps - 1);
      for (int row = block_.first(); row < block_.end(); ++row) advance(row, step + 1);
      broadcast_.step_done(step);
    }
  }

 private:
  void start_rows_through(int last) {
    for (; started_ <= last; ++started_) {
      const bool mine = block_.holds(started_);
      // The owner may have to wait here for rows just before this one. They depend on earlier rows
      // only, so there is no cycle.
      if (mine) advance(started_, started_);
      broadcast_.start(started_, mine ? block_.at(started_) : nullptr);
    }
  }

  // Applies to `row` the steps that it lacks before step `end`. Without effect when a lookahead
  // has done them already.
  void advance(int row, int end) {
    int& done = steps_done_[static_cast<std::size_t>(row - block_.first())];
    for (; done < end; ++done) {
      if (done == row) continue;  // Step `row` leaves this row as it is: the diagonal is 0.
      const Distance through = block_.at(row)[done];
      if (through >= kInfinity<Distance>) continue;
      relax_(block_.at(row), broadcast_.wait(done), through, block_.columns());
    }
  }

  RowBlock<Distance>& block_;
  const int lookahead_;
  Broadcast& broadcast_;
  const Relax<Distance> relax_;
  std::vector<int> steps_done_;  // Per row of the block: steps 0 .. n-1 applied so far.
  int started_ = 0;              // Rows whose broadcast has been started.
};

}  // namespace asp
