/* Gather and scatter: blocks that come to the root, and go from it. What counts at the root alone
 * is looked at there alone. path: short */
#include <stdint.h>

#include "mpi/blocks.h"

static int is_root(const Call* call, int root) {
  return esp_team_rank(call->comm->team) == root;
}

/* `buffer` is that of a rank's own block, which may be in place at the root. */
static int prepare_root(Call* call, const void* buffer, int root, MPI_Comm comm) {
  int code = call_comm(call, comm);
  if (code == MPI_SUCCESS) code = call_root(call, root);
  if (code != MPI_SUCCESS || buffer != MPI_IN_PLACE || is_root(call, root)) return code;
  return raise_error(call->function, call->comm, MPI_ERR_BUFFER,
                     "MPI_IN_PLACE is for the root alone");
}

/* ---- blocks of one size ---- */

/* The root's side after a rank's own one, of `own_count` elements unless it is in place. */
static int prepare_blocks_of_root(Call* call, int gathers, const void* own_buffer,
                                  MPI_Count own_count, const void* buffer, MPI_Count count,
                                  MPI_Datatype datatype) {
  const int in_place = own_buffer == MPI_IN_PLACE;
  const Extent own = {own_count, call->count};
  Data* all = gathers ? &call->out : &call->in;
  const Data* one = gathers ? &call->in : &call->out;
  const int code = call_one(call, all, buffer, count, datatype);
  all->blocks = (size_t)esp_team_size(call->comm->team);
  if (gathers && in_place) all->when = kBoth;
  if (code != MPI_SUCCESS) return code;
  const char* problem = NULL;
  if (buffer == MPI_IN_PLACE) {
    problem = gathers ? "MPI_IN_PLACE as receive buffer" : "MPI_IN_PLACE as send buffer";
  } else if (call->count > 0 && !in_place &&
             displaced(buffer, all->type->true_lb) == displaced(own_buffer, one->type->true_lb)) {
    problem = "send and receive buffer are the same; use MPI_IN_PLACE";
  }
  if (problem != NULL) return raise_error(call->function, call->comm, MPI_ERR_BUFFER, problem);
  const Extent root = {count, call->count};
  if (in_place || own.bytes == root.bytes) return MPI_SUCCESS;
  return call_truncates(call, "a block that is sent has another size than one that is received",
                        gathers ? own : root, gathers ? root : own);
}

static int prepare_gather(Call* call, const void* sendbuf, MPI_Count sendcount,
                          MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                          MPI_Datatype recvtype, int root, MPI_Comm comm) {
  const int in_place = sendbuf == MPI_IN_PLACE;
  int code = prepare_root(call, sendbuf, root, comm);
  if (code == MPI_SUCCESS && !in_place)
    code = call_one(call, &call->in, sendbuf, sendcount, sendtype);
  call->in.blocks = 1;
  call->input = in_place ? ESP_IN_PLACE : sendbuf;
  call->output = recvbuf;
  if (code != MPI_SUCCESS || !is_root(call, root)) return code;
  return prepare_blocks_of_root(call, 1, sendbuf, sendcount, recvbuf, recvcount, recvtype);
}

static int prepare_scatter(Call* call, const void* sendbuf, MPI_Count sendcount,
                           MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                           MPI_Datatype recvtype, int root, MPI_Comm comm) {
  const int in_place = recvbuf == MPI_IN_PLACE;
  int code = prepare_root(call, recvbuf, root, comm);
  if (code == MPI_SUCCESS && !in_place)
    code = call_one(call, &call->out, recvbuf, recvcount, recvtype);
  call->out.blocks = 1;
  call->input = sendbuf;
  call->output = in_place ? (void*)(uintptr_t)ESP_IN_PLACE : recvbuf;
  if (code != MPI_SUCCESS || !is_root(call, root)) return code;
  return prepare_blocks_of_root(call, 0, recvbuf, recvcount, sendbuf, sendcount, sendtype);
}

#define PARAMETERS_WITH_ROOT(COUNT, DISPL)                                                      \
  (const void* sendbuf, COUNT sendcount, MPI_Datatype sendtype, void* recvbuf, COUNT recvcount, \
   MPI_Datatype recvtype, int root, MPI_Comm comm)

CALL_FORMS(Gather, Igather, gather, PARAMETERS_WITH_ROOT,
           prepare_gather(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                          comm),
           call.comm->team, call.input, call.output, call.count, call.type, root)

