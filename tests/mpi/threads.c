/* threads: MPI_THREAD_MULTIPLE, several threads per process, each on a communicator of its own. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kThreads = 3, kTurns = 100, kMostRanks = 64 };

static int rank, size;

/* Keys are of the process, attributes of all threads' MPI_COMM_WORLD. */
static long hang_attributes(int turn) {
  int key = MPI_KEYVAL_INVALID, flag = 0, code = 0;
  void* value = NULL;
  long failures = 0;
  failures += MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  failures += MPI_Comm_set_attr(MPI_COMM_WORLD, key, &turn);
  failures += MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag);
  failures += !flag || value != &turn;
  failures += MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
  failures += MPI_Comm_free_keyval(&key);
  failures += MPI_Add_error_code(MPI_ERR_IO, &code);
  failures += MPI_Add_error_string(code, "of a thread");
  failures += MPI_Remove_error_code(code);
  return failures;
}

/* Numbers of handles are of all threads. */
static long number_handles(MPI_Comm comm) {
  enum { kTaken = 40 };
  MPI_Group groups[kTaken];
  MPI_Fint numbers[kTaken];
  long failures = 0;
  for (int i = 0; i < kTaken; ++i) {
    failures += MPI_Comm_group(comm, &groups[i]) != MPI_SUCCESS;
    numbers[i] = MPI_Group_c2f(groups[i]);
  }
  for (int i = 0; i < kTaken; ++i) {
    failures += MPI_Group_f2c(numbers[i]) != groups[i];
    failures += MPI_Group_free(&groups[i]) != MPI_SUCCESS;
  }
  return failures + (MPI_Comm_f2c(MPI_Comm_c2f(comm)) != comm);
}

/* To the next rank, by a buffer of the thread's communicator and without one. */
static long send_around(MPI_Comm comm, int turn) {
  const int lower = (rank + size - 1) % size, upper = (rank + 1) % size;
  int moved = rank + turn, sent = rank - turn, got = -1;
  long failures = 0;
  MPI_Request requests[2];
  failures += MPI_Isendrecv_replace(&moved, 1, MPI_INT, upper, 1, lower, 1, comm, &requests[0]);
  failures += MPI_Bsend(&sent, 1, MPI_INT, upper, 2, comm);
  failures += MPI_Comm_iflush_buffer(comm, &requests[1]);
  failures += MPI_Recv(&got, 1, MPI_INT, lower, 2, comm, MPI_STATUS_IGNORE);
  failures += MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  return failures + (moved != lower + turn) + (got != lower - turn);
}

/* ---- requests that another thread completes, while one waits ---- */

static int say_nothing(void* extra, MPI_Status* status) {
  (void)extra;
  return MPI_Status_set_elements(status, MPI_BYTE, 0);
}
static int count_it(void* extra) {
  ++*(int*)extra;
  return MPI_SUCCESS;
}
static int refuse(void* extra, int complete) {
  (void)extra;
  return complete ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static void* complete(void* request) {
  return (void*)(long)MPI_Grequest_complete(*(MPI_Request*)request);
}

static long complete_elsewhere(void) {
  int freed = 0;
  long failures = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    MPI_Request request, kept;
    pthread_t thread;
    void* result = NULL;
    failures += MPI_Grequest_start(say_nothing, count_it, refuse, &freed, &request);
    kept = request;
    pthread_create(&thread, NULL, complete, &kept);
    failures += turn % 2 == 0 ? MPI_Wait(&request, MPI_STATUS_IGNORE) : MPI_Request_free(&request);
    pthread_join(thread, &result);
    failures += (long)result + (request != MPI_REQUEST_NULL);
  }
  return failures + (freed != kTurns);
}

static void* work(void* argument) {
  MPI_Comm comm = *(MPI_Comm*)argument;
  int counts[kMostRanks], displs[kMostRanks], all[kMostRanks];
  long failures = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    int in = rank + turn, sum = 0, cast = rank == turn % size ? turn : -1;
    MPI_Request requests[2];
    failures += MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]) != MPI_SUCCESS;
    failures += MPI_Ibcast(&cast, 1, MPI_INT, turn % size, comm, &requests[1]) != MPI_SUCCESS;
    failures += MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) != MPI_SUCCESS;
    failures += sum != size * (size - 1) / 2 + turn * size;
    failures += cast != turn;
    failures += MPI_Barrier(comm) != MPI_SUCCESS;
    failures += hang_attributes(turn);
    failures += number_handles(comm);
    failures += send_around(comm, turn);
    for (int r = 0; r < size; ++r) counts[r] = 1, displs[r] = size - 1 - r;
    failures += MPI_Allgatherv(&in, 1, MPI_INT, all, counts, displs, MPI_INT, comm) != MPI_SUCCESS;
    failures += all[0] != size - 1 + turn || all[size - 1] != turn;
  }
  return (void*)failures;
}

int main(int argc, char** argv) {
  int provided = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) return fprintf(stderr, "provided %d\n", provided), 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > kMostRanks) return fprintf(stderr, "too many ranks\n"), 1;
  MPI_Comm comms[kThreads];
  pthread_t threads[kThreads];
  long failures = 0;
  for (int i = 0; i < kThreads; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    failures += MPI_Comm_attach_buffer(comms[i], MPI_BUFFER_AUTOMATIC, 0);
  }
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, &comms[i]);
  failures += complete_elsewhere();
  for (int i = 0; i < kThreads; ++i) {
    void* result = NULL;
    pthread_join(threads[i], &result);
    failures += (long)result;
  }
  for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&comms[i]);
  MPI_Finalize();
  if (failures != 0) fprintf(stderr, "FAILED rank %d: %ld failures\n", rank, failures);
  return failures != 0;
}
