/* conformance_topology: Cartesian grids and distributed graphs, and what they can be asked, as one
 * C program that knows nothing but <mpi.h>; see conformance.c. Any number of processes.
 */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

enum { kDims = 3 };

static int topology_of(MPI_Comm comm) {
  int status = 0;
  CHECK_OK(MPI_Topo_test(comm, &status));
  return status;
}

/* ---- MPI_Dims_create ---- */

static int divides(int nodes, int ndims, int first, int second, int third) {
  int dims[kDims] = {0, 0, 0};
  CHECK_OK(MPI_Dims_create(nodes, ndims, dims));
  return dims[0] == first && dims[1] == second && dims[2] == third;
}

static void dims_create(void) {
  CHECK(divides(6, 2, 3, 2, 0));
  CHECK(divides(7, 2, 7, 1, 0));
  CHECK(divides(12, 2, 4, 3, 0));
  CHECK(divides(36, 2, 6, 6, 0));
  CHECK(divides(1, 3, 1, 1, 1));
  CHECK(divides(60, 3, 5, 4, 3));
  CHECK(divides(4096, 3, 16, 16, 16));
  CHECK(divides(2147483647, 1, 2147483647, 0, 0));
  int some[kDims] = {0, 3, 0};
  CHECK_OK(MPI_Dims_create(6, 3, some));
  CHECK(some[0] == 2 && some[1] == 3 && some[2] == 1);
  int given[2] = {2, 3};
  CHECK_OK(MPI_Dims_create(6, 2, given));
  CHECK(given[0] == 2 && given[1] == 3);
}

/* ---- grids ---- */

/* Two dimensions, the first of them closed, over the ranks below `rows` * `columns`. */
static MPI_Comm grid_of(int rows, int columns) {
  MPI_Comm grid = MPI_COMM_NULL;
  const int dims[] = {rows, columns}, periods[] = {1, 0};
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid));
  return grid;
}

static void ask_grid(MPI_Comm grid, int rows, int columns) {
  int ndims = 0, dims[kDims], periods[kDims], coords[kDims], other = -1, r = -1, n = -1;
  CHECK_OK(MPI_Comm_size(grid, &n));
  CHECK_OK(MPI_Comm_rank(grid, &r));
  CHECK(n == rows * columns && r == rank);
  CHECK(topology_of(grid) == MPI_CART);
  CHECK_OK(MPI_Cartdim_get(grid, &ndims));
  CHECK(ndims == 2);
  CHECK_OK(MPI_Cart_get(grid, kDims, dims, periods, coords));
  CHECK(dims[0] == rows && dims[1] == columns && periods[0] && !periods[1]);
  CHECK(coords[0] == rank / columns && coords[1] == rank % columns);
  for (int i = 0; i < n; ++i) {
    CHECK_OK(MPI_Cart_coords(grid, i, 2, coords));
    CHECK(coords[0] == i / columns && coords[1] == i % columns);
    coords[0] += (i % 5 - 2) * rows;
    CHECK_OK(MPI_Cart_rank(grid, coords, &other));
    CHECK(other == i);
  }
}

static void shift(MPI_Comm grid, int rows, int columns) {
  int source = -7, dest = -7;
  const int row = rank / columns, column = rank % columns;
  for (int disp = -3; disp <= 3; ++disp) {
    CHECK_OK(MPI_Cart_shift(grid, 0, disp, &source, &dest));
    CHECK(dest == (row + disp + 3 * rows) % rows * columns + column);
    CHECK(source == (row - disp + 3 * rows) % rows * columns + column);
    CHECK_OK(MPI_Cart_shift(grid, 1, disp, &source, &dest));
    const int up = column + disp, down = column - disp;
    CHECK(dest == (up >= 0 && up < columns ? rank + disp : MPI_PROC_NULL));
    CHECK(source == (down >= 0 && down < columns ? rank - disp : MPI_PROC_NULL));
  }
}

/* Its columns, its rows, single ranks and all of it. */
static void sub_grids(MPI_Comm grid, int rows, int columns) {
  for (int kept = 0; kept < 4; ++kept) {
    const int remain[] = {kept & 1, kept >> 1};
    MPI_Comm part;
    int ndims = -1, n = 0, r = 0, sum = 0, dims[kDims], periods[kDims], coords[kDims];
    CHECK_OK(MPI_Cart_sub(grid, remain, &part));
    /* Of the grids without dimensions MPICH makes the first alone. */
    if (!kOurs && kept == 0 && part == MPI_COMM_NULL) continue;
    CHECK_OK(MPI_Comm_size(part, &n));
    CHECK_OK(MPI_Comm_rank(part, &r));
    CHECK(n == (remain[0] ? rows : 1) * (remain[1] ? columns : 1));
    CHECK(topology_of(part) == MPI_CART);
    CHECK_OK(MPI_Cartdim_get(part, &ndims));
    CHECK(ndims == remain[0] + remain[1]);
    CHECK_OK(MPI_Cart_get(part, kDims, dims, periods, coords));
    if (kept == 1) CHECK(dims[0] == rows && periods[0] && coords[0] == rank / columns);
    if (kept == 2) CHECK(dims[0] == columns && !periods[0] && coords[0] == rank % columns);
    if (kept == 3) CHECK(dims[1] == columns && !periods[1] && r == rank);
    CHECK_OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MIN, part));
    CHECK(sum == (remain[0] ? 0 : rank / columns * columns) + (remain[1] ? 0 : rank % columns));
    CHECK_OK(MPI_Comm_free(&part));
  }
}

