/* Some megabytes, started and not. Operators on bits: those of MPICH 4.0 take bytes for signed
 * ones, and the sums of Open MPI 4.1 stop at 255. */
#include "job.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  const int n = (3 << 20) / g_size;
  const size_t all = (size_t)n * (size_t)g_size;
  char *in = room(all), *out = room(all);
  for (int started = 0; started < 2; ++started) {
    fill(in, all, g_rank);
    memcpy(out, in, all);
    RUN(started, Bcast, bcast, out, (int)all, MPI_BYTE, g_size - 1, MPI_COMM_WORLD);
    keep(out, all);
    RUN(started, Allreduce, allreduce, in, out, (int)all, MPI_UNSIGNED_CHAR, MPI_BXOR,
        MPI_COMM_WORLD);
    keep(out, all);
    RUN(started, Reduce, reduce, in, out, (int)all, MPI_UNSIGNED_CHAR, MPI_BXOR, 0, MPI_COMM_WORLD);
    if (g_rank == 0) keep(out, all);
    RUN(started, Scan, scan, in, out, (int)all, MPI_UNSIGNED_CHAR, MPI_BAND, MPI_COMM_WORLD);
    keep(out, all);
    RUN(started, Reduce_scatter_block, reduce_scatter_block, in, out, n, MPI_UNSIGNED_CHAR, MPI_BOR,
        MPI_COMM_WORLD);
    keep(out, (size_t)n);
    RUN(started, Allgather, allgather, in, n, MPI_BYTE, out, n, MPI_BYTE, MPI_COMM_WORLD);
    keep(out, all);
    RUN(started, Alltoall, alltoall, in, n, MPI_BYTE, out, n, MPI_BYTE, MPI_COMM_WORLD);
    keep(out, all);
    memset(out, 0, all);
    RUN(started, Gather, gather, in, n, MPI_BYTE, out, n, MPI_BYTE, 0, MPI_COMM_WORLD);
    keep(out, all);
    RUN(started, Scatter, scatter, in, n, MPI_BYTE, out, n, MPI_BYTE, 0, MPI_COMM_WORLD);
    keep(out, all);
  }
  free(in);
  free(out);
  finish();
  return 0;
}
