// C API: graphs of neighbours. Contracts in neighbors.h. path: setup
#include "api/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "api/under_way.hpp"

using espalier::Call;
using espalier::Collective;
using espalier::Neighbors;
using espalier::Purpose;
namespace api = espalier::api;

namespace espalier::api {

esp_status take_graph(esp_graph* graph, const char* caller, Call& call, esp_team*& team) {
  if (graph == nullptr) return ESP_ERR_ARGUMENT;
  if (graph->team == nullptr) {
    return bad_argument(*graph->job, caller, "the team of the graph has been freed");
  }
  team = graph->team;
  call.neighbors = &graph->near;
  return ESP_OK;
}

void leave_graphs(esp_team& team) noexcept {
  for (const auto& graph : team.job->graphs) {
    if (graph->team == &team) graph->team = nullptr;
  }
}

}  // namespace espalier::api

namespace {

// How often a member sends to another, and expects something from it. `grid`: a hash of the grid
// that it has been given; 0: none.
struct Edges {
  std::uint32_t sent = 0, expected = 0, grid = 0;
};

esp_status exchange(esp_team& team, Purpose purpose, const std::vector<Edges>& mine,
                    std::vector<Edges>& theirs) {
  Call call;
  call.collective = Collective::kAlltoall;
  call.input = mine.data();
  call.output = theirs.data();
  call.count = sizeof(Edges);
  return api::run_call(&team, call, purpose);
}

// The largest of everybody's words.
esp_status largest(esp_team& team, Purpose purpose, std::uint64_t& word) {
  Call call;
  call.collective = Collective::kAllreduce;
  call.input = ESP_IN_PLACE;
  call.output = &word;
  call.count = 1;
  call.type = ESP_UINT64;
  call.op = ESP_MAX;
  return api::run_call(&team, call, purpose);
}

// All members learn of two that disagree; of several pairs, the same. Ranks in the team.
esp_status compare_edges(esp_team& team, const char* caller, Purpose purpose, const Neighbors& near,
                         std::uint32_t grid) {
  const auto size = static_cast<std::size_t>(team.team.size());
  std::vector<Edges> mine(size, Edges{0, 0, grid}), theirs(size);
  for (const std::int32_t to : near.destinations) {
    if (to != Neighbors::kNone) ++mine[static_cast<std::size_t>(to)].sent;
  }
  for (const std::int32_t from : near.sources) {
    if (from != Neighbors::kNone) ++mine[static_cast<std::size_t>(from)].expected;
  }
  esp_status status = exchange(team, purpose, mine, theirs);
  if (status != ESP_OK) return status;
  std::uint64_t pair = 0;  // sender and receiver, behind a bit
  const auto me = static_cast<std::uint64_t>(team.team.rank);
  for (std::size_t r = 0; r < size; ++r) {
    if (theirs[r].grid != grid) {
      pair = std::max(pair, std::uint64_t{3} << 62 | std::uint64_t{r} << 31 | me);
    } else if (theirs[r].sent != mine[r].expected) {
      pair = std::max(pair, std::uint64_t{1} << 62 | std::uint64_t{r} << 31 | me);
    }
  }
  status = largest(team, purpose, pair);
  if (status != ESP_OK || pair == 0) return status;
  const std::uint64_t sender = pair >> 31 & 0x7fffffff, receiver = pair & 0x7fffffff;
  if (pair >> 63 != 0) {
    return api::fail(*team.job, ESP_ERR_MISMATCH,
                     fmt::format("{}: ranks {} and {} of the team have given different extents or "
                                 "periods",
                                 caller, sender, receiver));
  }
  std::string text =
      fmt::format("{}: rank {} sends to rank {} of the team", caller, sender, receiver);
  if (receiver == me) {
    text += fmt::format(" {} times, which expects it {} times", theirs[sender].sent,
                        mine[sender].expected);
  } else if (sender == me) {
    text += fmt::format(" {} times, which expects it {} times", mine[receiver].sent,
                        theirs[receiver].expected);
  } else {
    text += " more or less often than that expects";
  }
  return api::fail(*team.job, ESP_ERR_MISMATCH, std::move(text));
}

// Entries of kNone are nobody's.
esp_status check_list(esp_team& team, const char* caller, const char* name,
                      const std::vector<std::int32_t>& peers) {
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (peers[i] == Neighbors::kNone) continue;
    if (peers[i] < 0 || peers[i] >= team.team.size()) {
      return api::bad_argument(
          *team.job, caller,
          fmt::format("{}[{}] is {} in a team of {}", name, i, peers[i], team.team.size()));
    }
  }
  return ESP_OK;
}

