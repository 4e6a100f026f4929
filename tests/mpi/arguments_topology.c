/* arguments_topology: what topologies and exchanges with neighbours answer to wrong arguments, and
 * what they do not look at. Any number of processes.
 */
#include "arguments.h"

static const MPI_Datatype kInt = MPI_INT, kNone = MPI_DATATYPE_NULL;
static int x[256], y[256];
static MPI_Comm made;

/* A communicator whose errors come back. */
static MPI_Comm ring(void) {
  const int periods = 1;
  MPI_Comm comm;
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periods, 1, &comm));
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  return comm;
}

static void of_making_grids(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  const int dims[] = {size, 2}, zero[] = {0}, open[] = {0, 0}, most[] = {1 << 30, 1 << 30};
  int factors[] = {5, 0}, negative[] = {-1, 0};
  ERROR(MPI_Cart_create(MPI_COMM_NULL, 1, dims, open, 0, &made), MPI_ERR_COMM, "null communicator");
  ERROR(MPI_Cart_create(world, -1, dims, open, 0, &made), MPI_ERR_DIMS, "number of dimensions");
  ERROR(MPI_Cart_create(world, 2, dims, open, 0, &made), MPI_ERR_DIMS, "the grid is larger than");
  ERROR(MPI_Cart_create(world, 2, most, open, 0, &made), MPI_ERR_DIMS, "the grid is larger than");
  ERROR(MPI_Cart_create(world, 1, zero, open, 0, &made), MPI_ERR_DIMS, "dims is not positive");
  ERROR(MPI_Cart_create(world, 1, NULL, open, 0, &made), MPI_ERR_ARG, "null dims");
  ERROR(MPI_Cart_create(world, 1, dims, NULL, 0, &made), MPI_ERR_ARG, "null periods");
  ERROR(MPI_Cart_create(world, 1, dims, open, 0, NULL), MPI_ERR_ARG, "null result");
  ERROR(MPI_Cart_sub(world, open, &made), MPI_ERR_TOPOLOGY, "no Cartesian topology");
  ERROR(MPI_Dims_create(6, 2, factors), MPI_ERR_DIMS, "no multiple of dims");
  ERROR(MPI_Dims_create(6, 2, negative), MPI_ERR_DIMS, "negative entry of dims");
  ERROR(MPI_Dims_create(10, 1, factors), MPI_ERR_DIMS, "not the product of dims");
  ERROR(MPI_Dims_create(0, 2, factors), MPI_ERR_DIMS, "number of nodes is not positive");
  ERROR(MPI_Dims_create(6, 2, NULL), MPI_ERR_ARG, "null dims");
  CHECK(factors[0] == 5 && factors[1] == 0 && negative[0] == -1);
}

static void of_asking_grids(void) {
  MPI_Comm comm = ring();
  int n = 0, coords[] = {0}, outside[] = {size};
  ERROR(MPI_Cart_coords(comm, size, 1, coords), MPI_ERR_RANK, "not a rank of the communicator");
  ERROR(MPI_Cart_coords(comm, 0, 0, coords), MPI_ERR_DIMS, "maxdims is less");
  ERROR(MPI_Cart_get(comm, 0, coords, coords, coords), MPI_ERR_DIMS, "maxdims is less");
  ERROR(MPI_Cart_get(comm, 1, coords, NULL, coords), MPI_ERR_ARG, "null array");
  ERROR(MPI_Cart_shift(comm, 1, 1, &n, &n), MPI_ERR_DIMS,
        "a dimension of the grid: 1, and it has 1");
  ERROR(MPI_Cart_shift(comm, 0, 1, &n, NULL), MPI_ERR_ARG, "null result");
  ERROR(MPI_Cart_rank(comm, NULL, &n), MPI_ERR_ARG, "null array");
  ERROR(MPI_Dist_graph_neighbors_count(comm, &n, &n, &n), MPI_ERR_TOPOLOGY, "no distributed graph");
  CHECK_OK(MPI_Cart_rank(comm, outside, &n));
  CHECK(n == 0);
  CHECK_OK(MPI_Comm_free(&comm));
  const int open = 0;
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &open, 0, &comm));
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  ERROR(MPI_Cart_rank(comm, outside, &n), MPI_ERR_ARG, "coordinate outside of the grid");
  outside[0] = -2;
  ERROR(MPI_Cart_rank(comm, outside, &n), MPI_ERR_ARG, "grid: -2 in dimension 0, which has ");
  CHECK_OK(MPI_Comm_free(&comm));
}

