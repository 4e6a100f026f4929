/* conformance_rooted: gather, scatter and their v-forms, as one C program that knows nothing but
 * <mpi.h>; see conformance.c. Any number of processes.
 *
 * What counts at the root alone is nonsense elsewhere.
 */
#include <string.h>

#include "conformance_blocks.h"

static const MPI_Datatype kInt = MPI_INT, kNone = MPI_DATATYPE_NULL;

/* ---- blocks of one size ---- */

static void gather(int n, int root, Form form) {
  const MPI_Comm world = MPI_COMM_WORLD;
  const int is_root = rank == root, in_place = form == kInPlace && is_root;
  MPI_Request request = MPI_REQUEST_NULL;
  int* all = is_root ? gaps(n * size) : NULL;
  int* mine = in_place ? all + rank * n : gaps(n);
  fill(mine, n, rank, form);
  const int count = is_root ? n : -1;
  const MPI_Datatype type = is_root ? kInt : kNone;
  if (in_place) {
    CHECK_OK(MPI_Gather(MPI_IN_PLACE, -1, kNone, all, n, kInt, root, world));
  } else if (form == kStarted) {
    CHECK_OK(MPI_Igather(mine, n, kInt, all, count, type, root, world, &request));
  } else {
    CHECK_OK(MPI_Gather(mine, n, kInt, all, count, type, root, world));
  }
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int r = 0; r < size && is_root; ++r) CHECK(wrong_elements(all + r * n, n, r, form) == 0);
  CHECK(!is_root || all[n * size] == kGap);
  if (!in_place) CHECK(wrong_elements(mine, n, rank, form) == 0);
  if (!in_place) free(mine);
  free(all);
}

static void scatter(int n, int root, Form form) {
  const MPI_Comm world = MPI_COMM_WORLD;
  const int is_root = rank == root, in_place = form == kInPlace && is_root;
  MPI_Request request = MPI_REQUEST_NULL;
  int* all = is_root ? gaps(n * size) : NULL;
  int* mine = in_place ? all + rank * n : gaps(n);
  for (int r = 0; r < size && is_root; ++r) fill(all + r * n, n, form, r);
  const int count = is_root ? n : -1;
  const MPI_Datatype type = is_root ? kInt : kNone;
  if (in_place) {
    CHECK_OK(MPI_Scatter(all, n, kInt, MPI_IN_PLACE, -1, kNone, root, world));
  } else if (form == kStarted) {
    CHECK_OK(MPI_Iscatter(all, count, type, mine, n, kInt, root, world, &request));
  } else {
    CHECK_OK(MPI_Scatter(all, count, type, mine, n, kInt, root, world));
  }
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(wrong_elements(mine, n, form, rank) == 0);
  for (int r = 0; r < size && is_root; ++r) CHECK(wrong_elements(all + r * n, n, form, r) == 0);
  if (!in_place) CHECK(mine[n] == kGap);
  if (!in_place) free(mine);
  free(all);
}

static void blocks_of_one_size(void) {
  for (int c = 0; c < kCountsTried; ++c) {
    for (int form = 0; form < kForms; ++form) {
      for (int root = 0; root < size; ++root) {
        gather(kCounts[c], root, (Form)form);
        scatter(kCounts[c], root, (Form)form);
      }
    }
  }
}

/* ---- blocks of many sizes ---- */

static void gatherv(int (*count_of)(int from, int to), int scale, int gap, int root, Form form) {
  const MPI_Comm world = MPI_COMM_WORLD;
  const int is_root = rank == root, in_place = form == kInPlace && is_root;
  MPI_Request request = MPI_REQUEST_NULL;
  Blocks all = blocks_of(count_of, 0, gap, scale);
  const int n = scale * count_of(rank, root);
  int* mine = in_place ? all.memory + all.displs[rank] : gaps(n);
  fill(mine, n, rank, root);
  void* memory = is_root ? all.memory : NULL;
  int* counts = is_root ? all.counts : NULL;
  int* displs = is_root ? all.displs : NULL;
  const MPI_Datatype type = is_root ? kInt : kNone;
  if (in_place) {
    CHECK_OK(MPI_Gatherv(MPI_IN_PLACE, -1, kNone, memory, counts, displs, kInt, root, world));
  } else if (form == kStarted) {
    CHECK_OK(MPI_Igatherv(mine, n, kInt, memory, counts, displs, type, root, world, &request));
  } else {
    CHECK_OK(MPI_Gatherv(mine, n, kInt, memory, counts, displs, type, root, world));
  }
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(!is_root || all_came(&all, root));
  if (!in_place) free(mine);
  free_blocks(&all);
}

