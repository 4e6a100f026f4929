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
  if (!kMpich) nobody(); /* MPICH 4.0.2 crashes */
  if (size > 1) {
    message(1, 1, 0);
    message(6, 4, 1);
    message(3, 60, 63);
    message(240, 2, 1);
    pairs();
    empty(2);
    if (kOurs) empty(0);
  }
  return conclude();
}
