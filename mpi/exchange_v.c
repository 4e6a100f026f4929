/* Exchanges of blocks whose sizes, places or types differ from member to member. path: short */
#include "mpi/blocks.h"

static size_t members(const VCall* v) {
  return (size_t)esp_team_size(v->call.comm->team);
}

static int own(const VCall* v) {
  return esp_team_rank(v->call.comm->team);
}

/* In place, the send arguments do not count. */
static int prepare_allgatherv(VCall* v, const void* sendbuf, MPI_Count sendcount,
                              MPI_Datatype sendtype, void* recvbuf, Numbers recvcounts,
                              Numbers displs, MPI_Datatype recvtype, MPI_Comm comm) {
  const int in_place = sendbuf == MPI_IN_PLACE;
  int code = call_comm(&v->call, comm);
  if (code != MPI_SUCCESS) return code;
  v->call.in.blocks = 1;
  if (!in_place) code = call_one(&v->call, &v->call.in, sendbuf, sendcount, sendtype);
  v->call.input = in_place ? ESP_IN_PLACE : sendbuf;
  if (code == MPI_SUCCESS) {
    Side out = side_of_arrays(recvcounts, displs);
    out.blocks = members(v);
    code = blocks_receive(v, recvbuf, recvtype, out);
  }
  if (code != MPI_SUCCESS || in_place) return code;
  return blocks_own(v, (Extent){sendcount, v->call.count}, blocks_extent(&v->out, own(v)));
}

/* Both sides of MPI_Alltoallv, and with types of each block of MPI_Alltoallw. */
static int prepare_sides(VCall* v, const void* sendbuf, Side in, MPI_Datatype sendtype,
                         void* recvbuf, Side out, MPI_Datatype recvtype, MPI_Comm comm) {
  const int in_place = sendbuf == MPI_IN_PLACE;
  int code = call_comm(&v->call, comm);
  if (code != MPI_SUCCESS) return code;
  in.blocks = out.blocks = members(v);
  v->call.input = ESP_IN_PLACE;
  if (!in_place) code = blocks_send(v, sendbuf, sendtype, in);
  if (code == MPI_SUCCESS) code = blocks_receive(v, recvbuf, recvtype, out);
  if (code != MPI_SUCCESS || in_place) return code;
  return blocks_own(v, blocks_extent(&v->in, own(v)), blocks_extent(&v->out, own(v)));
}

#define PARAMETERS_OF_ALLGATHERV(COUNT, DISPL)                                 \
  (const void* sendbuf, COUNT sendcount, MPI_Datatype sendtype, void* recvbuf, \
   const COUNT recvcounts[], const DISPL displs[], MPI_Datatype recvtype, MPI_Comm comm)
#define PARAMETERS_OF_ALLTOALLV(COUNT, DISPL)                                                   \
  (const void* sendbuf, const COUNT sendcounts[], const DISPL sdispls[], MPI_Datatype sendtype, \
   void* recvbuf, const COUNT recvcounts[], const DISPL rdispls[], MPI_Datatype recvtype,       \
   MPI_Comm comm)
#define PARAMETERS_OF_ALLTOALLW(COUNT, DISPL)                                                      \
  (const void* sendbuf, const COUNT sendcounts[], const DISPL sdispls[],                           \
   const MPI_Datatype sendtypes[], void* recvbuf, const COUNT recvcounts[], const DISPL rdispls[], \
   const MPI_Datatype recvtypes[], MPI_Comm comm)

BLOCKS_FORMS(Allgatherv, Iallgatherv, allgatherv, PARAMETERS_OF_ALLGATHERV,
             prepare_allgatherv(&v, sendbuf, sendcount, sendtype, recvbuf, NUMBERS_OF(recvcounts),
                                NUMBERS_OF(displs), recvtype, comm),
             v.call.comm->team, v.call.input, v.call.output, v.out.to_counts, v.out.to_displs,
             v.call.type)

BLOCKS_FORMS(Alltoallv, Ialltoallv, alltoallv, PARAMETERS_OF_ALLTOALLV,
             prepare_sides(&v, sendbuf, side_of_arrays(NUMBERS_OF(sendcounts), NUMBERS_OF(sdispls)),
                           sendtype, recvbuf,
                           side_of_arrays(NUMBERS_OF(recvcounts), NUMBERS_OF(rdispls)), recvtype,
                           comm),
             v.call.comm->team, v.call.input, v.in.to_counts, v.in.to_displs, v.call.output,
             v.out.to_counts, v.out.to_displs, v.call.type)

BLOCKS_FORMS(Alltoallw, Ialltoallw, alltoallw, PARAMETERS_OF_ALLTOALLW,
             prepare_sides(&v, sendbuf,
                           side_of_types(NUMBERS_OF(sendcounts), NUMBERS_OF(sdispls), sendtypes),
                           MPI_DATATYPE_NULL, recvbuf,
                           side_of_types(NUMBERS_OF(recvcounts), NUMBERS_OF(rdispls), recvtypes),
                           MPI_DATATYPE_NULL, comm),
             v.call.comm->team, v.call.input, v.in.to_counts, v.in.to_displs, v.in.to_types,
             v.call.output, v.out.to_counts, v.out.to_displs, v.out.to_types)
