/* conformance_large: the collectives with counts of 64 bits as MPI 4.0 says, as one C program that
 * knows nothing but <mpi.h>. Any number of processes. Displacements are above 2^32 in memory of
 * which the program uses a few pages; counts are where no bytes come of them.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "conformance.h"

enum { kCount = 300, kMost = 64, kBlock = 0, kStart, kPersist, kForms };

static const MPI_Aint kFar = ((MPI_Aint)1 << 32) + 5; /* elements between two blocks */
static const MPI_Count kMany = ((MPI_Count)1 << 32) + 3;

/* One collective in the form that `form` says. */
#define RUN(NAME, STARTED, ...)                                             \
  do {                                                                      \
    MPI_Request request = MPI_REQUEST_NULL;                                 \
    if (form == kBlock) CHECK_OK(MPI_##NAME##_c(__VA_ARGS__));              \
    if (form == kStart) CHECK_OK(MPI_##STARTED##_c(__VA_ARGS__, &request)); \
    if (form == kPersist) {                                                 \
      CHECK_OK(MPI_##NAME##_init_c(__VA_ARGS__, MPI_INFO_NULL, &request));  \
      CHECK_OK(MPI_Start(&request));                                        \
    }                                                                       \
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));                        \
    CHECK((request == MPI_REQUEST_NULL) == (form != kPersist));             \
    if (form == kPersist) CHECK_OK(MPI_Request_free(&request));             \
  } while (0)

static int in[kMost * kCount], out[kMost * kCount];
static MPI_Count counts[kMost];
static MPI_Aint displs[kMost], byte_displs[kMost];
static MPI_Datatype types[kMost];
static int *far_in, *far_out; /* blocks that lie kFar apart */

static int value(int of_rank, int block, int i) {
  return 100003 * of_rank + 1009 * block + i;
}

static void fill(void) {
  for (int b = 0; b < kMost; ++b) {
    for (int i = 0; i < kCount; ++i) {
      in[b * kCount + i] = value(rank, b, i);
      out[b * kCount + i] = -1;
      if (b < size || b < 2) far_in[b * kFar + i] = value(rank, b, i);
      if (b < size || b < 2) far_out[b * kFar + i] = -1;
    }
  }
}

/* Is it block `block` of a rank? */
static int is_block(const int* found, int of_rank, int block) {
  for (int i = 0; i < kCount; ++i) {
    if (found[i] != value(of_rank, block, i)) return 0;
  }
  return 1;
}

static int is_sum(const int* found, int ranks, int block) {
  for (int i = 0; i < kCount; ++i) {
    int sum = 0;
    for (int r = 0; r < ranks; ++r) sum += value(r, block, i);
    if (found[i] != sum) return 0;
  }
  return 1;
}

static void reductions(int form) {
  const MPI_Comm all = MPI_COMM_WORLD;
  fill();
  RUN(Reduce, Ireduce, in, out, kCount, MPI_INT, MPI_SUM, size - 1, all);
  CHECK(rank == size - 1 ? is_sum(out, size, 0) : out[0] == -1);
  fill();
  RUN(Allreduce, Iallreduce, in, out, kCount, MPI_INT, MPI_SUM, all);
  CHECK(is_sum(out, size, 0));
  fill();
  RUN(Scan, Iscan, in, out, kCount, MPI_INT, MPI_SUM, all);
  CHECK(is_sum(out, rank + 1, 0));
  fill();
  RUN(Exscan, Iexscan, in, out, kCount, MPI_INT, MPI_SUM, all);
  CHECK(rank == 0 || is_sum(out, rank, 0));
  fill();
  RUN(Reduce_scatter_block, Ireduce_scatter_block, in, out, kCount, MPI_INT, MPI_SUM, all);
  CHECK(is_sum(out, size, rank));
  fill();
  RUN(Reduce_scatter, Ireduce_scatter, in, out, counts, MPI_INT, MPI_SUM, all);
  CHECK(is_sum(out, size, rank));
}

static void blocks_alike(int form) {
  const MPI_Comm all = MPI_COMM_WORLD;
  fill();
  for (int i = 0; i < kCount && rank == 0; ++i) out[i] = value(0, 0, i);
  RUN(Bcast, Ibcast, out, kCount, MPI_INT, 0, all);
  CHECK(is_block(out, 0, 0));
  fill();
  RUN(Allgather, Iallgather, in, kCount, MPI_INT, out, kCount, MPI_INT, all);
  for (int r = 0; r < size; ++r) CHECK(is_block(out + r * kCount, r, 0));
  fill();
  RUN(Alltoall, Ialltoall, in, kCount, MPI_INT, out, kCount, MPI_INT, all);
  for (int r = 0; r < size; ++r) CHECK(is_block(out + r * kCount, r, rank));
  fill();
  RUN(Gather, Igather, in, kCount, MPI_INT, out, kCount, MPI_INT, 0, all);
  for (int r = 0; r < size && rank == 0; ++r) CHECK(is_block(out + r * kCount, r, 0));
  fill();
  RUN(Scatter, Iscatter, in, kCount, MPI_INT, out, kCount, MPI_INT, size - 1, all);
  CHECK(is_block(out, size - 1, rank));
}

static void far_apart(int form) {
  const MPI_Comm all = MPI_COMM_WORLD;
  fill();
  RUN(Allgatherv, Iallgatherv, in, kCount, MPI_INT, far_out, counts, displs, MPI_INT, all);
  for (int r = 0; r < size; ++r) CHECK(is_block(far_out + r * kFar, r, 0));
  fill();
  RUN(Gatherv, Igatherv, in, kCount, MPI_INT, far_out, counts, displs, MPI_INT, 0, all);
  for (int r = 0; r < size && rank == 0; ++r) CHECK(is_block(far_out + r * kFar, r, 0));
  fill();
  RUN(Scatterv, Iscatterv, far_in, counts, displs, MPI_INT, out, kCount, MPI_INT, 0, all);
  CHECK(is_block(out, 0, rank));
  fill();
  RUN(Alltoallv, Ialltoallv, far_in, counts, displs, MPI_INT, far_out, counts, displs, MPI_INT,
      all);
  for (int r = 0; r < size; ++r) CHECK(is_block(far_out + r * kFar, r, rank));
  fill();
  RUN(Alltoallw, Ialltoallw, far_in, counts, byte_displs, types, far_out, counts, byte_displs,
      types, all);
  for (int r = 0; r < size; ++r) CHECK(is_block(far_out + r * kFar, r, rank));
}

/* On a ring. */
static void neighbors(int form) {
  const int periods = 1, lower = (rank + size - 1) % size, upper = (rank + 1) % size;
  MPI_Comm ring;
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periods, 0, &ring));
  fill();
  RUN(Neighbor_allgather, Ineighbor_allgather, in, kCount, MPI_INT, out, kCount, MPI_INT, ring);
  CHECK(is_block(out, lower, 0) && is_block(out + kCount, upper, 0));
  fill();
  RUN(Neighbor_allgatherv, Ineighbor_allgatherv, in, kCount, MPI_INT, far_out, counts, displs,
      MPI_INT, ring);
  CHECK(is_block(far_out, lower, 0) && is_block(far_out + kFar, upper, 0));
  fill();
  RUN(Neighbor_alltoall, Ineighbor_alltoall, in, kCount, MPI_INT, out, kCount, MPI_INT, ring);
  CHECK(size < 3 || (is_block(out, lower, 1) && is_block(out + kCount, upper, 0)));
  fill();
  RUN(Neighbor_alltoallv, Ineighbor_alltoallv, far_in, counts, displs, MPI_INT, far_out, counts,
      displs, MPI_INT, ring);
  CHECK(size < 3 || (is_block(far_out, lower, 1) && is_block(far_out + kFar, upper, 0)));
  fill();
  RUN(Neighbor_alltoallw, Ineighbor_alltoallw, far_in, counts, byte_displs, types, far_out, counts,
      byte_displs, types, ring);
  CHECK(size < 3 || (is_block(far_out, lower, 1) && is_block(far_out + kFar, upper, 0)));
  CHECK_OK(MPI_Comm_free(&ring));
}

