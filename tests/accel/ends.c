/* ends CASE: jobs that do not end by MPI_Finalize on all ranks. The last rank is the one to go. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void die(int signal) {
  (void)signal;
  kill(getpid(), SIGKILL);
}

int main(int argc, char** argv) {
  int rank, size, sum = 0, values[4096] = {0}, sums[4096];
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  /* What the accelerator has for these is there when the job ends. */
  MPI_Iallreduce(values, sums, 4096, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const char* name = argv[1];
  const int last = rank == size - 1;
  if (strcmp(name, "abort") == 0) {
    if (last) MPI_Abort(MPI_COMM_WORLD, 7);
  } else if (strcmp(name, "killed_before") == 0) {
    if (last) die(0);
  } else if (strcmp(name, "killed_in") == 0) {
    if (!last) sleep(2);
    signal(SIGALRM, &die);
    if (last) ualarm(300 * 1000, 0);
  } else if (strcmp(name, "killed_started") == 0) {
    MPI_Iallreduce(values, sums, 4096, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (last) die(0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (strcmp(name, "no_finalize") == 0) {
    exit(0);
  }
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("not ended\n");
  MPI_Finalize();
  return 0;
}
