/* types_collectives: every collective with derived datatypes, as one C program that knows nothing
 * but <mpi.h>; see conformance.c. Any number of processes.
 *
 * Each rank lays its elements out in one of several ways, which need not be those of the others: in
 * one piece, with gaps, interleaved, backwards, as a struct with padding, or from MPI_BOTTOM.
 */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

enum { kInts = 6, kGap = -77, kSlots = 64 };

/* A layout of kInts ints in an element of 16: where each is. */
typedef enum Way { kDense, kStrided, kListed, kBackwards, kShifted, kTwice, kWays } Way;
static const char* const kNames[] = {"dense", "strided", "listed", "backwards", "shifted", "twice"};

static MPI_Datatype types[kWays];

static int place_in(Way way, int i) {
  static const int listed[] = {0, 1, 4, 7, 8, 11};
  switch (way) {
    case kDense:
      return i;
    case kStrided:
      return 2 * i + 1;
    case kListed:
      return listed[i];
    case kBackwards:
      return 11 - 2 * i;
    case kShifted:
      return i / 3 * 4 + i % 3 - 4;
    default:
      return i / 2 * 4 + i % 2;
  }
}

static int extent_of(Way way) {
  return way == kDense ? kInts : 16;
}

/* An element each, made in another way each. */
static void make_types(void) {
  MPI_Datatype made, inner;
  int displs[kInts], ones[kInts];
  for (int i = 0; i < kInts; ++i) {
    displs[i] = place_in(kListed, i);
    ones[i] = 1;
  }
  const MPI_Aint extent = 16 * sizeof(int);
  MPI_Type_contiguous(kInts, MPI_INT, &types[kDense]);
  MPI_Type_vector(kInts, 1, 2, MPI_INT, &inner);
  MPI_Type_create_hindexed(1, ones, (MPI_Aint[]){sizeof(int)}, inner, &made);
  MPI_Type_create_resized(made, 0, extent, &types[kStrided]);
  MPI_Type_free(&made);
  MPI_Type_free(&inner);
  MPI_Type_indexed(kInts, ones, displs, MPI_INT, &made);
  MPI_Type_create_resized(made, 0, extent, &types[kListed]);
  MPI_Type_free(&made);
  for (int i = 0; i < kInts; ++i) displs[i] = place_in(kBackwards, i);
  MPI_Type_create_indexed_block(kInts, 1, displs, MPI_INT, &made);
  MPI_Type_create_resized(made, 0, extent, &types[kBackwards]);
  MPI_Type_free(&made);
  MPI_Type_vector(2, 3, 4, MPI_INT, &inner);
  MPI_Type_create_struct(1, ones, (MPI_Aint[]){-4 * (int)sizeof(int)}, &inner, &made);
  MPI_Type_create_resized(made, -16, extent, &types[kShifted]);
  MPI_Type_free(&made);
  MPI_Type_free(&inner);
  MPI_Type_contiguous(2, MPI_INT, &inner);
  MPI_Type_create_hvector(3, 1, 4 * sizeof(int), inner, &made);
  MPI_Type_create_resized(made, 0, extent, &types[kTwice]);
  MPI_Type_free(&made);
  MPI_Type_free(&inner);
  for (int w = 0; w < kWays; ++w) CHECK_OK(MPI_Type_commit(&types[w]));
}

/* Memory of so many elements, with room before them; what no element has is kGap. */
static int* room_for(int elements) {
  int* all = malloc((size_t)(elements * 16 + 2 * kSlots) * sizeof *all);
  for (int i = 0; i < elements * 16 + 2 * kSlots; ++i) all[i] = kGap;
  return all + kSlots;
}

static void release(int* room) {
  free(room - kSlots);
}

static int value(int of, int element, int i) {
  return 1000 * of + 10 * element + i;
}

static void fill(int* at, Way way, int elements, int of, int first) {
  for (int e = 0; e < elements; ++e) {
    for (int i = 0; i < kInts; ++i) {
      at[e * extent_of(way) + place_in(way, i)] = value(of, first + e, i);
    }
  }
}