/* More elements than an int counts, of a type without bytes. */
static void many(int form) {
  const MPI_Comm all = MPI_COMM_WORLD;
  MPI_Count lengths[kMost];
  MPI_Datatype empty;
  for (int r = 0; r < size; ++r) lengths[r] = kMany + r;
  CHECK_OK(MPI_Type_contiguous(0, MPI_INT, &empty));
  CHECK_OK(MPI_Type_commit(&empty));
  RUN(Bcast, Ibcast, out, kMany, empty, 0, all);
  RUN(Allgather, Iallgather, in, kMany, empty, out, kMany, empty, all);
  RUN(Alltoallv, Ialltoallv, in, lengths, displs, empty, out, lengths, displs, empty, all);
  CHECK_OK(MPI_Type_free(&empty));
}

static void compose_many(void* lower, void* higher, MPI_Count* length, MPI_Datatype* type) {
  const uint64_t* one = lower;
  uint64_t* other = higher;
  (void)type;
  for (MPI_Count i = 0; i < *length; ++i) other[i] = one_then_other(one[i], other[i]);
}

static void operators(int form) {
  uint64_t mine[4], all[4];
  MPI_Op op;
  int commutes = 1;
  for (int i = 0; i < 4; ++i) mine[i] = affine(rank, i);
  CHECK_OK(MPI_Op_create_c(compose_many, 0, &op));
  CHECK_OK(MPI_Op_commutative(op, &commutes));
  CHECK(!commutes);
  RUN(Allreduce, Iallreduce, mine, all, 4, MPI_UINT64_T, op, MPI_COMM_WORLD);
  for (int i = 0; i < 4; ++i) CHECK(all[i] == composed(size, i));
  for (int i = 0; i < 4; ++i) all[i] = affine(1, i), mine[i] = affine(0, i);
  CHECK_OK(MPI_Reduce_local_c(mine, all, 4, MPI_UINT64_T, op));
  for (int i = 0; i < 4; ++i) CHECK(all[i] == composed(2, i));
  CHECK_OK(MPI_Op_free(&op));
}

