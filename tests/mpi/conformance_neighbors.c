/* conformance_neighbors: exchanges with the neighbours on grids and graphs, as one C program that
 * knows nothing but <mpi.h>; see conformance.c. Any number of processes.
 *
 * Every block says from which edge it comes, and around it are gaps that must stay as they were, as
 * must the blocks of neighbours that are not there.
 */
#include <string.h>

#include "conformance_blocks.h"

enum { kMostEdges = 128 };

/* A communicator with a topology, and what this rank expects: block i comes from sources[i], for
 * which it is edge labels[i]. */
typedef struct Neighborhood {
  MPI_Comm comm;
  int in, out;
  int sources[kMostEdges], labels[kMostEdges], dests[kMostEdges];
} Neighborhood;

/* Elements on an edge, of all that leave a rank. */
static int length_of(int from, int edge, int scale) {
  return scale * ((3 * from + 5 * edge) % 4);
}

/* And their type, for MPI_Neighbor_alltoallw. */
static MPI_Datatype type_of(int from, int edge) {
  return (from + edge) % 2 ? MPI_UNSIGNED : MPI_INT;
}

/* ---- one exchange ---- */

typedef enum Kind { kAllgather, kAllgatherv, kAlltoall, kAlltoallv, kAlltoallw, kKinds } Kind;

/* Both sides of an exchange. Blocks of the v-forms lie in descending order with gaps between. */
typedef struct Exchange {
  int in_counts[kMostEdges], out_counts[kMostEdges], in_displs[kMostEdges], out_displs[kMostEdges];
  MPI_Aint in_bytes[kMostEdges], out_bytes[kMostEdges];
  MPI_Datatype in_types[kMostEdges], out_types[kMostEdges];
  int *in, *out, in_length, out_length;
} Exchange;

static int gathers(Kind kind) {
  return kind == kAllgather || kind == kAllgatherv;
}

static void lay_out(Exchange* x, const Neighborhood* hood, Kind kind, int scale) {
  const int irregular = kind != kAllgather && kind != kAlltoall, gap = irregular ? 2 : 0;
  x->in_length = x->out_length = gap;
  for (int k = 0; k < hood->in; ++k) {
    const int i = irregular ? hood->in - 1 - k : k;
    const int edge = gathers(kind) ? 0 : hood->labels[i];
    x->in_counts[i] = irregular ? length_of(hood->sources[i], edge, scale) : scale;
    if (hood->sources[i] == MPI_PROC_NULL) x->in_counts[i] = scale;
    x->in_types[i] = type_of(hood->sources[i], edge);
    x->in_displs[i] = x->in_length;
    x->in_bytes[i] = (MPI_Aint)sizeof(int) * x->in_length;
    x->in_length += x->in_counts[i] + gap;
  }
  for (int k = 0; k < (gathers(kind) ? 1 : hood->out); ++k) {
    x->out_counts[k] = irregular ? length_of(rank, k, scale) : scale;
    x->out_types[k] = type_of(rank, k);
    x->out_displs[k] = x->out_length;
    x->out_bytes[k] = (MPI_Aint)sizeof(int) * x->out_length;
    x->out_length += x->out_counts[k] + gap;
  }
  x->in = gaps(x->in_length);
  x->out = gaps(x->out_length);
  for (int k = 0; k < (gathers(kind) ? 1 : hood->out); ++k) {
    fill(x->out + x->out_displs[k], x->out_counts[k], rank, k);
  }
}

static int call(Exchange* x, MPI_Comm comm, Kind kind, int scale) {
  const MPI_Datatype type = MPI_INT;
  const void* mine = x->out + x->out_displs[0];
  switch (kind) {
    case kAllgather:
      return MPI_Neighbor_allgather(x->out, scale, type, x->in, scale, type, comm);
    case kAllgatherv:
      return MPI_Neighbor_allgatherv(mine, x->out_counts[0], type, x->in, x->in_counts,
                                     x->in_displs, type, comm);
    case kAlltoall:
      return MPI_Neighbor_alltoall(x->out, scale, type, x->in, scale, type, comm);
    case kAlltoallv:
      return MPI_Neighbor_alltoallv(x->out, x->out_counts, x->out_displs, type, x->in, x->in_counts,
                                    x->in_displs, type, comm);
    default:
      return MPI_Neighbor_alltoallw(x->out, x->out_counts, x->out_bytes, x->out_types, x->in,
                                    x->in_counts, x->in_bytes, x->in_types, comm);
  }
}