/* How many of the elements are wrong. */
static int wrong_in(const int* at, Way way, int elements, int of, int first) {
  int wrong = 0;
  for (int e = 0; e < elements; ++e) {
    for (int i = 0; i < kInts; ++i) {
      wrong += at[e * extent_of(way) + place_in(way, i)] != value(of, first + e, i);
    }
  }
  return wrong;
}

/* Nothing but the places of elements has been written. */
static int gaps_written(const int* at, Way way, int elements) {
  char* taken = calloc((size_t)(elements * 16 + 2 * kSlots), 1);
  for (int e = 0; e < elements; ++e) {
    for (int i = 0; i < kInts; ++i) taken[kSlots + e * extent_of(way) + place_in(way, i)] = 1;
  }
  int written = 0;
  for (int i = 0; i < elements * 16 + 2 * kSlots; ++i) {
    written += !taken[i] && at[i - kSlots] != kGap;
  }
  free(taken);
  return written;
}

#define CHECK_WAY(condition) check_at(__LINE__, (condition), kNames[way])

static MPI_Request request;
static void finish(int is_started) {
  if (is_started) CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* ---- what is moved ---- */

static void bcast(Way way, int n, int started) {
  for (int root = 0; root < size; root += 3) {
    int* at = room_for(n);
    if (rank == root) fill(at, way, n, root, 0);
    if (started) {
      CHECK_OK(MPI_Ibcast(at, n, types[way], root, MPI_COMM_WORLD, &request));
    } else {
      CHECK_OK(MPI_Bcast(at, n, types[way], root, MPI_COMM_WORLD));
    }
    finish(started);
    CHECK_WAY(wrong_in(at, way, n, root, 0) == 0 && gaps_written(at, way, n) == 0);
    release(at);
  }
}

static void allgather(Way way, Way other, int n, int started, int in_place) {
  int *mine = room_for(n), *all = room_for(n * size);
  int* counts = malloc(2 * (size_t)size * sizeof *counts);
  fill(in_place ? all + rank * n * extent_of(way) : mine, in_place ? way : other, n, rank, 0);
  const void* send = in_place ? MPI_IN_PLACE : mine;
  if (started) {
    CHECK_OK(MPI_Iallgather(send, n, types[other], all, n, types[way], MPI_COMM_WORLD, &request));
  } else {
    CHECK_OK(MPI_Allgather(send, n, types[other], all, n, types[way], MPI_COMM_WORLD));
  }
  finish(started);
  for (int r = 0; r < size; ++r) {
    CHECK_WAY(wrong_in(all + r * n * extent_of(way), way, n, r, 0) == 0);
  }
  CHECK_WAY(gaps_written(all, way, n * size) == 0);
  release(all);
  /* The same, backwards, from the last place on. */
  all = room_for(n * size);
  for (int r = 0; r < size; ++r) {
    counts[r] = n;
    counts[size + r] = (size - 1 - r) * n;
  }
  if (in_place) fill(all + counts[size + rank] * extent_of(way), way, n, rank, 0);
  CHECK_OK(MPI_Allgatherv(send, n, types[other], all, counts, counts + size, types[way],
                          MPI_COMM_WORLD));
  for (int r = 0; r < size; ++r) {
    CHECK_WAY(wrong_in(all + counts[size + r] * extent_of(way), way, n, r, 0) == 0);
  }
  CHECK_WAY(gaps_written(all, way, n * size) == 0);
  free(counts);
  release(mine);
  release(all);
}

static void alltoall(Way way, Way other, int n, int started, int in_place) {
  int *from = room_for(n * size), *to = room_for(n * size);
  for (int r = 0; r < size; ++r) {
    fill((in_place ? to : from) + r * n * extent_of(in_place ? way : other), in_place ? way : other,
         n, rank, r * n);
  }
  const void* send = in_place ? MPI_IN_PLACE : from;
  if (started) {
    CHECK_OK(MPI_Ialltoall(send, n, types[other], to, n, types[way], MPI_COMM_WORLD, &request));
  } else {
    CHECK_OK(MPI_Alltoall(send, n, types[other], to, n, types[way], MPI_COMM_WORLD));
  }
  finish(started);
  for (int r = 0; r < size; ++r) {
    CHECK_WAY(wrong_in(to + r * n * extent_of(way), way, n, r, rank * n) == 0);
  }
  CHECK_WAY(gaps_written(to, way, n * size) == 0);
  release(from);
  release(to);
}

/* How many go each way. */
static int elements_between(int one, int other) {
  return (one + other) % 3;
}

static void alltoallv(Way way, Way other, int with_types) {
  const size_t members = (size_t)size;
  int *from = room_for(2 * size), *to = room_for(2 * size);
  int* counts = malloc(4 * members * sizeof *counts);
  int *displs = counts + members, *bytes = displs + members, *other_bytes = bytes + members;
  MPI_Datatype* of = malloc(2 * members * sizeof(MPI_Datatype));
  for (int r = 0; r < size; ++r) {
    counts[r] = elements_between(rank, r);
    displs[r] = 2 * (size - 1 - r);
    bytes[r] = displs[r] * extent_of(way) * (int)sizeof(int);
    other_bytes[r] = displs[r] * extent_of(other) * (int)sizeof(int);
    of[r] = types[way];
    of[size + r] = types[other];
    fill(from + displs[r] * extent_of(other), other, counts[r], rank, 2 * r);
  }
  if (with_types) {
    CHECK_OK(
        MPI_Alltoallw(from, counts, other_bytes, of + size, to, counts, bytes, of, MPI_COMM_WORLD));
  } else {
    CHECK_OK(MPI_Alltoallv(from, counts, displs, types[other], to, counts, displs, types[way],
                           MPI_COMM_WORLD));
  }
  int gaps = gaps_written(to, way, 2 * size);
  for (int r = 0; r < size; ++r) {
    CHECK_WAY(wrong_in(to + displs[r] * extent_of(way), way, counts[r], r, 2 * rank) == 0);
  }
  CHECK_WAY(gaps == 0);
  free((void*)of);
  free(counts);
  release(from);
  release(to);
}

static void gather(Way way, Way other, int n, int root, int in_place) {
  int *mine = room_for(n), *all = room_for(n * size);
  int* counts = malloc(2 * (size_t)size * sizeof *counts);
  const int is_root = rank == root;
  in_place = in_place && is_root;
  fill(in_place ? all + rank * n * extent_of(way) : mine, in_place ? way : other, n, rank, 0);
  CHECK_OK(MPI_Gather(in_place ? MPI_IN_PLACE : mine, n, types[other], all, n, types[way], root,
                      MPI_COMM_WORLD));
  for (int r = 0; r < size && is_root; ++r) {
    CHECK_WAY(wrong_in(all + r * n * extent_of(way), way, n, r, 0) == 0);
  }
  CHECK_WAY(gaps_written(all, way, is_root ? n * size : 0) == 0);
  /* What was gathered is scattered again, from places in the other order. */
  int* back = room_for(n);
  if (is_root) {
    for (int r = 0; r < size; ++r) {
      counts[r] = n;
      counts[size + r] = (size - 1 - r) * n;
    }
  }
  CHECK_OK(MPI_Scatterv(all, counts, counts + size, types[way], back, n, types[other], root,
                        MPI_COMM_WORLD));
  CHECK_WAY(wrong_in(back, other, n, size - 1 - rank, 0) == 0);
  CHECK_WAY(gaps_written(back, other, n) == 0);
  CHECK_OK(MPI_Scatter(all, n, types[way], back, n, types[other], root, MPI_COMM_WORLD));
  CHECK_WAY(wrong_in(back, other, n, rank, 0) == 0);
  release(all);
  all = room_for(n * size);
  if (in_place) fill(all + counts[size + rank] * extent_of(way), way, n, rank, 0);
  CHECK_OK(MPI_Gatherv(in_place ? MPI_IN_PLACE : back, n, types[other], all, counts, counts + size,
                       types[way], root, MPI_COMM_WORLD));
  for (int r = 0; r < size && is_root; ++r) {
    CHECK_WAY(wrong_in(all + counts[size + r] * extent_of(way), way, n, r, 0) == 0);
  }
  free(counts);
  release(back);
  release(mine);
  release(all);
}

/* ---- with neighbours, of whom there are none beyond the ends of a line ---- */

static void neighbors(Way way, Way other, int n) {
  MPI_Comm line;
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){0}, 0, &line));
  int *from = room_for(2 * n), *to = room_for(2 * n);
  const int ends[] = {rank - 1, rank + 1};
  for (int k = 0; k < 2; ++k) fill(from + k * n * extent_of(other), other, n, rank, k * n);
  CHECK_OK(MPI_Neighbor_alltoall(from, n, types[other], to, n, types[way], line));
  int present = 0;
  for (int k = 0; k < 2; ++k) {
    if (ends[k] < 0 || ends[k] >= size) continue;
    ++present;
    CHECK_WAY(wrong_in(to + k * n * extent_of(way), way, n, ends[k], (1 - k) * n) == 0);
  }
  CHECK_WAY(present == 2 || wrong_in(to, way, 2 * n, 0, 0) > 0);
  CHECK_WAY(gaps_written(to, way, 2 * n) == 0);
  for (int k = 0; k < 2; ++k) {
    for (int i = 0; i < kInts && (ends[k] < 0 || ends[k] >= size); ++i) {
      CHECK_WAY(to[k * n * extent_of(way) + place_in(way, i)] == kGap);
    }
  }
  release(to);
  to = room_for(2 * n);
  CHECK_OK(MPI_Neighbor_allgather(from, n, types[other], to, n, types[way], line));
  for (int k = 0; k < 2; ++k) {
    if (ends[k] < 0 || ends[k] >= size) continue;
    CHECK_WAY(wrong_in(to + k * n * extent_of(way), way, n, ends[k], 0) == 0);
  }
  const MPI_Datatype out[] = {types[other], types[other]}, in[] = {types[way], types[way]};
  const MPI_Aint out_at[] = {0, n * extent_of(other) * (int)sizeof(int)};
  const MPI_Aint in_at[] = {n * extent_of(way) * (int)sizeof(int), 0};
  release(to);
  to = room_for(2 * n);
  const int counts[] = {n, n};
  CHECK_OK(MPI_Neighbor_alltoallw(from, counts, out_at, out, to, counts, in_at, in, line));
  for (int k = 0; k < 2; ++k) {
    if (ends[k] < 0 || ends[k] >= size) continue;
    CHECK_WAY(wrong_in(to + (1 - k) * n * extent_of(way), way, n, ends[k], (1 - k) * n) == 0);
  }
  release(from);
  release(to);
  CHECK_OK(MPI_Comm_free(&line));
}

