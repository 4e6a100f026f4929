/* What the programs of these tests share: they are plain MPI, and keep what their calls have
 * written in a file of each rank, so that runs with and without the accelerator can be compared. */
#ifndef ESPALIER_TESTS_ACCEL_JOB_H
#define ESPALIER_TESTS_ACCEL_JOB_H

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int g_rank, g_size;
static FILE* g_results;

/* job PATH: results go to PATH.RANK. */
static void begin(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  char path[1024];
  if (argc < 2 || snprintf(path, sizeof path, "%s.%d", argv[1], g_rank) >= (int)sizeof path) {
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  g_results = fopen(path, "wb");
  if (g_results == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
}

static void keep(const void* data, size_t bytes) {
  if (fwrite(data, 1, bytes, g_results) != bytes) MPI_Abort(MPI_COMM_WORLD, 2);
}

static void finish(void) {
  if (fclose(g_results) != 0) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Finalize();
}

/* Bytes that differ by place, rank and call. */
static void fill(void* data, size_t bytes, int seed) {
  unsigned char* to = data;
  for (size_t i = 0; i < bytes; ++i) to[i] = (unsigned char)(i * 7 + (unsigned)seed * 31 + 1);
}

static void* room(size_t bytes) {
  void* made = calloc(bytes + 1, 1);
  if (made == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  return made;
}

/* RUN(started, Allreduce, allreduce, arguments): blocking, or started and waited for. */
#define RUN(started, Blocking, name, ...)      \
  do {                                         \
    if (started) {                             \
      MPI_Request request_ = MPI_REQUEST_NULL; \
      MPI_I##name(__VA_ARGS__, &request_);     \
      MPI_Wait(&request_, MPI_STATUS_IGNORE);  \
    } else {                                   \
      MPI_##Blocking(__VA_ARGS__);             \
    }                                          \
  } while (0)

#endif
