/* Collectives that move elements: MPI_IN_PLACE, no elements, every root, blocks of all lengths in
 * any order. */
#include "job.h"

enum { kMembers = 64 };

struct Case {
  int count, started, in_place, root;
  char *in, *out;
};

static void prepare(const struct Case* c, int in_blocks, int out_blocks) {
  const size_t block = (size_t)c->count * sizeof(int);
  fill(c->in, block * (size_t)in_blocks, g_rank + c->count);
  fill(c->out, block * (size_t)out_blocks, 77);
}

static void without_blocks(const struct Case* c) {
  RUN(0, Barrier, barrier, MPI_COMM_WORLD);
  if (c->started) RUN(1, Barrier, barrier, MPI_COMM_WORLD);
  prepare(c, 1, 1);
  if (g_rank == c->root) memcpy(c->out, c->in, (size_t)c->count * sizeof(int));
  RUN(c->started, Bcast, bcast, c->out, c->count, MPI_INT, c->root, MPI_COMM_WORLD);
  keep(c->out, (size_t)c->count * sizeof(int));
}

static void equal_blocks(const struct Case* c) {
  const size_t block = (size_t)c->count * sizeof(int), all = block * (size_t)g_size;
  const int at_root = g_rank == c->root, n = c->count;
  prepare(c, g_size, g_size);
  if (c->in_place) memcpy(c->out + block * (size_t)g_rank, c->in, block);
  const void* in = c->in_place ? MPI_IN_PLACE : c->in;
  RUN(c->started, Allgather, allgather, in, n, MPI_INT, c->out, n, MPI_INT, MPI_COMM_WORLD);
  keep(c->out, all);

  prepare(c, g_size, g_size);
  if (c->in_place) memcpy(c->out, c->in, all);
  RUN(c->started, Alltoall, alltoall, in, n, MPI_INT, c->out, n, MPI_INT, MPI_COMM_WORLD);
  keep(c->out, all);

  prepare(c, g_size, g_size);
  if (c->in_place) memcpy(c->out + block * (size_t)g_rank, c->in, block);
  in = c->in_place && at_root ? MPI_IN_PLACE : c->in;
  RUN(c->started, Gather, gather, in, n, MPI_INT, at_root ? c->out : NULL, n, MPI_INT, c->root,
      MPI_COMM_WORLD);
  keep(c->out, all);

  prepare(c, g_size, g_size);
  void* out = c->in_place && at_root ? MPI_IN_PLACE : c->out;
  RUN(c->started, Scatter, scatter, at_root ? c->in : NULL, n, MPI_INT, out, n, MPI_INT, c->root,
      MPI_COMM_WORLD);
  keep(c->out, all);
}

/* Of rank r to rank s: symmetrical, so that exchanges in place are right. One is empty. */
static int length(const struct Case* c, int r, int s) {
  return r + s == 1 ? 0 : c->count > r + s ? c->count - r - s : c->count;
}

/* Where the block of each member lies: from the last to the first, `count` elements apart. */
static void lay_out(const struct Case* c, int* displs) {
  for (int r = 0; r < g_size; ++r) displs[r] = (g_size - 1 - r) * c->count;
}

static void unequal_blocks(const struct Case* c) {
  const size_t all = (size_t)c->count * sizeof(int) * (size_t)g_size;
  const int at_root = g_rank == c->root;
  int own[kMembers], displs[kMembers], pairs[kMembers];
  lay_out(c, displs);
  for (int r = 0; r < g_size; ++r) own[r] = length(c, r, c->root);
  for (int r = 0; r < g_size; ++r) pairs[r] = length(c, g_rank, r);
  const size_t mine = (size_t)displs[g_rank] * sizeof(int);
  const size_t bytes = (size_t)own[g_rank] * sizeof(int);

  prepare(c, g_size, g_size);
  if (c->in_place) memcpy(c->out + mine, c->in, bytes);
  const void* in = c->in_place ? MPI_IN_PLACE : c->in;
  RUN(c->started, Allgatherv, allgatherv, in, own[g_rank], MPI_INT, c->out, own, displs, MPI_INT,
      MPI_COMM_WORLD);
  keep(c->out, all);

  prepare(c, g_size, g_size);
  if (c->in_place) memcpy(c->out + mine, c->in, bytes);
  in = c->in_place && at_root ? MPI_IN_PLACE : c->in;
  RUN(c->started, Gatherv, gatherv, in, own[g_rank], MPI_INT, c->out, at_root ? own : NULL,
      at_root ? displs : NULL, MPI_INT, c->root, MPI_COMM_WORLD);
  keep(c->out, all);

  prepare(c, g_size, g_size);
  void* out = c->in_place && at_root ? MPI_IN_PLACE : c->out;
  RUN(c->started, Scatterv, scatterv, c->in, at_root ? own : NULL, at_root ? displs : NULL, MPI_INT,
      out, own[g_rank], MPI_INT, c->root, MPI_COMM_WORLD);
  keep(c->out, all);

  prepare(c, g_size, g_size);
  /* What Open MPI 4.1 by itself starts in place gets blocks wrong. */
#ifdef OPEN_MPI
  const int in_place = c->in_place && !c->started;
#else
  const int in_place = c->in_place;
#endif
  if (in_place) memcpy(c->out, c->in, all);
  in = in_place ? MPI_IN_PLACE : c->in;
  RUN(c->started, Alltoallv, alltoallv, in, pairs, displs, MPI_INT, c->out, pairs, displs, MPI_INT,
      MPI_COMM_WORLD);
  keep(c->out, all);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  const int counts[] = {0, 1, 12, 500, 20000};
  const size_t most = (size_t)counts[4] * sizeof(int) * (size_t)g_size;
  struct Case c = {.in = room(most), .out = room(most)};
  for (int i = 0; i < 5; ++i) {
    c.count = counts[i];
    for (int form = 0; form < (i == 2 ? 12 : 4); ++form) {
      c.started = form % 2;
      c.in_place = form / 2 % 2;
      for (int r = 0; r < (i < 3 ? g_size : 1); ++r) {
        c.root = (r + i) % g_size;
        without_blocks(&c);
        equal_blocks(&c);
        unequal_blocks(&c);
      }
    }
  }
  free(c.in);
  free(c.out);
  finish();
  return 0;
}
