/* Topologies: the library's graph of neighbours, and what MPI can be asked about it. path: setup */
#include <stdlib.h>

#include "mpi/facade.h"

/* Takes over the graph. */
static esp_status create(int kind, esp_graph* graph, size_t numbers, Topology** topology) {
  *topology = malloc(sizeof **topology + numbers * sizeof *(*topology)->numbers);
  if (*topology == NULL) {
    esp_graph_free(&graph);
    return ESP_ERR_NO_MEMORY;
  }
  **topology = (Topology){.kind = kind, .graph = graph};
  return ESP_OK;
}

void topology_free(Topology* topology) {
  if (topology == NULL) return;
  esp_graph_free(&topology->graph);
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

esp_status topology_copy(const Topology* from, esp_team* team, Topology** topology) {
  *topology = NULL;
  if (from == NULL) return ESP_OK;
  const int* numbers = from->numbers;
  if (from->kind == MPI_CART) {
    return topology_grid(team, from->dims, numbers, numbers + from->dims, topology);
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
