/* Input that is in the output's place, which the standard forbids, Open MPI takes, and programs
 * have. */
#include "job.h"

enum { kEach = 1 }; /* Of more Open MPI complains in reductions. */

static int* values(void) {
  int* made = room(sizeof(int) * kEach * (size_t)g_size);
  fill(made, sizeof(int) * kEach * (size_t)g_size, g_rank);
  return made;
}

static void reductions(int started) {
  int* data = values();
  for (int i = 0; i < kEach; ++i) data[i] &= 0xFFFF;
  RUN(started, Allreduce, allreduce, data, data, kEach, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  keep(data, sizeof(int) * kEach);
  for (int i = 0; i < kEach; ++i) data[i] &= 0xFFFF;
  RUN(started, Scan, scan, data, data, kEach, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  keep(data, sizeof(int) * kEach);
  free(data);
}

static void moves(int started) {
  int *data = values(), counts[64], displs[64];
  const size_t all = sizeof(int) * kEach * (size_t)g_size;
  int* own = data + (ptrdiff_t)kEach * g_rank;
  for (int r = 0; r < g_size; ++r) {
    counts[r] = kEach;
    displs[r] = kEach * r;
  }
  RUN(started, Gather, gather, own, kEach, MPI_INT, data, kEach, MPI_INT, 0, MPI_COMM_WORLD);
  keep(data, all);
  RUN(started, Scatter, scatter, data, kEach, MPI_INT, own, kEach, MPI_INT, 0, MPI_COMM_WORLD);
  keep(data, all);
  RUN(started, Allgather, allgather, own, kEach, MPI_INT, data, kEach, MPI_INT, MPI_COMM_WORLD);
  keep(data, all);
  fill(data, all, g_rank);
  RUN(started, Allgatherv, allgatherv, own, kEach, MPI_INT, data, counts, displs, MPI_INT,
      MPI_COMM_WORLD);
  keep(data, all);
  free(data);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int started = 0; started < 2; ++started) {
    for (int i = 0; i < 40; ++i) {
      reductions(started);
      moves(started);
    }
  }
  finish();
  return 0;
}
