/* The same program for any MPI library: broadcast and sum, with the names everybody knows.
 * Build: esp-cc hello.c -o hello-mpi; run: esp-run -n 4 ./hello-mpi */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size, length, sum = 0;
  char host[MPI_MAX_PROCESSOR_NAME];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(host, &length);

  int answer = rank == 0 ? 42 : 0;
  MPI_Bcast(&answer, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("hello from rank %d of %d on %s: answer %d, sum of ranks %d\n", rank, size, host, answer,
         sum);
  return MPI_Finalize();
}
