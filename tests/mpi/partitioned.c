/* partitioned: messages in partitions as MPI 4.0 says, as one C program that knows nothing but
 * <mpi.h>. Any number of processes, each of which sends to the next.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "conformance_blocks.h"

enum { kElements = 240, kThreads = 2, kPairs = 6 };

static int left, right;

typedef struct Writer {
  MPI_Request request;
  int *data, partitions, length, round;
  atomic_int next, failures;
} Writer;

/* Some order of the partitions, another one in each round. */
static int place(const Writer* writer, int k) {
  return (k * 7 + writer->round) % writer->partitions; /* their numbers are no multiples of 7 */
}

static void* write_some(void* argument) {
  Writer* writer = argument;
  for (int k = writer->next++; k < writer->partitions; k = writer->next++) {
    const int p = place(writer, k);
    for (int i = p * writer->length; i < (p + 1) * writer->length; ++i) {
      writer->data[i] = value(rank, writer->round, i);
    }
    writer->failures += MPI_Pready(p, writer->request) != MPI_SUCCESS;
  }
  return NULL;
}

static int wrong(const int* in, int begin, int end, int round) {
  int all = 0;
  for (int i = begin; i < end; ++i) all += in[i] != value(left, round, i);
  return all;
}

/* Each partition as it arrives. */
static void read_parts(MPI_Request request, const int* in, int partitions, int round) {
  int seen[kElements] = {0}, arrived = 0, flag = 0;
  const int length = kElements / partitions;
  while (arrived < partitions) {
    for (int p = 0; p < partitions; ++p) {
      const int code = MPI_Parrived(request, p, &flag);
      if (code != MPI_SUCCESS) CHECK_OK(code);
      if (seen[p] && !flag) check_at(__LINE__, 0, "what has arrived stays");
      if (flag && !seen[p]) CHECK(wrong(in, p * length, (p + 1) * length, round) == 0);
      arrived += flag && !seen[p];
      seen[p] |= flag;
    }
    sched_yield();
  }
}

static void message(int sent_parts, int received_parts, int tag) {
  int *out = gaps(kElements), *in = gaps(kElements);
  Writer writer = {.data = out, .partitions = sent_parts, .length = kElements / sent_parts};
  MPI_Request receive;
  MPI_Status status;
  pthread_t threads[kThreads];
  CHECK_OK(MPI_Psend_init(out, sent_parts, kElements / sent_parts, MPI_INT, right, tag,
                          MPI_COMM_WORLD, MPI_INFO_NULL, &writer.request));
  CHECK_OK(MPI_Precv_init(in, received_parts, kElements / received_parts, MPI_INT, left, tag,
                          MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < kElements; ++i) in[i] = kGap;
    writer.round = round;
    atomic_store(&writer.next, 0);
    CHECK_OK(MPI_Start(&receive));
    CHECK_OK(MPI_Start(&writer.request));
    for (int t = 0; t < kThreads; ++t) pthread_create(&threads[t], NULL, write_some, &writer);
    if (round % 2 == 0) read_parts(receive, in, received_parts, round);
    CHECK_OK(MPI_Wait(&receive, &status));
    CHECK(status.MPI_SOURCE == left && status.MPI_TAG == tag);
    CHECK(wrong(in, 0, kElements, round) == 0);
    for (int t = 0; t < kThreads; ++t) pthread_join(threads[t], NULL);
    CHECK(writer.failures == 0);
    CHECK_OK(MPI_Wait(&writer.request, MPI_STATUS_IGNORE));
    CHECK(receive != MPI_REQUEST_NULL && writer.request != MPI_REQUEST_NULL);
  }
  CHECK_OK(MPI_Request_free(&writer.request));
  CHECK_OK(MPI_Request_free(&receive));
  free(out);
  free(in);
}

/* Several of one peer and tag: in the order of their inits. With ranges and lists. */
static void pairs(void) {
  int out[kPairs][4], in[kPairs][4];
  MPI_Request requests[2 * kPairs];
  const int list[] = {3, 0};
  for (int k = 0; k < kPairs; ++k) {
    CHECK_OK(MPI_Psend_init(out[k], 4, 1, MPI_INT, right, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &requests[k]));
    CHECK_OK(MPI_Precv_init(in[k], 2, 2, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &requests[kPairs + k]));
    for (int i = 0; i < 4; ++i) out[k][i] = value(rank, k, i), in[k][i] = kGap;
  }
  CHECK_OK(MPI_Startall(2 * kPairs, requests));
  for (int k = kPairs - 1; k >= 0; --k) {
    CHECK_OK(MPI_Pready_list(2, list, requests[k]));
    CHECK_OK(MPI_Pready_range(1, 2, requests[k]));
  }
  CHECK_OK(MPI_Waitall(2 * kPairs, requests, MPI_STATUSES_IGNORE));
  for (int k = 0; k < kPairs; ++k) {
    for (int i = 0; i < 4; ++i) CHECK(in[k][i] == value(left, k, i));
  }
  for (int k = 0; k < 2 * kPairs; ++k) CHECK_OK(MPI_Request_free(&requests[k]));
}

