/* conformance_persistent: persistent collectives as MPI 4.0 says, as one C program that knows
 * nothing but <mpi.h>. Any number of processes. No peer passes it: Open MPI 4.1 has none of them,
 * and MPICH 4.0.2 waits for inactive ones and gathers what an earlier round held.
 */
#include <stdlib.h>

#include "conformance.h"

enum { kCount = 600, kKinds = 22, kMost = 64 };

/* One operation of each kind; those of several blocks have kCount elements for each member, or
 * neighbour on a ring. */
typedef struct All {
  int* in[kKinds];
  int* out[kKinds];
  MPI_Request requests[kKinds];
} All;

static int value(int of_rank, int block, int round) {
  return 100 * of_rank + 10 * block + round;
}

/* Blocks of a buffer: one for each member, and at least for two neighbours. */
static int blocks(void) {
  return size > 2 ? size : 2;
}

static void fill(All* all, int round) {
  for (int k = 0; k < kKinds; ++k) {
    for (int b = 0; b < blocks(); ++b) {
      for (int i = 0; i < kCount; ++i) {
        all->in[k][b * kCount + i] = value(rank, b, round);
        all->out[k][b * kCount + i] = -1;
      }
    }
  }
  for (int i = 0; i < kCount && rank == 0; ++i) all->out[1][i] = value(0, 0, round);
}

/* Of `ranks` from 0 on. */
static int sum_of_values(int ranks, int round) {
  int sum = 0;
  for (int r = 0; r < ranks; ++r) sum += value(r, 0, round);
  return sum;
}

static int last(const All* all, int kind, int block) {
  return all->out[kind][block * kCount + kCount - 1];
}

static void check_results(const All* all, int round) {
  CHECK(last(all, 1, 0) == value(0, 0, round));
  CHECK(last(all, 2, 0) == (rank == size - 1 ? sum_of_values(size, round) : -1));
  CHECK(last(all, 3, 0) == sum_of_values(size, round));
  CHECK(last(all, 4, 0) == sum_of_values(rank + 1, round));
  CHECK(rank == 0 || last(all, 5, 0) == sum_of_values(rank, round));
  for (int b = 0; b < size; ++b) {
    CHECK(last(all, 6, b) == value(b, 0, round));
    CHECK(last(all, 7, b) == value(b, rank, round));
    CHECK(last(all, 8, b) == value(b, 0, round));
    CHECK(last(all, 9, b) == value(b, rank, round));
    CHECK(last(all, 10, b) == (rank == 0 ? value(b, 0, round) : -1));
    CHECK(last(all, 11, b) == (rank == size - 1 ? value(b, 0, round) : -1));
    CHECK(last(all, 16, b) == value(b, rank, round));
  }
  CHECK(last(all, 12, 0) == value(size - 1, rank, round));
  CHECK(last(all, 13, 0) == value(0, rank, round));
  CHECK(last(all, 14, 0) == sum_of_values(size, round) + 10 * rank * size);
  CHECK(last(all, 15, 0) == sum_of_values(size, round) + 10 * rank * size);
  const int lower = (rank + size - 1) % size, upper = (rank + 1) % size;
  for (int k = 17; k < kKinds; ++k) {
    CHECK(last(all, k, 0) == value(lower, k < 19 ? 0 : 1, round));
    CHECK(last(all, k, 1) == value(upper, 0, round));
  }
}

/* Arrays of counts and so on, which stay until the requests are freed. */
static int counts[kMost], displs[kMost], byte_displs[kMost];
static MPI_Aint far_displs[kMost];
static MPI_Datatype types[kMost];

static void init_exchanges(All* all, MPI_Comm comm, MPI_Request* next) {
  int **in = all->in, **out = all->out;
  const MPI_Info info = MPI_INFO_NULL;
  CHECK_OK(MPI_Barrier_init(comm, info, next++));
  CHECK_OK(MPI_Bcast_init(out[1], kCount, MPI_INT, 0, comm, info, next++));
  CHECK_OK(MPI_Reduce_init(in[2], out[2], kCount, MPI_INT, MPI_SUM, size - 1, comm, info, next++));
  CHECK_OK(MPI_Allreduce_init(in[3], out[3], kCount, MPI_INT, MPI_SUM, comm, info, next++));
  CHECK_OK(MPI_Scan_init(in[4], out[4], kCount, MPI_INT, MPI_SUM, comm, info, next++));
  CHECK_OK(MPI_Exscan_init(in[5], out[5], kCount, MPI_INT, MPI_SUM, comm, info, next++));
  CHECK_OK(MPI_Allgather_init(in[6], kCount, MPI_INT, out[6], kCount, MPI_INT, comm, info, next++));
  CHECK_OK(MPI_Alltoall_init(in[7], kCount, MPI_INT, out[7], kCount, MPI_INT, comm, info, next++));
  CHECK_OK(MPI_Allgatherv_init(in[8], kCount, MPI_INT, out[8], counts, displs, MPI_INT, comm, info,
                               next++));
  CHECK_OK(MPI_Alltoallv_init(in[9], counts, displs, MPI_INT, out[9], counts, displs, MPI_INT, comm,
                              info, next++));
}

