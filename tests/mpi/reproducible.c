/* reproducible: with ESPALIER_REPRODUCIBLE=1 a program that knows nothing but <mpi.h> gets the same
 * bits for the same values, however many processes share them and in whatever order. Prints which
 * rank failed what; at least three processes.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "conformance.h"

enum { VALUES = 3, COUNT = 1000 };

/* Of magnitudes so different that sums round in every step. */
static double value(int j, int i) {
  const double x = (i * 7919 + j * 104729) % 1009 + 1.0 / (3 + i + j);
  return j == 0 ? x * 1e9 : j == 1 ? -x * 7e8 : x * 1e-3;
}

/* Value j is that of process j + turn. */
static void fill(double* data, int me, int members, int turn) {
  const int j = (me - turn % members + members) % members;
  for (int i = 0; i < COUNT; ++i) data[i] = j < VALUES ? value(j, i) : 0.0;
}

static void same_bits(const double* result, const double* expected, int count) {
  CHECK(memcmp(result, expected, sizeof *result * (size_t)count) == 0);
}

static void sums_of(MPI_Comm comm, const double* expected) {
  int me = 0, members = 0;
  double data[COUNT], result[COUNT];
  CHECK_OK(MPI_Comm_rank(comm, &me));
  CHECK_OK(MPI_Comm_size(comm, &members));
  for (int turn = 0; turn < members; ++turn) {
    for (int count = 1; count <= COUNT; count += COUNT - 1) {
      fill(data, me, members, turn);
      CHECK_OK(MPI_Allreduce(data, result, count, MPI_DOUBLE, MPI_SUM, comm));
      same_bits(result, expected, count);
      CHECK_OK(MPI_Reduce(data, result, count, MPI_DOUBLE, MPI_SUM, turn, comm));
      if (me == turn) same_bits(result, expected, count);
      CHECK_OK(MPI_Scan(data, result, count, MPI_DOUBLE, MPI_SUM, comm));
      if (me == members - 1) same_bits(result, expected, count);
      CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_DOUBLE, MPI_SUM, comm));
      same_bits(data, expected, count);
    }
  }
}

int main(int argc, char** argv) {
  double expected[COUNT];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int members = VALUES; members <= size; ++members) {
    MPI_Comm comm = MPI_COMM_NULL;
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank < members ? 0 : MPI_UNDEFINED, 0, &comm));
    if (members == VALUES) {
      fill(expected, rank, VALUES, 0);
      if (comm != MPI_COMM_NULL) {
        CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, expected, COUNT, MPI_DOUBLE, MPI_SUM, comm));
      }
      CHECK_OK(MPI_Bcast(expected, COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    }
    if (comm == MPI_COMM_NULL) continue;
    sums_of(comm, expected);
    CHECK_OK(MPI_Comm_free(&comm));
  }
  return conclude();
}