CALL_FORMS(Scatter, Iscatter, scatter, PARAMETERS_WITH_ROOT,
           prepare_scatter(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                           comm),
           call.comm->team, call.input, call.output, call.count, call.type, root)

/* ---- blocks of many sizes ---- */

static Side side_of_root(const VCall* v, Numbers counts, Numbers displs) {
  Side side = side_of_arrays(counts, displs);
  side.blocks = (size_t)esp_team_size(v->call.comm->team);
  return side;
}

static int prepare_gatherv(VCall* v, const void* sendbuf, MPI_Count sendcount,
                           MPI_Datatype sendtype, void* recvbuf, Numbers recvcounts, Numbers displs,
                           MPI_Datatype recvtype, int root, MPI_Comm comm) {
  const int in_place = sendbuf == MPI_IN_PLACE;
  int code = prepare_root(&v->call, sendbuf, root, comm);
  v->call.in.blocks = 1;
  if (code == MPI_SUCCESS && !in_place) {
    code = call_one(&v->call, &v->call.in, sendbuf, sendcount, sendtype);
  }
  v->call.input = in_place ? ESP_IN_PLACE : sendbuf;
  if (code != MPI_SUCCESS || !is_root(&v->call, root)) return code;
  code = blocks_receive(v, recvbuf, recvtype, side_of_root(v, recvcounts, displs));
  if (code != MPI_SUCCESS) return code;
  const Extent received = blocks_extent(&v->out, root);
  if (!in_place) return blocks_own(v, (Extent){sendcount, v->call.count}, received);
  v->call.count = received.bytes;
  v->own_count = (size_t)received.count;
  return MPI_SUCCESS;
}

static int prepare_scatterv(VCall* v, const void* sendbuf, Numbers sendcounts, Numbers displs,
                            MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                            MPI_Datatype recvtype, int root, MPI_Comm comm) {
  const int in_place = recvbuf == MPI_IN_PLACE;
  int code = prepare_root(&v->call, recvbuf, root, comm);
  v->call.out.blocks = 1;
  if (code == MPI_SUCCESS && !in_place) {
    code = call_one(&v->call, &v->call.out, recvbuf, recvcount, recvtype);
  }
  v->call.output = in_place ? (void*)(uintptr_t)ESP_IN_PLACE : recvbuf;
  if (code != MPI_SUCCESS || !is_root(&v->call, root)) return code;
  code = blocks_send(v, sendbuf, sendtype, side_of_root(v, sendcounts, displs));
  if (code != MPI_SUCCESS) return code;
  const Extent sent = blocks_extent(&v->in, root);
  if (!in_place) return blocks_own(v, sent, (Extent){recvcount, v->call.count});
  v->call.count = sent.bytes;
  v->own_count = (size_t)sent.count;
  return MPI_SUCCESS;
}

#define PARAMETERS_OF_GATHERV(COUNT, DISPL)                                    \
  (const void* sendbuf, COUNT sendcount, MPI_Datatype sendtype, void* recvbuf, \
   const COUNT recvcounts[], const DISPL displs[], MPI_Datatype recvtype, int root, MPI_Comm comm)
#define PARAMETERS_OF_SCATTERV(COUNT, DISPL)                                                   \
  (const void* sendbuf, const COUNT sendcounts[], const DISPL displs[], MPI_Datatype sendtype, \
   void* recvbuf, COUNT recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)

BLOCKS_FORMS(Gatherv, Igatherv, gatherv, PARAMETERS_OF_GATHERV,
             prepare_gatherv(&v, sendbuf, sendcount, sendtype, recvbuf, NUMBERS_OF(recvcounts),
                             NUMBERS_OF(displs), recvtype, root, comm),
             v.call.comm->team, v.call.input, v.call.count, v.call.output, v.out.to_counts,
             v.out.to_displs, v.call.type, root)

BLOCKS_FORMS(Scatterv, Iscatterv, scatterv, PARAMETERS_OF_SCATTERV,
             prepare_scatterv(&v, sendbuf, NUMBERS_OF(sendcounts), NUMBERS_OF(displs), sendtype,
                              recvbuf, recvcount, recvtype, root, comm),
             v.call.comm->team, v.call.input, v.in.to_counts, v.in.to_displs, v.call.output,
             v.call.count, v.call.type, root)
