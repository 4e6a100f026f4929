/* graphs: graphs that all processes give as a whole, and those of which any process names any
 * edges, and exchanges on them, as one C program that knows nothing but <mpi.h>; see conformance.c.
 * Any number of processes.
 */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

enum { kMost = 64 };

static int topology_of(MPI_Comm comm) {
  int status = 0;
  CHECK_OK(MPI_Topo_test(comm, &status));
  return status;
}

/* ---- MPI_Graph_create ---- */

/* A star: node 0 with all others. */
static MPI_Comm star(int nodes, int* index, int* edges) {
  MPI_Comm graph = MPI_COMM_WORLD;
  for (int i = 1; i < nodes; ++i) edges[i - 1] = i, edges[nodes - 2 + i] = 0;
  for (int i = 0; i < nodes; ++i) index[i] = nodes - 1 + i;
  CHECK_OK(MPI_Graph_create(MPI_COMM_WORLD, nodes, index, edges, 0, &graph));
  return graph;
}

static void ask_star(MPI_Comm graph, int nodes, const int* index, const int* edges) {
  int found_nodes = -1, found_edges = -1, n = -1, at[kMost], to[2 * kMost];
  CHECK(topology_of(graph) == MPI_GRAPH);
  CHECK_OK(MPI_Graphdims_get(graph, &found_nodes, &found_edges));
  CHECK(found_nodes == nodes && found_edges == 2 * nodes - 2);
  CHECK_OK(MPI_Graph_get(graph, kMost, 2 * kMost, at, to));
  CHECK(memcmp(at, index, (size_t)nodes * sizeof *at) == 0);
  CHECK(memcmp(to, edges, (size_t)found_edges * sizeof *to) == 0);
  for (int r = 0; r < nodes; ++r) {
    CHECK_OK(MPI_Graph_neighbors_count(graph, r, &n));
    CHECK(n == (r == 0 ? nodes - 1 : 1));
    CHECK_OK(MPI_Graph_neighbors(graph, r, n, to));
    for (int i = 0; i < n; ++i) CHECK(to[i] == (r == 0 ? i + 1 : 0));
  }
}

static void exchange_on_star(MPI_Comm graph, int nodes) {
  const int n = rank == 0 ? nodes - 1 : 1;
  int in[kMost], out[kMost];
  for (int i = 0; i < n; ++i) in[i] = 100 * rank + i, out[i] = -1;
  CHECK_OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, out, 1, MPI_INT, graph));
  for (int i = 0; i < n; ++i) CHECK(out[i] == (rank == 0 ? i + 1 : 0));
  CHECK_OK(MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, graph));
  for (int i = 0; i < n; ++i) CHECK(out[i] == (rank == 0 ? 100 * (i + 1) : rank - 1));
}

static void stars(void) {
  int index[kMost], edges[2 * kMost];
  for (int nodes = 1; nodes <= size; ++nodes) {
    MPI_Comm graph = star(nodes, index, edges), copy;
    CHECK((graph == MPI_COMM_NULL) == (rank >= nodes));
    if (graph == MPI_COMM_NULL) continue;
    ask_star(graph, nodes, index, edges);
    exchange_on_star(graph, nodes);
    CHECK_OK(MPI_Comm_dup(graph, &copy));
    CHECK_OK(MPI_Comm_free(&graph));
    ask_star(copy, nodes, index, edges);
    exchange_on_star(copy, nodes);
    CHECK_OK(MPI_Comm_free(&copy));
  }
}

