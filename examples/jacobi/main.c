/* Heat on a plate by Jacobi's method, for any MPI library.
 *
 * The ranks form a grid, and each has a tile of the plate with a frame of one point around it. In
 * every step a rank gets the frame from its four neighbours: rows lie in one piece, columns are a
 * datatype. Now and then all agree on the largest change, and stop when it is small. In the end
 * rank 0 collects the tiles and compares them with what it computes alone: the bits are equal,
 * because each point is computed from the same four, whoever has them.
 * Build: mpicc main.c -o jacobi; run: mpirun -n 4 ./jacobi (with Espalier also esp-cc and esp-run)
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRows = 48, kColumns = 60, kMaxSteps = 1000, kStepsBetweenLooks = 20 };
static const double kHot = 100, kSmallChange = 0.15;

typedef struct Tile {
  int row, column;    /* of its first point on the plate */
  int rows, columns;  /* without the frame */
  int width;          /* of a row in memory, with the frame */
  double *now, *next; /* with the frame */
} Tile;

/* Who is where. MPI_PROC_NULL where the plate ends: then nothing is sent, and the frame stays. */
typedef struct Grid {
  MPI_Comm comm;
  int dims[2], coords[2];
  int above, below, left, right;
} Grid;

static void* checked(void* memory) {
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  return memory;
}

/* Part `index` of `parts` of nearly equal length begins here, and ends where the next one begins.
 */
static int part_begin(int length, int parts, int index) {
  return (int)((long)length * index / parts);
}

/* Cold, but for what lies above the plate's first row. */
static Tile tile_make(const Grid* grid, const int coords[2]) {
  Tile tile;
  tile.row = part_begin(kRows, grid->dims[0], coords[0]);
  tile.rows = part_begin(kRows, grid->dims[0], coords[0] + 1) - tile.row;
  tile.column = part_begin(kColumns, grid->dims[1], coords[1]);
  tile.columns = part_begin(kColumns, grid->dims[1], coords[1] + 1) - tile.column;
  tile.width = tile.columns + 2;
  const size_t points = (size_t)(tile.rows + 2) * (size_t)tile.width;
  tile.now = checked(calloc(points, sizeof *tile.now));
  tile.next = checked(calloc(points, sizeof *tile.next));
  for (int j = 0; tile.row == 0 && j < tile.width; ++j) tile.now[j] = tile.next[j] = kHot;
  return tile;
}

static void tile_free(Tile* tile) {
  free(tile->now);
  free(tile->next);
}

/* Each point becomes the mean of its neighbours. Returns the largest change. */
static double relax(Tile* tile) {
  const int width = tile->width;
  double largest = 0;
  for (int i = 1; i <= tile->rows; ++i) {
    for (int j = 1; j <= tile->columns; ++j) {
      const double* point = &tile->now[i * width + j];
      const double mean = 0.25 * (point[-width] + point[-1] + point[1] + point[width]);
      const double change = fabs(mean - *point);
      if (change > largest) largest = change;
      tile->next[i * width + j] = mean;
    }
  }
  double* swapped = tile->now;
  tile->now = tile->next;
  tile->next = swapped;
  return largest;
}

/* Sends the outermost points and gets the frame, one direction after the other. */
static void exchange(const Grid* grid, const Tile* tile, MPI_Datatype column) {
  const int width = tile->width, rows = tile->rows, columns = tile->columns;
  double* first = &tile->now[width + 1];
  double* last_row = &tile->now[rows * width + 1];
  double* last_column = &tile->now[width + columns];
  MPI_Sendrecv(first, columns, MPI_DOUBLE, grid->above, 0, last_row + width, columns, MPI_DOUBLE,
               grid->below, 0, grid->comm, MPI_STATUS_IGNORE);
  MPI_Sendrecv(last_row, columns, MPI_DOUBLE, grid->below, 0, first - width, columns, MPI_DOUBLE,
               grid->above, 0, grid->comm, MPI_STATUS_IGNORE);
  MPI_Sendrecv(first, 1, column, grid->left, 0, last_column + 1, 1, column, grid->right, 0,
               grid->comm, MPI_STATUS_IGNORE);
  MPI_Sendrecv(last_column, 1, column, grid->right, 0, first - 1, 1, column, grid->left, 0,
               grid->comm, MPI_STATUS_IGNORE);
}

