/* partial: blocks of collectives that are read before these are complete (MPIX_Comm_set_partial).
 * Nobody else has it. Any number of processes.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "arguments.h"
#include "conformance_blocks.h"

enum { kMessageBlocks = 5, kTakers = 2 };

/* An operation of which block b, `lengths[b]` elements at `blocks[b]`, is to be `wanted(b, i)`. */
typedef struct Operation {
  MPI_Request request;
  int blocks;
  int* begins[64];
  int lengths[64];
  int sources[64];
  int (*wanted)(int block, int i);
} Operation;

static int wrong_in(const Operation* op, int b) {
  int wrong = 0;
  for (int i = 0; i < op->lengths[b]; ++i) wrong += op->begins[b][i] != op->wanted(b, i);
  return wrong;
}

/* Until all blocks have arrived, each of which stays. */
static void poll_blocks(Operation* op) {
  int seen[64] = {0}, arrived = 0, flag = 0, last = 0;
  while (arrived < op->blocks) {
    for (int b = 0; b < op->blocks; ++b) {
      const int code = MPIX_Parrived(&op->request, b, &flag);
      if (code != MPI_SUCCESS) CHECK_OK(code);
      if (seen[b] && !flag) check_at(__LINE__, 0, "what has arrived stays");
      if (flag && !seen[b]) CHECK(wrong_in(op, b) == 0);
      arrived += flag && !seen[b];
      seen[b] |= flag;
    }
    if (arrived == last) sched_yield();
    last = arrived;
  }
}

typedef struct Taker {
  Operation* op;
  atomic_int* total;
  atomic_int* times; /* of each block */
  int wanted, failures;
} Taker;

static void* take(void* argument) {
  Taker* taker = argument;
  Operation* op = taker->op;
  while (atomic_load(taker->total) < taker->wanted) {
    void* address = NULL;
    int source = -1, flag = 0, b = 0;
    taker->failures += MPIX_Parrived_any(&op->request, &address, &source, &flag) != MPI_SUCCESS;
    if (!flag) {
      sched_yield();
      continue;
    }
    while (b < op->blocks && (op->begins[b] != address || op->lengths[b] == 0)) ++b;
    if (b == op->blocks) return taker->failures += 1000, NULL;
    taker->failures += wrong_in(op, b) + (source != op->sources[b]);
    atomic_fetch_add(&taker->times[b], 1);
    atomic_fetch_add(taker->total, 1);
  }
  return NULL;
}

/* By several threads: each block that has elements once. */
static void take_blocks(Operation* op) {
  atomic_int total = 0, times[64];
  Taker takers[kTakers];
  pthread_t threads[kTakers];
  int full = 0, flag = 1, source = 0;
  void* address = NULL;
  for (int b = 0; b < 64; ++b) atomic_init(&times[b], 0);
  for (int b = 0; b < op->blocks; ++b) full += op->lengths[b] > 0;
  for (int t = 0; t < kTakers; ++t) {
    takers[t] = (Taker){op, &total, times, full, 0};
    pthread_create(&threads[t], NULL, take, &takers[t]);
  }
  for (int t = 0; t < kTakers; ++t) {
    pthread_join(threads[t], NULL);
    CHECK(takers[t].failures == 0);
  }
  for (int b = 0; b < op->blocks; ++b) CHECK(times[b] == (op->lengths[b] > 0));
  CHECK_OK(MPIX_Parrived_any(&op->request, &address, &source, &flag));
  CHECK(!flag);
}

typedef void Reader(Operation*);

static void complete(Operation* op, Reader* read) {
  int flag = 0, source = 0;
  void* address = NULL;
  read(op);
  CHECK_OK(MPI_Wait(&op->request, MPI_STATUS_IGNORE));
  CHECK_OK(MPIX_Parrived(&op->request, 0, &flag));
  CHECK(flag);
  CHECK_OK(MPIX_Parrived_any(&op->request, &address, &source, &flag));
  CHECK(!flag);
}

/* ---- the operations ---- */

static int from_each(int block, int i) {
  return value(block, rank, i);
}

static int of_each(int block, int i) {
  return value(block, 0, i);
}

static int cast(int block, int i) {
  return value(0, 1, block * 100 + i);
}

static int sums(int block, int i) {
  return size * (block * 100 + i) + size * (size - 1) / 2;
}

