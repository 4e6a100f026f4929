/* Cartesian grids. Ranks are row-major and keep their order. path: setup */
#include <stdlib.h>

#include "mpi/facade.h"

static int wrong(const char* function, Comm* comm, int error_class, const char* problem) {
  return raise_error(function, comm, error_class, problem);
}

/* ---- making ---- */

static int check_grid(const char* function, Comm* comm, int ndims, const int* dims,
                      const int* periods, int* cells) {
  *cells = 1;
  if (ndims < 0) return wrong(function, comm, MPI_ERR_DIMS, "negative number of dimensions");
  if (ndims > 0 && dims == NULL) return wrong(function, comm, MPI_ERR_ARG, "null dims");
  if (ndims > 0 && periods == NULL) return wrong(function, comm, MPI_ERR_ARG, "null periods");
  for (int d = 0; d < ndims; ++d) {
    if (dims[d] < 1) return wrong(function, comm, MPI_ERR_DIMS, "an entry of dims is not positive");
    if (dims[d] > esp_team_size(comm->team) / *cells) {
      return wrong(function, comm, MPI_ERR_DIMS, "the grid is larger than the communicator");
    }
    *cells *= dims[d];
  }
  return MPI_SUCCESS;
}

/* Of the members of a team that has just been made, unless that failed or this rank is not in it.
 */
static int create(const char* function, Comm* parent, esp_status status, esp_team* team, int ndims,
                  const int* dims, const int* periods, MPI_Comm* newcomm) {
  Topology* topology = NULL;
  if (status == ESP_OK && team != NULL) {
    status = topology_grid(team, ndims, dims, periods, &topology);
  }
  return comm_create(function, parent, status, team, topology, "a Cartesian communicator", newcomm);
}

int MPI_Cart_create(MPI_Comm handle, int ndims, const int dims[], const int periods[], int reorder,
                    MPI_Comm* newcomm) {
  (void)reorder;
  Comm* comm;
  int cells = 0;
  int code = comm_check(__func__, handle, newcomm, &comm);
  if (code == MPI_SUCCESS) code = check_grid(__func__, comm, ndims, dims, periods, &cells);
  if (code != MPI_SUCCESS) return code;
  esp_team* team = NULL;
  const int color = esp_team_rank(comm->team) < cells ? 0 : ESP_NO_TEAM;
  const esp_status status = esp_team_split(comm->team, color, 0, &team);
  return create(__func__, comm, status, team, ndims, dims, periods, newcomm);
}

static int check_cart(const char* function, MPI_Comm handle, const void* result, Comm** comm,
                      const Topology** grid) {
  const int code = comm_check(function, handle, result, comm);
  if (code != MPI_SUCCESS) return code;
  *grid = (*comm)->topology;
  if (*grid != NULL && (*grid)->kind == MPI_CART) return MPI_SUCCESS;
  return wrong(function, *comm, MPI_ERR_TOPOLOGY, "the communicator has no Cartesian topology");
}

/* This rank's coordinates in the dimensions that do not remain tell the grids apart. */
int MPI_Cart_sub(MPI_Comm handle, const int remain_dims[], MPI_Comm* newcomm) {
  Comm* comm;
  const Topology* grid;
  const int code = check_cart(__func__, handle, newcomm, &comm, &grid);
  if (code != MPI_SUCCESS) return code;
  const int dims = grid->dims;
  if (dims > 0 && remain_dims == NULL)
    return wrong(__func__, comm, MPI_ERR_ARG, "null remain_dims");
  int* left = malloc((2 * (size_t)dims + 1) * sizeof *left); /* extents, then periods */
  if (left == NULL) return wrong(__func__, comm, MPI_ERR_NO_MEM, "no memory");
  int* left_periods = left + dims;
  int color = 0, count = 0;
  for (int d = 0; d < dims; ++d) {
    if (remain_dims[d]) {
      left[count] = grid->numbers[d];
      left_periods[count++] = grid->numbers[dims + d];
    } else {
      color = color * grid->numbers[d] + grid->numbers[2 * dims + d];
    }
  }
  esp_team* team = NULL;
  const esp_status status = esp_team_split(comm->team, color, 0, &team);
  const int made = create(__func__, comm, status, team, count, left, left_periods, newcomm);
  free(left);
  return made;
}