/* ---- special types ---- */

static void special(void) {
  typedef struct Padded {
    double number;
    char letter;
  } Padded;
  const int ones[] = {1, 1};
  const MPI_Datatype members[] = {MPI_DOUBLE, MPI_CHAR};
  MPI_Datatype padded, nothing, absolute;
  CHECK_OK(MPI_Type_create_struct(2, ones, (MPI_Aint[]){0, 8}, members, &padded));
  CHECK_OK(MPI_Type_commit(&padded));
  Padded some[5];
  memset(some, 0x5a, sizeof some);
  for (int i = 0; i < 5 && rank == 0; ++i) some[i] = (Padded){i + 0.5, (char)('a' + i)};
  char before = ((char*)&some[4])[15];
  CHECK_OK(MPI_Bcast(some, 5, padded, 0, MPI_COMM_WORLD));
  for (int i = 0; i < 5; ++i) CHECK(some[i].number == i + 0.5 && some[i].letter == 'a' + i);
  CHECK(((char*)&some[4])[15] == before);
  /* Elements of nothing move nothing. */
  CHECK_OK(MPI_Type_contiguous(0, MPI_INT, &nothing));
  CHECK_OK(MPI_Type_commit(&nothing));
  int kept = 4711;
  CHECK_OK(MPI_Bcast(&kept, 3, nothing, 0, MPI_COMM_WORLD));
  CHECK(kept == 4711);
  /* Absolute addresses, on some ranks. */
  int values[4] = {0, 0, 0, 0};
  MPI_Aint at[2];
  MPI_Get_address(&values[2], &at[0]);
  MPI_Get_address(&values[0], &at[1]);
  CHECK_OK(MPI_Type_create_hindexed_block(2, 1, at, MPI_INT, &absolute));
  CHECK_OK(MPI_Type_commit(&absolute));
  int plain[2] = {rank == 0 ? 7 : 0, rank == 0 ? 8 : 0};
  if (rank % 2 == 0 && rank > 0 && !kMpich) { /* which takes MPI_BOTTOM for a null buffer */
    CHECK_OK(MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, MPI_COMM_WORLD));
    CHECK(values[2] == 7 && values[0] == 8 && values[1] == 0);
  } else {
    CHECK_OK(MPI_Bcast(plain, 2, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK(plain[0] == 7 && plain[1] == 8);
  }
  MPI_Type_free(&absolute);
  MPI_Type_free(&nothing);
  MPI_Type_free(&padded);
}

/* A type that is freed, and its makers, while an operation uses it. */
static void freed_early(void) {
  MPI_Datatype column, columns;
  int matrix[40];
  for (int i = 0; i < 40; ++i) matrix[i] = rank == 0 ? i : -1;
  CHECK_OK(MPI_Type_vector(10, 1, 4, MPI_INT, &column));
  CHECK_OK(MPI_Type_create_resized(column, 0, sizeof(int), &columns));
  CHECK_OK(MPI_Type_commit(&columns));
  MPI_Request both[2];
  CHECK_OK(MPI_Ibcast(matrix, 2, columns, 0, MPI_COMM_WORLD, &both[0]));
  CHECK_OK(MPI_Ibcast(matrix + 2, 1, columns, 0, MPI_COMM_WORLD, &both[1]));
  CHECK_OK(MPI_Type_free(&column));
  CHECK_OK(MPI_Type_free(&columns));
  CHECK_OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 40; ++i) CHECK(matrix[i] == (i % 4 < 3 || rank == 0 ? i : -1));
}