static void of_graphs(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  const MPI_Info info = MPI_INFO_NULL;
  const int one[] = {1}, bad[] = {-1}, far[] = {size};
  int* const no = MPI_UNWEIGHTED;
  ERROR(MPI_Dist_graph_create_adjacent(world, -1, &rank, no, 1, &rank, no, info, 0, &made),
        MPI_ERR_ARG, "negative degree");
  ERROR(MPI_Dist_graph_create_adjacent(world, 1, far, no, 1, &rank, no, info, 0, &made),
        MPI_ERR_RANK, "a neighbour is not a rank");
  ERROR(MPI_Dist_graph_create_adjacent(world, 1, &rank, no, 1, bad, no, info, 0, &made),
        MPI_ERR_RANK, "a neighbour is not a rank");
  ERROR(MPI_Dist_graph_create_adjacent(world, 1, NULL, no, 1, &rank, no, info, 0, &made),
        MPI_ERR_ARG, "null sources or destinations");
  ERROR(MPI_Dist_graph_create_adjacent(world, 1, &rank, bad, 1, &rank, one, info, 0, &made),
        MPI_ERR_ARG, "negative weight");
  ERROR(MPI_Dist_graph_create_adjacent(world, 1, &rank, no, 1, &rank, one, info, 0, &made),
        MPI_ERR_ARG, "MPI_UNWEIGHTED in one of two");
  ERROR(MPI_Dist_graph_create_adjacent(world, 1, &rank, MPI_WEIGHTS_EMPTY, 1, &rank, one, info, 0,
                                       &made),
        MPI_ERR_ARG, "MPI_WEIGHTS_EMPTY for a degree");
  /* Edges of which the other end does not know. */
  const int next = (rank + 1) % size, other = (rank + 2) % size;
  const int code =
      MPI_Dist_graph_create_adjacent(world, 1, &next, no, 1, &other, no, info, 0, &made);
  CHECK(size < 2 || class_of(code) == (size == 3 ? MPI_SUCCESS : MPI_ERR_OTHER));
  if (code == MPI_SUCCESS) CHECK_OK(MPI_Comm_free(&made));
}

static void of_exchanges(void) {
  MPI_Comm comm = ring();
  MPI_Request request;
  const int one[] = {1, 1}, at[] = {0, 1}, bad[] = {0, -1};
  const MPI_Aint bytes[] = {0, 4};
  const MPI_Datatype ints[] = {kInt, kInt}, none[] = {kInt, kNone};
  ERROR(MPI_Neighbor_allgather(x, 1, kInt, y, 1, kInt, MPI_COMM_WORLD), MPI_ERR_TOPOLOGY,
        "MPI_Neighbor_allgather: the communicator has no topology");
  ERROR(MPI_Neighbor_alltoallw(x, one, bytes, ints, y, one, bytes, ints, MPI_COMM_WORLD),
        MPI_ERR_TOPOLOGY, "no topology");
  ERROR(MPI_Neighbor_allgather(x, 1, kInt, y, 1, kInt, MPI_COMM_NULL), MPI_ERR_COMM, "null comm");
  ERROR(MPI_Neighbor_allgather(x, -1, kInt, y, 1, kInt, comm), MPI_ERR_COUNT, "negative count");
  ERROR(MPI_Neighbor_allgather(x, 1, kInt, y, 1, kNone, comm), MPI_ERR_TYPE, "not a datatype");
  ERROR(MPI_Neighbor_allgather(NULL, 1, kInt, y, 1, kInt, comm), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Neighbor_allgather(MPI_IN_PLACE, 1, kInt, y, 1, kInt, comm), MPI_ERR_BUFFER,
        "MPI_IN_PLACE is not for exchanges with neighbours");
  ERROR(MPI_Neighbor_alltoall(x, 2, kInt, y, 1, kInt, comm), MPI_ERR_TRUNCATE, "another size");
  ERROR(MPI_Neighbor_alltoall(x, 1, kInt, NULL, 1, kInt, comm), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Ineighbor_alltoall(x, 1, kInt, y, 1, kInt, comm, NULL), MPI_ERR_REQUEST, "null req");
  ERROR(MPI_Neighbor_allgatherv(x, 1, kInt, y, NULL, at, kInt, comm), MPI_ERR_ARG, "null counts");
  ERROR(MPI_Neighbor_allgatherv(x, 1, kInt, y, bad, at, kInt, comm), MPI_ERR_COUNT, "negative");
  ERROR(MPI_Neighbor_alltoallv(x, one, NULL, kInt, y, one, at, kInt, comm), MPI_ERR_ARG,
        "null displacements");
  ERROR(MPI_Neighbor_alltoallv(x, one, at, kInt, y, one, at, kNone, comm), MPI_ERR_TYPE, "not a");
  ERROR(MPI_Neighbor_alltoallw(x, one, bytes, none, y, one, bytes, ints, comm), MPI_ERR_TYPE,
        "not a datatype");
  ERROR(MPI_Ineighbor_alltoallw(x, one, NULL, ints, y, one, bytes, ints, comm, &request),
        MPI_ERR_ARG, "null displacements");
  /* Only bytes must agree. */
  for (int i = 0; i < 4; ++i) x[i] = 4 * rank + i, y[i] = -1;
  CHECK_OK(MPI_Neighbor_alltoall(x, 2, kInt, y, 8, MPI_BYTE, comm));
  const int lower = (rank + size - 1) % size, upper = (rank + 1) % size;
  CHECK(y[0] == 4 * lower + 2 && y[1] == 4 * lower + 3 && y[2] == 4 * upper &&
        y[3] == 4 * upper + 1);
  CHECK_OK(MPI_Comm_free(&comm));
}