/* Ranks keep their places. */
int MPI_Cart_map(MPI_Comm handle, int ndims, const int dims[], const int periods[], int* newrank) {
  Comm* comm;
  int cells = 0;
  int code = comm_check(__func__, handle, newrank, &comm);
  if (code == MPI_SUCCESS) code = check_grid(__func__, comm, ndims, dims, periods, &cells);
  if (code != MPI_SUCCESS) return code;
  const int rank = esp_team_rank(comm->team);
  *newrank = rank < cells ? rank : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

/* ---- asking ---- */

int MPI_Cartdim_get(MPI_Comm handle, int* ndims) {
  Comm* comm;
  const Topology* grid;
  const int code = check_cart(__func__, handle, ndims, &comm, &grid);
  if (code == MPI_SUCCESS) *ndims = grid->dims;
  return code;
}

/* Arrays of `maxdims` entries, which may be NULL where nothing is written. */
static int check_room(const char* function, Comm* comm, const Topology* grid, int maxdims,
                      const int* array) {
  if (maxdims < grid->dims) {
    return wrong(function, comm, MPI_ERR_DIMS, "maxdims is less than the dimensions of the grid");
  }
  if (grid->dims > 0 && array == NULL) return wrong(function, comm, MPI_ERR_ARG, "null array");
  return MPI_SUCCESS;
}

int MPI_Cart_get(MPI_Comm handle, int maxdims, int dims[], int periods[], int coords[]) {
  Comm* comm;
  const Topology* grid;
  int* const arrays[] = {dims, periods, coords};
  int code = check_cart(__func__, handle, arrays, &comm, &grid);
  for (int k = 0; k < 3 && code == MPI_SUCCESS; ++k) {
    code = check_room(__func__, comm, grid, maxdims, arrays[k]);
  }
  for (int k = 0; k < 3 && code == MPI_SUCCESS; ++k) {
    for (int d = 0; d < grid->dims; ++d) arrays[k][d] = grid->numbers[k * grid->dims + d];
  }
  return code;
}

/* On the ring of a periodic dimension; -1: outside of another. */
static int wrap(const Topology* grid, int dim, long long coord) {
  const int extent = grid->numbers[dim];
  if (grid->numbers[grid->dims + dim]) return (int)((coord % extent + extent) % extent);
  return coord >= 0 && coord < extent ? (int)coord : -1;
}

int MPI_Cart_rank(MPI_Comm handle, const int coords[], int* rank) {
  Comm* comm;
  const Topology* grid;
  int code = check_cart(__func__, handle, rank, &comm, &grid);
  if (code == MPI_SUCCESS) code = check_room(__func__, comm, grid, grid->dims, coords);
  if (code != MPI_SUCCESS) return code;
  int found = 0;
  for (int d = 0; d < grid->dims; ++d) {
    const int coord = wrap(grid, d, coords[d]);
    if (coord < 0) {
      return raise_values(__func__, comm, MPI_ERR_ARG,
                          "coordinate outside of the grid: %d in dimension %d, which has %d",
                          coords[d], d, grid->numbers[d]);
    }
    found = found * grid->numbers[d] + coord;
  }
  *rank = found;
  return MPI_SUCCESS;
}

int MPI_Cart_coords(MPI_Comm handle, int rank, int maxdims, int coords[]) {
  Comm* comm;
  const Topology* grid;
  int code = check_cart(__func__, handle, "", &comm, &grid);
  if (code == MPI_SUCCESS) code = check_room(__func__, comm, grid, maxdims, coords);
  if (code != MPI_SUCCESS) return code;
  if (rank < 0 || rank >= esp_team_size(comm->team)) {
    return raise_not_a_rank(__func__, comm, MPI_ERR_RANK, "the argument", rank);
  }
  for (int d = grid->dims - 1; d >= 0; --d) {
    coords[d] = rank % grid->numbers[d];
    rank /= grid->numbers[d];
  }
  return MPI_SUCCESS;
}

/* The rank that is so many steps away in a dimension. */
static int at_distance(const Comm* comm, const Topology* grid, int dim, long long distance) {
  const int own = grid->numbers[2 * grid->dims + dim];
  const int coord = wrap(grid, dim, own + distance);
  if (coord < 0) return MPI_PROC_NULL;
  int step = 1;
  for (int d = dim + 1; d < grid->dims; ++d) step *= grid->numbers[d];
  return esp_team_rank(comm->team) + (coord - own) * step;
}

int MPI_Cart_shift(MPI_Comm handle, int direction, int disp, int* rank_source, int* rank_dest) {
  Comm* comm;
  const Topology* grid;
  const int code = check_cart(__func__, handle, rank_source, &comm, &grid);
  if (code != MPI_SUCCESS) return code;
  if (rank_dest == NULL) return wrong(__func__, comm, MPI_ERR_ARG, "null result");
  if (direction < 0 || direction >= grid->dims) {
    return raise_values(__func__, comm, MPI_ERR_DIMS,
                        "direction is not a dimension of the grid: %d, and it has %d", direction,
                        grid->dims);
  }
  *rank_source = at_distance(comm, grid, direction, -(long long)disp);
  *rank_dest = at_distance(comm, grid, direction, disp);
  return MPI_SUCCESS;
}
