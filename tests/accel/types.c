/* Derived types on one side of a call, elements of a predefined one on the other: with gaps,
 * resized, in another order, before the buffer, at absolute addresses. */
#include "job.h"

enum { kInts = 6, kCount = 3, kSpan = 16 * 1024, kTypes = 7, kAbsolute = 6 };

struct Memory {
  int base[kSpan];
  int out[kSpan];
};
static struct Memory* g_memory;

static int* middle(void) {
  return g_memory->base + kSpan / 2;
}

static MPI_Datatype resized(void) {
  MPI_Datatype row, made;
  MPI_Type_contiguous(kInts, MPI_INT, &row);
  MPI_Type_create_resized(row, 0, 11 * sizeof(int), &made);
  MPI_Type_free(&row);
  return made;
}

static MPI_Datatype structure(void) {
  const int lengths[] = {2, 16};
  const MPI_Aint places[] = {4, 20};
  const MPI_Datatype types[] = {MPI_INT, MPI_BYTE};
  MPI_Datatype made;
  MPI_Type_create_struct(2, lengths, places, types, &made);
  return made;
}

/* Of kInts ints each. */
static MPI_Datatype make(int t) {
  const int lengths[] = {2, 1, 3}, permuted[] = {9, 5, 0};
  const MPI_Aint before[] = {-40, 8, -80};
  MPI_Datatype made;
  MPI_Aint place;
  switch (t) {
    case 0:
      MPI_Type_vector(kInts / 2, 2, 5, MPI_INT, &made);
      break;
    case 1:
      made = structure();
      break;
    case 2:
      made = resized();
      break;
    case 3:
      MPI_Type_indexed(3, lengths, permuted, MPI_INT, &made);
      break;
    case 4:
      MPI_Type_create_hindexed(3, lengths, before, MPI_INT, &made);
      break;
    case 5:
      MPI_Type_contiguous(kInts, MPI_INT, &made);
      break;
    default:
      MPI_Get_address(middle() + 3, &place);
      MPI_Type_create_hindexed_block(1, kInts, &place, MPI_INT, &made);
  }
  MPI_Type_commit(&made);
  return made;
}

/* One side: `count` of a derived type in the middle of `base`, or plain ints in `out`. */
struct Side {
  void* buffer;
  int count;
  MPI_Datatype type;
};

static struct Side derived(int t, MPI_Datatype type, int count) {
  return (struct Side){t == kAbsolute ? MPI_BOTTOM : middle(), count, type};
}

static struct Side plain(int count) {
  return (struct Side){g_memory->out, count * kInts, MPI_INT};
}

static void start(int seed) {
  fill(g_memory, sizeof *g_memory, seed + 5 * g_rank);
}

static void one_block(int t, MPI_Datatype type, int started, int root) {
  const int count = t == kAbsolute ? 1 : kCount, at_root = g_rank == root;
  const struct Side d = derived(t, type, count), p = plain(count);
  for (int flip = 0; flip < 2; ++flip) {
    start(flip);
    const struct Side mine = at_root == flip ? d : p;
    RUN(started, Bcast, bcast, mine.buffer, mine.count, mine.type, root, MPI_COMM_WORLD);
    keep(g_memory, sizeof *g_memory);
  }
  start(2);
  RUN(started, Gather, gather, d.buffer, d.count, d.type, p.buffer, p.count, p.type, root,
      MPI_COMM_WORLD);
  keep(g_memory, sizeof *g_memory);
  start(3);
  RUN(started, Scatter, scatter, p.buffer, p.count, p.type, d.buffer, d.count, d.type, root,
      MPI_COMM_WORLD);
  keep(g_memory, sizeof *g_memory);
  start(4);
  RUN(started, Allgather, allgather, d.buffer, d.count, d.type, p.buffer, p.count, p.type,
      MPI_COMM_WORLD);
  keep(g_memory, sizeof *g_memory);
}

static void blocks_of_all(MPI_Datatype type, int started, int root) {
  const struct Side d = derived(0, type, kCount), p = plain(kCount);
  start(5);
  RUN(started, Gather, gather, p.buffer, p.count, p.type, d.buffer, d.count, d.type, root,
      MPI_COMM_WORLD);
  keep(g_memory, sizeof *g_memory);
  start(6);
  RUN(started, Scatter, scatter, d.buffer, d.count, d.type, p.buffer, p.count, p.type, root,
      MPI_COMM_WORLD);
  keep(g_memory, sizeof *g_memory);
  start(7);
  RUN(started, Allgather, allgather, p.buffer, p.count, p.type, d.buffer, d.count, d.type,
      MPI_COMM_WORLD);
  keep(g_memory, sizeof *g_memory);
  start(8);
  RUN(started, Alltoall, alltoall, p.buffer, p.count, p.type, d.buffer, d.count, d.type,
      MPI_COMM_WORLD);
  keep(g_memory, sizeof *g_memory);
  start(9);
  RUN(started, Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, d.buffer, d.count, d.type,
      MPI_COMM_WORLD);
  keep(g_memory, sizeof *g_memory);
}

static void blocks_of_any_length(MPI_Datatype type, int started, int root) {
  int counts[64], displs[64], ints[64], places[64];
  for (int r = 0; r < g_size; ++r) {
    counts[r] = r % 3;
    displs[r] = 4 * (g_size / 2 - r);
    ints[r] = counts[r] * kInts;
    places[r] = 2 * r * kInts;
  }
  const int mine = ints[g_rank];
  start(10);
  RUN(started, Gatherv, gatherv, g_memory->out, mine, MPI_INT, middle(), counts, displs, type, root,
      MPI_COMM_WORLD);
  keep(g_memory, sizeof *g_memory);
  start(11);
  RUN(started, Scatterv, scatterv, middle(), counts, displs, type, g_memory->out, mine, MPI_INT,
      root, MPI_COMM_WORLD);
  keep(g_memory, sizeof *g_memory);
  start(12);
  RUN(started, Allgatherv, allgatherv, g_memory->out, mine, MPI_INT, middle(), counts, displs, type,
      MPI_COMM_WORLD);
  keep(g_memory, sizeof *g_memory);
  for (int r = 0; r < g_size; ++r) {
    counts[r] = (r + g_rank) % 3;
    ints[r] = counts[r] * kInts;
  }
  start(13);
  RUN(started, Alltoallv, alltoallv, g_memory->out, ints, places, MPI_INT, middle(), counts, displs,
      type, MPI_COMM_WORLD);
  keep(g_memory, sizeof *g_memory);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  g_memory = room(sizeof *g_memory);
  for (int t = 0; t < kTypes; ++t) {
    MPI_Datatype type = make(t);
    for (int started = 0; started < 2; ++started) {
      const int root = (t + started) % g_size;
      one_block(t, type, started, root);
      if (t == kAbsolute) continue;
      blocks_of_all(type, started, root);
      blocks_of_any_length(type, started, root);
    }
    MPI_Type_free(&type);
  }
  free(g_memory);
  finish();
  return 0;
}