/* Where there are no neighbours nothing is looked at but how long a block would be. */
static void without_neighbours(void) {
  MPI_Comm comm;
  CHECK_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_UNWEIGHTED, 0, NULL,
                                          MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
  CHECK_OK(MPI_Neighbor_alltoall(NULL, 1, kInt, NULL, -1, kNone, comm));
  CHECK_OK(MPI_Neighbor_allgatherv(NULL, -1, kNone, NULL, NULL, NULL, kNone, comm));
  CHECK_OK(MPI_Neighbor_alltoallv(NULL, NULL, NULL, kNone, NULL, NULL, NULL, kNone, comm));
  CHECK_OK(MPI_Neighbor_alltoallw(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, comm));
  CHECK_OK(MPI_Comm_free(&comm));
}

/* Rank 0 sends to the last one: who has no neighbours in a direction has no buffer there. */
static void one_direction(void) {
  const int last = size - 1, is_first = rank == 0, is_last = rank == last, zero = 0,
            mine = rank + 5;
  const void* sent = is_first ? &mine : NULL;
  int got = -1;
  void* received = is_last ? &got : NULL;
  MPI_Comm comm;
  CHECK_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, is_last, &zero, MPI_UNWEIGHTED, is_first,
                                          &last, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Neighbor_allgather(sent, 1, kInt, received, 1, kInt, comm));
  CHECK(got == (is_last ? 5 : -1));
  got = -1;
  CHECK_OK(MPI_Neighbor_alltoall(sent, 1, kInt, received, 1, kInt, comm));
  CHECK(got == (is_last ? 5 : -1));
  CHECK_OK(MPI_Comm_free(&comm));
}

/* A grid without dimensions is one rank. */
static void zero_dimensions(void) {
  MPI_Comm comm;
  int ndims = -1, found = -1;
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &comm));
  CHECK((comm == MPI_COMM_NULL) == (rank > 0));
  if (rank > 0) return;
  CHECK_OK(MPI_Cartdim_get(comm, &ndims));
  CHECK_OK(MPI_Cart_rank(comm, NULL, &found));
  CHECK(ndims == 0 && found == 0);
  CHECK_OK(MPI_Neighbor_allgather(NULL, 1, kInt, NULL, 1, kInt, comm));
  CHECK_OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return_errors();
  of_making_grids();
  of_asking_grids();
  of_graphs();
  of_exchanges();
  without_neighbours();
  one_direction();
  zero_dimensions();
  return conclude();
}