/* Those with a root, and what is split. */
static void init_parts(All* all, MPI_Comm comm, MPI_Request* next) {
  int **in = all->in, **out = all->out;
  const MPI_Info info = MPI_INFO_NULL;
  const int end = size - 1;
  CHECK_OK(
      MPI_Gather_init(in[10], kCount, MPI_INT, out[10], kCount, MPI_INT, 0, comm, info, next++));
  CHECK_OK(MPI_Gatherv_init(in[11], kCount, MPI_INT, out[11], counts, displs, MPI_INT, end, comm,
                            info, next++));
  CHECK_OK(
      MPI_Scatter_init(in[12], kCount, MPI_INT, out[12], kCount, MPI_INT, end, comm, info, next++));
  CHECK_OK(MPI_Scatterv_init(in[13], counts, displs, MPI_INT, out[13], kCount, MPI_INT, 0, comm,
                             info, next++));
  CHECK_OK(
      MPI_Reduce_scatter_block_init(in[14], out[14], kCount, MPI_INT, MPI_SUM, comm, info, next++));
  CHECK_OK(MPI_Reduce_scatter_init(in[15], out[15], counts, MPI_INT, MPI_SUM, comm, info, next++));
  CHECK_OK(MPI_Alltoallw_init(in[16], counts, byte_displs, types, out[16], counts, byte_displs,
                              types, comm, info, next++));
}

static void init_neighbors(All* all, MPI_Comm ring, MPI_Request* next) {
  int **in = all->in, **out = all->out;
  const MPI_Info info = MPI_INFO_NULL;
  CHECK_OK(MPI_Neighbor_allgather_init(in[17], kCount, MPI_INT, out[17], kCount, MPI_INT, ring,
                                       info, next++));
  CHECK_OK(MPI_Neighbor_allgatherv_init(in[18], kCount, MPI_INT, out[18], counts, displs, MPI_INT,
                                        ring, info, next++));
  CHECK_OK(MPI_Neighbor_alltoall_init(in[19], kCount, MPI_INT, out[19], kCount, MPI_INT, ring, info,
                                      next++));
  CHECK_OK(MPI_Neighbor_alltoallv_init(in[20], counts, displs, MPI_INT, out[20], counts, displs,
                                       MPI_INT, ring, info, next++));
  CHECK_OK(MPI_Neighbor_alltoallw_init(in[21], counts, far_displs, types, out[21], counts,
                                       far_displs, types, ring, info, next++));
}

static void init(All* all, MPI_Comm comm) {
  for (int b = 0; b < blocks(); ++b) {
    counts[b] = kCount;
    displs[b] = b * kCount;
    byte_displs[b] = b * kCount * (int)sizeof(int);
    far_displs[b] = byte_displs[b];
    types[b] = MPI_INT;
  }
  for (int k = 0; k < kKinds; ++k) {
    all->in[k] = malloc((size_t)blocks() * kCount * sizeof(int));
    all->out[k] = malloc((size_t)blocks() * kCount * sizeof(int));
  }
  const int periods = 1;
  MPI_Comm ring;
  CHECK_OK(MPI_Cart_create(comm, 1, &size, &periods, 0, &ring));
  init_exchanges(all, comm, all->requests);
  init_parts(all, comm, all->requests + 10);
  init_neighbors(all, ring, all->requests + 17);
  CHECK_OK(MPI_Comm_free(&ring)); /* lives on in its requests */
}

static void free_all(All* all) {
  for (int k = 0; k < kKinds; ++k) {
    CHECK_OK(MPI_Request_free(&all->requests[k]));
    CHECK(all->requests[k] == MPI_REQUEST_NULL);
    free(all->in[k]);
    free(all->out[k]);
  }
}

/* As a null request does, with an empty status. */
static void inactive(All* all) {
  MPI_Status status;
  int flag = 0, index = 0, count = 0, indices[kKinds];
  MPI_Request* requests = all->requests;
  CHECK_OK(MPI_Wait(&requests[3], &status));
  CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
  CHECK_OK(MPI_Test(&requests[3], &flag, &status));
  CHECK(flag);
  CHECK_OK(MPI_Waitall(kKinds, requests, MPI_STATUSES_IGNORE));
  CHECK_OK(MPI_Testall(kKinds, requests, &flag, MPI_STATUSES_IGNORE));
  CHECK(flag);
  CHECK_OK(MPI_Waitany(kKinds, requests, &index, MPI_STATUS_IGNORE));
  CHECK(index == MPI_UNDEFINED);
  CHECK_OK(MPI_Testany(kKinds, requests, &index, &flag, MPI_STATUS_IGNORE));
  CHECK(flag && index == MPI_UNDEFINED);
  CHECK_OK(MPI_Waitsome(kKinds, requests, &count, indices, MPI_STATUSES_IGNORE));
  CHECK(count == MPI_UNDEFINED);
  CHECK_OK(MPI_Testsome(kKinds, requests, &count, indices, MPI_STATUSES_IGNORE));
  CHECK(count == MPI_UNDEFINED);
  for (int k = 0; k < kKinds; ++k) CHECK(requests[k] != MPI_REQUEST_NULL);
}

