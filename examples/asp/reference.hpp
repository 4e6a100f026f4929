// Shortest paths on one rank, for checking the parallel result and for showing a route.
//
// kUnreachable where there is no path. Single thread. path: setup
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "graph.hpp"

namespace asp {

inline constexpr std::int64_t kUnreachable = std::numeric_limits<std::int64_t>::max();

// The textbook triple loop: row-major n * n distances.
std::vector<std::int64_t> serial_floyd_warshall(const Graph& graph);

// Arcs grouped by the vertex they leave.
class Adjacency {
 public:
  explicit Adjacency(const Graph& graph);

  // Distances from `source` to every vertex.
  std::vector<std::int64_t> dijkstra(int source) const;

  // A shortest route, ends included, recovered from `to_target`: the distance of every vertex to
  // `target`. Empty when there is none.
  std::vector<int> route(int source, int target, const std::vector<std::int64_t>& to_target) const;

 private:
  const Arc* begin(int vertex) const { return arcs_.data() + first_[index(vertex)]; }
  const Arc* end(int vertex) const { return arcs_.data() + first_[index(vertex) + 1]; }
  static std::size_t index(int vertex) { return static_cast<std::size_t>(vertex); }

  std::vector<std::size_t> first_;
  std::vector<Arc> arcs_;
};

}  // namespace asp
