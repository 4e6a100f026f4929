/* Reductions whose result is split among the ranks. In place, everybody's blocks stand in the
 * receive buffer. path: short */
#include "mpi/blocks.h"

/* MPI_Reduce_scatter_block: everybody gets as much, of as many times that. */
static int prepare_equal(Call* call, const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                         MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  int code = call_comm(call, comm);
  if (code == MPI_SUCCESS) code = call_data(call, &call->in, recvcount, datatype);
  call->out = call->in;
  if (code == MPI_SUCCESS) code = call_buffers(call, sendbuf, recvbuf, 1);
  if (code != MPI_SUCCESS) return code;
  const size_t all = (size_t)esp_team_size(call->comm->team);
  return call_op(call, op, (FoldPlan){.kind = kFoldBlocks, .contributions = all});
}

/* The counts are elements here as there, and there are no displacements. */
static int prepare_counts(VCall* v, Numbers recvcounts, MPI_Datatype datatype, MPI_Count* total) {
  Call* call = &v->call;
  const int size = esp_team_size(call->comm->team);
  if (numbers_are_null(recvcounts))
    return raise_error(call->function, call->comm, MPI_ERR_ARG, "null counts");
  for (int r = 0; r < size; ++r) {
    const int code = call_data(call, &call->in, number_at(recvcounts, (size_t)r), datatype);
    if (code != MPI_SUCCESS) return code;
    if (__builtin_add_overflow(*total, number_at(recvcounts, (size_t)r), total)) {
      return raise_error(call->function, call->comm, MPI_ERR_COUNT,
                         "more than 63 bits of elements");
    }
  }
  v->out = (Side){.blocks = (size_t)size, .counts = recvcounts, .count_unit = 1, .displ_unit = 1};
  return MPI_SUCCESS;
}

/* Who gets nothing needs no receive buffer, unless that has the input. */
static int prepare_unequal(VCall* v, const void* sendbuf, void* recvbuf, Numbers recvcounts,
                           MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  Call* call = &v->call;
  MPI_Count total = 0;
  int code = call_comm(call, comm);
  if (code == MPI_SUCCESS) code = prepare_counts(v, recvcounts, datatype, &total);
  if (code != MPI_SUCCESS) return code;
  const int receives = number_at(recvcounts, (size_t)esp_team_rank(call->comm->team)) > 0;
  code = call_data(call, &call->in, total, datatype);
  call->out = call->in;
  if (code == MPI_SUCCESS) {
    code = call_buffers(call, sendbuf, recvbuf, receives || sendbuf == MPI_IN_PLACE);
  }
  if (code != MPI_SUCCESS) return code;
  const size_t all = receives ? (size_t)esp_team_size(call->comm->team) : 0;
  return call_op(call, op,
                 (FoldPlan){.kind = kFoldBlocks, .contributions = all, .counts = recvcounts});
}

#define PARAMETERS_OF_EQUAL(COUNT, DISPL)                                                 \
  (const void* sendbuf, void* recvbuf, COUNT recvcount, MPI_Datatype datatype, MPI_Op op, \
   MPI_Comm comm)
#define PARAMETERS_OF_UNEQUAL(COUNT, DISPL)                                                        \
  (const void* sendbuf, void* recvbuf, const COUNT recvcounts[], MPI_Datatype datatype, MPI_Op op, \
   MPI_Comm comm)

CALL_FORMS(Reduce_scatter_block, Ireduce_scatter_block, reduce_scatter_block, PARAMETERS_OF_EQUAL,
           prepare_equal(&call, sendbuf, recvbuf, recvcount, datatype, op, comm), call.comm->team,
           call.input, call.output, call.count, call.type, call.op)

BLOCKS_FORMS(Reduce_scatter, Ireduce_scatter, reduce_scatter, PARAMETERS_OF_UNEQUAL,
             prepare_unequal(&v, sendbuf, recvbuf, NUMBERS_OF(recvcounts), datatype, op, comm),
             v.call.comm->team, v.call.input, v.call.output, v.out.to_counts, v.call.type,
             v.call.op)
