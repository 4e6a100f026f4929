/* messages: point-to-point communication, as one C program that knows nothing but <mpi.h>; see
 * conformance.c. Any number of processes.
 */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static int next, before;
static const int kLengths[] = {0, 1, 100, 5000, 40000, 300000}; /* of ints */

static int value(int from, int i) {
  return from * 1000003 + i * 7 + 5;
}

static int* filled(int from, int length) {
  int* made = malloc(((size_t)length + 1) * sizeof *made);
  for (int i = 0; i < length; ++i) made[i] = value(from, i);
  return made;
}

static int holds(const int* got, int from, int length) {
  for (int i = 0; i < length; ++i) {
    if (got[i] != value(from, i)) return 0;
  }
  return 1;
}

static int is_status(const MPI_Status* status, int source, int tag, int length) {
  int count = -1, cancelled = -1;
  MPI_Get_count(status, MPI_INT, &count);
  MPI_Test_cancelled(status, &cancelled);
  return status->MPI_SOURCE == source && status->MPI_TAG == tag && count == length &&
         cancelled == 0;
}

static void attach(void** buffer, int bytes) {
  *buffer = malloc((size_t)bytes);
  CHECK_OK(MPI_Buffer_attach(*buffer, bytes));
}

static void detach(const void* buffer, int bytes) {
  void* back = NULL;
  int size_back = 0;
  CHECK_OK(MPI_Buffer_detach(&back, &size_back));
  CHECK(back == buffer && size_back == bytes);
  free(back);
}

typedef int Start(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
static Start* const kStarts[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
static Start* const kInits[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};

/* Every mode, round a ring: receives are posted, so that the ready mode may be used. */
static void modes(void) {
  void* buffer;
  const int room = 300000 * (int)sizeof(int) + 4 * MPI_BSEND_OVERHEAD;
  attach(&buffer, room);
  for (int l = 0; l < 6; ++l) {
    const int length = kLengths[l];
    int *sent = filled(rank, length), *got = filled(-1, length);
    for (int mode = 0; mode < 4; ++mode) {
      MPI_Request requests[2];
      MPI_Status statuses[2];
      memset(got, 0, (size_t)length * sizeof *got);
      CHECK_OK(MPI_Irecv(got, length, MPI_INT, before, mode, MPI_COMM_WORLD, &requests[0]));
      CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
      CHECK_OK(kStarts[mode](sent, length, MPI_INT, next, mode, MPI_COMM_WORLD, &requests[1]));
      CHECK_OK(MPI_Waitall(2, requests, statuses));
      CHECK(is_status(&statuses[0], before, mode, length) && holds(got, before, length));
      CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    }
    free(sent);
    free(got);
  }
  detach(buffer, room);
}

/* Rounds of persistent ones, with the source named and not. */
static void persistent_ones(void) {
  enum { kLength = 3000 };
  void* buffer;
  const int room = 3 * (kLength * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
  int sent[kLength], got[kLength];
  attach(&buffer, room);
  for (int mode = 0; mode < 4; ++mode) {
    /* Open MPI 4.1 copies what MPI_Bsend_init has once. */
    if (mode == 2 && !kOurs && !kMpich) continue;
    MPI_Request requests[2];
    MPI_Status status;
    int flag = 0;
    CHECK_OK(MPI_Recv_init(got, kLength, MPI_INT, mode % 2 ? MPI_ANY_SOURCE : before, 20 + mode,
                           MPI_COMM_WORLD, &requests[0]));
    CHECK_OK(
        kInits[mode](sent, kLength - 1, MPI_INT, next, 20 + mode, MPI_COMM_WORLD, &requests[1]));
    CHECK_OK(MPI_Test(&requests[0], &flag, &status));
    CHECK(flag && status.MPI_SOURCE == MPI_ANY_SOURCE); /* inactive: empty */
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < kLength; ++i) sent[i] = value(rank + round, i);
      CHECK_OK(MPI_Start(&requests[0]));
      CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
      CHECK_OK(MPI_Start(&requests[1]));
      CHECK_OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Wait(&requests[0], &status));
      CHECK(is_status(&status, before, 20 + mode, kLength - 1));
      CHECK(holds(got, before + round, kLength - 1));
    }
    CHECK_OK(MPI_Request_free(&requests[0]));
    CHECK_OK(MPI_Request_free(&requests[1]));
    CHECK(requests[0] == MPI_REQUEST_NULL);
  }
  detach(buffer, room);
}

