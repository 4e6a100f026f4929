/* Graphs of which all ranks know everything. Ranks keep their order. path: setup */
#include "mpi/facade.h"

static int wrong(const char* function, Comm* comm, int error_class, const char* problem) {
  return raise_error(function, comm, error_class, problem);
}

static int check_nodes(const char* function, Comm* comm, int nodes, const int* index,
                       const int* edges) {
  if (nodes < 0) return wrong(function, comm, MPI_ERR_ARG, "negative number of nodes");
  if (nodes > esp_team_size(comm->team)) {
    return wrong(function, comm, MPI_ERR_ARG, "the graph is larger than the communicator");
  }
  if (nodes > 0 && index == NULL) return wrong(function, comm, MPI_ERR_ARG, "null index");
  for (int i = 0; i < nodes; ++i) {
    if (index[i] < (i > 0 ? index[i - 1] : 0)) {
      return wrong(function, comm, MPI_ERR_ARG, "index is negative or descends");
    }
  }
  const int all = nodes > 0 ? index[nodes - 1] : 0;
  if (all > 0 && edges == NULL) return wrong(function, comm, MPI_ERR_ARG, "null edges");
  for (int e = 0; e < all; ++e) {
    if (edges[e] < 0 || edges[e] >= nodes) {
      return wrong(function, comm, MPI_ERR_ARG, "an edge leads to no node of the graph");
    }
  }
  return MPI_SUCCESS;
}

int MPI_Graph_create(MPI_Comm handle, int nnodes, const int index[], const int edges[], int reorder,
                     MPI_Comm* newcomm) {
  (void)reorder;
  Comm* comm;
  int code = comm_check(__func__, handle, newcomm, &comm);
  if (code == MPI_SUCCESS) code = check_nodes(__func__, comm, nnodes, index, edges);
  if (code != MPI_SUCCESS) return code;
  esp_team* team = NULL;
  Topology* topology = NULL;
  const int color = esp_team_rank(comm->team) < nnodes ? 0 : ESP_NO_TEAM;
  esp_status status = esp_team_split(comm->team, color, 0, &team);
  if (status == ESP_OK && team != NULL) {
    status = topology_nodes(team, nnodes, index, edges, &topology);
  }
  return comm_create(__func__, comm, status, team, topology, "a graph communicator", newcomm);
}

int MPI_Graph_map(MPI_Comm handle, int nnodes, const int index[], const int edges[], int* newrank) {
  Comm* comm;
  int code = comm_check(__func__, handle, newrank, &comm);
  if (code == MPI_SUCCESS) code = check_nodes(__func__, comm, nnodes, index, edges);
  if (code != MPI_SUCCESS) return code;
  const int rank = esp_team_rank(comm->team);
  *newrank = rank < nnodes ? rank : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

static int check_graph(const char* function, MPI_Comm handle, const void* result, Comm** comm,
                       const Topology** graph) {
  const int code = comm_check(function, handle, result, comm);
  if (code != MPI_SUCCESS) return code;
  *graph = (*comm)->topology;
  if (*graph != NULL && (*graph)->kind == MPI_GRAPH) return MPI_SUCCESS;
  return wrong(function, *comm, MPI_ERR_TOPOLOGY, "the communicator has no graph topology");
}

int MPI_Graphdims_get(MPI_Comm handle, int* nnodes, int* nedges) {
  Comm* comm;
  const Topology* graph;
  const int code = check_graph(__func__, handle, nnodes, &comm, &graph);
  if (code != MPI_SUCCESS) return code;
  if (nedges == NULL) return wrong(__func__, comm, MPI_ERR_ARG, "null result");
  *nnodes = graph->dims;
  *nedges = graph->edges;
  return MPI_SUCCESS;
}

/* Where there is more than there is room for. */
static int check_room(const char* function, Comm* comm, int count, int most, const int* array) {
  if (most < count) return wrong(function, comm, MPI_ERR_ARG, "there is not enough room");
  if (count > 0 && array == NULL) return wrong(function, comm, MPI_ERR_ARG, "null array");
  return MPI_SUCCESS;
}

int MPI_Graph_get(MPI_Comm handle, int maxindex, int maxedges, int index[], int edges[]) {
  Comm* comm;
  const Topology* graph;
  int code = check_graph(__func__, handle, "", &comm, &graph);
  if (code == MPI_SUCCESS) code = check_room(__func__, comm, graph->dims, maxindex, index);
  if (code == MPI_SUCCESS) code = check_room(__func__, comm, graph->edges, maxedges, edges);
  if (code != MPI_SUCCESS) return code;
  for (int i = 0; i < graph->dims; ++i) index[i] = graph->numbers[i];
  for (int e = 0; e < graph->edges; ++e) edges[e] = graph->numbers[graph->dims + e];
  return MPI_SUCCESS;
}

/* Where the edges of a rank begin, and how many there are. */
static int edges_of(const char* function, Comm* comm, const Topology* graph, int rank,
                    const int** edges, int* count) {
  if (rank < 0 || rank >= graph->dims) {
    return wrong(function, comm, MPI_ERR_RANK, "not a rank of the communicator");
  }
  const int first = rank > 0 ? graph->numbers[rank - 1] : 0;
  *edges = graph->numbers + graph->dims + first;
  *count = graph->numbers[rank] - first;
  return MPI_SUCCESS;
}

int MPI_Graph_neighbors_count(MPI_Comm handle, int rank, int* nneighbors) {
  Comm* comm;
  const Topology* graph;
  const int* edges;
  const int code = check_graph(__func__, handle, nneighbors, &comm, &graph);
  return code == MPI_SUCCESS ? edges_of(__func__, comm, graph, rank, &edges, nneighbors) : code;
}

int MPI_Graph_neighbors(MPI_Comm handle, int rank, int maxneighbors, int neighbors[]) {
  Comm* comm;
  const Topology* graph;
  const int* edges = NULL;
  int count = 0;
  int code = check_graph(__func__, handle, "", &comm, &graph);
  if (code == MPI_SUCCESS) code = edges_of(__func__, comm, graph, rank, &edges, &count);
  if (code == MPI_SUCCESS) code = check_room(__func__, comm, count, maxneighbors, neighbors);
  for (int i = 0; code == MPI_SUCCESS && i < count; ++i) neighbors[i] = edges[i];
  return code;
}
