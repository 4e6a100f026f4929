#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace asp {
namespace {

constexpr double kPercent = 100;
constexpr std::size_t kStopsShown = 24;

std::string bytes_text(double bytes) {
  constexpr double kStep = 1024;
  const char* unit = "B";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (bytes < kStep) break;
    bytes /= kStep;
    unit = larger;
  }
  return fmt::format("{:.{}f} {}", bytes, bytes < 10 && unit[0] != 'B' ? 1 : 0, unit);
}

std::string label_with_position(const Graph& graph, std::int32_t vertex) {
  if (graph.places.empty()) return vertex_label(graph, vertex);
  const Place& place = graph.places[static_cast<std::size_t>(vertex)];
  return fmt::format("{} ({:.4f}, {:.4f})", place.name, place.latitude, place.longitude);
}

std::string with_unit(std::int64_t length, const std::string& unit) {
  return unit.empty() ? std::to_string(length) : fmt::format("{} {}", length, unit);
}

// Where a route enters another place: a name counts up to its comma. Always the first and the last.
std::vector<int> stops_of(const Graph& graph, const std::vector<int>& route) {
  const auto place = [&](int vertex) {
    const std::string label = vertex_label(graph, vertex);
    return label.substr(0, label.find(','));
  };
  std::vector<int> stops{route.front()};
  for (const int vertex : route) {
    if (place(vertex) != place(stops.back())) stops.push_back(vertex);
  }
  if (stops.back() != route.back()) stops.push_back(route.back());
  return stops;
}

}  // namespace

void print_header(const Problem& problem, int rank_count, int lookahead) {
  const Graph& graph = problem.graph;
  const std::size_t element = problem.wide ? sizeof(std::int64_t) : sizeof(std::int32_t);
  const double elements = static_cast<double>(graph.vertex_count) * graph.vertex_count;
  fmt::print("graph        {}: {} vertices, {} arcs\n", graph.name, graph.vertex_count,
             graph.arcs.size());
  fmt::print("ranks        {}, lookahead {}, {}-bit distances, matrix of {} in all\n", rank_count,
             lookahead, element * 8, bytes_text(elements * static_cast<double>(element)));
  std::fflush(stdout);
}

void print_times(const std::vector<Times>& times, std::int64_t rows, std::size_t row_bytes) {
  double longest = 0;
  double least = kPercent;
  double most = 0;
  double sum = 0;
  for (const Times& rank : times) {
    const double share = rank.total > 0 ? kPercent * rank.broadcast / rank.total : 0;
    longest = std::max(longest, rank.total);
    least = std::min(least, share);
    most = std::max(most, share);
    sum += share;
  }
  // A small graph takes less than a millisecond.
  constexpr double kMilliseconds = 1e3;
  fmt::print("time         {:.3f} ms\n", longest * kMilliseconds);
  fmt::print("broadcasts   {} rows of {}, {} in all\n", rows,
             bytes_text(static_cast<double>(row_bytes)),
             bytes_text(static_cast<double>(rows) * static_cast<double>(row_bytes)));
  fmt::print("             share of time: {:.1f} % (least {:.1f} %, most {:.1f} % over ranks)\n",
             sum / static_cast<double>(times.size()), least, most);
}

void print_facts(const Graph& graph, const Facts& facts, const std::string& unit) {
  const std::int64_t pairs = std::int64_t{graph.vertex_count} * (graph.vertex_count - 1);
  if (facts.reachable == 0) {
    fmt::print("paths        none\n");
    return;
  }
  const auto mean =
      static_cast<std::int64_t>(facts.sum / static_cast<double>(facts.reachable) + 0.5);
  fmt::print("paths        {} of {} pairs, {} on average\n", facts.reachable, pairs,
             with_unit(mean, unit));
  fmt::print("longest      {}\n             from {}\n             to   {}\n",
             with_unit(facts.longest, unit), label_with_position(graph, facts.longest_from),
             label_with_position(graph, facts.longest_to));
  if (facts.reachable == pairs) {
    fmt::print("centre       {}: no vertex is farther from there than {}\n",
               label_with_position(graph, facts.centre), with_unit(facts.radius, unit));
  }
}

void print_route(const Graph& graph, const Query& query, const std::vector<std::int64_t>& to_target,
                 const std::string& unit) {
  const std::vector<int> route = Adjacency(graph).route(query.from, query.to, to_target);
  fmt::print("route        {} -> {}: ", vertex_label(graph, query.from),
             vertex_label(graph, query.to));
  if (route.empty()) {
    fmt::print("there is none\n");
    return;
  }
  const std::int64_t length = to_target[static_cast<std::size_t>(query.from)];
  fmt::print("{}, {} arcs\n", with_unit(length, unit), route.size() - 1);
  const std::vector<int> stops = stops_of(graph, route);
  for (std::size_t i = 0; i < stops.size(); ++i) {
    if (i == kStopsShown / 2 && stops.size() > kStopsShown) {
      fmt::print("  {:>10}  ({} more)\n", "...", stops.size() - kStopsShown);
      i = stops.size() - kStopsShown / 2;
    }
    const std::int64_t rest = to_target[static_cast<std::size_t>(stops[i])];
    fmt::print("  {:>10}  {}\n", length - rest, vertex_label(graph, stops[i]));
  }
}

void print_check(const CheckPlan& plan, std::int64_t vertex_count, const std::string& difference) {
  const std::string method =
      plan.whole_matrix ? "serial Floyd-Warshall" : "Dijkstra's algorithm on one rank";
  if (difference.empty()) {
    fmt::print("self-check   passed: {} of {} rows equal those of {}\n", plan.rows.size(),
               vertex_count, method);
  } else {
    fmt::print("self-check   FAILED against {}: {}\n", method, difference);
  }
}

}  // namespace asp