/* Returns the number of steps. */
static int solve(const Grid* grid, Tile* tile, double* change) {
  MPI_Datatype column;
  MPI_Type_vector(tile->rows, 1, tile->width, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  int step = 0;
  *change = kHot;
  while (step<kMaxSteps&& * change> kSmallChange) {
    exchange(grid, tile, column);
    const double mine = relax(tile);
    if (++step % kStepsBetweenLooks == 0) {
      MPI_Allreduce(&mine, change, 1, MPI_DOUBLE, MPI_MAX, grid->comm);
    }
  }
  MPI_Type_free(&column);
  return step;
}

/* A tile without its frame, as it lies in an array of rows x columns. */
static MPI_Datatype part_of(int rows, int columns, const Tile* tile, int row, int column) {
  const int sizes[] = {rows, columns}, part[] = {tile->rows, tile->columns};
  const int starts[] = {row, column};
  MPI_Datatype type;
  MPI_Type_create_subarray(2, sizes, part, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

/* The whole plate on rank 0; NULL elsewhere. */
static double* collect(const Grid* grid, const Tile* tile) {
  int rank, size;
  MPI_Comm_rank(grid->comm, &rank);
  MPI_Comm_size(grid->comm, &size);
  MPI_Request sent;
  MPI_Datatype inner = part_of(tile->rows + 2, tile->width, tile, 1, 1);
  MPI_Isend(tile->now, 1, inner, 0, 1, grid->comm, &sent);
  double* plate = NULL;
  if (rank == 0) plate = checked(malloc(sizeof *plate * kRows * kColumns));
  for (int from = 0; rank == 0 && from < size; ++from) {
    int coords[2];
    MPI_Cart_coords(grid->comm, from, 2, coords);
    Tile theirs = tile_make(grid, coords);
    MPI_Datatype place = part_of(kRows, kColumns, &theirs, theirs.row, theirs.column);
    MPI_Recv(plate, 1, place, from, 1, grid->comm, MPI_STATUS_IGNORE);
    MPI_Type_free(&place);
    tile_free(&theirs);
  }
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  MPI_Type_free(&inner);
  return plate;
}

/* Is the plate what one rank computes alone in as many steps? */
static int is_right(const double* plate, int steps) {
  const Grid alone = {.dims = {1, 1}};
  Tile whole = tile_make(&alone, alone.coords);
  while (steps-- > 0) relax(&whole);
  int equal = 1;
  for (int i = 0; i < kRows; ++i) {
    const double* row = &whole.now[(i + 1) * whole.width + 1];
    if (memcmp(row, &plate[i * kColumns], sizeof *row * kColumns) != 0) equal = 0;
  }
  tile_free(&whole);
  return equal;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size, rank, right = 1;
  Grid grid = {.dims = {0, 0}};
  const int periods[2] = {0, 0};
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, grid.dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, grid.dims, periods, 1, &grid.comm);
  MPI_Comm_rank(grid.comm, &rank);
  MPI_Cart_coords(grid.comm, rank, 2, grid.coords);
  MPI_Cart_shift(grid.comm, 0, 1, &grid.above, &grid.below);
  MPI_Cart_shift(grid.comm, 1, 1, &grid.left, &grid.right);

  double change;
  Tile tile = tile_make(&grid, grid.coords);
  const int steps = solve(&grid, &tile, &change);
  double* plate = collect(&grid, &tile);
  if (rank == 0) {
    right = is_right(plate, steps);
    printf("jacobi: %d x %d points, %d steps, largest change %.6f, %.6f in the middle, %s\n", kRows,
           kColumns, steps, change, plate[kRows / 2 * kColumns + kColumns / 2],
           right ? "as computed alone" : "NOT as computed alone");
  }
  free(plate);
  tile_free(&tile);
  MPI_Comm_free(&grid.comm);
  MPI_Finalize();
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
