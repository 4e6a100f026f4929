/* traced_mpi [RANK]: a program that knows nothing of traces. RANK leaves without MPI_Finalize. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  static char large[1 << 20];
  int rank = 0, one = 1, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Bcast(large, sizeof large, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 1 && atoi(argv[1]) == rank) _exit(3);
  MPI_Finalize();
  return 0;
}
