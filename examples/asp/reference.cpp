#include "reference.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <utility>

namespace asp {

std::vector<std::int64_t> serial_floyd_warshall(const Graph& graph) {
  const auto n = static_cast<std::size_t>(graph.vertex_count);
  std::vector<std::int64_t> distance(n * n, kUnreachable);
  for (const Arc& arc : graph.arcs) {
    std::int64_t& direct =
        distance[static_cast<std::size_t>(arc.from) * n + static_cast<std::size_t>(arc.to)];
    direct = std::min(direct, arc.weight);
  }
  for (std::size_t i = 0; i < n; ++i) distance[i * n + i] = 0;
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t through = distance[i * n + k];
      if (through == kUnreachable) continue;
      for (std::size_t j = 0; j < n; ++j) {
        const std::int64_t rest = distance[k * n + j];
        if (rest == kUnreachable) continue;
        distance[i * n + j] = std::min(distance[i * n + j], through + rest);
      }
    }
  }
  return distance;
}

Adjacency::Adjacency(const Graph& graph)
    : first_(static_cast<std::size_t>(graph.vertex_count) + 1, 0), arcs_(graph.arcs) {
  std::stable_sort(arcs_.begin(), arcs_.end(),
                   [](const Arc& a, const Arc& b) { return a.from < b.from; });
  for (const Arc& arc : arcs_) ++first_[index(arc.from) + 1];
  for (std::size_t v = 1; v < first_.size(); ++v) first_[v] += first_[v - 1];
}

std::vector<std::int64_t> Adjacency::dijkstra(int source) const {
  using Entry = std::pair<std::int64_t, int>;
  std::vector<std::int64_t> distance(first_.size() - 1, kUnreachable);
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  distance[index(source)] = 0;
  open.emplace(0, source);
  while (!open.empty()) {
    const auto [reached, vertex] = open.top();
    open.pop();
    if (reached > distance[index(vertex)]) continue;
    for (const Arc* arc = begin(vertex); arc != end(vertex); ++arc) {
      const std::int64_t candidate = reached + arc->weight;
      if (candidate < distance[index(arc->to)]) {
        distance[index(arc->to)] = candidate;
        open.emplace(candidate, arc->to);
      }
    }
  }
  return distance;
}

std::vector<int> Adjacency::route(int source, int target,
                                  const std::vector<std::int64_t>& to_target) const {
  if (to_target[index(source)] == kUnreachable) return {};
  // Breadth first over the arcs that lie on shortest paths; a walk without memory could circle
  // along arcs of weight 0.
  std::vector<int> previous(first_.size() - 1, -1);
  std::queue<int> open;
  previous[index(source)] = source;
  open.push(source);
  while (!open.empty() && previous[index(target)] < 0) {
    const int vertex = open.front();
    open.pop();
    for (const Arc* arc = begin(vertex); arc != end(vertex); ++arc) {
      const std::int64_t rest = to_target[index(arc->to)];
      const bool on_shortest =
          rest != kUnreachable && arc->weight + rest == to_target[index(vertex)];
      if (on_shortest && previous[index(arc->to)] < 0) {
        previous[index(arc->to)] = vertex;
        open.push(arc->to);
      }
    }
  }
  if (previous[index(target)] < 0) return {};
  std::vector<int> route{target};
  while (route.back() != source) route.push_back(previous[index(route.back())]);
  std::reverse(route.begin(), route.end());
  return route;
}

}  // namespace asp