static int start(Exchange* x, MPI_Comm comm, Kind kind, int scale, MPI_Request* request) {
  const MPI_Datatype type = MPI_INT;
  const void* mine = x->out + x->out_displs[0];
  switch (kind) {
    case kAllgather:
      return MPI_Ineighbor_allgather(x->out, scale, type, x->in, scale, type, comm, request);
    case kAllgatherv:
      return MPI_Ineighbor_allgatherv(mine, x->out_counts[0], type, x->in, x->in_counts,
                                      x->in_displs, type, comm, request);
    case kAlltoall:
      return MPI_Ineighbor_alltoall(x->out, scale, type, x->in, scale, type, comm, request);
    case kAlltoallv:
      return MPI_Ineighbor_alltoallv(x->out, x->out_counts, x->out_displs, type, x->in,
                                     x->in_counts, x->in_displs, type, comm, request);
    default:
      return MPI_Ineighbor_alltoallw(x->out, x->out_counts, x->out_bytes, x->out_types, x->in,
                                     x->in_counts, x->in_bytes, x->in_types, comm, request);
  }
}

/* Ends an exchange: whether all blocks are there, and nothing beside. */
static int came(Exchange* x, const Neighborhood* hood, Kind kind) {
  int wrong = 0, elements = 0, gaps_left = 0;
  for (int i = 0; i < hood->in; ++i) {
    if (hood->sources[i] == MPI_PROC_NULL) continue;
    const int edge = gathers(kind) ? 0 : hood->labels[i];
    wrong += wrong_elements(x->in + x->in_displs[i], x->in_counts[i], hood->sources[i], edge);
    elements += x->in_counts[i];
  }
  for (int i = 0; i <= x->in_length; ++i) gaps_left += x->in[i] == kGap;
  free(x->in);
  free(x->out);
  return wrong == 0 && gaps_left == x->in_length + 1 - elements;
}

static void exchange(const Neighborhood* hood) {
  static const int scales[] = {0, 1, 50, 5000};
  static const char* const names[] = {"allgather", "allgatherv", "alltoall", "alltoallv",
                                      "alltoallw"};
  static Exchange x[kKinds];
  MPI_Request requests[kKinds];
  for (int s = 0; s < 4; ++s) {
    for (int kind = 0; kind < kKinds; ++kind) {
      lay_out(&x[kind], hood, (Kind)kind, scales[s]);
      CHECK_OK(call(&x[kind], hood->comm, (Kind)kind, scales[s]));
      check_at(__LINE__, came(&x[kind], hood, (Kind)kind), names[kind]);
    }
    for (int kind = 0; kind < kKinds; ++kind) {
      lay_out(&x[kind], hood, (Kind)kind, scales[s]);
      CHECK_OK(start(&x[kind], hood->comm, (Kind)kind, scales[s], &requests[kind]));
    }
    CHECK_OK(MPI_Waitall(kKinds, requests, MPI_STATUSES_IGNORE));
    for (int kind = 0; kind < kKinds; ++kind) {
      check_at(__LINE__, came(&x[kind], hood, (Kind)kind), names[kind]);
    }
  }
}

/* ---- grids ---- */

/* In the order of the standard: in each dimension the lower neighbour, then the upper one. What a
 * rank sends to the one comes, there, from the other. */
static void know_grid(Neighborhood* hood, int ndims) {
  hood->in = hood->out = 2 * ndims;
  for (int d = 0; d < ndims; ++d) {
    CHECK_OK(MPI_Cart_shift(hood->comm, d, 1, &hood->sources[2 * d], &hood->sources[2 * d + 1]));
    hood->labels[2 * d] = 2 * d + 1;
    hood->labels[2 * d + 1] = 2 * d;
  }
}

/* Both neighbours of a ring of one or two are one rank: Open MPI 4.1 and MPICH 4.0 pair what it
 * sends and gets in the order of the lists, as before MPI 4.0. */
