/* errors CASE: what the program has done wrong, and goes on after. Prints "went on". */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* Collectives have no requests that could be freed; MPIs let go of ours all the same. */
static void freed(void) {
  static int in[4096], out[4096];
  MPI_Request request;
  for (int i = 0; i < 3; ++i) {
    MPI_Iallreduce(in, out, 4096, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The text that the program gets says who did what. */
static void text(int rank) {
  char said[MPI_MAX_ERROR_STRING] = "";
  int length = 0, data[2] = {0, 0}, class = MPI_SUCCESS;
  const int code = MPI_Bcast(data, rank == 0 ? 2 : 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (code == MPI_SUCCESS) return;
  MPI_Error_class(code, &class);
  MPI_Error_string(code, said, &length);
  printf("text: %s\nclass %s\n", said, class == MPI_SUCCESS ? "none" : "some");
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(argv[1], "freed") == 0) {
    freed();
  } else {
    text(rank);
  }
  printf("went on\n");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
