/* Collectives on communicators of all kinds: duplicates, parts, reversed and overlapping ones, and
 * such that are freed and made again. */
#include "job.h"

static void use(MPI_Comm comm, int seed, int started) {
  if (comm == MPI_COMM_NULL) return;
  int rank, size, values[64] = {0}, sum = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int mine = seed * 100 + rank * 7 + g_rank;
  RUN(started, Allgather, allgather, &mine, 1, MPI_INT, values, 1, MPI_INT, comm);
  keep(values, sizeof values);
  RUN(started, Allreduce, allreduce, &mine, &sum, 1, MPI_INT, MPI_SUM, comm);
  keep(&sum, sizeof sum);
  RUN(started, Bcast, bcast, &mine, 1, MPI_INT, seed % size, comm);
  keep(&mine, sizeof mine);
}

static void made_again(int times) {
  for (int i = 0; i < times; ++i) {
    MPI_Comm dup, half;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    if (i % 3 != 0) use(dup, i, i % 2);
    MPI_Comm_split(dup, g_rank % 2, i % 2 == 0 ? g_rank : -g_rank, &half);
    MPI_Comm_free(&dup);
    use(half, i, 0);
    use(half, i, 1);
    MPI_Comm_free(&half);
  }
}

/* Each of two neighbours: a chain over all ranks. */
static void overlapping(void) {
  MPI_Comm pairs[64];
  MPI_Group all, two;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  for (int r = 0; r + 1 < g_size; ++r) {
    const int members[] = {r + 1, r};
    MPI_Group_incl(all, 2, members, &two);
    MPI_Comm_create(MPI_COMM_WORLD, two, &pairs[r]);
    MPI_Group_free(&two);
  }
  for (int i = 0; i < 20; ++i) {
    for (int r = 0; r + 1 < g_size; ++r) use(pairs[r], i, i % 2);
  }
  for (int r = 0; r + 1 < g_size; ++r) {
    if (pairs[r] != MPI_COMM_NULL) MPI_Comm_free(&pairs[r]);
  }
  MPI_Group_free(&all);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  MPI_Comm dup, reversed, part;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -g_rank, &reversed);
  MPI_Comm_split(MPI_COMM_WORLD, g_rank == 0 ? MPI_UNDEFINED : g_rank % 2, 0, &part);
  for (int i = 0; i < 40; ++i) {
    for (int started = 0; started < 2; ++started) {
      use(dup, i, started);
      use(reversed, i, started);
      use(part, i, started);
      use(MPI_COMM_SELF, i, started);
    }
  }
  overlapping();
  made_again(300);
  MPI_Comm_free(&dup);
  MPI_Comm_free(&reversed);
  if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
  finish();
  return 0;
}
