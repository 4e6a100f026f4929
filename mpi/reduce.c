/* The reductions: to one, to all, and of the ranks up to one's own. path: short */
#include "mpi/call.h"

static int prepare_reduce(Call* call, const void* sendbuf, void* recvbuf, MPI_Count count,
                          MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm) {
  int code = call_comm(call, comm);
  if (code == MPI_SUCCESS) code = call_data(call, &call->in, count, datatype);
  call->out = call->in;
  if (code == MPI_SUCCESS) code = call_root(call, root);
  if (code != MPI_SUCCESS) return code;
  const int is_root = esp_team_rank(call->comm->team) == root;
  code = call_buffers(call, sendbuf, recvbuf, is_root);
  const size_t all = (size_t)esp_team_size(call->comm->team);
  const FoldPlan fold = {.kind = kFoldToRoot, .root = root, .contributions = is_root ? all : 0};
  return code == MPI_SUCCESS ? call_op(call, op, fold) : code;
}

/* MPI_Allreduce, MPI_Scan. */
static int prepare_for_all(Call* call, const void* sendbuf, void* recvbuf, MPI_Count count,
                           MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, int is_scan) {
  int code = call_comm(call, comm);
  if (code == MPI_SUCCESS) code = call_data(call, &call->in, count, datatype);
  call->out = call->in;
  if (code == MPI_SUCCESS) code = call_buffers(call, sendbuf, recvbuf, 1);
  if (code != MPI_SUCCESS) return code;
  const int last = is_scan ? esp_team_rank(call->comm->team) + 1 : esp_team_size(call->comm->team);
  return call_op(call, op, (FoldPlan){.kind = kFoldToAll, .contributions = (size_t)last});
}

/* Rank 0 gets nothing: its receive buffer counts only as the place of its input. */
static int prepare_exscan(Call* call, const void* sendbuf, void* recvbuf, MPI_Count count,
                          MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  int code = call_comm(call, comm);
  if (code == MPI_SUCCESS) code = call_data(call, &call->in, count, datatype);
  call->out = call->in;
  if (code == MPI_SUCCESS) {
    const int counts = sendbuf == MPI_IN_PLACE || esp_team_rank(call->comm->team) > 0;
    code = call_buffers(call, sendbuf, counts ? recvbuf : NULL, counts);
  }
  if (code != MPI_SUCCESS) return code;
  const size_t before = (size_t)esp_team_rank(call->comm->team);
  return call_op(call, op, (FoldPlan){.kind = kFoldToAll, .contributions = before});
}

#define PARAMETERS_TO_ROOT(COUNT, DISPL)                                                        \
  (const void* sendbuf, void* recvbuf, COUNT count, MPI_Datatype datatype, MPI_Op op, int root, \
   MPI_Comm comm)
#define PARAMETERS_FOR_ALL(COUNT, DISPL) \
  (const void* sendbuf, void* recvbuf, COUNT count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)

CALL_FORMS(Reduce, Ireduce, reduce, PARAMETERS_TO_ROOT,
           prepare_reduce(&call, sendbuf, recvbuf, count, datatype, op, root, comm),
           call.comm->team, call.input, call.output, call.count, call.type, call.op, root)

CALL_FORMS(Allreduce, Iallreduce, allreduce, PARAMETERS_FOR_ALL,
           prepare_for_all(&call, sendbuf, recvbuf, count, datatype, op, comm, 0), call.comm->team,
           call.input, call.output, call.count, call.type, call.op)

CALL_FORMS(Scan, Iscan, scan, PARAMETERS_FOR_ALL,
           prepare_for_all(&call, sendbuf, recvbuf, count, datatype, op, comm, 1), call.comm->team,
           call.input, call.output, call.count, call.type, call.op)

CALL_FORMS(Exscan, Iexscan, exscan, PARAMETERS_FOR_ALL,
           prepare_exscan(&call, sendbuf, recvbuf, count, datatype, op, comm), call.comm->team,
           call.input, call.output, call.count, call.type, call.op)
