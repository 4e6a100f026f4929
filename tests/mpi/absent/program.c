/* Names windows in a function that main reaches with -D REACHED alone, or where a library has it.
 */
#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C"
#endif
    int
    use_windows(MPI_Comm comm);

#ifndef IN_LIBRARY
int use_windows(MPI_Comm comm) {
  MPI_Win win = MPI_WIN_NULL;
  int code = MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, comm, &win);
  if (code == MPI_SUCCESS) code = PMPI_Win_free(&win);
  return code;
}
#endif

#ifndef AS_LIBRARY
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
#if defined REACHED || defined IN_LIBRARY
  if (argc > 1) use_windows(MPI_COMM_WORLD);
#endif
  return MPI_Finalize();
}
#endif
