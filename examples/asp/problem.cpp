#include "problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <limits>
#include <numeric>
#include <random>

#include "graph_reader.hpp"
#include "relax.hpp"

namespace asp {
namespace {

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

Graph load_graph(const Options& options) {
  if (options.file.empty()) {
    return random_graph(options.synthetic_vertices, options.degree, options.seed);
  }
  Graph graph = read_graph(options.file, {.limits = {}, .scale = options.scale});
  const std::string beside =
      std::filesystem::path(options.file).replace_extension(".names").string();
  if (!options.names.empty()) {
    read_places(options.names, graph);
  } else if (std::filesystem::exists(beside)) {
    read_places(beside, graph);
  }
  return graph;
}

// A shortest path has at most n - 1 arcs.
bool needs_wide(const Graph& graph, DistanceType wish) {
  std::int64_t heaviest = 0;
  for (const Arc& arc : graph.arcs) heaviest = std::max(heaviest, arc.weight);
  const std::int64_t longest = heaviest * (graph.vertex_count - 1);
  const bool fits = longest < kInfinity<std::int32_t>;
  if (wish == DistanceType::kInt32 && !fits) {
    throw InputError(fmt::format(
        "--distance int32: a path of this graph may be as long as {}, beyond {}; use int64",
        longest, kInfinity<std::int32_t> - 1));
  }
  return wish == DistanceType::kInt64 || !fits;
}

}  // namespace

Problem load_problem(const Options& options) {
  Problem problem;
  problem.graph = load_graph(options);
  problem.wide = needs_wide(problem.graph, options.distance);
  for (const auto& [from, to] : options.queries) {
    problem.queries.push_back({find_vertex(problem.graph, from), find_vertex(problem.graph, to)});
  }
  return problem;
}

Graph random_graph(int vertex_count, int degree, std::uint64_t seed) {
  constexpr std::int64_t kWeightMax = 1000;
  std::mt19937_64 random(seed);  // Its numbers are the same everywhere; std distributions' are not.
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
  };
  Graph graph;
  graph.name = fmt::format("random graph, seed {}", seed);
  graph.vertex_count = vertex_count;
  std::vector<std::int32_t> ring(static_cast<std::size_t>(vertex_count));
  std::iota(ring.begin(), ring.end(), 0);
  for (std::size_t i = ring.size() - 1; i > 0; --i) {
    std::swap(ring[i], ring[static_cast<std::size_t>(below(static_cast<std::int64_t>(i) + 1))]);
  }
  for (std::size_t i = 0; degree > 0 && i < ring.size(); ++i) {
    graph.arcs.push_back({ring[i], ring[(i + 1) % ring.size()], 1 + below(kWeightMax)});
    for (int extra = 1; extra < degree; ++extra) {
      const auto to = static_cast<std::int32_t>(below(vertex_count));
      graph.arcs.push_back({ring[i], to, 1 + below(kWeightMax)});
    }
  }
  return graph;
}

std::int32_t find_vertex(const Graph& graph, std::string_view text) {
  constexpr std::size_t kExamples = 4;
  const std::string wanted = lower_case(text);
  std::vector<std::int32_t> matches;
  for (std::int32_t vertex = 0; vertex < std::ssize(graph.places); ++vertex) {
    const std::string name = lower_case(graph.places[static_cast<std::size_t>(vertex)].name);
    if (name == wanted) return vertex;
    if (!wanted.empty() && name.find(wanted) != std::string::npos) matches.push_back(vertex);
  }
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) {
    if (number >= 1 && number <= graph.vertex_count) return number - 1;
    throw InputError(
        fmt::format("no vertex {}: they count from 1 to {}", text, graph.vertex_count));
  }
  if (matches.size() == 1) return matches.front();
  if (matches.empty()) {
    throw InputError(graph.places.empty()
                         ? fmt::format("'{}': vertices have no names here, give a number", text)
                         : fmt::format("no vertex is called '{}'", text));
  }
  std::string examples;
  for (std::size_t i = 0; i < std::min(matches.size(), kExamples); ++i) {
    examples += fmt::format("\n  {}", vertex_label(graph, matches[i]));
  }
  throw InputError(fmt::format("{} vertices have '{}' in their names, for example{}",
                               matches.size(), text, examples));
}

std::string vertex_label(const Graph& graph, std::int32_t vertex) {
  if (graph.places.empty()) return fmt::format("vertex {}", vertex + 1);
  return graph.places[static_cast<std::size_t>(vertex)].name;
}

}  // namespace asp