/* Many of one peer and tag, started in another order there, and made ready in another one again. */
static void many(int tag) {
  enum { kMany = 40 };
  int out[kMany][2], in[kMany][2];
  MPI_Request sends[kMany], receives[kMany];
  for (int k = 0; k < kMany; ++k) {
    CHECK_OK(MPI_Psend_init(out[k], 2, 1, MPI_INT, right, tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &sends[k]));
  }
  for (int k = 0; k < kMany; ++k) {
    CHECK_OK(MPI_Precv_init(in[k], 1, 2, MPI_INT, left, tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &receives[k]));
  }
  for (int round = 0; round < 3; ++round) {
    for (int k = 0; k < kMany; ++k) {
      for (int i = 0; i < 2; ++i) out[k][i] = value(rank, k, i) + round, in[k][i] = kGap;
    }
    for (int k = 0; k < kMany; ++k) {
      CHECK_OK(MPI_Start(&sends[k]));
      CHECK_OK(MPI_Start(&receives[kMany - 1 - k]));
    }
    for (int k = 0; k < kMany; ++k) CHECK_OK(MPI_Pready_range(0, 1, sends[7 * k % kMany]));
    CHECK_OK(MPI_Waitall(kMany, receives, MPI_STATUSES_IGNORE));
    CHECK_OK(MPI_Waitall(kMany, sends, MPI_STATUSES_IGNORE));
    for (int k = 0; k < kMany; ++k) {
      for (int i = 0; i < 2; ++i) CHECK(in[k][i] == value(left, k, i) + round);
    }
  }
  for (int k = 0; k < kMany; ++k) {
    CHECK_OK(MPI_Request_free(&sends[k]));
    CHECK_OK(MPI_Request_free(&receives[k]));
  }
}

/* Neither messages nor probes with wildcards see them. */
static void beside_messages(void) {
  int out[2] = {rank, rank + 1}, in[2] = {kGap, kGap}, sent = 100 + rank, got = kGap, flag = 1;
  MPI_Request requests[2], any;
  MPI_Status status;
  CHECK_OK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any));
  CHECK_OK(
      MPI_Psend_init(out, 2, 1, MPI_INT, right, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  CHECK_OK(MPI_Precv_init(in, 2, 1, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  CHECK_OK(MPI_Startall(2, requests));
  CHECK_OK(MPI_Pready_range(0, 1, requests[0]));
  CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(in[0] == left && in[1] == left + 1);
  CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  CHECK(!flag && got == kGap);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Send(&sent, 1, MPI_INT, right, 7, MPI_COMM_WORLD));
  CHECK_OK(MPI_Wait(&any, &status));
  CHECK(got == 100 + left && status.MPI_TAG == 7);
  for (int k = 0; k < 2; ++k) CHECK_OK(MPI_Request_free(&requests[k]));
}

/* Every other element on one side, every third on the other, cut differently. */
static void gapped(int blocks) {
  MPI_Datatype second, third;
  MPI_Request requests[2];
  int* out = gaps(2 * 6 * blocks);
  int* in = gaps(3 * 6 * blocks);
  CHECK_OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &second));
  CHECK_OK(MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &third));
  CHECK_OK(MPI_Type_commit(&second));
  CHECK_OK(MPI_Type_commit(&third));
  CHECK_OK(MPI_Psend_init(out, 3, 2 * blocks, second, right, 8, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &requests[0]));
  CHECK_OK(MPI_Precv_init(in, 2, 3 * blocks, third, left, 8, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &requests[1]));
  CHECK_OK(MPI_Type_free(&second));
  CHECK_OK(MPI_Type_free(&third));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 6 * blocks; ++i) out[2 * i] = value(rank, round, i);
    CHECK_OK(MPI_Startall(2, requests));
    for (int p = 2; p >= 0; --p) CHECK_OK(MPI_Pready(p, requests[0]));
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    int wrong_ones = 0;
    for (int i = 0; i < 3 * 6 * blocks; ++i) {
      wrong_ones += in[i] != (i % 3 == 0 ? value(left, round, i / 3) : kGap);
    }
    CHECK(wrong_ones == 0);
  }
  for (int k = 0; k < 2; ++k) CHECK_OK(MPI_Request_free(&requests[k]));
  free(out);
  free(in);
}

