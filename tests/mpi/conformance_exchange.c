/* conformance_exchange: allgather, alltoall and their v-forms, as one C program that knows nothing
 * but <mpi.h>; see conformance.c. Any number of processes.
 */
#include <string.h>

#include "conformance_blocks.h"

/* ---- blocks of one size ---- */

static void allgather(int n, Form form) {
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Request request = MPI_REQUEST_NULL;
  int* all = gaps(n * size);
  int* mine = form == kInPlace ? all + rank * n : gaps(n);
  fill(mine, n, rank, form);
  if (form == kBlocking) CHECK_OK(MPI_Allgather(mine, n, MPI_INT, all, n, MPI_INT, world));
  if (form == kInPlace) {
    CHECK_OK(MPI_Allgather(MPI_IN_PLACE, n + 1, MPI_CHAR, all, n, MPI_INT, world));
  }
  if (form == kStarted) {
    CHECK_OK(MPI_Iallgather(mine, n, MPI_INT, all, n, MPI_INT, world, &request));
  }
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int r = 0; r < size; ++r) CHECK(wrong_elements(all + r * n, n, r, form) == 0);
  CHECK(all[n * size] == kGap);
  if (form != kInPlace) free(mine);
  free(all);
}

static void alltoall(int n, Form form) {
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Request request = MPI_REQUEST_NULL;
  int* out = gaps(n * size);
  int* in = form == kInPlace ? out : gaps(n * size);
  for (int r = 0; r < size; ++r) fill(in + r * n, n, rank, r);
  if (form == kBlocking) CHECK_OK(MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, world));
  if (form == kInPlace) {
    CHECK_OK(MPI_Alltoall(MPI_IN_PLACE, n + 1, MPI_CHAR, out, n, MPI_INT, world));
  }
  if (form == kStarted) {
    CHECK_OK(MPI_Ialltoall(in, n, MPI_INT, out, n, MPI_INT, world, &request));
  }
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int r = 0; r < size; ++r) CHECK(wrong_elements(out + r * n, n, r, rank) == 0);
  CHECK(out[n * size] == kGap);
  if (form != kInPlace) free(in);
  free(out);
}

static void blocks_of_one_size(void) {
  for (int c = 0; c < kCountsTried; ++c) {
    for (int form = 0; form < kForms; ++form) {
      allgather(kCounts[c], (Form)form);
      alltoall(kCounts[c], (Form)form);
    }
  }
}

/* Elements of one byte, of a pair, which has padding, and of sixteen bytes. */
static void types_of_blocks(void) {
  typedef struct Pair {
    double value;
    int index;
  } Pair;
  char* text = calloc((size_t)size, 3);
  Pair* pairs_in = calloc((size_t)size, sizeof *pairs_in);
  Pair* pairs_out = calloc((size_t)size, sizeof *pairs_out);
  long double* in = calloc((size_t)size, sizeof *in);
  long double* out = calloc((size_t)size, sizeof *out);
  const char mine[] = {(char)('a' + rank % 26), (char)('b' + rank % 26), '+'};
  CHECK_OK(MPI_Allgather(mine, 3, MPI_CHAR, text, 3, MPI_CHAR, MPI_COMM_WORLD));
  for (int r = 0; r < size; ++r) {
    CHECK(text[3 * r] == 'a' + r % 26 && text[3 * r + 1] == 'b' + r % 26 && text[3 * r + 2] == '+');
    pairs_in[r] = (Pair){rank + 0.5, r};
    in[r] = (long double)rank / (r + 1);
  }
  CHECK_OK(MPI_Alltoall(pairs_in, 1, MPI_DOUBLE_INT, pairs_out, 1, MPI_DOUBLE_INT, MPI_COMM_WORLD));
  CHECK_OK(MPI_Alltoall(in, 1, MPI_LONG_DOUBLE, out, 1, MPI_LONG_DOUBLE, MPI_COMM_WORLD));
  for (int r = 0; r < size; ++r) {
    CHECK(pairs_out[r].value == r + 0.5 && pairs_out[r].index == rank);
    CHECK(out[r] == (long double)r / (rank + 1));
  }
  free(text);
  free(pairs_in);
  free(pairs_out);
  free(in);
  free(out);
}

