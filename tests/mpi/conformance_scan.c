/* conformance_scan: the scans, as one C program that knows nothing but <mpi.h>; see conformance.c.
 * Any number of processes.
 */
#include <string.h>

#include "conformance_blocks.h"

static void scan(int n, Form form) {
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Request request = MPI_REQUEST_NULL;
  int* out = gaps(n);
  int* in = form == kInPlace ? out : gaps(n);
  int wrong = 0;
  for (int i = 0; i < n; ++i) in[i] = rank + i;
  if (form == kBlocking) CHECK_OK(MPI_Scan(in, out, n, MPI_INT, MPI_SUM, world));
  if (form == kInPlace) CHECK_OK(MPI_Scan(MPI_IN_PLACE, out, n, MPI_INT, MPI_SUM, world));
  if (form == kStarted) CHECK_OK(MPI_Iscan(in, out, n, MPI_INT, MPI_SUM, world, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < n; ++i) wrong += out[i] != (rank + 1) * rank / 2 + (rank + 1) * i;
  CHECK(wrong == 0 && out[n] == kGap);
  if (form != kInPlace) free(in);
  free(out);
}

static void exscan(int n, Form form) {
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Request request = MPI_REQUEST_NULL;
  int* out = gaps(n);
  int* in = form == kInPlace ? out : gaps(n);
  int wrong = 0;
  for (int i = 0; i < n; ++i) in[i] = rank + i;
  if (form == kBlocking) CHECK_OK(MPI_Exscan(in, out, n, MPI_INT, MPI_SUM, world));
  if (form == kInPlace) CHECK_OK(MPI_Exscan(MPI_IN_PLACE, out, n, MPI_INT, MPI_SUM, world));
  if (form == kStarted) CHECK_OK(MPI_Iexscan(in, out, n, MPI_INT, MPI_SUM, world, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < n; ++i) wrong += out[i] != rank * (rank - 1) / 2 + rank * i;
  CHECK((rank == 0 || wrong == 0) && out[n] == kGap);
  if (form != kInPlace) free(in);
  free(out);
}

static void scans_of_numbers(void) {
  for (int c = 0; c < kCountsTried; ++c) {
    for (int form = 0; form < kForms; ++form) {
      scan(kCounts[c], (Form)form);
      exscan(kCounts[c], (Form)form);
    }
  }
}

static void scans_in_order(void) {
  enum { kCount = 3000 };
  static uint64_t mine[kCount], up_to[kCount], before[kCount];
  MPI_Op op;
  MPI_Request requests[2];
  CHECK_OK(MPI_Op_create(compose, 0, &op));
  for (int count = 1; count <= kCount; count *= kCount) {
    for (int i = 0; i < count; ++i) mine[i] = affine(rank, i), up_to[i] = before[i] = 0;
    CHECK_OK(MPI_Scan(mine, up_to, count, MPI_UINT64_T, op, MPI_COMM_WORLD));
    CHECK_OK(MPI_Exscan(mine, before, count, MPI_UINT64_T, op, MPI_COMM_WORLD));
    for (int started = 0; started < 2; ++started) {
      int wrong = 0;
      for (int i = 0; i < count; ++i) wrong += up_to[i] != composed(rank + 1, i);
      for (int i = 0; i < count && rank > 0; ++i) wrong += before[i] != composed(rank, i);
      CHECK(wrong == 0);
      if (started == 1) break;
      for (int i = 0; i < count; ++i) up_to[i] = mine[i], before[i] = 0;
      CHECK_OK(
          MPI_Iscan(MPI_IN_PLACE, up_to, count, MPI_UINT64_T, op, MPI_COMM_WORLD, &requests[0]));
      CHECK_OK(MPI_Iexscan(mine, before, count, MPI_UINT64_T, op, MPI_COMM_WORLD, &requests[1]));
      CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
  }
  /* An operator may be freed while a scan that uses it is pending. */
  CHECK_OK(MPI_Iscan(mine, up_to, kCount, MPI_UINT64_T, op, MPI_COMM_WORLD, &requests[0]));
  CHECK_OK(MPI_Op_free(&op));
  CHECK_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  CHECK(up_to[kCount - 1] == composed(rank + 1, kCount - 1));
}

static void scans_of_pairs(void) {
  struct {
    double value;
    int index;
  } mine = {rank % 2 ? rank : -rank, rank}, best = {0, -1};
  CHECK_OK(MPI_Scan(&mine, &best, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD));
  const int lowest = rank - rank % 2;
  CHECK(best.value == -lowest && best.index == lowest);
}

static void on_a_part_of_the_world(void) {
  MPI_Comm half;
  int sum = 0;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
  CHECK_OK(MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_MIN, half));
  CHECK(sum == rank);
  CHECK_OK(MPI_Comm_free(&half));
}

static void errors(void) {
  int x = 1, y = 2;
  const MPI_Comm world = MPI_COMM_WORLD;
  CHECK_CLASS(MPI_Exscan(&x, &y, 1, MPI_INT, MPI_OP_NULL, world), MPI_ERR_OP);
  CHECK_CLASS(MPI_Scan(&x, &y, 1, MPI_FLOAT, MPI_BXOR, world), MPI_ERR_OP);
  CHECK_CLASS(MPI_Scan(&x, &y, -1, MPI_INT, MPI_SUM, world), MPI_ERR_COUNT);
  CHECK(x == 1 && y == 2);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  scans_of_numbers();
  scans_in_order();
  scans_of_pairs();
  on_a_part_of_the_world();
  if (argc < 2 || strcmp(argv[1], "--no-argument-checks") != 0) {
    return_errors();
    errors();
  }
  return conclude();
}