static void scatterv(int (*count_of)(int from, int to), int scale, int gap, int root, Form form) {
  const MPI_Comm world = MPI_COMM_WORLD;
  const int is_root = rank == root, in_place = form == kInPlace && is_root;
  MPI_Request request = MPI_REQUEST_NULL;
  Blocks all = blocks_of(count_of, 1, gap, scale);
  const int n = scale * count_of(root, rank);
  int* mine = in_place ? all.memory + all.displs[rank] : gaps(n);
  for (int r = 0; r < size && is_root; ++r)
    fill(all.memory + all.displs[r], all.counts[r], root, r);
  const void* memory = is_root ? all.memory : NULL;
  int* counts = is_root ? all.counts : NULL;
  int* displs = is_root ? all.displs : NULL;
  const MPI_Datatype type = is_root ? kInt : kNone;
  if (in_place) {
    CHECK_OK(MPI_Scatterv(memory, counts, displs, kInt, MPI_IN_PLACE, -1, kNone, root, world));
  } else if (form == kStarted) {
    CHECK_OK(MPI_Iscatterv(memory, counts, displs, type, mine, n, kInt, root, world, &request));
  } else {
    CHECK_OK(MPI_Scatterv(memory, counts, displs, type, mine, n, kInt, root, world));
  }
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(wrong_elements(mine, n, root, rank) == 0);
  if (!in_place) CHECK(mine[n] == kGap);
  if (!in_place) free(mine);
  free_blocks(&all);
}

static int to_the_last(int from, int to) {
  return from == size - 1 || to == size - 1 ? 2 : 0;
}

static void blocks_of_many_sizes(void) {
  static int (*const counts_of[])(int, int) = {some_are_empty, uneven, nothing, to_the_last};
  static const int scales[] = {1, 50, 3000};
  for (int k = 0; k < 12; ++k) {
    for (int form = 0; form < kForms; ++form) {
      for (int root = 0; root < size; ++root) {
        gatherv(counts_of[k % 4], scales[k / 4], k % 3, root, (Form)form);
        scatterv(counts_of[k % 4], scales[k / 4], k % 3, root, (Form)form);
      }
    }
  }
}

/* Blocks may stand before the buffer that is named, and be read by several. */
static void displacements(void) {
  Blocks all = blocks_of(uneven, 0, 1, 1);
  int* mine = gaps(4);
  fill(mine, uneven(rank, 0), rank, 0);
  for (int r = 0; r < size; ++r) all.displs[r] -= all.length;
  CHECK_OK(MPI_Gatherv(mine, uneven(rank, 0), kInt, all.memory + all.length, all.counts, all.displs,
                       kInt, 0, MPI_COMM_WORLD));
  for (int r = 0; r < size; ++r) all.displs[r] += all.length;
  CHECK(rank != 0 || all_came(&all, 0));
  for (int r = 0; r < size; ++r) all.counts[r] = 2, all.displs[r] = -1;
  const int source[] = {rank + 4, rank + 5};
  CHECK_OK(MPI_Scatterv(source + 1, all.counts, all.displs, kInt, mine, 2, kInt, size - 1,
                        MPI_COMM_WORLD));
  CHECK(mine[0] == size + 3 && mine[1] == size + 4);
  free(mine);
  free_blocks(&all);
}

