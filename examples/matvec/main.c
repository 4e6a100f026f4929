/* y = Ax on a square grid of ranks, by operations that open each other's inputs.
 *
 * Rank (i, j) has a tile of A and the part x_j of the vector, and needs y_j as the x_j of the next
 * step. It computes its share of y_i; the row combines the shares (a reduce-scatter), its member on
 * the diagonal collects the pieces (a gather), and sends them down its column (a broadcast):
 *
 *   shares --reduce-scatter--> a piece each --gather--> y_i at (i, i) --broadcast--> column i
 *
 * No step waits for all of the one before: a piece that is combined travels, and a piece that has
 * come to the diagonal goes down the column while others are on their way (R. Kowalewski, Partial
 * Aggregation, Algorithm 7). At the end each rank compares with a computation of all of it.
 * Run: esp-run -n 4 matvec [ELEMENTS OF A PART]. The number of ranks is a square.
 */
#include <espalier/espalier.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kSteps = 3, kBlocks = 16 };

typedef struct Grid {
  int side, row, column; /* of this rank */
  esp_team *in_row, *in_column;
  size_t part; /* elements of x_j: a multiple of the side */
} Grid;

static esp_job* job;

static void check(esp_status status, const char* what) {
  if (status == ESP_OK) return;
  fprintf(stderr, "matvec: %s: %s\n", what, esp_job_error(job));
  esp_abort(job, 1, "matvec failed");
}

/* A small whole number, so that sums are exact: rows and columns of A repeat. */
static int64_t element(int64_t row, int64_t column) {
  return (row % 5) - (column % 3);
}

/* The share of this rank in y_i. */
static void multiply(const Grid* grid, const int64_t* x, int64_t* share) {
  const int64_t n = (int64_t)grid->part;
  for (int64_t r = 0; r < n; ++r) {
    share[r] = 0;
    for (int64_t c = 0; c < n; ++c) {
      share[r] += element(grid->row * n + r, grid->column * n + c) * x[c];
    }
  }
}

static int64_t start_value(int64_t at) {
  return at % 4;
}

/* All of it, by one rank: the vector after so many steps. */
static int is_right(const Grid* grid, const int64_t* x) {
  const int64_t n = (int64_t)grid->part * grid->side;
  int64_t* now = malloc(sizeof *now * (size_t)n);
  int64_t* next = malloc(sizeof *next * (size_t)n);
  int right = now != NULL && next != NULL;
  for (int64_t i = 0; right && i < n; ++i) now[i] = start_value(i);
  for (int step = 0; right && step < kSteps; ++step) {
    /* Of a row only row % 5 counts, of a column column % 3. */
    int64_t by_column[3] = {0, 0, 0}, by_row[5];
    for (int64_t c = 0; c < n; ++c) by_column[c % 3] += now[c];
    for (int64_t r = 0; r < 5; ++r) {
      by_row[r] = 0;
      for (int64_t c = 0; c < 3; ++c) by_row[r] += element(r, c) * by_column[c];
    }
    for (int64_t r = 0; r < n; ++r) next[r] = by_row[r % 5];
    int64_t* old = now;
    now = next;
    next = old;
  }
  for (int64_t i = 0; right && i < (int64_t)grid->part; ++i) {
    right = x[i] == now[grid->column * (int64_t)grid->part + i];
  }
  free(now);
  free(next);
  return right;
}

/* The requests of all steps, each after the one before. */
typedef struct Chain {
  esp_request *scattered, *gathered, *sent;
} Chain;