static int pairs_in_order(int ndims, const int* dims, const int* periods) {
  int found = 0;
  for (int d = 0; d < ndims; ++d) found |= periods[d] && dims[d] <= 2;
  return found && !kOurs;
}

static void on_grid(int ndims, const int* dims, const int* periods) {
  Neighborhood hood;
  if (pairs_in_order(ndims, dims, periods)) return;
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &hood.comm));
  if (hood.comm == MPI_COMM_NULL) return;
  know_grid(&hood, ndims);
  exchange(&hood);
  CHECK_OK(MPI_Comm_free(&hood.comm));
}

static void grids(void) {
  for (int rows = 1; rows <= size; ++rows) {
    for (int closed = 0; closed < 4; ++closed) {
      const int dims[] = {rows, size / rows}, periods[] = {closed & 1, closed >> 1};
      on_grid(2, dims, periods);
    }
  }
  int dims[3] = {0, 0, 0};
  const int periods[3] = {1, 0, 1};
  CHECK_OK(MPI_Dims_create(size, 3, dims));
  on_grid(3, dims, periods);
  on_grid(1, &size, periods);
}

/* ---- graphs ---- */

/* Where edge k of a rank goes, -1: it has no more. */
typedef int Graph(int from, int k);

/* To the next twice, to the one after it, and to itself. */
static int ring(int from, int k) {
  const int steps[] = {1, 2, 0, 1};
  return k < 4 ? (from + steps[k]) % size : -1;
}

static int star(int from, int k) {
  return from == 0 && k < size - 1 ? k + 1 : -1;
}

/* Odd ranks have no edges at all. */
static int between_even_ones(int from, int k) {
  return from % 2 == 0 && 2 * k < size ? 2 * k : -1;
}

static int complete(int from, int k) {
  return k < size ? (from + k) % size : -1;
}

static int empty(int from, int k) {
  (void)from, (void)k;
  return -1;
}

/* Sources in descending order; edges between the same two are told apart by their order. */
static void know_graph(Neighborhood* hood, Graph* graph) {
  hood->in = hood->out = 0;
  while (graph(rank, hood->out) >= 0) {
    hood->dests[hood->out] = graph(rank, hood->out);
    ++hood->out;
  }
  for (int r = size - 1; r >= 0; --r) {
    for (int k = 0; graph(r, k) >= 0; ++k) {
      if (graph(r, k) != rank) continue;
      hood->sources[hood->in] = r;
      hood->labels[hood->in++] = k;
    }
  }
}

static void on_graph(Graph* graph) {
  Neighborhood hood;
  know_graph(&hood, graph);
  CHECK_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, hood.in, hood.sources, MPI_UNWEIGHTED,
                                          hood.out, hood.dests, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                          &hood.comm));
  exchange(&hood);
  /* A copy has the same neighbours. */
  MPI_Comm original = hood.comm;
  CHECK_OK(MPI_Comm_dup(original, &hood.comm));
  CHECK_OK(MPI_Comm_free(&original));
  exchange(&hood);
  CHECK_OK(MPI_Comm_free(&hood.comm));
}

/* A communicator may be freed while exchanges on it are pending. */
static void freed(void) {
  const int periods = 1;
  Neighborhood hood;
  static Exchange x;
  MPI_Request request;
  if (pairs_in_order(1, &size, &periods)) return;
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periods, 0, &hood.comm));
  know_grid(&hood, 1);
  lay_out(&x, &hood, kAlltoallv, 3000);
  CHECK_OK(start(&x, hood.comm, kAlltoallv, 3000, &request));
  CHECK_OK(MPI_Comm_free(&hood.comm));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(came(&x, &hood, kAlltoallv));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > kMostEdges) MPI_Abort(MPI_COMM_WORLD, 2);
  grids();
  /* MPICH 4.0 pairs several edges between two ranks in reverse, and its MPI_Neighbor_alltoallw
   * loses what comes to ranks that send nothing. */
  if (!kMpich) on_graph(ring);
  if (!kMpich) on_graph(star);
  on_graph(between_even_ones);
  on_graph(complete);
  on_graph(empty);
  freed();
  return conclude();
}
