/* Calls that are Espalier's, and one of each kind that falls through to the MPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

int main(int argc, char** argv) {
  int rank, size, in[64] = {1, 2}, out[64] = {0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 50; ++i) MPI_Allreduce(in, out, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < 3; ++i) MPI_Bcast(in, 25, MPI_INT, 0, MPI_COMM_WORLD);

  MPI_Op op;
  MPI_Datatype pair;
  MPI_Request request;
  MPI_Comm dup, half, inter;
  MPI_Op_create(&add, 1, &op);
  MPI_Allreduce(in, out, 1, MPI_INT, op, MPI_COMM_WORLD);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Reduce(in, out, 1, pair, op, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_SELF);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_set_name(dup, "never blocking");
  MPI_Ibarrier(dup, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  MPI_Comm gone;
  MPI_Comm_dup(MPI_COMM_WORLD, &gone);
  for (int i = 0; i < 40; ++i) MPI_Allgather(&rank, 1, MPI_INT, out + 2, 1, MPI_INT, gone);
  MPI_Comm_free(&gone);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, (rank + 1) % 2, 0, &inter);
  MPI_Comm_set_name(inter, "between");
  MPI_Barrier(inter);

  if (argc > 1 && rank == 0) {
    char line[4096];
    FILE* maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps) != NULL) {
      if (strstr(line, "espalier") != NULL) fputs(line, stdout);
    }
    fclose(maps);
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
  MPI_Comm_free(&dup);
  MPI_Type_free(&pair);
  MPI_Op_free(&op);
  MPI_Finalize();
  return out[0] > 0 ? 0 : 1;
}