static void make_chain(const Grid* grid, const int64_t* share, int64_t* piece, int64_t* y,
                       int64_t* x, Chain* chain) {
  const size_t pieces = grid->part / (size_t)grid->side;
  esp_partial first = ESP_PARTIAL_INIT, next = ESP_PARTIAL_INIT, last = ESP_PARTIAL_INIT;
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  first.flags = ESP_PARTIAL_DELIVER;
  first.blocks = kBlocks;
  options.partial = &first;
  check(esp_reduce_scatter_block_init(grid->in_row, share, piece, pieces, ESP_INT64, ESP_SUM,
                                      &options, NULL, &chain->scattered),
        "reduce-scatter");
  next.flags = ESP_PARTIAL_DELIVER | ESP_PARTIAL_SEGMENTS | ESP_PARTIAL_AWAIT;
  next.partitions = kBlocks;
  next.after = chain->scattered;
  options.partial = &next;
  check(esp_gather_init(grid->in_row, piece, y, pieces, ESP_INT64, grid->row, &options, NULL,
                        &chain->gathered),
        "gather");
  /* On the diagonal row and column are one number, and y is what goes down. */
  last.flags = ESP_PARTIAL_AWAIT;
  last.partitions = kBlocks * grid->side;
  last.after = chain->gathered;
  options.partial = grid->row == grid->column ? &last : NULL;
  int64_t* buffer = grid->row == grid->column ? y : x;
  check(esp_bcast_init(grid->in_column, buffer, grid->part, ESP_INT64, grid->column, &options, NULL,
                       &chain->sent),
        "broadcast");
}

static void run_step(const Chain* chain) {
  esp_request* all[] = {chain->scattered, chain->gathered, chain->sent};
  check(esp_request_start_all(all, 3), "start");
  check(esp_request_wait_all(all, 3), "step");
}

int main(int argc, char** argv) {
  check(esp_job_init(NULL, &job), "init");
  esp_team* world = esp_job_world(job);
  const int me = esp_team_rank(world), size = esp_team_size(world);
  Grid grid = {.side = 1};
  while (grid.side * grid.side < size) ++grid.side;
  const long wanted = argc > 1 ? strtol(argv[1], NULL, 10) : 240;
  if (grid.side * grid.side != size || wanted < 1 || wanted > 1 << 15 || argc > 2) {
    if (me == 0) {
      fprintf(stderr, "usage: esp-run -n N matvec [1 to %d], where N is a square (it is %d)\n",
              1 << 15, size);
    }
    (void)esp_job_finalize(job);
    return 2;
  }
  grid.row = me / grid.side;
  grid.column = me % grid.side;
  grid.part = ((size_t)wanted + (size_t)grid.side - 1) / (size_t)grid.side * (size_t)grid.side;
  check(esp_team_split(world, grid.row, grid.column, &grid.in_row), "row");
  check(esp_team_split(world, grid.column, grid.row, &grid.in_column), "column");

  int64_t* share = malloc(sizeof *share * grid.part);
  int64_t* piece = malloc(sizeof *piece * grid.part);
  int64_t* y = malloc(sizeof *y * grid.part);
  int64_t* x = malloc(sizeof *x * grid.part);
  if (share == NULL || piece == NULL || y == NULL || x == NULL) esp_abort(job, 1, "no memory");
  for (size_t i = 0; i < grid.part; ++i) {
    x[i] = start_value((int64_t)grid.column * (int64_t)grid.part + (int64_t)i);
  }
  Chain chain;
  make_chain(&grid, share, piece, y, x, &chain);
  for (int step = 0; step < kSteps; ++step) {
    multiply(&grid, x, share);
    run_step(&chain);
    for (size_t i = 0; grid.row == grid.column && i < grid.part; ++i) x[i] = y[i];
  }
  const int right = is_right(&grid, x);
  if (!right) fprintf(stderr, "matvec: rank %d has a wrong result\n", me);
  if (me == 0 && right)
    printf("matvec: %d steps on %d x %d ranks are right\n", kSteps, grid.side, grid.side);
  check(esp_request_free(&chain.sent), "free");
  check(esp_request_free(&chain.gathered), "free");
  check(esp_request_free(&chain.scattered), "free");
  free(share);
  free(piece);
  free(y);
  free(x);
  check(esp_job_finalize(job), "finalize");
  return right ? 0 : 1;
}
