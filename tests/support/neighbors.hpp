// Neighbourhoods, and one exchange of neighbours with its check. Called by all members of the team;
// checks this rank's part: the status, every byte of the result, of gaps and guards, and that the
// input keeps what it held. path: setup
#pragma once

#include <functional>

#include "tests/support/rooted.hpp"

namespace test {

// What a member knows of its edges. A tag tells edges between the same two apart, alike on both
// sides.
struct Neighborhood {
  struct Edge {
    int member, tag;
  };
  std::vector<Edge> sources, destinations;

  static std::vector<int> members(const std::vector<Edge>& edges) {
    std::vector<int> all;
    for (const Edge& edge : edges) all.push_back(edge.member);
    return all;
  }
};

// Edges of a graph in their order; those between the same two are numbered.
inline std::vector<Neighborhood::Edge> numbered(const std::vector<int>& members) {
  std::vector<Neighborhood::Edge> edges;
  for (const int member : members) {
    const auto same = [&](const Neighborhood::Edge& e) { return e.member == member; };
    const auto before = std::count_if(edges.begin(), edges.end(), same);
    edges.push_back({member, member == ESP_NO_NEIGHBOR ? 0 : static_cast<int>(before)});
  }
  return edges;
}

// A grid, by arithmetic of its own. What goes down comes from above.
inline Neighborhood in_grid(const std::vector<int>& extents, const std::vector<int>& periodic,
                            int rank) {
  Neighborhood all;
  int below = 1;  // members between neighbours
  for (const int extent : extents) below *= extent;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    below /= extents[d];
    const int at = rank / below % extents[d];
    for (const int step : {-1, 1}) {
      int to = at + step;
      if (periodic[d] != 0) to = (to + extents[d]) % extents[d];
      const bool there = to >= 0 && to < extents[d];
      const int member = there ? rank + (to - at) * below : ESP_NO_NEIGHBOR;
      const int down = static_cast<int>(2 * d) + (step < 0 ? 0 : 1);
      all.destinations.push_back({member, down});
      all.sources.push_back({member, down ^ 1});
    }
  }
  return all;
}

enum class Nearby { kAllgather, kAllgatherv, kAlltoall, kAlltoallv, kAlltoallw };
inline constexpr Nearby kNearby[] = {Nearby::kAllgather, Nearby::kAllgatherv, Nearby::kAlltoall,
                                     Nearby::kAlltoallv, Nearby::kAlltoallw};

// count(from, to, tag): elements of an edge; of a gather, `to` and `tag` are 0, of a regular one
// all three. gap: elements before each block of the irregular ones. Types: of what is sent and of
// what is received, with as many built-in elements in each; only alltoallw has two.
struct Exchanged {
  Nearby what = Nearby::kAlltoall;
  std::function<std::size_t(int, int, int)> count = [](int, int, int) { return 1; };
  std::size_t gap = 0;
  Typed sent = builtin(ESP_INT32), received = builtin(ESP_INT32);
};

inline bool is_gather(Nearby what) {
  return what == Nearby::kAllgather || what == Nearby::kAllgatherv;
}

// Counts and displacements of one side, as this rank passes them.
struct Side {
  Side(const Exchanged& e, const std::vector<Neighborhood::Edge>& edges, int rank, bool sends,
       const Typed& of)
      : type(of), types(edges.size(), of.type) {
    std::size_t at = e.gap;
    for (const auto& [member, tag] : edges) {
      const int from = sends ? rank : member, to = sends ? member : rank;
      counts.push_back(is_gather(e.what) ? e.count(from, 0, 0) : e.count(from, to, tag));
      displs.push_back(at);
      at += counts.back() + e.gap;
    }
    for (const std::size_t displ : displs) bytes.push_back(displ * type.stride());
  }
  std::size_t reach() const { return test::reach({counts, displs}, type); }

  Typed type;
  std::vector<esp_type> types;
  std::vector<std::size_t> counts, displs, bytes;
};

