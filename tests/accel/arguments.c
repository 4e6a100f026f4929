/* Wrong arguments: which error the program sees, and which handler, are as without the accelerator.
 */
#include "job.h"

static int g_called;

static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++g_called;
}

static void see(int code) {
  int seen[2] = {0, g_called};
  MPI_Error_class(code, &seen[0]);
  keep(seen, sizeof seen);
  if (seen[0] == MPI_SUCCESS || code == MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 5);
}

static void wrong_in_reductions(MPI_Comm comm) {
  int in[64] = {0}, out[64] = {0}, counts[64];
  for (int r = 0; r < 64; ++r) counts[r] = -1;
  see(MPI_Allreduce(in, out, -1, MPI_INT, MPI_SUM, comm));
  see(MPI_Allreduce(in, out, 1, MPI_DATATYPE_NULL, MPI_SUM, comm));
  see(MPI_Allreduce(in, out, 1, MPI_INT, MPI_OP_NULL, comm));
  see(MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL));
  see(MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, g_size, comm));
  see(MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, -1, comm));
  see(MPI_Scan(in, out, -1, MPI_INT, MPI_SUM, comm));
  see(MPI_Exscan(in, out, 1, MPI_DATATYPE_NULL, MPI_SUM, comm));
  see(MPI_Reduce_scatter_block(in, out, -1, MPI_INT, MPI_SUM, comm));
  see(MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm));
}

static void wrong_in_moves(MPI_Comm comm) {
  int in[64] = {0}, out[64] = {0}, counts[64], displs[64] = {0};
  for (int r = 0; r < 64; ++r) counts[r] = -1;
  see(MPI_Barrier(MPI_COMM_NULL));
  see(MPI_Bcast(in, -1, MPI_INT, 0, comm));
  see(MPI_Bcast(in, 1, MPI_INT, g_size, comm));
  see(MPI_Bcast(in, 1, MPI_DATATYPE_NULL, 0, comm));
  see(MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, -1, comm));
  see(MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, g_size + 1, comm));
  see(MPI_Allgather(in, -1, MPI_INT, out, -1, MPI_INT, comm));
  see(MPI_Alltoall(in, 1, MPI_DATATYPE_NULL, out, 1, MPI_DATATYPE_NULL, comm));
  see(MPI_Gatherv(in, 1, MPI_INT, out, counts, displs, MPI_INT, g_size, comm));
  see(MPI_Scatterv(in, counts, displs, MPI_INT, out, 1, MPI_INT, g_size, comm));
}

static void wrong_in_started(MPI_Comm comm) {
  int in[64] = {0}, out[64] = {0};
  MPI_Request request = MPI_REQUEST_NULL;
  see(MPI_Iallreduce(in, out, -1, MPI_INT, MPI_SUM, comm, &request));
  see(MPI_Ibcast(in, 1, MPI_INT, g_size, comm, &request));
  see(MPI_Iallgather(in, 1, MPI_DATATYPE_NULL, out, 1, MPI_DATATYPE_NULL, comm, &request));
  see(MPI_Ibarrier(MPI_COMM_NULL, &request));
}

/* Not committed, at the root alone: the others are not asked. */
static void uncommitted(MPI_Comm comm) {
  int in[8] = {0};
  MPI_Datatype type;
  MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  see(MPI_Bcast(in, 1, type, 0, comm));
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  MPI_Errhandler handler;
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_create_errhandler(on_error, &handler);
  for (int own = 0; own < 2; ++own) {
    /* Errors of no communicator: of these two, by the MPI's version. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own ? handler : MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, own ? handler : MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(dup, own ? handler : MPI_ERRORS_RETURN);
    MPI_Barrier(dup);
    wrong_in_reductions(dup);
    wrong_in_moves(dup);
    wrong_in_started(dup);
    uncommitted(dup);
    int sum = 0;
    MPI_Allreduce(&g_size, &sum, 1, MPI_INT, MPI_SUM, dup);
    keep(&sum, sizeof sum);
  }
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&dup);
  finish();
  return 0;
}
