/* fatal CASE: programs that must end with a message, as the standard's default handler asks. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  int x = 0, rank = 0;
  const char* wanted = argc > 1 ? argv[1] : "";
  if (strcmp(wanted, "before_init") == 0) MPI_Comm_rank(MPI_COMM_WORLD, &x);
  if (strcmp(wanted, "info") == 0) MPI_Info_set(MPI_INFO_NULL, "key", "value");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(wanted, "init_twice") == 0) MPI_Init(&argc, &argv);
  if (strcmp(wanted, "root") == 0) MPI_Bcast(&x, 1, MPI_INT, 77, MPI_COMM_WORLD);
  if (strcmp(wanted, "name") == 0) {
    MPI_Comm_set_name(MPI_COMM_WORLD, "the ocean");
    MPI_Bcast(&x, 1, MPI_INT, 77, MPI_COMM_WORLD);
  }
  if (strcmp(wanted, "call") == 0) MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_IO);
  if (strcmp(wanted, "null_comm") == 0) MPI_Barrier(MPI_COMM_NULL);
  /* One rank alone; the others wait for it and must not wait for ever. */
  if (strcmp(wanted, "abort") == 0 && rank == 0) MPI_Abort(MPI_COMM_WORLD, 42);
  if (strcmp(wanted, "abort") == 0) MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(wanted, "abort_alone") == 0) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD); /* All have started. */
    if (rank == 0) MPI_Abort(MPI_COMM_WORLD, 42);
    if (MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS) fprintf(stderr, "rank %d goes on\n", rank);
  }
  MPI_Finalize();
  if (strcmp(wanted, "after_finalize") == 0) MPI_Barrier(MPI_COMM_WORLD);
  fprintf(stderr, "survived\n");
  return 0;
}
