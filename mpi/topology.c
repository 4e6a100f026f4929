/* Topologies: the library's graph of neighbours, and what MPI can be asked about it. path: setup */
#include <stdint.h>
#include <stdlib.h>

#include "mpi/facade.h"

/* Takes over the graph. */
static esp_status create(int kind, esp_graph* graph, size_t numbers, Topology** topology) {
  *topology = malloc(sizeof **topology + numbers * sizeof *(*topology)->numbers);
  if (*topology == NULL) {
    if (graph != NULL) esp_graph_free(&graph);
    return ESP_ERR_NO_MEMORY;
  }
  **topology = (Topology){.kind = kind, .graph = graph};
  return ESP_OK;
}

void topology_free(Topology* topology) {
  if (topology == NULL) return;
  if (topology->graph != NULL) esp_graph_free(&topology->graph);
  free(topology);
}

/* Of no dimensions, which MPI allows: one rank without neighbours. */
static esp_status create_grid(esp_team* team, int dims, const int* extents, const int* periodic,
                              esp_graph** grid) {
  if (dims == 0) return esp_graph_create(team, 0, NULL, 0, NULL, grid);
  return esp_grid_create(team, dims, extents, periodic, grid);
}

esp_status topology_grid(esp_team* team, int dims, const int* extents, const int* periodic,
                         Topology** topology) {
  esp_graph* grid = NULL;
  esp_status status = create_grid(team, dims, extents, periodic, &grid);
  if (status == ESP_OK) status = create(MPI_CART, grid, 3 * (size_t)dims, topology);
  if (status != ESP_OK) return status;
  (*topology)->dims = dims;
  int* numbers = (*topology)->numbers;
  int rest = esp_team_rank(team);
  for (int d = dims - 1; d >= 0; --d) {
    numbers[d] = extents[d];
    numbers[dims + d] = periodic[d] != 0;
    numbers[2 * dims + d] = rest % extents[d];
    rest /= extents[d];
  }
  return ESP_OK;
}

esp_status topology_graph(esp_team* team, Edges sources, Edges destinations, int weighted,
                          Topology** topology) {
  const size_t weights = weighted ? sources.count + destinations.count : 0;
  esp_graph* graph = NULL;
  esp_status status = esp_graph_create(team, sources.count, sources.ranks, destinations.count,
                                       destinations.ranks, &graph);
  if (status == ESP_OK) status = create(MPI_DIST_GRAPH, graph, weights, topology);
  if (status != ESP_OK) return status;
  (*topology)->weighted = weighted;
  int* numbers = (*topology)->numbers;
  for (size_t i = 0; i < weights; ++i) {
    numbers[i] = i < sources.count ? sources.weights[i] : destinations.weights[i - sources.count];
  }
  return ESP_OK;
}

/* Where it stops an exchange: an edge that is not there in the other direction, or more often. Sums
 * of mixed numbers of both directions, which are equal on all members; that different edges have
 * one sum is not to be expected, and would be told by the library. */
static int is_symmetric(int nodes, const int* index, const int* edges) {
  uint64_t sum = 0;
  for (int node = 0, e = 0; node < nodes; ++node) {
    for (; e < index[node]; ++e) {
      const int other = edges[e];
      uint64_t mixed = node < other ? (uint64_t)node << 32 | (uint64_t)other
                                    : (uint64_t)other << 32 | (uint64_t)node;
      mixed = (mixed ^ mixed >> 31) * UINT64_C(0x7fb5d329728ea185);
      mixed = (mixed ^ mixed >> 27) * UINT64_C(0x81dadef4bc2dd44d);
      mixed ^= mixed >> 33;
      if (node < other) sum += mixed;
      if (node > other) sum -= mixed;
    }
  }
  return sum == 0;
}

esp_status topology_nodes(esp_team* team, int nodes, const int* index, const int* edges,
                          Topology** topology) {
  const int rank = esp_team_rank(team), all = nodes > 0 ? index[nodes - 1] : 0;
  const int first = rank > 0 ? index[rank - 1] : 0;
  const size_t count = (size_t)(index[rank] - first);
  esp_graph* graph = NULL;
  esp_status status = ESP_OK;
  if (is_symmetric(nodes, index, edges)) {
    const int* own = count > 0 ? edges + first : NULL;
    status = esp_graph_create(team, count, own, count, own, &graph);
  }
  if (status == ESP_OK) {
    status = create(MPI_GRAPH, graph, (size_t)nodes + (size_t)all, topology);
  }
  if (status != ESP_OK) return status;
  (*topology)->dims = nodes;
  (*topology)->edges = all;
  int* numbers = (*topology)->numbers;
  for (int i = 0; i < nodes; ++i) numbers[i] = index[i];
  for (int e = 0; e < all; ++e) numbers[nodes + e] = edges[e];
  return ESP_OK;
}

esp_status topology_copy(const Topology* from, esp_team* team, Topology** topology) {
  *topology = NULL;
  if (from == NULL) return ESP_OK;
  const int* numbers = from->numbers;
  if (from->kind == MPI_CART) {
    return topology_grid(team, from->dims, numbers, numbers + from->dims, topology);
  }
  if (from->kind == MPI_GRAPH) {
    return topology_nodes(team, from->dims, numbers, numbers + from->dims, topology);
  }
  const Edges sources = {esp_graph_source_count(from->graph), esp_graph_sources(from->graph),
                         numbers};
  const Edges destinations = {esp_graph_destination_count(from->graph),
                              esp_graph_destinations(from->graph), numbers + sources.count};
  return topology_graph(team, sources, destinations, from->weighted, topology);
}

int MPI_Topo_test(MPI_Comm handle, int* status) {
  Comm* comm;
  const int code = comm_check(__func__, handle, status, &comm);
  if (code == MPI_SUCCESS) *status = comm->topology ? comm->topology->kind : MPI_UNDEFINED;
  return code;
}