/* Of the members, `count` elements each; `some_are_empty`: member 1 has none. */
static Operation of_members(int* out, int count, int some_are_empty, int (*wanted)(int, int)) {
  Operation op = {.blocks = size, .wanted = wanted};
  for (int b = 0; b < size; ++b) {
    op.begins[b] = out + b * count;
    op.lengths[b] = some_are_empty && b == 1 ? 0 : count;
    op.sources[b] = b;
  }
  return op;
}

static Operation of_message(int* out, int source, int (*wanted)(int, int)) {
  Operation op = {.blocks = kMessageBlocks, .wanted = wanted};
  for (int b = 0; b < kMessageBlocks; ++b) {
    op.begins[b] = out + 100 * b;
    op.lengths[b] = 100;
    op.sources[b] = source;
  }
  return op;
}

static void exchanges(MPI_Comm comm, int count, Reader* read) {
  int *in = gaps(size * count), *out = gaps(size * count);
  int counts[64], displs[64];
  for (int r = 0; r < size; ++r) fill(in + r * count, count, rank, r);
  Operation op = of_members(out, count, 0, from_each);
  CHECK_OK(MPI_Ialltoall(in, count, MPI_INT, out, count, MPI_INT, comm, &op.request));
  complete(&op, read);
  op = of_members(out, count, 0, of_each);
  CHECK_OK(MPI_Iallgather(in, count, MPI_INT, out, count, MPI_INT, comm, &op.request));
  complete(&op, read);
  for (int i = 0; i < size * count; ++i) out[i] = kGap;
  op = of_members(out, count, 1, of_each);
  for (int r = 0; r < size; ++r) counts[r] = op.lengths[r], displs[r] = r * count;
  CHECK_OK(
      MPI_Iallgatherv(in, counts[rank], MPI_INT, out, counts, displs, MPI_INT, comm, &op.request));
  complete(&op, read);
  CHECK(size < 2 || out[count] == kGap);
  op = of_members(out, count, 0, of_each);
  const int root = size - 1;
  CHECK_OK(MPI_Igather(in, count, MPI_INT, out, count, MPI_INT, root, comm, &op.request));
  if (rank != root) op.blocks = 0;
  complete(&op, read);
  free(in);
  free(out);
}

static void messages(MPI_Comm comm, Reader* read) {
  int in[100 * kMessageBlocks], out[100 * kMessageBlocks];
  for (int i = 0; i < 100 * kMessageBlocks; ++i) {
    in[i] = i + rank;
    out[i] = rank == 0 ? value(0, 1, i) : kGap;
  }
  Operation op = of_message(out, 0, cast);
  CHECK_OK(MPI_Ibcast(out, 100 * kMessageBlocks, MPI_INT, 0, comm, &op.request));
  complete(&op, read);
  op = of_message(out, MPI_UNDEFINED, sums);
  CHECK_OK(MPI_Iallreduce(in, out, 100 * kMessageBlocks, MPI_INT, MPI_SUM, comm, &op.request));
  complete(&op, read);
}

static void rounds(MPI_Comm comm, Reader* read) {
  int in[64 * 9], out[64 * 9];
  for (int r = 0; r < size; ++r) fill(in + r * 9, 9, rank, r);
  Operation op = of_members(out, 9, 0, from_each);
  CHECK_OK(MPI_Alltoall_init(in, 9, MPI_INT, out, 9, MPI_INT, comm, MPI_INFO_NULL, &op.request));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 9 * size; ++i) out[i] = kGap;
    CHECK_OK(MPI_Start(&op.request));
    complete(&op, read);
  }
  CHECK_OK(MPI_Request_free(&op.request));
}

/* ---- what is particular ---- */

/* The highest rank starts when all others have each other's blocks. */
static void before_the_end(MPI_Comm comm) {
  enum { kCount = 30000 };
  MPI_Comm others;
  int *in = gaps(size * kCount), *out = gaps(size * kCount);
  CHECK_OK(MPI_Comm_dup(comm, &others));
  for (int r = 0; r < size; ++r) fill(in + r * kCount, kCount, rank, r);
  Operation op = of_members(out, kCount, 0, from_each);
  if (rank == size - 1) CHECK_OK(MPI_Barrier(others));
  CHECK_OK(MPI_Ialltoall(in, kCount, MPI_INT, out, kCount, MPI_INT, comm, &op.request));
  if (rank < size - 1) {
    --op.blocks;
    poll_blocks(&op);
    ++op.blocks;
    CHECK_OK(MPI_Barrier(others));
  }
  complete(&op, poll_blocks);
  CHECK_OK(MPI_Comm_free(&others));
  free(in);
  free(out);
}

