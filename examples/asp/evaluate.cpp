#include "evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace asp {
namespace {

std::string distance_text(std::int64_t distance) {
  return distance == kUnreachable ? "unreachable" : std::to_string(distance);
}

}  // namespace

Facts merge(const std::vector<Facts>& parts) {
  Facts all;
  for (const Facts& part : parts) {
    all.sum += part.sum;
    all.reachable += part.reachable;
    if (part.longest > all.longest) {
      all.longest = part.longest;
      all.longest_from = part.longest_from;
      all.longest_to = part.longest_to;
    }
    if (part.radius < all.radius) {
      all.radius = part.radius;
      all.centre = part.centre;
    }
  }
  return all;
}

CheckPlan plan_check(std::int64_t vertex_count, std::int64_t arc_count) {
  constexpr std::int64_t kWholeMatrixMax = 700;      // 3.4e8 steps of the triple loop.
  constexpr std::int64_t kDijkstraWork = 1LL << 25;  // Vertices and arcs visited.
  constexpr std::int64_t kRowsMin = 64;
  CheckPlan plan;
  plan.whole_matrix = vertex_count <= kWholeMatrixMax;
  const std::int64_t affordable =
      plan.whole_matrix ? vertex_count
                        : std::max(kRowsMin, kDijkstraWork / (vertex_count + arc_count));
  const std::int64_t count = std::min(vertex_count, affordable);
  for (std::int64_t i = 0; i < count; ++i) {
    plan.rows.push_back(static_cast<int>(i * vertex_count / count));
  }
  return plan;
}

Reference::Reference(const Graph& graph, const CheckPlan& plan)
    : columns_(static_cast<std::size_t>(graph.vertex_count)), adjacency_(graph) {
  if (plan.whole_matrix) matrix_ = serial_floyd_warshall(graph);
}

std::string Reference::compare(int row, const std::vector<std::int64_t>& distances) {
  std::vector<std::int64_t> found;
  if (matrix_.empty()) found = adjacency_.dijkstra(row);
  const std::int64_t* expected =
      matrix_.empty() ? found.data() : matrix_.data() + static_cast<std::size_t>(row) * columns_;
  for (std::size_t column = 0; column < columns_; ++column) {
    if (distances[column] != expected[column]) {
      return fmt::format("from vertex {} to vertex {}: parallel {}, serial {}", row + 1, column + 1,
                         distance_text(distances[column]), distance_text(expected[column]));
    }
  }
  return "";
}

}  // namespace asp
