// Graphs of neighbours: what they say of themselves, what is refused, members that disagree, and
// the order in which things go.
#include <cstring>
#include <string>

#include "tests/api/cases.hpp"
#include "tests/support/neighbors.hpp"

namespace test {
namespace graphs_cases {
namespace {

// What a graph says of its edges.
void check_edges(esp_graph* graph, esp_team* team, const Neighborhood& n) {
  CHECK(esp_graph_team(graph) == team, "the team");
  const std::size_t sources = esp_graph_source_count(graph);
  const std::size_t destinations = esp_graph_destination_count(graph);
  CHECK_EQ(sources, n.sources.size(), "sources");
  CHECK_EQ(destinations, n.destinations.size(), "destinations");
  const int *from = esp_graph_sources(graph), *to = esp_graph_destinations(graph);
  CHECK_EQ(std::vector<int>(from, from + sources), Neighborhood::members(n.sources), "sources");
  CHECK_EQ(std::vector<int>(to, to + destinations), Neighborhood::members(n.destinations),
           "destinations");
}

void what_they_say(const Context& context) {
  const int size = context.size, me = context.rank;
  for (const int ring : {0, 1}) {
    const int extents[] = {1, size}, periodic[] = {1 - ring, ring};
    esp_graph* grid = nullptr;
    CHECK_OK(esp_grid_create(context.world, 2, extents, periodic, &grid), context.world, "");
    check_edges(grid, context.world, in_grid({1, size}, {1 - ring, ring}, me));
    CHECK_OK(esp_graph_free(&grid), context.world, "");
    CHECK(grid == nullptr, "a freed graph is not NULL");
  }
  const std::vector<int> next = {(me + 1) % size, ESP_NO_NEIGHBOR},
                         before = {(me + size - 1) % size};
  esp_graph* graph = nullptr;
  CHECK_OK(esp_graph_create(context.world, 2, next.data(), 1, before.data(), &graph), context.world,
           "");
  check_edges(graph, context.world, {numbered(next), numbered(before)});
  CHECK_OK(esp_graph_free(&graph), context.world, "");
  // Nobody has neighbours.
  CHECK_OK(esp_graph_create(context.world, 0, nullptr, 0, nullptr, &graph), context.world, "");
  check_edges(graph, context.world, {});
  CHECK_OK(esp_neighbor_alltoall(graph, nullptr, nullptr, 5, ESP_INT32), context.world, "");
  CHECK_OK(esp_graph_free(&graph), context.world, "");
  CHECK_OK(esp_graph_free(&graph), context.world, "NULL");
}

void wrong_graphs(const Context& context) {
  esp_team* const world = context.world;
  const int self[] = {context.rank}, outside[] = {context.size}, below[] = {-2};
  esp_graph* graph = reinterpret_cast<esp_graph*>(&graph);
  CHECK_EQ(esp_graph_create(nullptr, 1, self, 1, self, &graph), ESP_ERR_ARGUMENT, "no team");
  REFUSED_WITH(esp_graph_create(world, 1, self, 1, self, nullptr), ESP_ERR_ARGUMENT, "NULL");
  REFUSED_WITH(esp_graph_create(world, 1, nullptr, 1, self, &graph), ESP_ERR_ARGUMENT, "NULL");
  REFUSED_WITH(esp_graph_create(world, 1, self, 1, nullptr, &graph), ESP_ERR_ARGUMENT, "NULL");
  REFUSED_WITH(esp_graph_create(world, 1, outside, 1, self, &graph), ESP_ERR_ARGUMENT,
               "sources[0]");
  REFUSED_WITH(esp_graph_create(world, 1, self, 1, below, &graph), ESP_ERR_ARGUMENT,
               "destinations[0]");
  CHECK(graph == nullptr, "a refused call gave a graph");
  const int extents[] = {context.size, 1}, twice[] = {2 * context.size}, none[] = {0, context.size};
  const int flat[] = {0, 0};
  REFUSED_WITH(esp_grid_create(world, 2, nullptr, flat, &graph), ESP_ERR_ARGUMENT, "NULL");
  REFUSED_WITH(esp_grid_create(world, 2, extents, nullptr, &graph), ESP_ERR_ARGUMENT, "NULL");
  REFUSED_WITH(esp_grid_create(world, 2, extents, flat, nullptr), ESP_ERR_ARGUMENT, "NULL");
  CHECK_STATUS(esp_grid_create(world, -1, extents, flat, &graph), ESP_ERR_ARGUMENT, world, "");
  CHECK_STATUS(esp_grid_create(world, 1, twice, flat, &graph), ESP_ERR_ARGUMENT, world, "");
  CHECK_STATUS(esp_grid_create(world, 2, none, flat, &graph), ESP_ERR_ARGUMENT, world, "");
  const int negative[] = {-context.size, -1};
  CHECK_STATUS(esp_grid_create(world, 2, negative, flat, &graph), ESP_ERR_ARGUMENT, world, "");
  CHECK_OK(esp_barrier(world), world, "nothing was started");
}

void wrong_calls(const Context& context) {
  esp_team* const world = context.world;
  const int self[] = {context.rank};
  const std::size_t one[] = {1}, zero[] = {0}, most[] = {~std::size_t{0}};
  const esp_type types[] = {ESP_INT32}, no_types[] = {static_cast<esp_type>(12345)};
  esp_graph* graph = nullptr;
  CHECK_OK(esp_graph_create(world, 1, self, 1, self, &graph), world, "");
  int x = 1, y = 2;
  CHECK_EQ(esp_neighbor_alltoall(nullptr, &x, &y, 1, ESP_INT32), ESP_ERR_ARGUMENT, "no graph");
  CHECK_EQ(esp_graph_source_count(nullptr), std::size_t{0}, "no graph");
  REFUSED_WITH(esp_neighbor_alltoall(graph, nullptr, &y, 1, ESP_INT32), ESP_ERR_ARGUMENT,
               "esp_neighbor_alltoall: the input is NULL");
  REFUSED_WITH(esp_neighbor_alltoall(graph, &x, nullptr, 1, ESP_INT32), ESP_ERR_ARGUMENT,
               "esp_neighbor_alltoall: the output is NULL");
  CHECK_STATUS(esp_neighbor_alltoall(graph, ESP_IN_PLACE, &y, 1, ESP_INT32), ESP_ERR_ARGUMENT,
               world, "in place there is nothing");
  CHECK_STATUS(esp_neighbor_alltoall(graph, &x, &y, ~std::size_t{0}, ESP_INT32), ESP_ERR_ARGUMENT,
               world, "negative");
  CHECK_STATUS(esp_neighbor_alltoall(graph, &x, &y, 1, no_types[0]), ESP_ERR_TYPE, world, "");
  CHECK_STATUS(esp_neighbor_allgather(graph, &x, &y, 1, no_types[0]), ESP_ERR_TYPE, world, "");
  REFUSED_WITH(esp_neighbor_allgather(graph, nullptr, &y, 1, ESP_INT32), ESP_ERR_ARGUMENT,
               "esp_neighbor_allgather: the input is NULL");
  CHECK_STATUS(esp_neighbor_allgather(graph, ESP_IN_PLACE, &y, 1, ESP_INT32), ESP_ERR_ARGUMENT,
               world, "in place there is nothing");
  REFUSED_WITH(esp_neighbor_allgatherv(graph, &x, 1, &y, nullptr, nullptr, ESP_INT32),
               ESP_ERR_ARGUMENT, "counts is NULL");
  REFUSED_WITH(esp_neighbor_allgatherv(graph, &x, 1, &y, most, nullptr, ESP_INT32),
               ESP_ERR_ARGUMENT, "counts[0] is 1844");
  REFUSED_WITH(esp_neighbor_allgatherv(graph, &x, 1, &y, one, most, ESP_INT32), ESP_ERR_ARGUMENT,
               "displs[0] is 1844");
  REFUSED_WITH(esp_neighbor_alltoallv(graph, &x, nullptr, nullptr, &y, one, nullptr, ESP_INT32),
               ESP_ERR_ARGUMENT, "in_counts is NULL");
  REFUSED_WITH(esp_neighbor_alltoallv(graph, &x, one, nullptr, &y, nullptr, nullptr, ESP_INT32),
               ESP_ERR_ARGUMENT, "out_counts is NULL");
  REFUSED_WITH(esp_neighbor_alltoallw(graph, &x, one, nullptr, types, &y, one, zero, types),
               ESP_ERR_ARGUMENT, "in_displs is NULL");
  REFUSED_WITH(esp_neighbor_alltoallw(graph, &x, one, zero, nullptr, &y, one, zero, types),
               ESP_ERR_ARGUMENT, "in_types is NULL");
  REFUSED_WITH(esp_neighbor_alltoallw(graph, &x, one, zero, types, &y, one, zero, nullptr),
               ESP_ERR_ARGUMENT, "out_types is NULL");
  CHECK_STATUS(esp_neighbor_alltoallw(graph, &x, one, zero, no_types, &y, one, zero, types),
               ESP_ERR_TYPE, world, "");
  CHECK_STATUS(esp_neighbor_alltoallw(graph, &x, one, zero, types, &y, one, zero, no_types),
               ESP_ERR_TYPE, world, "");
  REFUSED_WITH(esp_neighbor_alltoall_start(graph, &x, &y, 1, ESP_INT32, nullptr, nullptr, nullptr),
               ESP_ERR_ARGUMENT, "esp_neighbor_alltoall_start: exactly one of");
  CHECK_EQ(y, 2, "an argument error changed the output");
  CHECK_OK(esp_neighbor_alltoall(graph, &x, &y, 1, ESP_INT32), world, "all in order");
  CHECK_EQ(y, 1, "to itself");
  CHECK_OK(esp_graph_free(&graph), world, "");
}

// A team of each pair.
esp_team* pair(const Context& context) {
  esp_team* team = nullptr;
  CHECK_OK(esp_team_split(context.world, context.rank / 2, 0, &team), context.world, "");
  return team;
}

// All members are told, and by what.
void mismatched(const Context& context) {
  if (context.size % 2 != 0) return;
  const std::vector<int> nobody, other = {(context.rank + 1) % 2}, twice(2, other[0]);
  const bool odd = context.rank % 2 != 0;
  struct {
    const char* what;
    std::vector<int> even_sources, even_destinations, odd_sources, odd_destinations;
  } const wrong[] = {
      {"one sends and the other does not know", nobody, other, nobody, nobody},
      {"one expects and the other does not know", other, nobody, nobody, nobody},
      {"twice and once", twice, twice, twice, other},
      {"once and twice", other, other, twice, other},
  };
  for (const auto& one : wrong) {
    esp_team* team = pair(context);
    const auto& sources = odd ? one.odd_sources : one.even_sources;
    const auto& destinations = odd ? one.odd_destinations : one.even_destinations;
    esp_graph* graph = nullptr;
    CHECK_STATUS(esp_graph_create(team, sources.size(), sources.data(), destinations.size(),
                                  destinations.data(), &graph),
                 ESP_ERR_MISMATCH, team, "{}", one.what);
    CHECK(graph == nullptr, "{}", one.what);
    const std::string text = esp_job_error(context.job);
    const bool names_both = text.find("rank 0") != text.npos && text.find("rank 1") != text.npos;
    CHECK(names_both, "{}: {}", one.what, text);
    (void)esp_team_free(team);
  }
  // Grids of other shapes.
  esp_team* team = pair(context);
  const int flat[] = {2, 1}, high[] = {1, 2}, ring[] = {1, 0};
  esp_graph* grid = nullptr;
  CHECK_STATUS(esp_grid_create(team, 2, odd ? flat : high, ring, &grid), ESP_ERR_MISMATCH, team,
               "grids of other shapes");
  (void)esp_team_free(team);
  CHECK_OK(esp_barrier(context.world), context.world, "the world goes on");
}

void freed(const Context& context) {
  esp_team* team = nullptr;
  CHECK_OK(esp_team_dup(context.world, &team), context.world, "");
  const int next[] = {(context.rank + 1) % context.size};
  const int before[] = {(context.rank + context.size - 1) % context.size};
  esp_graph *graph = nullptr, *left = nullptr;
  CHECK_OK(esp_graph_create(team, 1, before, 1, next, &graph), team, "");
  CHECK_OK(esp_graph_create(team, 1, before, 1, next, &left), team, "");
  // While something is under way, or is to be started again, it stays.
  std::vector<int> x(1000, context.rank), y(1000, -1);
  esp_request *request = nullptr, *stays = nullptr;
  CHECK_OK(esp_neighbor_alltoall_init(graph, x.data(), y.data(), x.size(), ESP_INT32, nullptr,
                                      nullptr, &stays),
           team, "");
  REFUSED_WITH(esp_graph_free(&graph), ESP_ERR_STATE, "esp_graph_free: ");
  CHECK_OK(esp_request_free(&stays), team, "");
  char byte = 0;
  // Rank 0 comes when all others have found it under way.
  for (int r = 1; context.rank == 0 && r < context.size; ++r) {
    CHECK_OK(esp_recv(context.world, &byte, 1, r, 9), context.world, "");
  }
  CHECK_OK(esp_neighbor_alltoall_start(graph, x.data(), y.data(), x.size(), ESP_INT32, nullptr,
                                       nullptr, &request),
           team, "");
  if (context.rank == 1) {  // who waits for rank 0
    REFUSED_WITH(esp_graph_free(&graph), ESP_ERR_STATE, "esp_graph_free: ");
    CHECK(graph != nullptr, "a refused free took the handle");
  }
  if (context.rank != 0) CHECK_OK(esp_send(context.world, &byte, 1, 0, 9), context.world, "");
  CHECK_OK(esp_request_wait(&request), team, "");
  CHECK_EQ(y, std::vector<int>(1000, before[0]), "");
  CHECK_OK(esp_graph_free(&graph), team, "");
  // The team first: the graph is of no use, and is freed.
  CHECK_OK(esp_team_free(team), context.world, "");
  CHECK(esp_graph_team(left) == nullptr, "its team has gone");
  CHECK_STATUS(esp_neighbor_alltoall(left, x.data(), y.data(), 1, ESP_INT32), ESP_ERR_ARGUMENT,
               context.world, "its team has gone");
  CHECK_EQ(esp_graph_free(&left), ESP_OK, "alone");
  CHECK(left == nullptr, "a freed graph is not NULL");
}

// Many of a team at once, and graphs that share edges with others.
void many(const Context& context) {
  const int size = context.size, me = context.rank;
  std::vector<esp_graph*> graphs;
  for (int distance = 0; distance < 20; ++distance) {
    const int to[] = {(me + distance) % size}, from[] = {((me - distance) % size + size) % size};
    esp_graph* graph = nullptr;
    CHECK_OK(esp_graph_create(context.world, 1, from, 1, to, &graph), context.world, "");
    graphs.push_back(graph);
  }
  std::vector<int> sent(graphs.size()), got(graphs.size(), -1);
  std::vector<esp_request*> requests(graphs.size());
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    sent[i] = 100 * me + static_cast<int>(i);
    CHECK_OK(esp_neighbor_alltoall_start(graphs[i], &sent[i], &got[i], 1, ESP_INT32, nullptr,
                                         nullptr, &requests[i]),
             context.world, "");
  }
  for (std::size_t i = graphs.size(); i-- > 0;) {
    CHECK_OK(esp_request_wait(&requests[i]), context.world, "");
    const int distance = static_cast<int>(i), from = ((me - distance) % size + size) % size;
    CHECK_EQ(got[i], 100 * from + distance, "graph {}", i);
    CHECK_OK(esp_graph_free(&graphs[i]), context.world, "");
  }
}

}  // namespace
}  // namespace graphs_cases

void graphs(const Context& context) {
  graphs_cases::what_they_say(context);
  graphs_cases::wrong_graphs(context);
  graphs_cases::wrong_calls(context);
  graphs_cases::mismatched(context);
  graphs_cases::freed(context);
  graphs_cases::many(context);
}

}  // namespace test