/* What 32 bits would not tell apart. Others crash, or wait for a peer. */
static void errors(void) {
  const MPI_Comm all = MPI_COMM_SELF;
  const MPI_Count minus = -1, most = INT64_MAX;
  MPI_Count lengths[kMost];
  for (int r = 0; r < size; ++r) lengths[r] = most / 2;
  CHECK_CLASS(MPI_Bcast_c(out, minus, MPI_INT, 0, all), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Bcast_c(out, most, MPI_INT, 0, all), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Allgather_c(in, kMany, MPI_INT, out, (int)kMany, MPI_INT, all), MPI_ERR_TRUNCATE);
  CHECK_CLASS(MPI_Allgatherv_c(in, kCount, MPI_INT, out, &minus, displs, MPI_INT, all),
              MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Allgatherv_c(in, kCount, MPI_INT, out, NULL, displs, MPI_INT, all), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Allgatherv_c(in, kCount, MPI_INT, out, counts, NULL, MPI_INT, all), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Reduce_scatter_c(in, out, NULL, MPI_INT, MPI_SUM, all), MPI_ERR_ARG);
  if (size > 2) {
    CHECK_CLASS(MPI_Reduce_scatter_c(in, out, lengths, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD),
                MPI_ERR_COUNT);
  }
}

static int* reserve(void) {
  const size_t bytes = (size_t)((size > 2 ? size : 2) * kFar) * sizeof(int);
  void* memory =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 2);
  return memory;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > kMost) MPI_Abort(MPI_COMM_WORLD, 2);
  return_errors();
  far_in = reserve();
  far_out = reserve();
  for (int b = 0; b < kMost; ++b) {
    counts[b] = kCount;
    displs[b] = b * kFar;
    byte_displs[b] = b * kFar * (MPI_Aint)sizeof(int);
    types[b] = MPI_INT;
  }
  /* What is wrong with persistent ones of MPICH 4.0.2 says conformance_persistent.c. */
  const int forms = kOurs ? kForms : kPersist;
  for (int form = kBlock; form < forms; ++form) {
    reductions(form);
    blocks_alike(form);
    far_apart(form);
    neighbors(form);
    many(form);
    operators(form);
  }
  if (kOurs) errors();
  return conclude();
}