/* Of no nodes, without edges, and with edges to oneself and several between two. */
static void odd_graphs(void) {
  MPI_Comm graph = MPI_COMM_WORLD;
  int index[kMost], edges[4 * kMost], out[4] = {-1, -1, -1, -1}, n = -1;
  if (kOurs || kMpich) {
    CHECK_OK(MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &graph));
    CHECK(graph == MPI_COMM_NULL);
  }
  for (int i = 0; i < size; ++i) index[i] = 0;
  CHECK_OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph));
  CHECK_OK(MPI_Graph_neighbors_count(graph, rank, &n));
  CHECK(n == 0 && topology_of(graph) == MPI_GRAPH);
  CHECK_OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, out, 1, MPI_INT, graph));
  CHECK(out[0] == -1);
  CHECK_OK(MPI_Comm_free(&graph));
  if (!kOurs) return; /* Others mix up several edges between the same two. */
  for (int i = 0; i < size; ++i) {
    index[i] = 4 * (i + 1);
    edges[4 * i] = edges[4 * i + 3] = (i + 1) % size;
    edges[4 * i + 1] = (i + size - 1) % size;
    edges[4 * i + 2] = i;
  }
  /* Each has the next one twice, and the previous one once: not symmetric, from three on. */
  CHECK_OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph));
  CHECK_OK(MPI_Graph_neighbors_count(graph, rank, &n));
  CHECK(n == 4);
  if (size > 2) {
    CHECK_OK(MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN));
    CHECK_CLASS(MPI_Neighbor_allgather(&rank, 1, MPI_INT, out, 1, MPI_INT, graph),
                MPI_ERR_TOPOLOGY);
  } else {
    CHECK_OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, out, 1, MPI_INT, graph));
    CHECK(out[0] == size - 1 - rank && out[2] == rank && out[3] == size - 1 - rank);
  }
  CHECK_OK(MPI_Comm_free(&graph));
}

/* ---- maps ---- */

static void maps(void) {
  int index[kMost], edges[1] = {0}, found = -7, periods[] = {0, 0},
                    dims[] = {1, size > 1 ? size - 1 : 1};
  for (int i = 0; i < size; ++i) index[i] = 0;
  const int most = dims[1];
  CHECK_OK(MPI_Graph_map(MPI_COMM_WORLD, most, index, edges, &found));
  CHECK(!kOurs || found == (rank < most ? rank : MPI_UNDEFINED));
  CHECK_OK(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &found));
  CHECK(!kOurs || found == (rank < most ? rank : MPI_UNDEFINED));
  CHECK_OK(MPI_Cart_map(MPI_COMM_WORLD, 1, &size, periods, &found));
  CHECK(found >= 0 && found < size);
}

/* ---- MPI_Dist_graph_create ---- */

static void ask_ring(MPI_Comm graph, int is_weighted) {
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  int in = -1, out = -1, weighted = -1, from[4], to[4], from_weights[4], to_weights[4], got = -1;
  CHECK(topology_of(graph) == MPI_DIST_GRAPH);
  CHECK_OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
  CHECK(in == 1 && out == 1 && !weighted == !is_weighted);
  if (in != 1 || out != 1) return;
  CHECK_OK(MPI_Dist_graph_neighbors(graph, 1, from, is_weighted ? from_weights : MPI_UNWEIGHTED, 1,
                                    to, is_weighted ? to_weights : MPI_UNWEIGHTED));
  CHECK(from[0] == previous && to[0] == next);
  if (is_weighted) CHECK(from_weights[0] == previous + 5 && to_weights[0] == rank + 5);
  CHECK_OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, &got, 1, MPI_INT, graph));
  CHECK(got == previous);
}

