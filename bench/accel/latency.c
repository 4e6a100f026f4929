/* latency: how long collectives take by the method of the OSU micro-benchmarks: some calls that do
 * not count, then calls that are timed one by one, with a barrier after each; a figure is the
 * average over calls and processes. Sizes are bytes that each process contributes (of all-to-all
 * and scatter: per block), as there.
 *
 * Both sides are measured in one launch, a batch of each in turn, so that processors that move
 * apart slow both alike: MPI_ functions (the accelerator's, where it is loaded) and PMPI_ functions
 * (the MPI's own). A figure is the median of the batches' averages.
 *
 * usage: latency OPERATION[,OPERATION...] LARGEST_BYTES SECONDS
 * SECONDS bounds what a side of a cell may take, by fewer timed calls. Prints a line for each cell:
 * operation, bytes, then microseconds of a call and of a call with its barrier, of MPI_ functions
 * and of PMPI_ ones.
 */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSmall = 8192, kSkipSmall = 100, kCallsSmall = 1000, kSkipLarge = 20, kCallsLarge = 100 };
enum { kBatches = 10, kSkipBatch = 3 };

typedef struct {
  int (*barrier)(MPI_Comm);
  int (*bcast)(void*, int, MPI_Datatype, int, MPI_Comm);
  int (*reduce)(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
  int (*allreduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
  int (*reduce_scatter)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
  int (*allgather)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
  int (*alltoall)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
  int (*gather)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm);
  int (*scatter)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm);
} Side;

static const Side sides[2] = {
    {MPI_Barrier, MPI_Bcast, MPI_Reduce, MPI_Allreduce, MPI_Reduce_scatter_block, MPI_Allgather,
     MPI_Alltoall, MPI_Gather, MPI_Scatter},
    {PMPI_Barrier, PMPI_Bcast, PMPI_Reduce, PMPI_Allreduce, PMPI_Reduce_scatter_block,
     PMPI_Allgather, PMPI_Alltoall, PMPI_Gather, PMPI_Scatter},
};

typedef struct {
  double call, loop; /* microseconds of a call, and with the barrier after it */
} Times;

static int rank, size;
static char *in, *out;

static void run(const Side* side, const char* operation, int bytes) {
  const MPI_Comm world = MPI_COMM_WORLD;
  const int floats = bytes / (int)sizeof(float);
  if (strcmp(operation, "barrier") == 0) {
    side->barrier(world);
  } else if (strcmp(operation, "bcast") == 0) {
    side->bcast(in, bytes, MPI_CHAR, 0, world);
  } else if (strcmp(operation, "reduce") == 0) {
    side->reduce(in, out, floats, MPI_FLOAT, MPI_SUM, 0, world);
  } else if (strcmp(operation, "allreduce") == 0) {
    side->allreduce(in, out, floats, MPI_FLOAT, MPI_SUM, world);
  } else if (strcmp(operation, "reduce_scatter") == 0) {
    side->reduce_scatter(in, out, floats / size, MPI_FLOAT, MPI_SUM, world);
  } else if (strcmp(operation, "allgather") == 0) {
    side->allgather(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, world);
  } else if (strcmp(operation, "alltoall") == 0) {
    side->alltoall(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, world);
  } else if (strcmp(operation, "gather") == 0) {
    side->gather(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, 0, world);
  } else if (strcmp(operation, "scatter") == 0) {
    side->scatter(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, 0, world);
  } else {
    fprintf(stderr, "latency: what is '%s'?\n", operation);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

static Times batch(const Side* side, const char* operation, int bytes, int skip, int calls) {
  double sum = 0, loop = MPI_Wtime();
  for (int i = -skip; i < calls; ++i) {
    if (i == 0) {
      sum = 0;
      loop = MPI_Wtime();
    }
    const double begin = MPI_Wtime();
    run(side, operation, bytes);
    sum += MPI_Wtime() - begin;
    side->barrier(MPI_COMM_WORLD);
  }
  const double own[2] = {sum, MPI_Wtime() - loop};
  double all[2] = {0, 0};
  PMPI_Allreduce(own, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const double scale = 1e6 / calls / size;
  return (Times){all[0] * scale, all[1] * scale};
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(const Times* times, size_t offset) {
  double sorted[kBatches];
  for (int i = 0; i < kBatches; ++i) memcpy(&sorted[i], (const char*)&times[i] + offset, 8);
  qsort(sorted, kBatches, sizeof(double), compare);
  return (sorted[(kBatches - 1) / 2] + sorted[kBatches / 2]) / 2;
}

static void measure(const char* operation, int bytes, double seconds) {
  const int skip = bytes <= kSmall ? kSkipSmall : kSkipLarge;
  const int most = bytes <= kSmall ? kCallsSmall : kCallsLarge;
  int calls[2];
  for (int s = 0; s < 2; ++s) {
    (void)batch(&sides[s], operation, bytes, 0, skip);
    const double one = batch(&sides[s], operation, bytes, 0, 3).loop * 1e-6;
    calls[s] = one * most <= seconds ? most / kBatches : (int)(seconds / one / kBatches);
    if (calls[s] < 1) calls[s] = 1;
    PMPI_Bcast(&calls[s], 1, MPI_INT, 0, MPI_COMM_WORLD); /* sums may differ in their last bits */
  }
  Times times[2][kBatches];
  for (int i = 0; i < 2 * kBatches; ++i) {
    times[i % 2][i / 2] = batch(&sides[i % 2], operation, bytes, kSkipBatch, calls[i % 2]);
  }
  if (rank != 0) return;
  printf("%s %d", operation, bytes);
  for (int s = 0; s < 2; ++s) {
    printf(" %.3f %.3f", median(times[s], offsetof(Times, call)),
           median(times[s], offsetof(Times, loop)));
  }
  printf("\n");
  fflush(stdout);
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
    const int is_blocks = strcmp(operation, "reduce_scatter") == 0;
    for (int bytes = 4; bytes <= largest; bytes *= 4) {
      if (!is_blocks || bytes >= 4 * size) measure(operation, bytes, seconds);
    }
  }
  free(in);
  free(out);
  return MPI_Finalize();
}