inline std::vector<unsigned char> edge_data(int from, int to, int tag, std::size_t bytes) {
  return pattern(from * 97 + to * 13 + tag * 5, bytes);
}

// Puts data of edges into a buffer, as what is there or as what has to come.
inline void fill(Memory& memory, const Side& side, const Exchanged& e,
                 const std::vector<Neighborhood::Edge>& edges, int rank, bool sends) {
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const auto& [member, tag] = edges[i];
    const int from = sends ? rank : member, to = sends ? member : rank;
    const std::size_t bytes = side.type.moved(side.counts[i]);
    const auto data =
        is_gather(e.what) ? edge_data(from, 0, 0, bytes) : edge_data(from, to, tag, bytes);
    if (sends) {
      memory.put(side.bytes[i], side.type, side.counts[i], data);
    } else if (member != ESP_NO_NEIGHBOR) {
      memory.expect(side.bytes[i], side.type, side.counts[i], data);
    }
  }
}

inline void check_neighbors(esp_graph* graph, const Neighborhood& n, const Exchanged& e,
                            const Way& way) {
  esp_team* team = esp_graph_team(graph);
  const int rank = esp_team_rank(team);
  const bool gathers = is_gather(e.what);
  // A gather sends one block to all.
  const std::vector<Neighborhood::Edge> one = {{0, 0}};
  const Side in(e, gathers ? one : n.destinations, rank, true, e.sent);
  const Side out(e, n.sources, rank, false, e.received);
  Memory input(in.reach()), output(out.reach());
  fill(input, in, e, gathers ? one : n.destinations, rank, true);
  fill(output, out, e, n.sources, rank, false);
  const char* source = static_cast<char*>(input.data());
  void* target = output.data();
  const std::size_t count = e.count(rank, 0, 0);
  const esp_type type = e.sent.type;
  if (gathers && !in.bytes.empty()) source += in.bytes[0];
  const auto runs = [&](auto apply, auto* now, auto* start, auto* init) {
    return run(team, way, {&input, &output}, apply, now, start, init);
  };
  esp_status status = ESP_ERR_INTERNAL;
  switch (e.what) {
    case Nearby::kAllgather:
      status =
          runs([&](auto* f, auto... how) { return f(graph, source, target, count, type, how...); },
               esp_neighbor_allgather, esp_neighbor_allgather_start, esp_neighbor_allgather_init);
      break;
    case Nearby::kAllgatherv:
      status = runs(
          [&](auto* f, auto... how) {
            return f(graph, source, count, target, out.counts.data(), out.displs.data(), type,
                     how...);
          },
          esp_neighbor_allgatherv, esp_neighbor_allgatherv_start, esp_neighbor_allgatherv_init);
      break;
    case Nearby::kAlltoall:
      status =
          runs([&](auto* f, auto... how) { return f(graph, source, target, count, type, how...); },
               esp_neighbor_alltoall, esp_neighbor_alltoall_start, esp_neighbor_alltoall_init);
      break;
    case Nearby::kAlltoallv:
      status = runs(
          [&](auto* f, auto... how) {
            return f(graph, source, in.counts.data(), in.displs.data(), target, out.counts.data(),
                     out.displs.data(), type, how...);
          },
          esp_neighbor_alltoallv, esp_neighbor_alltoallv_start, esp_neighbor_alltoallv_init);
      break;
    case Nearby::kAlltoallw:
      status = runs(
          [&](auto* f, auto... how) {
            return f(graph, source, in.counts.data(), in.bytes.data(), in.types.data(), target,
                     out.counts.data(), out.bytes.data(), out.types.data(), how...);
          },
          esp_neighbor_alltoallw, esp_neighbor_alltoallw_start, esp_neighbor_alltoallw_init);
      break;
  }
  const std::string text = fmt::format(
      "exchange {} of {} sources and {} destinations at {}, gap {}, {}", static_cast<int>(e.what),
      n.sources.size(), n.destinations.size(), rank, e.gap, describe(way));
  if (!has_result(status, way, team, text)) return;
  output.check(text);
  input.check("input of " + text);
}

}  // namespace test
