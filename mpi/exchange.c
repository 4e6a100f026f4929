/* Exchanges of blocks of one size: everybody's to all, and to each its own. path: short */
#include "mpi/call.h"

/* MPI_Allgather and MPI_Alltoall alike. In place, the send arguments do not count. */
static int prepare(Call* call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                   void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                   int sends_to_each) {
  const int in_place = sendbuf == MPI_IN_PLACE;
  int code = call_comm(call, comm);
  if (code == MPI_SUCCESS && !in_place) code = call_data(call, &call->in, sendcount, sendtype);
  const size_t sent_bytes = call->count;
  if (code == MPI_SUCCESS) code = call_data(call, &call->out, recvcount, recvtype);
  if (code == MPI_SUCCESS) code = call_buffers(call, sendbuf, recvbuf, 1);
  if (code != MPI_SUCCESS) return code;
  call->out.blocks = (size_t)esp_team_size(call->comm->team);
  call->in.blocks = sends_to_each ? call->out.blocks : 1;
  call->out.when = in_place ? kBoth : kAfter;
  if (!in_place && sent_bytes != call->count) {
    code = call_truncates(call, "a block that is sent has another size than one that is received",
                          (Extent){sendcount, sent_bytes}, (Extent){recvcount, call->count});
  }
  return code;
}

#define PARAMETERS_OF_BLOCKS(COUNT, DISPL)                                                      \
  (const void* sendbuf, COUNT sendcount, MPI_Datatype sendtype, void* recvbuf, COUNT recvcount, \
   MPI_Datatype recvtype, MPI_Comm comm)

CALL_FORMS(Allgather, Iallgather, allgather, PARAMETERS_OF_BLOCKS,
           prepare(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, 0),
           call.comm->team, call.input, call.output, call.count, call.type)

CALL_FORMS(Alltoall, Ialltoall, alltoall, PARAMETERS_OF_BLOCKS,
           prepare(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, 1),
           call.comm->team, call.input, call.output, call.count, call.type)
