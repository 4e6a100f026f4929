// Exchanges of neighbours: on grids with and without borders, on random graphs with edges that are
// there several times, in every form and with types whose elements lie apart.
#include <random>

#include "tests/api/cases.hpp"
#include "tests/support/neighbors.hpp"

namespace test {
namespace neighbors_cases {
namespace {

// A length of each edge, known to both ends.
std::size_t uneven(int from, int to, int tag) {
  return static_cast<std::size_t>(std::abs(from * 7 + to * 3 + tag * 5)) % 11 * 3;
}
std::size_t mostly_one(int from, int to, int tag) {
  return from == 0 && tag == 0 ? 40'000 + static_cast<std::size_t>(std::abs(to)) : 0;
}

void exchange_all(esp_graph* graph, const Neighborhood& n, const Way& way) {
  for (const Nearby what : kNearby) {
    const bool regular = what == Nearby::kAllgather || what == Nearby::kAlltoall;
    for (const std::size_t count : {0u, 1u, 30u, 3000u}) {
      const auto same = [=](int, int, int) { return count; };
      check_neighbors(graph, n, {.what = what, .count = same}, way);
    }
    if (regular) continue;
    for (const std::size_t gap : {0u, 3u}) {
      check_neighbors(graph, n, {.what = what, .count = uneven, .gap = gap}, way);
      check_neighbors(graph, n, {.what = what, .count = mostly_one, .gap = gap}, way);
    }
  }
}

esp_graph* make(const Context& context, esp_team* team, const Neighborhood& n) {
  const auto sources = Neighborhood::members(n.sources);
  const auto destinations = Neighborhood::members(n.destinations);
  esp_graph* graph = nullptr;
  CHECK_OK(esp_graph_create(team, sources.size(), sources.data(), destinations.size(),
                            destinations.data(), &graph),
           context.world, "create");
  return graph;
}

// Dealt out alike on all ranks: `edges` for each member on average, to itself, too, and twice.
Neighborhood random_graph(const Context& context, unsigned seed, int edges) {
  std::mt19937 random(seed);
  std::vector<int> from, to;
  for (int i = 0; i < edges * context.size; ++i) {
    const auto any = [&] {
      return static_cast<int>(random() % static_cast<unsigned>(context.size));
    };
    const int source = any(), destination = any();
    if (source == context.size - 1 || destination == context.size - 1) continue;  // isolated
    const bool twice = random() % 3 == 0;
    for (int k = 0; k < (twice ? 2 : 1); ++k) {
      from.push_back(source);
      to.push_back(destination);
    }
  }
  std::vector<int> sources, destinations;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (to[i] == context.rank) sources.push_back(from[i]);
    if (from[i] == context.rank) destinations.push_back(to[i]);
  }
  // Neighbours that are not there change nothing for the others.
  if (seed % 2 == 1) {
    sources.insert(sources.begin() + static_cast<std::ptrdiff_t>(sources.size() / 2),
                   ESP_NO_NEIGHBOR);
    destinations.push_back(ESP_NO_NEIGHBOR);
  }
  return {numbered(sources), numbered(destinations)};
}

void on_random_graphs(const Context& context) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const Neighborhood n = random_graph(context, seed, 1 + static_cast<int>(seed) / 2);
    esp_graph* graph = make(context, context.world, n);
    if (graph == nullptr) return;
    exchange_all(graph, n, {.form = kAllForms[seed % std::size(kAllForms)]});
    CHECK_OK(esp_graph_free(&graph), context.world, "");
  }
}

// Extents whose product is the job's size.
std::vector<std::vector<int>> shapes(int size) {
  std::vector<std::vector<int>> all = {{size}, {1, size}, {size, 1, 1}};
  for (const int first : {2, 3, 4}) {
    if (size % first != 0) continue;
    all.push_back({first, size / first});
    if (size / first % 2 == 0) all.push_back({size / first / 2, first, 2});
  }
  return all;
}

void on_grids(const Context& context) {
  std::size_t form = 0;
  for (const auto& extents : shapes(context.size)) {
    const auto dimensions = extents.size();
    for (unsigned rings = 0; rings < 1u << dimensions; ++rings) {
      std::vector<int> periodic;
      for (std::size_t d = 0; d < dimensions; ++d) periodic.push_back(rings >> d & 1u);
      esp_graph* grid = nullptr;
      CHECK_OK(esp_grid_create(context.world, static_cast<int>(dimensions), extents.data(),
                               periodic.data(), &grid),
               context.world, "");
      if (grid == nullptr) return;
      const Neighborhood n = in_grid(extents, periodic, context.rank);
      exchange_all(grid, n, {.form = kAllForms[form++ % std::size(kAllForms)]});
      CHECK_OK(esp_graph_free(&grid), context.world, "");
    }
  }
}