/* The ring, whose edges are named by their sources, by their ends, and all by the last rank. */
static void rings(void) {
  int sources[kMost], degrees[kMost], ends[kMost], weights[kMost];
  for (int way = 0; way < 6; ++way) {
    const int weighted = way % 2, who = way / 2;
    const int n = who < 2 ? 1 : rank == size - 1 ? size : 0;
    const int first = who == 0 ? rank : who == 1 ? (rank + size - 1) % size : 0;
    for (int i = 0; i < n; ++i) {
      sources[i] = (first + i) % size;
      degrees[i] = 1;
      ends[i] = (sources[i] + 1) % size;
      weights[i] = sources[i] + 5;
    }
    MPI_Comm graph, copy;
    const int* given = !weighted ? MPI_UNWEIGHTED : n > 0 ? weights : MPI_WEIGHTS_EMPTY;
    CHECK_OK(MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, ends, given, MPI_INFO_NULL,
                                   0, &graph));
    ask_ring(graph, weighted);
    CHECK_OK(MPI_Comm_dup(graph, &copy));
    CHECK_OK(MPI_Comm_free(&graph));
    ask_ring(copy, weighted);
    CHECK_OK(MPI_Comm_free(&copy));
  }
}

/* Rank r sends to all of lower rank; rank 0 names half of it, the last rank the rest. */
static void shared_work(void) {
  int sources[kMost], degrees[kMost], ends[kMost * kMost / 2], n = 0, at = 0, sum = 0;
  for (int r = 0; r < size; ++r) {
    if (rank != (r % 2 == 0 ? 0 : size - 1)) continue;
    sources[n] = r;
    degrees[n++] = r;
    for (int i = 0; i < r; ++i) ends[at++] = i;
  }
  MPI_Comm graph;
  CHECK_OK(MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, ends, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph));
  int in = -1, out = -1, weighted = -1, from[kMost], to[kMost], got[kMost];
  CHECK_OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
  CHECK(in == size - 1 - rank && out == rank && !weighted);
  CHECK_OK(MPI_Dist_graph_neighbors(graph, in, from, MPI_UNWEIGHTED, out, to, MPI_UNWEIGHTED));
  for (int i = 0; i < out; ++i) sum += to[i];
  CHECK(sum == rank * (rank - 1) / 2);
  CHECK_OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, graph));
  for (int i = 0; i < in; ++i) CHECK(got[i] == from[i] && got[i] > rank);
  CHECK_OK(MPI_Comm_free(&graph));
}

/* Edges between the same two, named by all of them: one order on both sides. Nobody: no edges. */
static void several_and_none(void) {
  MPI_Comm graph;
  const int zero = 0, two = 2, last = size - 1;
  const int ends[] = {last, last}, weights[] = {10 * rank, 10 * rank + 1};
  int in = -1, out = -1, weighted = -1;
  CHECK_OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 0, NULL, NULL, NULL, MPI_WEIGHTS_EMPTY,
                                 MPI_INFO_NULL, 0, &graph));
  CHECK_OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
  CHECK(in == 0 && out == 0);
  CHECK_OK(MPI_Comm_free(&graph));
  if (!kOurs) return; /* The order of these is the library's affair. */
  CHECK_OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &zero, &two, ends, weights, MPI_INFO_NULL, 0,
                                 &graph));
  CHECK_OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
  CHECK(in == (rank == last ? 2 * size : 0) && out == (rank == 0 ? 2 * size : 0) && weighted);
  int from[2 * kMost], to[2 * kMost], in_weights[2 * kMost], out_weights[2 * kMost];
  CHECK_OK(
      MPI_Dist_graph_neighbors(graph, 2 * kMost, from, in_weights, 2 * kMost, to, out_weights));
  for (int i = 0; i < in; ++i) CHECK(from[i] == 0 && in_weights[i] == 10 * (i / 2) + i % 2);
  for (int i = 0; i < out; ++i) CHECK(to[i] == last && out_weights[i] == 10 * (i / 2) + i % 2);
  CHECK_OK(MPI_Neighbor_alltoall(out_weights, 1, MPI_INT, from, 1, MPI_INT, graph));
  for (int i = 0; i < in; ++i) CHECK(from[i] == in_weights[i]);
  CHECK_OK(MPI_Comm_free(&graph));
}

/* ---- errors ---- */