/* ---- blocks of many sizes ---- */

static void allgatherv(int scale, int gap, Form form) {
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Request request = MPI_REQUEST_NULL;
  Blocks all = blocks_of(some_are_empty, 0, gap, scale);
  const int n = all.counts[rank];
  int* mine = form == kInPlace ? all.memory + all.displs[rank] : gaps(n);
  fill(mine, n, rank, 0);
  if (form == kBlocking) {
    CHECK_OK(MPI_Allgatherv(mine, n, MPI_INT, all.memory, all.counts, all.displs, MPI_INT, world));
  }
  if (form == kInPlace) {
    CHECK_OK(MPI_Allgatherv(MPI_IN_PLACE, n + 1, MPI_CHAR, all.memory, all.counts, all.displs,
                            MPI_INT, world));
  }
  if (form == kStarted) {
    CHECK_OK(MPI_Iallgatherv(mine, n, MPI_INT, all.memory, all.counts, all.displs, MPI_INT, world,
                             &request));
  }
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(all_came(&all, 0));
  if (form != kInPlace) free(mine);
  free_blocks(&all);
}

static void alltoallv(int (*count_of)(int from, int to), int scale, int gap, Form form) {
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Request request = MPI_REQUEST_NULL;
  Blocks in = blocks_of(count_of, 1, gap, scale), out = blocks_of(count_of, 0, 2 * gap, scale);
  Blocks* sent = form == kInPlace ? &out : &in;
  for (int r = 0; r < size; ++r) fill(sent->memory + sent->displs[r], sent->counts[r], rank, r);
  if (form == kBlocking) {
    CHECK_OK(MPI_Alltoallv(in.memory, in.counts, in.displs, MPI_INT, out.memory, out.counts,
                           out.displs, MPI_INT, world));
  }
  if (form == kInPlace) {
    CHECK_OK(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, out.memory, out.counts,
                           out.displs, MPI_INT, world));
  }
  if (form == kStarted) {
    CHECK_OK(MPI_Ialltoallv(in.memory, in.counts, in.displs, MPI_INT, out.memory, out.counts,
                            out.displs, MPI_INT, world, &request));
  }
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(all_came(&out, rank));
  free_blocks(&in);
  free_blocks(&out);
}

static void blocks_of_many_sizes(void) {
  static const int scales[] = {1, 50, 3000};
  for (int s = 0; s < 3; ++s) {
    for (int form = 0; form < kForms; ++form) {
      allgatherv(scales[s], 0, (Form)form);
      /* Counts are the same on all ranks, displacements are each rank's own. */
      allgatherv(scales[s], rank % 3 + 1, (Form)form);
      alltoallv(symmetric, scales[s], 2, (Form)form);
      alltoallv(nothing, scales[s], 1, (Form)form);
      if (form == kInPlace) continue; /* wants equal counts both ways */
      alltoallv(uneven, scales[s], 0, (Form)form);
      alltoallv(uneven, scales[s], rank % 4, (Form)form);
      alltoallv(to_the_next, scales[s], 1, (Form)form);
    }
  }
}

/* One buffer for both directions, whose blocks do not overlap: what is sent, then what comes. */
static void one_buffer(void) {
  Blocks in = blocks_of(uneven, 1, 0, 7), out = blocks_of(uneven, 0, 0, 7);
  int* both = gaps(in.length + out.length);
  for (int r = 0; r < size; ++r) fill(both + in.displs[r], in.counts[r], rank, r);
  for (int r = 0; r < size; ++r) out.displs[r] += in.length;
  CHECK_OK(MPI_Alltoallv(both, in.counts, in.displs, MPI_INT, both, out.counts, out.displs, MPI_INT,
                         MPI_COMM_WORLD));
  for (int r = 0; r < size; ++r) {
    CHECK(wrong_elements(both + in.displs[r], in.counts[r], rank, r) == 0);
    CHECK(wrong_elements(both + out.displs[r], out.counts[r], r, rank) == 0);
  }
  free(both);
  free_blocks(&in);
  free_blocks(&out);
}