esp_status make_graph(esp_team& team, const char* caller, Purpose purpose, Neighbors near,
                      std::uint32_t grid, esp_graph** graph) {
  const esp_status status = compare_edges(team, caller, purpose, near, grid);
  if (status != ESP_OK) return status;
  esp_job& job = *team.job;
  api::on_owner(job, [&] {
    near.id = ++job.graph_count;
    near.serial = ++team.graph_count;
    auto made = std::make_unique<esp_graph>();
    made->job = &job;
    made->team = &team;
    made->near = std::move(near);
    *graph = made.get();
    job.graphs.push_back(std::move(made));
  });
  return ESP_OK;
}

// Numbers of edges where the lists tell them.
esp_status number_edges(esp_team& team, const char* caller, Neighbors& near) {
  if (Neighbors::number(near.sources, near.source_edges) &&
      Neighbors::number(near.destinations, near.destination_edges)) {
    return ESP_OK;
  }
  return api::bad_argument(*team.job, caller, "there are more than 256 edges between two members");
}

// Rank of the neighbour `step` away in a dimension, or kNone.
std::int32_t shifted(int rank, int stride, int extent, bool periodic, int step) {
  const int at = rank / stride % extent;
  int to = at + step;
  if (to < 0 || to >= extent) {
    if (!periodic) return Neighbors::kNone;
    to = (to + extent) % extent;
  }
  return rank + (to - at) * stride;
}

// What goes to the lower neighbour comes from the upper one: edges are numbered with the pairs of
// sources turned round.
Neighbors grid_around(int rank, int dimensions, const int* extents, const int* periodic) {
  Neighbors near;
  std::vector<std::int32_t> turned;
  std::int64_t stride = 1;
  for (int d = 1; d < dimensions; ++d) stride *= extents[d];
  for (int d = 0; d < dimensions; ++d) {
    if (d > 0) stride /= extents[d];
    const auto at = [&](int step) {
      return shifted(rank, static_cast<int>(stride), extents[d], periodic[d] != 0, step);
    };
    near.sources.insert(near.sources.end(), {at(-1), at(1)});
    turned.insert(turned.end(), {at(1), at(-1)});
  }
  near.destinations = near.sources;
  (void)Neighbors::number(near.destinations, near.destination_edges);  // at most 2 a dimension
  (void)Neighbors::number(turned, near.source_edges);
  for (std::size_t i = 0; i + 1 < near.source_edges.size(); i += 2) {
    std::swap(near.source_edges[i], near.source_edges[i + 1]);
  }
  return near;
}

// Never 0.
std::uint32_t hash_of_grid(int dimensions, const int* extents, const int* periodic) noexcept {
  std::uint64_t hash = static_cast<std::uint64_t>(dimensions) + 1;
  for (int d = 0; d < dimensions; ++d) {
    const auto extent = static_cast<std::uint64_t>(extents[d]);
    hash = (hash ^ (2 * extent + (periodic[d] != 0 ? 1 : 0))) * 0x9e3779b97f4a7c15ULL;
  }
  return static_cast<std::uint32_t>(hash >> 32) | 1;
}

bool is_used(const esp_graph& graph) {
  return api::any_instance(
      *graph.job, [&](const espalier::Instance& i) { return i.call.neighbors == &graph.near; });
}

constexpr int kDimensionsMax = 64;

}  // namespace