static void grids(void) {
  for (int rows = 1; rows <= size; ++rows) {
    const int columns = size / rows;
    MPI_Comm grid = grid_of(rows, columns), copy;
    CHECK((grid == MPI_COMM_NULL) == (rank >= rows * columns));
    if (grid == MPI_COMM_NULL) continue;
    ask_grid(grid, rows, columns);
    shift(grid, rows, columns);
    sub_grids(grid, rows, columns);
    CHECK_OK(MPI_Comm_dup(grid, &copy));
    CHECK_OK(MPI_Comm_free(&grid));
    ask_grid(copy, rows, columns);
    CHECK_OK(MPI_Comm_free(&copy));
  }
}

static void without_topology(void) {
  const int dims[] = {size}, periods[] = {0};
  MPI_Comm grid, part;
  CHECK(topology_of(MPI_COMM_WORLD) == MPI_UNDEFINED);
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &grid));
  CHECK_OK(MPI_Comm_split(grid, rank % 2, 0, &part));
  CHECK(topology_of(part) == MPI_UNDEFINED);
  CHECK_OK(MPI_Comm_free(&part));
  CHECK_OK(MPI_Comm_free(&grid));
}

/* ---- graphs ---- */

/* Each rank sends to the next one twice and to itself. */
static void ask_graph(MPI_Comm graph, int is_weighted) {
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  int in = -1, out = -1, weighted = -1;
  int sources[4] = {-7, -7, -7, -7}, dests[4] = {-7, -7, -7, -7};
  int in_weights[4] = {-7, -7, -7, -7}, out_weights[4] = {-7, -7, -7, -7};
  CHECK(topology_of(graph) == MPI_DIST_GRAPH);
  CHECK_OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
  CHECK(in == 3 && out == 3 && !weighted == !is_weighted);
  CHECK_OK(MPI_Dist_graph_neighbors(graph, 3, sources, is_weighted ? in_weights : MPI_UNWEIGHTED, 3,
                                    dests, is_weighted ? out_weights : MPI_UNWEIGHTED));
  CHECK(sources[0] == previous && sources[1] == rank && sources[2] == previous);
  CHECK(dests[0] == next && dests[1] == rank && dests[2] == next);
  CHECK(sources[3] == -7 && dests[3] == -7);
  for (int i = 0; i < 3 && is_weighted; ++i) {
    CHECK(in_weights[i] == 10 * rank + i && out_weights[i] == 20 * rank + i);
  }
}

static void graphs(void) {
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  const int sources[] = {previous, rank, previous}, dests[] = {next, rank, next};
  const int in_weights[] = {10 * rank, 10 * rank + 1, 10 * rank + 2};
  const int out_weights[] = {20 * rank, 20 * rank + 1, 20 * rank + 2};
  const MPI_Comm world = MPI_COMM_WORLD;
  for (int weighted = 0; weighted < 2; ++weighted) {
    MPI_Comm graph, copy;
    CHECK_OK(MPI_Dist_graph_create_adjacent(
        world, 3, sources, weighted ? in_weights : MPI_UNWEIGHTED, 3, dests,
        weighted ? out_weights : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    ask_graph(graph, weighted);
    CHECK_OK(MPI_Comm_dup(graph, &copy));
    CHECK_OK(MPI_Comm_free(&graph));
    ask_graph(copy, weighted);
    CHECK_OK(MPI_Comm_free(&copy));
  }
}

/* Rank 0 sends to all others; it has weights, the others have none to give for what they send. */
static void star(void) {
  int* others = calloc((size_t)size, sizeof *others);
  int* weights = calloc((size_t)size, sizeof *weights);
  const int zero = 0, seven = 7;
  for (int r = 1; r < size; ++r) others[r - 1] = r, weights[r - 1] = 7;
  MPI_Comm graph;
  int in = -1, out = -1, weighted = -1;
  if (rank == 0) {
    CHECK_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, size - 1,
                                            others, size > 1 ? weights : MPI_WEIGHTS_EMPTY,
                                            MPI_INFO_NULL, 0, &graph));
  } else {
    CHECK_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &zero, &seven, 0, NULL,
                                            MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph));
  }
  CHECK_OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
  CHECK(in == (rank > 0) && out == (rank == 0 ? size - 1 : 0) && weighted);
  CHECK_OK(MPI_Comm_free(&graph));
  free(others);
  free(weights);
}

static void errors(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  int n = 0, dims[] = {size}, periods[] = {0}, source = 0;
  CHECK_CLASS(MPI_Cartdim_get(world, &n), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Cart_coords(world, 0, 1, dims), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Cart_rank(world, periods, &n), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Cart_shift(world, 0, 1, &n, &source), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Dist_graph_neighbors_count(world, &n, &n, &n), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Topo_test(MPI_COMM_NULL, &n), MPI_ERR_COMM);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  dims_create();
  grids();
  without_topology();
  graphs();
  star();
  if (argc < 2 || strcmp(argv[1], "--no-argument-checks") != 0) {
    return_errors();
    errors();
  }
  return conclude();
}