/* Blocks may stand before the buffer that is named. */
static void negative_displacements(void) {
  Blocks in = blocks_of(uneven, 1, 1, 1), out = blocks_of(uneven, 0, 2, 1);
  Blocks all = blocks_of(some_are_empty, 0, 1, 1);
  for (int r = 0; r < size; ++r) fill(in.memory + in.displs[r], in.counts[r], rank, r);
  int* mine = gaps(2 * size);
  fill(mine, some_are_empty(rank, 0), rank, 0);
  for (int r = 0; r < size; ++r) {
    in.displs[r] -= in.length;
    out.displs[r] -= out.length / 2;
    all.displs[r] -= all.length;
  }
  CHECK_OK(MPI_Alltoallv(in.memory + in.length, in.counts, in.displs, MPI_INT,
                         out.memory + out.length / 2, out.counts, out.displs, MPI_INT,
                         MPI_COMM_WORLD));
  CHECK_OK(MPI_Allgatherv(mine, some_are_empty(rank, 0), MPI_INT, all.memory + all.length,
                          all.counts, all.displs, MPI_INT, MPI_COMM_WORLD));
  for (int r = 0; r < size; ++r) {
    out.displs[r] += out.length / 2;
    all.displs[r] += all.length;
  }
  CHECK(all_came(&out, rank));
  CHECK(all_came(&all, 0));
  free(mine);
  free_blocks(&in);
  free_blocks(&out);
  free_blocks(&all);
}

/* What goes to one rank may be of another type than what comes from one: here every second rank
 * sends doubles. */
static void types_by_direction(void) {
  const int previous = (rank + size - 1) % size, next = (rank + 1) % size;
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  int* zeros = calloc(4 * (size_t)size, sizeof *zeros);
  int *in_counts = zeros, *out_counts = zeros + size, *displs = zeros + 2 * size;
  in_counts[next] = 2;
  out_counts[previous] = 2;
  const int ints[2] = {rank, 17};
  const double doubles[2] = {rank + 0.25, 17};
  double out[2] = {0, 0};
  CHECK_OK(MPI_Alltoallv(rank % 2 ? (const void*)doubles : ints, in_counts, displs, types[rank % 2],
                         out, out_counts, displs, types[previous % 2], MPI_COMM_WORLD));
  int out_ints[2];
  memcpy(out_ints, out, sizeof out_ints);
  if (previous % 2 == 0) CHECK(out_ints[0] == previous && out_ints[1] == 17);
  if (previous % 2 == 1) CHECK(out[0] == previous + 0.25 && out[1] == 17);
  free(zeros);
}

/* ---- many at once ---- */

/* Each with arrays of its own, on a communicator that is freed before they end. */
static void many_at_once(void) {
  enum { kMany = 8 };
  Blocks in[kMany], out[kMany];
  MPI_Request requests[kMany];
  MPI_Comm copy;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  for (int k = 0; k < kMany; ++k) {
    in[k] = blocks_of(uneven, 1, k, 100 * k + 1);
    out[k] = blocks_of(k % 2 ? some_are_empty : uneven, 0, k, 100 * k + 1);
    for (int r = 0; r < size; ++r) fill(in[k].memory + in[k].displs[r], in[k].counts[r], rank, r);
    if (k % 2) {
      int* own = out[k].memory + out[k].displs[rank];
      fill(own, out[k].counts[rank], rank, 0);
      CHECK_OK(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_INT, out[k].memory, out[k].counts,
                               out[k].displs, MPI_INT, copy, &requests[k]));
    } else {
      CHECK_OK(MPI_Ialltoallv(in[k].memory, in[k].counts, in[k].displs, MPI_INT, out[k].memory,
                              out[k].counts, out[k].displs, MPI_INT, copy, &requests[k]));
    }
  }
  CHECK_OK(MPI_Comm_free(&copy));
  alltoallv(uneven, 10, 1, kBlocking);
  CHECK_OK(MPI_Wait(&requests[kMany - 1], MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Waitall(kMany, requests, MPI_STATUSES_IGNORE));
  for (int k = 0; k < kMany; ++k) {
    CHECK(all_came(&out[k], k % 2 ? 0 : rank));
    free_blocks(&in[k]);
    free_blocks(&out[k]);
  }
}