// A ring in both directions, on halves whose members stand in reverse.
void on_teams(const Context& context) {
  esp_team* team = nullptr;
  CHECK_OK(esp_team_split(context.world, context.rank % 2, -context.rank, &team), context.world,
           "");
  if (team == nullptr) return;
  const int size = esp_team_size(team), me = esp_team_rank(team);
  const std::vector<int> both = {(me + 1) % size, (me + size - 1) % size};
  const Neighborhood n = {numbered(both), numbered(both)};
  esp_graph* graph = make(context, team, n);
  if (graph == nullptr) return;
  for (const Form form : kAllForms) exchange_all(graph, n, {.form = form});
  CHECK_OK(esp_graph_free(&graph), context.world, "");
  CHECK_OK(esp_team_free(team), context.world, "");
}

// Columns and blocks of a matrix; on the one side apart, on the other side by side.
void with_types(const Context& context, unsigned seed) {
  const Typed column = strided(context.job, ESP_INT32, 5, 1, 7);
  const Typed pieces = in_blocks(context.job, ESP_INT32, {2, 0, 3}, {6, 1, 0}, 11);
  Typed five = strided(context.job, ESP_INT32, 1, 5, 5);
  const Neighborhood n = random_graph(context, seed, 2);
  esp_graph* graph = make(context, context.world, n);
  if (graph == nullptr) return;
  for (const Form form : kAllForms) {
    for (const Nearby what : kNearby) {
      const bool regular = what == Nearby::kAllgather || what == Nearby::kAlltoall;
      for (const Typed& type : {column, pieces}) {
        Exchanged e{.what = what, .gap = regular ? 0u : 2u, .sent = type, .received = type};
        e.count = [=](int from, int to, int tag) {
          return regular ? std::size_t{3} : uneven(from, to, tag) / 3;
        };
        check_neighbors(graph, n, e, {.form = form});
        if (what != Nearby::kAlltoallw) continue;
        e.received = type.extent == 11 ? column : five;
        check_neighbors(graph, n, e, {.form = form});
        std::swap(e.sent, e.received);
        check_neighbors(graph, n, e, {.form = form});
      }
    }
  }
  CHECK_OK(esp_graph_free(&graph), context.world, "");
  for (const Typed& type : {column, pieces, five}) {
    CHECK_EQ(esp_type_free(context.job, type.type), ESP_OK, "{}", esp_job_error(context.job));
  }
}

// Every algorithm, segments and windows: refused, or the same result.
void with_options(const Context& context) {
  const Neighborhood n = random_graph(context, 2, 2);
  esp_graph* graph = make(context, context.world, n);
  if (graph == nullptr) return;
  for (int algorithm = 0; algorithm < ESP_ALGORITHM_COUNT; ++algorithm) {
    Way way{.form = Form::kRequest};
    way.options.algorithm = static_cast<esp_algorithm>(algorithm);
    way.options.segment_bytes = 256;
    way.options.window_send = way.options.window_recv = 1 + algorithm % 3;
    exchange_all(graph, n, way);
  }
  CHECK_OK(esp_graph_free(&graph), context.world, "");
}

void large(const Context& context) {
  const int size = context.size, me = context.rank;
  const Neighborhood n = {numbered({(me + 1) % size, (me + 1) % size}),
                          numbered({(me + size - 1) % size, (me + size - 1) % size})};
  esp_graph* graph = make(context, context.world, n);
  if (graph == nullptr) return;
  const std::size_t share = (std::size_t{8} << 20) / static_cast<std::size_t>(size) / 4;
  const auto same = [=](int, int, int) { return share + 3; };
  for (const Nearby what : kNearby) check_neighbors(graph, n, {.what = what, .count = same}, {});
  CHECK_OK(esp_graph_free(&graph), context.world, "");
}

}  // namespace
}  // namespace neighbors_cases

void neighbors(const Context& context) {
  neighbors_cases::on_random_graphs(context);
  neighbors_cases::on_grids(context);
  neighbors_cases::on_teams(context);
  // Neighbours that are not there are in the odd one alone.
  for (const unsigned seed : {4u, 5u}) neighbors_cases::with_types(context, seed);
  neighbors_cases::with_options(context);
  neighbors_cases::large(context);
}

}  // namespace test