#ifdef ESPALIER_MPI_MPI_H
/* Rounds of a persistent operation, with new values in each. */
static void persistent(Way way, Way other) {
  int *mine = room_for(1), *all = room_for(size);
  MPI_Datatype in, out;
  CHECK_OK(MPI_Type_dup(types[other], &in));
  CHECK_OK(MPI_Type_dup(types[way], &out));
  CHECK_OK(MPI_Allgather_init(mine, 1, in, all, 1, out, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  CHECK_OK(MPI_Type_free(&in));
  CHECK_OK(MPI_Type_free(&out));
  for (int round = 0; round < 3; ++round) {
    fill(mine, other, 1, rank, round);
    CHECK_OK(MPI_Start(&request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int r = 0; r < size; ++r) {
      CHECK_WAY(wrong_in(all + r * extent_of(way), way, 1, r, round) == 0);
    }
    CHECK_WAY(gaps_written(all, way, size) == 0);
  }
  CHECK_OK(MPI_Request_free(&request));
  release(mine);
  release(all);
}
#endif

static void all_with(Way way) {
  const Way other = (Way)((way + 1 + rank) % kWays); /* another on every rank */
  for (int n = 1; n <= 4; n += 3) {
    bcast(rank % 2 ? way : other, n, n == 1);
    for (int started = 0; started < 2; ++started) {
      allgather(way, other, n, started, 0);
      allgather(way, way, n, started, 0);
      allgather(way, other, n, started, 1);
      alltoall(way, other, n, started, 0);
      alltoall(way, way, n, started, 0);
    }
    alltoall(way, way, n, 0, 1);
    gather(way, other, n, size - 1, 0);
    gather(way, way, n, 0, 1);
    neighbors(way, other, n);
    neighbors(way, way, n);
  }
  bcast(way, 0, 0);
  alltoallv(way, other, 0);
  alltoallv(way, way, 0);
  alltoallv(way, other, 1);
#ifdef ESPALIER_MPI_MPI_H
  persistent(way, other);
  persistent(way, way);
#endif
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return_errors();
  make_types();
  for (int way = 0; way < kWays; ++way) all_with((Way)way);
  special();
  freed_early();
  for (int way = 0; way < kWays; ++way) CHECK_OK(MPI_Type_free(&types[way]));
  return conclude();
}