static void on_parts_of_the_world(void) {
  MPI_Comm half;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
  int n = 0, r = 0, counts[64], displs[64], all[64];
  CHECK_OK(MPI_Comm_size(half, &n));
  CHECK_OK(MPI_Comm_rank(half, &r));
  for (int i = 0; i < n; ++i) counts[i] = 1, displs[i] = n - 1 - i;
  for (int turn = 0; turn < 3; ++turn) {
    const int mine = rank + turn;
    CHECK_OK(MPI_Allgatherv(&mine, 1, MPI_INT, all, counts, displs, MPI_INT, half));
    for (int i = 0; i < n; ++i) CHECK(all[i] == rank % 2 + 2 * i + turn);
  }
  CHECK_OK(MPI_Comm_free(&half));
  displs[0] = 0;
  CHECK_OK(MPI_Allgatherv(&rank, 1, MPI_INT, all, counts, displs, MPI_INT, MPI_COMM_SELF));
  CHECK(all[0] == rank);
}

/* ---- errors ---- */

static void errors_of_blocks(void) {
  int x[128] = {1}, y[128] = {2};
  const MPI_Comm world = MPI_COMM_WORLD;
  CHECK_CLASS(MPI_Allgather(x, -1, MPI_INT, y, 1, MPI_INT, world), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Allgather(x, 1, MPI_INT, y, -1, MPI_INT, world), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Allgather(x, 1, MPI_DATATYPE_NULL, y, 1, MPI_INT, world), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Allgather(x, 1, MPI_INT, y, 1, MPI_DATATYPE_NULL, world), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Alltoall(x, 2, MPI_INT, y, 1, MPI_INT, world), MPI_ERR_TRUNCATE);
  CHECK_CLASS(MPI_Alltoall(x, -1, MPI_INT, y, 1, MPI_INT, world), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, y, -1, MPI_INT, world), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Alltoall(x, 1, MPI_INT, y, 1, MPI_INT, MPI_COMM_NULL), MPI_ERR_COMM);
  CHECK(x[0] == 1 && y[0] == 2);
}

static void errors_of_arrays(void) {
  int x = 1, y = 2;
  Blocks all = blocks_of(nothing, 0, 0, 0);
  int *counts = all.counts, *displs = all.displs;
  const MPI_Comm world = MPI_COMM_WORLD;
  const MPI_Datatype none = MPI_DATATYPE_NULL;
  CHECK_CLASS(MPI_Allgatherv(&x, -1, MPI_INT, &y, counts, displs, MPI_INT, world), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Allgatherv(&x, 0, none, &y, counts, displs, MPI_INT, world), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Allgatherv(&x, 0, MPI_INT, &y, counts, displs, none, world), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Alltoallv(&x, NULL, displs, MPI_INT, &y, counts, displs, MPI_INT, world),
              MPI_ERR_ARG);
  CHECK_CLASS(MPI_Alltoallv(&x, counts, NULL, MPI_INT, &y, counts, displs, MPI_INT, world),
              MPI_ERR_ARG);
  CHECK_CLASS(MPI_Alltoallv(&x, counts, displs, MPI_INT, &y, NULL, displs, MPI_INT, world),
              MPI_ERR_ARG);
  CHECK_CLASS(MPI_Alltoallv(&x, counts, displs, MPI_INT, &y, counts, NULL, MPI_INT, world),
              MPI_ERR_ARG);
  CHECK_CLASS(MPI_Alltoallv(&x, counts, displs, none, &y, counts, displs, MPI_INT, world),
              MPI_ERR_TYPE);
  counts[size - 1] = -1;
  CHECK_CLASS(MPI_Alltoallv(&x, counts, displs, MPI_INT, &y, counts, displs, MPI_INT, world),
              MPI_ERR_COUNT);
  CHECK(x == 1 && y == 2);
  free_blocks(&all);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  blocks_of_one_size();
  types_of_blocks();
  blocks_of_many_sizes();
  one_buffer();
  negative_displacements();
  types_by_direction();
  many_at_once();
  on_parts_of_the_world();
  if (argc < 2 || strcmp(argv[1], "--no-argument-checks") != 0) {
    return_errors();
    errors_of_blocks();
    errors_of_arrays();
  }
  return conclude();
}