extern "C" {

esp_status esp_graph_create(esp_team* team, size_t source_count, const int* sources,
                            size_t destination_count, const int* destinations, esp_graph** graph) {
  if (graph != nullptr) *graph = nullptr;
  if (team == nullptr) return ESP_ERR_ARGUMENT;
  esp_job& job = *team->job;
  if (graph == nullptr || (sources == nullptr && source_count > 0) ||
      (destinations == nullptr && destination_count > 0)) {
    return api::bad_argument(job, __func__, "a list or the place for the graph is NULL");
  }
  constexpr std::size_t kListMax = std::size_t{1} << 30;
  if (source_count > kListMax || destination_count > kListMax) {
    return api::bad_argument(job, __func__,
                             fmt::format("{} sources and {} destinations (was one negative?)",
                                         source_count, destination_count));
  }
  Neighbors near;
  if (source_count > 0) near.sources.assign(sources, sources + source_count);
  if (destination_count > 0) {
    near.destinations.assign(destinations, destinations + destination_count);
  }
  esp_status status = check_list(*team, __func__, "sources", near.sources);
  if (status == ESP_OK) status = check_list(*team, __func__, "destinations", near.destinations);
  if (status == ESP_OK) status = number_edges(*team, __func__, near);
  if (status != ESP_OK) return status;
  return make_graph(*team, __func__, Purpose::kGraph, std::move(near), 0, graph);
}

esp_status esp_grid_create(esp_team* team, int dimensions, const int* extents, const int* periodic,
                           esp_graph** graph) {
  if (graph != nullptr) *graph = nullptr;
  if (team == nullptr) return ESP_ERR_ARGUMENT;
  esp_job& job = *team->job;
  if (graph == nullptr || dimensions < 0 || dimensions > kDimensionsMax ||
      (dimensions > 0 && (extents == nullptr || periodic == nullptr))) {
    return api::bad_argument(
        job, __func__,
        fmt::format("a NULL, or {} dimensions (at most {})", dimensions, kDimensionsMax));
  }
  std::int64_t members = 1;
  for (int d = 0; d < dimensions; ++d) {
    if (extents[d] < 1 || members > team->team.size()) {
      return api::bad_argument(
          job, __func__,
          fmt::format("extents[{}] is {}, in a team of {}", d, extents[d], team->team.size()));
    }
    members *= extents[d];
  }
  if (members != team->team.size()) {
    return api::bad_argument(
        job, __func__, fmt::format("a grid of {} in a team of {}", members, team->team.size()));
  }
  return make_graph(*team, __func__, Purpose::kGrid,
                    grid_around(team->team.rank, dimensions, extents, periodic),
                    hash_of_grid(dimensions, extents, periodic), graph);
}

esp_status esp_graph_free(esp_graph** graph) {
  if (graph == nullptr) return ESP_ERR_ARGUMENT;
  if (*graph == nullptr) return ESP_OK;
  esp_job& job = *(*graph)->job;
  esp_status status = ESP_OK;
  api::on_owner(job, [&] {
    if (is_used(**graph)) {
      status = api::fail(job, ESP_ERR_STATE,
                         "esp_graph_free: operations under way or persistent requests use it");
      return;
    }
    std::erase_if(job.graphs, [&](const auto& held) { return held.get() == *graph; });
    *graph = nullptr;
  });
  return status;
}

esp_team* esp_graph_team(const esp_graph* graph) {
  return graph != nullptr ? graph->team : nullptr;
}
size_t esp_graph_source_count(const esp_graph* graph) {
  return graph != nullptr ? graph->near.sources.size() : 0;
}
size_t esp_graph_destination_count(const esp_graph* graph) {
  return graph != nullptr ? graph->near.destinations.size() : 0;
}
const int* esp_graph_sources(const esp_graph* graph) {
  return graph != nullptr ? graph->near.sources.data() : nullptr;
}
const int* esp_graph_destinations(const esp_graph* graph) {
  return graph != nullptr ? graph->near.destinations.data() : nullptr;
}

}  // extern "C"
