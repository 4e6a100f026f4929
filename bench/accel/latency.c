/* latency: how long collectives of any MPI take, by the method of the OSU micro-benchmarks: some
 * calls that do not count, then calls that are timed one by one, with a barrier after each; a
 * figure is the average over calls and processes. Sizes are bytes that each process contributes (of
 * all-to-all and scatter: per block), as there.
 *
 * usage: latency OPERATION[,OPERATION...] LARGEST_BYTES SECONDS
 * SECONDS bounds what a cell may take, by fewer timed calls. Prints a line for each cell:
 * operation,
 * bytes, microseconds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSmall = 8192, kSkipSmall = 100, kCallsSmall = 1000, kSkipLarge = 10, kCallsLarge = 100 };

static int rank, size;
static char *in, *out;

static void run(const char* operation, int bytes) {
  const int floats = bytes / (int)sizeof(float);
  if (strcmp(operation, "barrier") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (strcmp(operation, "bcast") == 0) {
    MPI_Bcast(in, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
  } else if (strcmp(operation, "reduce") == 0) {
    MPI_Reduce(in, out, floats, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
  } else if (strcmp(operation, "allreduce") == 0) {
    MPI_Allreduce(in, out, floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  } else if (strcmp(operation, "allgather") == 0) {
    MPI_Allgather(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, MPI_COMM_WORLD);
  } else if (strcmp(operation, "alltoall") == 0) {
    MPI_Alltoall(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, MPI_COMM_WORLD);
  } else if (strcmp(operation, "gather") == 0) {
    MPI_Gather(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
  } else if (strcmp(operation, "scatter") == 0) {
    MPI_Scatter(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
  } else if (strcmp(operation, "reduce_scatter") == 0) {
    MPI_Reduce_scatter_block(in, out, floats / size, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  } else {
    fprintf(stderr, "latency: what is '%s'?\n", operation);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

/* So many calls that the cell takes no longer than it may, alike on all processes. */
static int calls_within(const char* operation, int bytes, int calls, double seconds) {
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  for (int i = 0; i < 3; ++i) {
    run(operation, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  const double one = (MPI_Wtime() - begin) / 3;
  int fit = one * calls <= seconds ? calls : (int)(seconds / one);
  if (fit < 5) fit = 5;
  MPI_Bcast(&fit, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return fit;
}

static void measure(const char* operation, int bytes, double seconds) {
  const int skip = bytes <= kSmall ? kSkipSmall : kSkipLarge;
  const int most = bytes <= kSmall ? kCallsSmall : kCallsLarge;
  for (int i = 0; i < skip; ++i) {
    run(operation, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  const int calls = calls_within(operation, bytes, most, seconds);
  double sum = 0, total = 0;
  for (int i = 0; i < calls; ++i) {
    const double begin = MPI_Wtime();
    run(operation, bytes);
    sum += MPI_Wtime() - begin;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%s %d %.3f\n", operation, bytes, total / calls / size * 1e6);
    fflush(stdout);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int largest = atoi(argv[2]);
  const double seconds = atof(argv[3]);
  in = calloc((size_t)largest * (size_t)size + 1, 1);
  out = calloc((size_t)largest * (size_t)size + 1, 1);
  if (in == NULL || out == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  for (char* operation = strtok(argv[1], ","); operation != NULL; operation = strtok(NULL, ",")) {
    if (strcmp(operation, "barrier") == 0) {
      measure(operation, 0, seconds);
      continue;
    }
    for (int bytes = 4; bytes <= largest; bytes *= 4) measure(operation, bytes, seconds);
  }
  free(in);
  free(out);
  return MPI_Finalize();
}
