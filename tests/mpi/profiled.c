/* profiled: a program whose calls profiler.c counts: those that it makes, and none that the library
 * makes inside of these. Any number of processes.
 */
#include "conformance.h"

int main(int argc, char** argv) {
  MPI_Request requests[2];
  MPI_Message message;
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int lower = (rank + size - 1) % size, upper = (rank + 1) % size;
  int out = rank, in = -1;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  for (int k = 0; k < 3; ++k) {
    CHECK_OK(MPI_Irecv(&in, 1, MPI_INT, lower, 1, comm, &requests[0]));
    CHECK_OK(MPI_Isend(&out, 1, MPI_INT, upper, 1, comm, &requests[1]));
    for (int i = 0; i < 2; ++i) CHECK_OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    CHECK(in == lower);
  }
  for (int k = 0; k < 2; ++k) {
    out = rank;
    CHECK_OK(MPI_Sendrecv_replace(&out, 1, MPI_INT, upper, 2, lower, 2, comm, MPI_STATUS_IGNORE));
    CHECK(out == lower);
  }
  CHECK_OK(MPI_Isend(&rank, 1, MPI_INT, upper, 3, comm, &requests[0]));
  CHECK_OK(MPI_Mprobe(lower, 3, comm, &message, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  for (int k = 0; k < 4; ++k) CHECK_OK(MPI_Bcast(&in, 1, MPI_INT, 0, comm));
  CHECK_OK(MPI_Barrier(comm));
  CHECK_OK(MPI_Comm_free(&comm));
  return conclude();
}
