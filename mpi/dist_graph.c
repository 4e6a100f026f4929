/* Graphs of which each rank names its own edges. Ranks keep their order. path: setup */
#include "mpi/facade.h"

static int wrong(const char* function, Comm* comm, int error_class, const char* problem) {
  return raise_error(function, comm, error_class, problem);
}

static int check_edges(const char* function, Comm* comm, int degree, const int* ranks,
                       const int* weights) {
  if (degree < 0) return wrong(function, comm, MPI_ERR_ARG, "negative degree");
  if (degree == 0) return MPI_SUCCESS;
  if (ranks == NULL) return wrong(function, comm, MPI_ERR_ARG, "null sources or destinations");
  if (weights == NULL) return wrong(function, comm, MPI_ERR_ARG, "null weights");
  if (weights == MPI_WEIGHTS_EMPTY) {
    return wrong(function, comm, MPI_ERR_ARG, "MPI_WEIGHTS_EMPTY for a degree that is not 0");
  }
  for (int i = 0; i < degree; ++i) {
    if (ranks[i] < 0 || ranks[i] >= esp_team_size(comm->team)) {
      return wrong(function, comm, MPI_ERR_RANK, "a neighbour is not a rank of the communicator");
    }
    if (weights != MPI_UNWEIGHTED && weights[i] < 0) {
      return wrong(function, comm, MPI_ERR_ARG, "negative weight");
    }
  }
  return MPI_SUCCESS;
}

int MPI_Dist_graph_create_adjacent(MPI_Comm handle, int indegree, const int* sources,
                                   const int* sourceweights, int outdegree, const int* destinations,
                                   const int* destweights, MPI_Info info, int reorder,
                                   MPI_Comm* newcomm) {
  (void)info;
  (void)reorder;
  Comm* comm;
  int code = comm_check(__func__, handle, newcomm, &comm);
  if (code == MPI_SUCCESS) code = check_edges(__func__, comm, indegree, sources, sourceweights);
  if (code == MPI_SUCCESS) code = check_edges(__func__, comm, outdegree, destinations, destweights);
  if (code != MPI_SUCCESS) return code;
  const Edges in = {(size_t)indegree, sources, sourceweights};
  const Edges out = {(size_t)outdegree, destinations, destweights};
  const int weighted = (in.count > 0 ? sourceweights : destweights) != MPI_UNWEIGHTED;
  if (in.count > 0 && out.count > 0 && weighted != (destweights != MPI_UNWEIGHTED)) {
    return wrong(__func__, comm, MPI_ERR_ARG, "MPI_UNWEIGHTED in one of two directions");
  }
  esp_team* team = NULL;
  Topology* topology = NULL;
  esp_status status = esp_team_dup(comm->team, &team);
  if (status == ESP_OK) status = topology_graph(team, in, out, weighted, &topology);
  return comm_create(__func__, comm, status, team, topology, "a graph communicator", newcomm);
}

static int check_graph(const char* function, MPI_Comm handle, const void* result, Comm** comm,
                       const Topology** topology) {
  const int code = comm_check(function, handle, result, comm);
  if (code != MPI_SUCCESS) return code;
  *topology = (*comm)->topology;
  if (*topology != NULL && (*topology)->kind == MPI_DIST_GRAPH) return MPI_SUCCESS;
  return wrong(function, *comm, MPI_ERR_TOPOLOGY, "the communicator has no distributed graph");
}

int MPI_Dist_graph_neighbors_count(MPI_Comm handle, int* indegree, int* outdegree, int* weighted) {
  Comm* comm;
  const Topology* topology;
  const int code = check_graph(__func__, handle, indegree, &comm, &topology);
  if (code != MPI_SUCCESS) return code;
  if (outdegree == NULL || weighted == NULL) {
    return wrong(__func__, comm, MPI_ERR_ARG, "null result");
  }
  *indegree = (int)esp_graph_source_count(topology->graph);
  *outdegree = (int)esp_graph_destination_count(topology->graph);
  *weighted = topology->weighted;
  return MPI_SUCCESS;
}

/* The first `most` edges; `weights` is NULL where there are none, or the program wants none. */
static void list_edges(const int* ranks, const int* weights, size_t count, int most, int* to_ranks,
                       int* to_weights) {
  for (size_t i = 0; i < count && i < (size_t)most; ++i) {
    to_ranks[i] = ranks[i];
    if (weights != NULL && to_weights != MPI_UNWEIGHTED) to_weights[i] = weights[i];
  }
}

int MPI_Dist_graph_neighbors(MPI_Comm handle, int maxindegree, int* sources, int* sourceweights,
                             int maxoutdegree, int* destinations, int* destweights) {
  Comm* comm;
  const Topology* topology;
  const int code = check_graph(__func__, handle, "", &comm, &topology);
  if (code != MPI_SUCCESS) return code;
  if (maxindegree < 0 || maxoutdegree < 0) {
    return wrong(__func__, comm, MPI_ERR_ARG, "negative degree");
  }
  if ((maxindegree > 0 && (sources == NULL || sourceweights == NULL)) ||
      (maxoutdegree > 0 && (destinations == NULL || destweights == NULL))) {
    return wrong(__func__, comm, MPI_ERR_ARG, "null array");
  }
  const esp_graph* graph = topology->graph;
  const size_t in = esp_graph_source_count(graph), out = esp_graph_destination_count(graph);
  const int* weights = topology->weighted ? topology->numbers : NULL;
  list_edges(esp_graph_sources(graph), weights, in, maxindegree, sources, sourceweights);
  list_edges(esp_graph_destinations(graph), weights != NULL ? weights + in : NULL, out,
             maxoutdegree, destinations, destweights);
  return MPI_SUCCESS;
}