/* Blocks of a request that has ended stay while MPI_Testall waits for another one. */
static void ended_before_another(MPI_Comm comm) {
  MPI_Comm others;
  int in[64], out[64], flag = 0, source = 0, taken = 0;
  void* address = NULL;
  CHECK_OK(MPI_Comm_dup(comm, &others));
  for (int r = 0; r < size; ++r) in[r] = value(rank, r, 0);
  Operation op = of_members(out, 1, 0, from_each);
  MPI_Request both[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  CHECK_OK(MPI_Ialltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm, &both[0]));
  op.request = both[0];
  poll_blocks(&op);
  if (rank != 0) CHECK_OK(MPI_Ibarrier(others, &both[1]));
  for (int turn = 0; turn < 100 && rank != 0; ++turn) {
    CHECK_OK(MPI_Testall(2, both, &flag, MPI_STATUSES_IGNORE));
    if (flag) break;
  }
  CHECK(rank == 0 || !flag);
  while (taken < size) {
    CHECK_OK(MPIX_Parrived_any(&both[0], &address, &source, &flag));
    if (!flag) continue;
    CHECK(source >= 0 && source < size && address == &out[source]);
    CHECK(wrong_in(&op, source) == 0);
    ++taken;
  }
  CHECK_OK(MPIX_Parrived(&both[0], size - 1, &flag));
  CHECK(flag);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) CHECK_OK(MPI_Ibarrier(others, &both[1]));
  CHECK_OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
  CHECK_OK(MPI_Comm_free(&others));
}

/* Requests that hand out nothing: they arrive with their end. */
static void not_delivering(MPI_Comm comm) {
  MPI_Request request;
  int x = rank, all = 0, flag = 0, source = 0;
  void* address = NULL;
  CHECK_OK(MPIX_Comm_set_partial(comm, 0));
  CHECK_OK(MPI_Iallreduce(&x, &all, 1, MPI_INT, MPI_MAX, comm, &request));
  ERROR(MPIX_Parrived_any(&request, &address, &source, &flag), MPI_ERR_REQUEST, "does not deliver");
  while (!flag) CHECK_OK(MPIX_Parrived(&request, 7, &flag));
  CHECK(all == size - 1);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(request == MPI_REQUEST_NULL);
  CHECK_OK(MPIX_Comm_set_partial(comm, kMessageBlocks));
  CHECK_OK(MPI_Ibarrier(comm, &request));
  CHECK_OK(MPIX_Parrived_any(&request, &address, &source, &flag));
  CHECK(!flag);
  while (!flag) CHECK_OK(MPIX_Parrived(&request, 0, &flag));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void errors(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  int out[64], flag = 0, source = 0;
  void* address = NULL;
  ERROR(MPIX_Comm_set_partial(MPI_COMM_NULL, 1), MPI_ERR_COMM, "null communicator");
  ERROR(MPIX_Comm_set_partial(comm, -1), MPI_ERR_ARG, "negative number of blocks");
  ERROR(MPIX_Parrived(NULL, 0, &flag), MPI_ERR_ARG, "null request");
  ERROR(MPIX_Parrived(&request, 0, NULL), MPI_ERR_ARG, "null request or result");
  ERROR(MPIX_Parrived_any(&request, NULL, &source, &flag), MPI_ERR_ARG, "null request or result");
  ERROR(MPIX_Parrived_any(&request, &address, NULL, &flag), MPI_ERR_ARG, "null request or result");
  ERROR(MPIX_Parrived_any(&request, &address, &source, NULL), MPI_ERR_ARG, "null request or");
  CHECK_OK(MPI_Iallgather(&rank, 1, MPI_INT, out, 1, MPI_INT, comm, &request));
  ERROR(MPIX_Parrived(&request, -1, &flag), MPI_ERR_ARG, "negative block");
  ERROR(MPIX_Parrived(&request, size, &flag), MPI_ERR_ARG, "no such block");
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Comm comm;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > 64 || provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 2);
  return_errors();
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPIX_Comm_set_partial(comm, kMessageBlocks));
  Reader* const readers[] = {poll_blocks, take_blocks};
  for (int r = 0; r < 2; ++r) {
    exchanges(comm, 1, readers[r]);
    exchanges(comm, kLongest, readers[r]);
    messages(comm, readers[r]);
    rounds(comm, readers[r]);
  }
  before_the_end(comm);
  ended_before_another(comm);
  not_delivering(comm);
  errors(comm);
  CHECK_OK(MPI_Comm_free(&comm));
  return conclude();
}
