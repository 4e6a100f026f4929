/* Barrier and broadcast. path: short */
#include "mpi/call.h"

static int prepare_bcast(Call* call, void* buffer, MPI_Count count, MPI_Datatype datatype, int root,
                         MPI_Comm comm) {
  int code = call_comm(call, comm);
  if (code == MPI_SUCCESS) code = call_data(call, &call->out, count, datatype);
  if (code == MPI_SUCCESS) code = call_root(call, root);
  if (code != MPI_SUCCESS) return code;
  if (call_is_null(&call->out, buffer) || (call->count > 0 && buffer == MPI_IN_PLACE)) {
    code = raise_error(call->function, call->comm, MPI_ERR_BUFFER, "null buffer");
  }
  call->out.blocks = 1;
  call->out.when = esp_team_rank(call->comm->team) == root ? kBefore : kAfter;
  call->output = buffer;
  return code;
}

CALL_FORMS_OF(MPI_Barrier, MPI_Ibarrier, MPI_Barrier_init, barrier, (MPI_Comm comm),
              call_comm(&call, comm), call.comm->team)

#define PARAMETERS_OF_BCAST(COUNT, DISPL) \
  (void* buffer, COUNT count, MPI_Datatype datatype, int root, MPI_Comm comm)

CALL_FORMS(Bcast, Ibcast, bcast, PARAMETERS_OF_BCAST,
           prepare_bcast(&call, buffer, count, datatype, root, comm), call.comm->team, call.output,
           call.count, call.type, root)