/* What has arrived is answered while the rest is not ready: each waits for the other's half. */
static void in_turns(void) {
  int out[2] = {rank, kGap}, in[2] = {kGap, kGap}, flag = 0;
  MPI_Request requests[2];
  CHECK_OK(
      MPI_Psend_init(out, 2, 1, MPI_INT, right, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  CHECK_OK(MPI_Precv_init(in, 2, 1, MPI_INT, left, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  CHECK_OK(MPI_Startall(2, requests));
  CHECK_OK(MPI_Pready(0, requests[0]));
  while (!flag) CHECK_OK(MPI_Parrived(requests[1], 0, &flag));
  CHECK(in[0] == left);
  CHECK_OK(MPI_Parrived(requests[1], 1, &flag));
  out[1] = in[0];
  CHECK_OK(MPI_Pready(1, requests[0]));
  CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(in[1] == (left + size - 1) % size);
  for (int k = 0; k < 2; ++k) CHECK_OK(MPI_Request_free(&requests[k]));
}

/* A receive that is under way before the send is made, and inits that are never started. */
static void late(void) {
  int out = rank, in = kGap, flag = 1;
  MPI_Request send, receive, unused[2];
  CHECK_OK(
      MPI_Psend_init(&out, 1, 1, MPI_INT, right, 10, MPI_COMM_WORLD, MPI_INFO_NULL, &unused[0]));
  CHECK_OK(MPI_Precv_init(&in, 1, 1, MPI_INT, left, 10, MPI_COMM_WORLD, MPI_INFO_NULL, &unused[1]));
  for (int k = 0; k < 2; ++k) CHECK_OK(MPI_Request_free(&unused[k]));
  CHECK_OK(MPI_Precv_init(&in, 1, 1, MPI_INT, left, 10, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  CHECK_OK(MPI_Start(&receive));
  CHECK_OK(MPI_Parrived(receive, 0, &flag));
  CHECK(!flag);
  CHECK_OK(MPI_Test(&receive, &flag, MPI_STATUS_IGNORE));
  CHECK(!flag);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Psend_init(&out, 1, 1, MPI_INT, right, 10, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  CHECK_OK(MPI_Start(&send));
  CHECK_OK(MPI_Pready(0, send));
  CHECK_OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  CHECK(in == left);
  CHECK_OK(MPI_Request_free(&send));
  CHECK_OK(MPI_Request_free(&receive));
}

static void nobody(void) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int x[2] = {kGap, kGap}, flag = 0, index = 0;
  CHECK_OK(MPI_Psend_init(x, 2, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &requests[0]));
  CHECK_OK(MPI_Precv_init(x, 2, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &requests[1]));
  for (int round = 0; round < 2; ++round) {
    CHECK_OK(MPI_Startall(2, requests));
    CHECK_OK(MPI_Pready_range(0, 1, requests[0]));
    CHECK_OK(MPI_Parrived(requests[1], 1, &flag));
    CHECK(flag);
    CHECK_OK(MPI_Waitall(2, requests, statuses));
    CHECK(statuses[1].MPI_SOURCE == MPI_PROC_NULL && statuses[1].MPI_TAG == MPI_ANY_TAG);
  }
  CHECK_OK(MPI_Start(&requests[1]));
  CHECK_OK(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
  CHECK(index == 1 && x[0] == kGap && x[1] == kGap);
  for (int k = 0; k < 2; ++k) CHECK_OK(MPI_Request_free(&requests[k]));
}

/* Without elements, and without partitions. */
static void empty(int sent_parts) {
  MPI_Request requests[2];
  CHECK_OK(MPI_Psend_init(NULL, sent_parts, 0, MPI_INT, right, 6, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &requests[0]));
  CHECK_OK(
      MPI_Precv_init(NULL, 3, 0, MPI_INT, left, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  for (int round = 0; round < 2; ++round) {
    CHECK_OK(MPI_Startall(2, requests));
    for (int p = 0; p < sent_parts; ++p) CHECK_OK(MPI_Pready(p, requests[0]));
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  }
  for (int k = 0; k < 2; ++k) CHECK_OK(MPI_Request_free(&requests[k]));
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 2);
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  if (!kMpich) nobody();   /* MPICH 4.0.2 crashes */
  if (size > 1 || kOurs) { /* to the rank itself, too */
    const int* highest = NULL;
    int flag = 0;
    CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &flag));
    message(1, 1, 0);
    message(6, 4, 1);
    message(3, 60, *highest);
    message(240, 2, 1);
    pairs();
    many(64);
    many(*highest - 1);
    empty(2);
    late();
    if (kOurs) { /* MPICH 4.0.2 fails at these */
      empty(0);
      in_turns();
    }
    beside_messages();
    gapped(1);
    gapped(5000);
  }
  return conclude();
}