/* Elements of one byte, of a pair, which has padding, and of sixteen bytes. */
static void types_of_blocks(void) {
  typedef struct Pair {
    double value;
    int index;
  } Pair;
  char* text = calloc((size_t)size, 3);
  Pair* pairs = calloc((size_t)size, sizeof *pairs);
  long double *all = calloc((size_t)size, sizeof *all), mine = -1;
  const char own[] = {(char)('a' + rank % 26), '+', '-'};
  const Pair pair = {rank + 0.5, -rank};
  const int last = size - 1;
  for (int r = 0; r < size; ++r) all[r] = (long double)1 / (r + 3);
  CHECK_OK(MPI_Gather(own, 3, MPI_CHAR, text, 3, MPI_CHAR, last, MPI_COMM_WORLD));
  CHECK_OK(MPI_Gather(&pair, 1, MPI_DOUBLE_INT, pairs, 1, MPI_DOUBLE_INT, last, MPI_COMM_WORLD));
  CHECK_OK(MPI_Scatter(all, 1, MPI_LONG_DOUBLE, &mine, 1, MPI_LONG_DOUBLE, 0, MPI_COMM_WORLD));
  CHECK(mine == (long double)1 / (rank + 3));
  for (int r = 0; r < size && rank == last; ++r) {
    CHECK(text[3 * r] == 'a' + r % 26 && text[3 * r + 2] == '-');
    CHECK(pairs[r].value == r + 0.5 && pairs[r].index == -r);
  }
  free(text);
  free(pairs);
  free(all);
}

/* Of all roots at once, on a communicator that is freed before they end. */
static void many_at_once(void) {
  MPI_Comm copy;
  MPI_Request* requests = malloc(2 * (size_t)size * sizeof *requests);
  Blocks* out = malloc((size_t)size * sizeof *out);
  Blocks in = blocks_of(uneven, 1, 0, 40), from_roots = blocks_of(uneven, 0, 0, 40);
  Blocks to_all = blocks_of(uneven, 1, 0, 40);
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  for (int r = 0; r < size; ++r) {
    fill(in.memory + in.displs[r], in.counts[r], rank, r);
    fill(to_all.memory + to_all.displs[r], to_all.counts[r], rank, r);
  }
  for (int r = 0; r < size; ++r) {
    out[r] = blocks_of(uneven, 0, r, 40);
    CHECK_OK(MPI_Igatherv(in.memory + in.displs[r], in.counts[r], kInt, out[r].memory,
                          out[r].counts, out[r].displs, kInt, r, copy, &requests[2 * r]));
    CHECK_OK(MPI_Iscatterv(to_all.memory, to_all.counts, to_all.displs, kInt,
                           from_roots.memory + from_roots.displs[r], from_roots.counts[r], kInt, r,
                           copy, &requests[2 * r + 1]));
  }
  CHECK_OK(MPI_Comm_free(&copy));
  CHECK_OK(MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE));
  CHECK(all_came(&out[rank], rank));
  CHECK(all_came(&from_roots, rank));
  for (int r = 0; r < size; ++r) free_blocks(&out[r]);
  free_blocks(&in);
  free_blocks(&from_roots);
  free_blocks(&to_all);
  free(out);
  free(requests);
}

static void errors(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  int x[128] = {1}, y[128] = {2}, counts[128] = {0}, displs[128] = {0};
  CHECK_CLASS(MPI_Gather(x, 1, kInt, y, 1, kInt, size, world), MPI_ERR_ROOT);
  CHECK_CLASS(MPI_Gather(x, 1, kInt, y, 1, kInt, 0, MPI_COMM_NULL), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Scatter(x, 1, kInt, y, 1, kInt, -1, world), MPI_ERR_ROOT);
  CHECK_CLASS(MPI_Scatterv(x, counts, displs, kInt, y, 0, kInt, size, world), MPI_ERR_ROOT);
  CHECK_CLASS(MPI_Gatherv(x, 0, kInt, y, counts, displs, kInt, -1, world), MPI_ERR_ROOT);
  /* Wrong on every rank, so that none begins. */
  CHECK_CLASS(MPI_Gather(x, -1, kInt, y, -1, kInt, 0, world), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Scatter(x, -1, kInt, y, -1, kInt, 0, world), MPI_ERR_COUNT);
  CHECK(x[0] == 1 && y[0] == 2);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  blocks_of_one_size();
  blocks_of_many_sizes();
  displacements();
  types_of_blocks();
  many_at_once();
  if (argc < 2 || strcmp(argv[1], "--no-argument-checks") != 0) {
    return_errors();
    errors();
  }
  return conclude();
}
