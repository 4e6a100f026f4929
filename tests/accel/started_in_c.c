/* started_in_c: a collective for started.F90, which completes it. */
#include <mpi.h>

void start_in_c_(int* in, int* sum, MPI_Fint* request) {
  MPI_Request made;
  MPI_Iallreduce(in, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &made);
  *request = MPI_Request_c2f(made);
}
