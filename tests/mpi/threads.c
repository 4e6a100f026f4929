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
  for (int i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, &comms[i]);
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