/* A message does not overtake another that fits the same receive. */
static void order(void) {
  enum { kMessages = 200 };
  int sent[kMessages], got = -1;
  MPI_Request requests[kMessages];
  for (int i = 0; i < kMessages; ++i) {
    sent[i] = i;
    CHECK_OK(MPI_Isend(&sent[i], 1, MPI_INT, next, i % 3, MPI_COMM_WORLD, &requests[i]));
  }
  for (int i = 2; i < kMessages; i += 3) {
    CHECK_OK(MPI_Recv(&got, 1, MPI_INT, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(got == i);
  }
  for (int i = 0; i < kMessages; ++i) {
    MPI_Status status;
    if (i % 3 == 2) continue;
    CHECK_OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK(got == i && is_status(&status, before, i % 3, 1));
  }
  CHECK_OK(MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE));
}

static void both_ways(void) {
  for (int l = 0; l < 6; ++l) {
    const int length = kLengths[l];
    int *sent = filled(rank, length), *got = filled(-1, length);
    MPI_Status status;
    CHECK_OK(MPI_Sendrecv(sent, length, MPI_INT, next, 30, got, length, MPI_INT, before, 30,
                          MPI_COMM_WORLD, &status));
    CHECK(is_status(&status, before, 30, length) && holds(got, before, length));
    CHECK_OK(
        MPI_Sendrecv_replace(sent, length, MPI_INT, before, 31, next, 31, MPI_COMM_WORLD, &status));
    CHECK(is_status(&status, next, 31, length) && holds(sent, next, length));
    free(sent);
    free(got);
  }
}

static void nobody(void) {
  int word = 7;
  MPI_Status status;
  MPI_Request request;
  CHECK_OK(MPI_Send(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  CHECK_OK(MPI_Recv(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
  CHECK(is_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0) && word == 7);
  CHECK_OK(MPI_Irecv(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  /* MPICH 4.0 gives an empty status here. */
  CHECK(kMpich || is_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0));
  CHECK(request == MPI_REQUEST_NULL);
  CHECK_OK(MPI_Probe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
  CHECK(is_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0));
  MPI_Message message;
  CHECK_OK(MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status));
  CHECK(message == MPI_MESSAGE_NO_PROC);
  CHECK_OK(MPI_Mrecv(&word, 1, MPI_INT, &message, &status));
  CHECK(message == MPI_MESSAGE_NULL && is_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0));
}

static void probes(void) {
  for (int l = 0; l < 6; ++l) {
    const int length = kLengths[l], tag = 40 + 2 * l;
    int *sent = filled(rank, length), *got = filled(-1, length);
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Message message;
    int flag = 1;
    CHECK_OK(MPI_Isend(sent, length, MPI_INT, next, tag, MPI_COMM_WORLD, &requests[0]));
    CHECK_OK(MPI_Isend(sent, length, MPI_INT, next, tag + 1, MPI_COMM_WORLD, &requests[1]));
    CHECK_OK(MPI_Probe(MPI_ANY_SOURCE, tag + 1, MPI_COMM_WORLD, &status));
    CHECK(is_status(&status, before, tag + 1, length));
    CHECK_OK(MPI_Iprobe(before, 9999, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    CHECK_OK(MPI_Mprobe(before, tag, MPI_COMM_WORLD, &message, &status));
    CHECK(is_status(&status, before, tag, length));
    CHECK_OK(MPI_Iprobe(before, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag); /* taken */
    CHECK_OK(MPI_Mrecv(got, length, MPI_INT, &message, &status));
    CHECK(message == MPI_MESSAGE_NULL && holds(got, before, length));
    for (flag = 0; !flag;) {
      CHECK_OK(MPI_Improbe(MPI_ANY_SOURCE, tag + 1, MPI_COMM_WORLD, &flag, &message, &status));
    }
    MPI_Request receive;
    memset(got, 0, (size_t)length * sizeof *got);
    CHECK_OK(MPI_Imrecv(got, length, MPI_INT, &message, &receive));
    CHECK_OK(MPI_Wait(&receive, &status));
    CHECK(is_status(&status, before, tag + 1, length) && holds(got, before, length));
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    free(sent);
    free(got);
  }
}

/* Receives that are taken back; requests that are asked, and forgotten. */
static void requests_apart(void) {
  int got = -1, flag = 0;
  const int sent = 77;
  MPI_Request request, send;
  MPI_Status status;
  CHECK_OK(MPI_Irecv(&got, 1, MPI_INT, before, 60, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Cancel(&request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_OK(MPI_Test_cancelled(&status, &flag));
  CHECK(flag && request == MPI_REQUEST_NULL);
  CHECK_OK(MPI_Irecv(&got, 1, MPI_INT, before, 61, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Isend(&sent, 1, MPI_INT, next, 61, MPI_COMM_WORLD, &send));
  CHECK_OK(MPI_Request_free(&send));
  CHECK(send == MPI_REQUEST_NULL);
  for (flag = 0; !flag;) CHECK_OK(MPI_Request_get_status(request, &flag, &status));
  CHECK(got == 77 && is_status(&status, before, 61, 1) && request != MPI_REQUEST_NULL);
  CHECK_OK(MPI_Request_get_status(request, &flag, &status));
  CHECK(flag && is_status(&status, before, 61, 1));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK(is_status(&status, before, 61, 1));
  CHECK_OK(MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status));
  CHECK(flag && status.MPI_SOURCE == MPI_ANY_SOURCE);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Columns go as rows and come as columns, a struct with a gap as it is, absolute addresses. */
static void derived(void) {
  enum { kRows = 200, kColumns = 60 };
  static double matrix[kRows][kColumns], copy[kRows][kColumns];
  double line[kRows];
  MPI_Datatype column;
  MPI_Status status;
  CHECK_OK(MPI_Type_vector(kRows, 1, kColumns, MPI_DOUBLE, &column));
  CHECK_OK(MPI_Type_commit(&column));
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kColumns; ++c) {
      matrix[r][c] = rank * 1e6 + r * kColumns + c;
      copy[r][c] = -1;
    }
  }
  CHECK_OK(MPI_Sendrecv(&matrix[0][3], 1, column, next, 70, line, kRows, MPI_DOUBLE, before, 70,
                        MPI_COMM_WORLD, &status));
  for (int r = 0; r < kRows; ++r) CHECK(line[r] == before * 1e6 + r * kColumns + 3);
  MPI_Request requests[2];
  CHECK_OK(MPI_Irecv(&copy[0][5], 1, column, before, 71, MPI_COMM_WORLD, &requests[0]));
  CHECK_OK(MPI_Issend(&matrix[0][4], 1, column, next, 71, MPI_COMM_WORLD, &requests[1]));
  CHECK_OK(MPI_Type_free(&column)); /* while they are under way */
  CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(copy[7][5] == before * 1e6 + 7 * kColumns + 4 && copy[7][4] == -1 && copy[7][6] == -1);

  struct Cell {
    double x;
    char c;
  } cells[3] = {{1.5, 'a'}, {2.5, 'b'}, {3.5, 'c'}}, back[3];
  memset(back, 0, sizeof back);
  const int lengths[] = {1, 1};
  const MPI_Aint at[] = {0, sizeof(double)};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR};
  MPI_Datatype packed, cell;
  CHECK_OK(MPI_Type_create_struct(2, lengths, at, types, &packed));
  CHECK_OK(MPI_Type_create_resized(packed, 0, sizeof(struct Cell), &cell));
  CHECK_OK(MPI_Type_commit(&cell));
  CHECK_OK(
      MPI_Sendrecv(cells, 3, cell, next, 72, back, 3, cell, before, 72, MPI_COMM_WORLD, &status));
  CHECK(back[2].x == 3.5 && back[1].c == 'b');
  int count = -1;
  CHECK_OK(MPI_Get_count(&status, cell, &count));
  CHECK(count == 3);
  CHECK_OK(MPI_Get_elements(&status, cell, &count));
  CHECK(count == 6);
  CHECK_OK(MPI_Sendrecv_replace(cells, 3, cell, next, 73, before, 73, MPI_COMM_WORLD, &status));
  CHECK(cells[0].x == 1.5 && cells[2].c == 'c');
  CHECK_OK(MPI_Type_free(&packed));
  CHECK_OK(MPI_Type_free(&cell));
}

static void wrong(void) {
  int word = 0;
  MPI_Request request;
  MPI_Status status;
  CHECK_CLASS(MPI_Send(&word, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Send(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Recv(&word, 1, MPI_INT, -9, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Send(&word, 1, MPI_INT, 0, -5, MPI_COMM_WORLD), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Send(&word, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Send(&word, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Isend(&word, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
  if (!kOurs) return; /* what follows peers let through, or end the program for */
  CHECK_CLASS(MPI_Send(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Bsend(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  request = MPI_REQUEST_NULL;
  CHECK_CLASS(MPI_Cancel(&request), MPI_ERR_REQUEST);
  MPI_Message message = MPI_MESSAGE_NULL;
  CHECK_CLASS(MPI_Mrecv(&word, 1, MPI_INT, &message, &status), MPI_ERR_REQUEST);
}

/* What is too long is an error of the receiver alone. */
static void truncated(void) {
  int sent[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, got[10] = {0};
  MPI_Request request;
  MPI_Status status;
  CHECK_OK(MPI_Irecv(got, 4, MPI_INT, before, 80, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Send(sent, 10, MPI_INT, next, 80, MPI_COMM_WORLD));
  CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
  CHECK(got[4] == 0);
  CHECK_OK(MPI_Sendrecv(sent, 10, MPI_INT, next, 81, got, 10, MPI_INT, before, 81, MPI_COMM_WORLD,
                        &status));
  CHECK(got[9] == 10);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return_errors();
  next = (rank + 1) % size;
  before = (rank + size - 1) % size;
  modes();
  persistent_ones();
  order();
  both_ways();
  nobody();
  probes();
  requests_apart();
  derived();
  truncated();
  /* Debian's MPICH does not check arguments. */
  if (!kMpich) wrong();
  return conclude();
}