static void graph_errors(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm made = MPI_COMM_NULL;
  int n = 0, index[kMost], edges[2 * kMost], falling[] = {2, 1}, beyond[] = {size};
  const int one[] = {1};
  CHECK_CLASS(MPI_Graphdims_get(world, &n, &n), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Graph_get(world, 1, 1, index, edges), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Graph_neighbors_count(world, 0, &n), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Graph_create(MPI_COMM_NULL, 1, one, beyond, 0, &made), MPI_ERR_COMM);
  if (!kOurs) return;
  CHECK_CLASS(MPI_Graph_create(world, -1, one, beyond, 0, &made), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Graph_create(world, size + 1, one, beyond, 0, &made), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Graph_create(world, 1, one, beyond, 0, &made), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Graph_create(world, 1, NULL, beyond, 0, &made), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Graph_create(world, 1, one, NULL, 0, &made), MPI_ERR_ARG);
  if (size > 1) CHECK_CLASS(MPI_Graph_create(world, 2, falling, edges, 0, &made), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Graph_map(world, 1, one, beyond, &n), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Cart_map(world, 1, beyond, one, NULL), MPI_ERR_ARG);
  index[0] = size + 1;
  CHECK_CLASS(MPI_Cart_map(world, 1, index, one, &n), MPI_ERR_DIMS);
  CHECK(made == MPI_COMM_NULL);
  made = star(size, index, edges);
  CHECK_OK(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
  CHECK_CLASS(MPI_Graph_neighbors_count(made, size, &n), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Graph_get(made, size - 1, 2 * kMost, index, edges), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Dist_graph_neighbors_count(made, &n, &n, &n), MPI_ERR_TOPOLOGY);
  if (size > 1) CHECK_CLASS(MPI_Graph_neighbors(made, 0, size - 2, edges), MPI_ERR_ARG);
  CHECK_OK(MPI_Comm_free(&made));
}

static void dist_errors(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  const MPI_Info info = MPI_INFO_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  const int one = 1, minus = -1;
  int* const no = MPI_UNWEIGHTED;
  CHECK_CLASS(MPI_Dist_graph_create(world, -1, &rank, &one, &rank, no, info, 0, &made),
              MPI_ERR_ARG);
  CHECK_CLASS(MPI_Dist_graph_create(world, 1, &size, &one, &rank, no, info, 0, &made),
              MPI_ERR_RANK);
  CHECK_CLASS(MPI_Dist_graph_create(world, 1, &rank, &one, &size, no, info, 0, &made),
              MPI_ERR_RANK);
  CHECK_CLASS(MPI_Dist_graph_create(world, 1, &rank, &minus, &rank, no, info, 0, &made),
              MPI_ERR_ARG);
  CHECK_CLASS(MPI_Dist_graph_create(world, 1, &rank, &one, &rank, &minus, info, 0, &made),
              MPI_ERR_ARG);
  CHECK_CLASS(MPI_Dist_graph_create(world, 1, &rank, &one, NULL, no, info, 0, &made), MPI_ERR_ARG);
  CHECK_CLASS(
      MPI_Dist_graph_create(world, 1, &rank, &one, &rank, MPI_WEIGHTS_EMPTY, info, 0, &made),
      MPI_ERR_ARG);
  /* Some with weights, some without: all are told. */
  if (size > 1) {
    CHECK_CLASS(
        MPI_Dist_graph_create(world, 1, &rank, &one, &rank, rank == 0 ? &one : no, info, 0, &made),
        MPI_ERR_ARG);
  }
  CHECK(made == MPI_COMM_NULL);
  CHECK_OK(MPI_Barrier(world));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > kMost) return fprintf(stderr, "too many processes\n"), 1;
  stars();
  odd_graphs();
  maps();
  rings();
  shared_work();
  several_and_none();
  if (argc < 2 || strcmp(argv[1], "--no-argument-checks") != 0) {
    return_errors();
    graph_errors();
    if (kOurs) dist_errors();
  }
  return conclude();
}