/* By those functions that pass over the inactive ones among them. */
static void one_by_one(All* all) {
  int index = 0, count = 0, total = 0, indices[kKinds], taken[kKinds] = {0};
  MPI_Status statuses[kKinds];
  fill(all, 2);
  CHECK_OK(MPI_Startall(kKinds, all->requests));
  for (int k = 0; k < kKinds; ++k) {
    CHECK_OK(MPI_Waitany(kKinds, all->requests, &index, MPI_STATUS_IGNORE));
    CHECK(index >= 0 && index < kKinds && taken[index]++ == 0);
  }
  check_results(all, 2);
  fill(all, 3);
  CHECK_OK(MPI_Startall(kKinds, all->requests));
  while (total < kKinds) {
    CHECK_OK(total < kKinds / 2
                 ? MPI_Waitsome(kKinds, all->requests, &count, indices, statuses)
                 : MPI_Testsome(kKinds, all->requests, &count, indices, MPI_STATUSES_IGNORE));
    if (count < 0) break;
    total += count;
  }
  CHECK(total == kKinds);
  check_results(all, 3);
}

static void rounds(MPI_Comm comm) {
  All all;
  MPI_Status statuses[kKinds];
  int flag = 0;
  init(&all, comm);
  inactive(&all);
  /* One after the other. */
  fill(&all, 0);
  for (int k = 0; k < kKinds; ++k) {
    CHECK_OK(MPI_Start(&all.requests[k]));
    CHECK_OK(MPI_Wait(&all.requests[k], MPI_STATUS_IGNORE));
    CHECK(all.requests[k] != MPI_REQUEST_NULL);
  }
  check_results(&all, 0);
  /* Together, and every way to wait. */
  fill(&all, 1);
  CHECK_OK(MPI_Startall(kKinds, all.requests));
  CHECK_OK(MPI_Waitall(kKinds, all.requests, statuses));
  check_results(&all, 1);
  inactive(&all);
  one_by_one(&all);
  fill(&all, 4);
  CHECK_OK(MPI_Startall(kKinds, all.requests));
  do CHECK_OK(MPI_Testall(kKinds, all.requests, &flag, MPI_STATUSES_IGNORE));
  while (!flag);
  check_results(&all, 4);
  inactive(&all);
  free_all(&all);
}

/* A user's operator and a communicator that the program has freed live on in the request. */
static void kept(void) {
  MPI_Comm comm;
  MPI_Op op;
  MPI_Request request;
  uint64_t mine = affine(rank, 0), all = 0;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Op_create(compose, 0, &op));
  CHECK_OK(MPI_Allreduce_init(&mine, &all, 1, MPI_UINT64_T, op, comm, MPI_INFO_NULL, &request));
  CHECK_OK(MPI_Op_free(&op));
  CHECK_OK(MPI_Comm_free(&comm));
  for (int round = 0; round < 3; ++round) {
    all = 0;
    CHECK_OK(MPI_Start(&request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(all == composed(size, 0));
  }
  CHECK_OK(MPI_Request_free(&request));
}

static void in_place(void) {
  MPI_Request request;
  int x[3];
  CHECK_OK(MPI_Allreduce_init(MPI_IN_PLACE, x, 3, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL,
                              &request));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3; ++i) x[i] = rank + i + round;
    CHECK_OK(MPI_Start(&request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < 3; ++i) CHECK(x[i] == size - 1 + i + round);
  }
  CHECK_OK(MPI_Request_free(&request));
}

/* What is no inactive persistent request is not started. */
static void errors(void) {
  MPI_Request request = MPI_REQUEST_NULL, once;
  int x = rank;
  return_errors();
  CHECK_CLASS(MPI_Start(&request), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Request_free(&request), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Bcast_init(&x, 1, MPI_INT, size, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
              MPI_ERR_ROOT);
  CHECK_OK(MPI_Allreduce_init(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL,
                              &request));
  CHECK_OK(MPI_Ibarrier(MPI_COMM_WORLD, &once));
  CHECK_CLASS(MPI_Start(&once), MPI_ERR_REQUEST);
  CHECK_OK(MPI_Wait(&once, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Start(&request));
  CHECK_CLASS(MPI_Start(&request), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Request_free(&request), MPI_ERR_REQUEST);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(x == size - 1);
  CHECK_OK(MPI_Request_free(&request));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > kMost) MPI_Abort(MPI_COMM_WORLD, 2);
  rounds(MPI_COMM_WORLD);
  MPI_Comm half;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half));
  const int whole = size, in_world = rank;
  MPI_Comm_rank(half, &rank);
  MPI_Comm_size(half, &size);
  rounds(half);
  size = whole;
  rank = in_world;
  CHECK_OK(MPI_Comm_free(&half));
  kept();
  in_place();
  errors();
  return conclude();
}
