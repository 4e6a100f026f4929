// What the program says about a finished distance matrix: facts, columns for the routes, and the
// comparison with a serial run. The matrix stays where it is; rank 0 collects what it needs.
//
// Collective functions are called by all ranks in the same order. path: setup
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "floyd_warshall.hpp"
#include "reference.hpp"
#include "team.hpp"

namespace asp {

// Of one rank's rows, or (merged) of the whole matrix. Gathered as bytes.
struct Facts {
  double sum = 0;              // Of all finite distances between different vertices,
  std::int64_t reachable = 0;  // and their number.
  std::int64_t longest = -1;   // The longest of them,
  std::int32_t longest_from = 0;
  std::int32_t longest_to = 0;
  std::int64_t radius = kUnreachable;  // The least, over the rows, of a row's longest distance,
  std::int32_t centre = 0;             // and its row.
  std::int32_t unused = 0;
};

Facts merge(const std::vector<Facts>& parts);

struct CheckPlan {
  bool whole_matrix = false;  // Serial Floyd-Warshall; else Dijkstra's algorithm from `rows`.
  std::vector<int> rows;      // Ascending.
};

// The most thorough check that takes a second or so.
CheckPlan plan_check(std::int64_t vertex_count, std::int64_t arc_count);

// The reference for one row after the other.
class Reference {
 public:
  Reference(const Graph& graph, const CheckPlan& plan);
  // "" when equal, else what differs.
  std::string compare(int row, const std::vector<std::int64_t>& distances);

 private:
  std::size_t columns_;
  Adjacency adjacency_;
  std::vector<std::int64_t> matrix_;  // Empty: Dijkstra's algorithm.
};

template <typename Distance>
std::int64_t widen(Distance distance) {
  return distance >= kInfinity<Distance> ? kUnreachable : std::int64_t{distance};
}

template <typename Distance>
Facts facts_of(const RowBlock<Distance>& block) {
  Facts facts;
  const auto columns = static_cast<int>(block.columns());
  for (int row = block.first(); row < block.end(); ++row) {
    std::int64_t farthest = 0;
    for (int column = 0; column < columns; ++column) {
      const std::int64_t distance = widen(block.at(row)[column]);
      if (column == row || distance == kUnreachable) continue;
      ++facts.reachable;
      facts.sum += static_cast<double>(distance);
      farthest = distance > farthest ? distance : farthest;
      if (distance > facts.longest) {
        facts.longest = distance;
        facts.longest_from = row;
        facts.longest_to = column;
      }
    }
    if (farthest < facts.radius) {
      facts.radius = farthest;
      facts.centre = row;
    }
  }
  return facts;
}

// Collective: the distances of all vertices to `column`, at the root.
template <typename Distance>
std::vector<std::int64_t> gather_column(Team& team, const RowLayout& layout,
                                        const RowBlock<Distance>& block, int column) {
  std::vector<std::int64_t> mine;
  for (int row = block.first(); row < block.end(); ++row) {
    mine.push_back(widen(block.at(row)[column]));
  }
  if (!team.is_root()) {
    team.send_to_root(mine.data(), mine.size());
    return {};
  }
  mine.resize(static_cast<std::size_t>(layout.row_count()));
  for (int rank = 1; rank < team.size(); ++rank) {
    team.receive(mine.data() + layout.first_row(rank),
                 static_cast<std::size_t>(layout.rows_of(rank)), rank);
  }
  return mine;
}

// Collective: "" when the planned rows equal the serial result, else the first difference. At the
// root; the others get "".
template <typename Distance>
std::string self_check(Team& team, const RowLayout& layout, const RowBlock<Distance>& block,
                       const Graph& graph, const CheckPlan& plan) {
  if (!team.is_root()) {
    for (const int row : plan.rows) {
      if (block.holds(row)) team.send_to_root(block.at(row), block.columns());
    }
    return "";
  }
  Reference reference(graph, plan);
  std::vector<Distance> received(block.columns());
  std::vector<std::int64_t> row_wide(block.columns());
  std::string difference;
  for (const int row : plan.rows) {
    const bool mine = block.holds(row);
    if (!mine) team.receive(received.data(), received.size(), layout.owner(row));
    const Distance* distances = mine ? block.at(row) : received.data();
    for (std::size_t j = 0; j < row_wide.size(); ++j) row_wide[j] = widen(distances[j]);
    // After a difference the others' rows still have to be received.
    if (difference.empty()) difference = reference.compare(row, row_wide);
  }
  return difference;
}

}  // namespace asp
