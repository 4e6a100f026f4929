/* Exchanges with the neighbours of a communicator with a topology. Arguments of a direction in
 * which this rank has no neighbours are not looked at. path: short */
#include "mpi/blocks.h"

static size_t sources(const Call* call) {
  return esp_graph_source_count(call->comm->topology->graph);
}

static size_t destinations(const Call* call) {
  return esp_graph_destination_count(call->comm->topology->graph);
}

static int prepare_graph(Call* call, MPI_Comm comm) {
  const int code = call_comm(call, comm);
  if (code != MPI_SUCCESS) return code;
  const Topology* topology = call->comm->topology;
  if (topology != NULL && topology->graph != NULL) return MPI_SUCCESS;
  return raise_error(
      call->function, call->comm, MPI_ERR_TOPOLOGY,
      topology == NULL ? "the communicator has no topology" : "the graph is not symmetric");
}

static int no_place(const Call* call, const void* sendbuf, const void* recvbuf) {
  if (sendbuf != MPI_IN_PLACE && recvbuf != MPI_IN_PLACE) return MPI_SUCCESS;
  return raise_error(call->function, call->comm, MPI_ERR_BUFFER,
                     "MPI_IN_PLACE is not for exchanges with neighbours");
}

/* MPI_Neighbor_allgather and MPI_Neighbor_alltoall: all blocks of all ranks are alike. A rank
 * without neighbours says how they are by what it would send. */
static int prepare_equal(Call* call, const void* sendbuf, MPI_Count sendcount,
                         MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                         MPI_Datatype recvtype, MPI_Comm comm, int sends_to_each) {
  int code = prepare_graph(call, comm);
  if (code == MPI_SUCCESS) code = no_place(call, sendbuf, recvbuf);
  if (code != MPI_SUCCESS) return code;
  const int sends = destinations(call) > 0, receives = sources(call) > 0;
  call->input = sends ? sendbuf : ""; /* which is not read; the library wants one */
  call->output = recvbuf;
  call->in.blocks = sends_to_each ? destinations(call) : 1;
  call->out.blocks = sources(call);
  call->out.when = kBoth; /* what comes from nobody is left alone */
  if (!sends && !receives) {
    Data side;
    return call_data(call, &side, sendcount, sendtype);
  }
  if (sends) code = call_one(call, &call->in, sendbuf, sendcount, sendtype);
  const Extent sent = {sendcount, call->count};
  if (code == MPI_SUCCESS && receives)
    code = call_one(call, &call->out, recvbuf, recvcount, recvtype);
  if (code != MPI_SUCCESS || !sends || !receives || sent.bytes == call->count) return code;
  return call_truncates(call, "a block that is sent has another size than one that is received",
                        sent, (Extent){recvcount, call->count});
}

static int prepare_allgatherv(VCall* v, const void* sendbuf, MPI_Count sendcount,
                              MPI_Datatype sendtype, void* recvbuf, Numbers recvcounts,
                              Numbers displs, MPI_Datatype recvtype, MPI_Comm comm) {
  Call* call = &v->call;
  int code = prepare_graph(call, comm);
  if (code == MPI_SUCCESS) code = no_place(call, sendbuf, recvbuf);
  if (code != MPI_SUCCESS) return code;
  call->in.blocks = 1;
  v->keeps = 1;
  if (destinations(call) > 0) code = call_one(call, &call->in, sendbuf, sendcount, sendtype);
  if (code != MPI_SUCCESS) return code;
  call->input = sendbuf;
  Side out = side_of_arrays(recvcounts, displs);
  out.blocks = sources(call);
  return blocks_receive(v, recvbuf, recvtype, out);
}

/* Both sides of MPI_Neighbor_alltoallv, and with types of each block of MPI_Neighbor_alltoallw. */
static int prepare_sides(VCall* v, const void* sendbuf, Side in, MPI_Datatype sendtype,
                         void* recvbuf, Side out, MPI_Datatype recvtype, MPI_Comm comm) {
  Call* call = &v->call;
  int code = prepare_graph(call, comm);
  if (code == MPI_SUCCESS) code = no_place(call, sendbuf, recvbuf);
  if (code != MPI_SUCCESS) return code;
  v->keeps = 1;
  in.blocks = destinations(call);
  out.blocks = sources(call);
  code = blocks_send(v, sendbuf, sendtype, in);
  return code == MPI_SUCCESS ? blocks_receive(v, recvbuf, recvtype, out) : code;
}

#define GRAPH_OF_CALL v.call.comm->topology->graph
#define PARAMETERS_OF_BLOCKS(COUNT, DISPL)                                                      \
  (const void* sendbuf, COUNT sendcount, MPI_Datatype sendtype, void* recvbuf, COUNT recvcount, \
   MPI_Datatype recvtype, MPI_Comm comm)
#define PARAMETERS_OF_ALLGATHERV(COUNT, DISPL)                                 \
  (const void* sendbuf, COUNT sendcount, MPI_Datatype sendtype, void* recvbuf, \
   const COUNT recvcounts[], const DISPL displs[], MPI_Datatype recvtype, MPI_Comm comm)
#define PARAMETERS_OF_ALLTOALLV(COUNT, DISPL)                                                   \
  (const void* sendbuf, const COUNT sendcounts[], const DISPL sdispls[], MPI_Datatype sendtype, \
   void* recvbuf, const COUNT recvcounts[], const DISPL rdispls[], MPI_Datatype recvtype,       \
   MPI_Comm comm)
/* The one function here whose displacements are of type MPI_Aint in both forms. */
#define PARAMETERS_OF_ALLTOALLW(COUNT, DISPL)                               \
  (const void* sendbuf, const COUNT sendcounts[], const MPI_Aint sdispls[], \
   const MPI_Datatype sendtypes[], void* recvbuf, const COUNT recvcounts[], \
   const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)

CALL_FORMS(Neighbor_allgather, Ineighbor_allgather, neighbor_allgather, PARAMETERS_OF_BLOCKS,
           prepare_equal(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                         0),
           call.comm->topology->graph, call.input, call.output, call.count, call.type)

CALL_FORMS(Neighbor_alltoall, Ineighbor_alltoall, neighbor_alltoall, PARAMETERS_OF_BLOCKS,
           prepare_equal(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                         1),
           call.comm->topology->graph, call.input, call.output, call.count, call.type)

BLOCKS_FORMS(Neighbor_allgatherv, Ineighbor_allgatherv, neighbor_allgatherv,
             PARAMETERS_OF_ALLGATHERV,
             prepare_allgatherv(&v, sendbuf, sendcount, sendtype, recvbuf, NUMBERS_OF(recvcounts),
                                NUMBERS_OF(displs), recvtype, comm),
             GRAPH_OF_CALL, v.call.input, v.call.count, v.call.output, v.out.to_counts,
             v.out.to_displs, v.call.type)

BLOCKS_FORMS(Neighbor_alltoallv, Ineighbor_alltoallv, neighbor_alltoallv, PARAMETERS_OF_ALLTOALLV,
             prepare_sides(&v, sendbuf, side_of_arrays(NUMBERS_OF(sendcounts), NUMBERS_OF(sdispls)),
                           sendtype, recvbuf,
                           side_of_arrays(NUMBERS_OF(recvcounts), NUMBERS_OF(rdispls)), recvtype,
                           comm),
             GRAPH_OF_CALL, v.call.input, v.in.to_counts, v.in.to_displs, v.call.output,
             v.out.to_counts, v.out.to_displs, v.call.type)

BLOCKS_FORMS(Neighbor_alltoallw, Ineighbor_alltoallw, neighbor_alltoallw, PARAMETERS_OF_ALLTOALLW,
             prepare_sides(&v, sendbuf,
                           side_of_types(NUMBERS_OF(sendcounts), NUMBERS_OF(sdispls), sendtypes),
                           MPI_DATATYPE_NULL, recvbuf,
                           side_of_types(NUMBERS_OF(recvcounts), NUMBERS_OF(rdispls), recvtypes),
                           MPI_DATATYPE_NULL, comm),
             GRAPH_OF_CALL, v.call.input, v.in.to_counts, v.in.to_displs, v.in.to_types,
             v.call.output, v.out.to_counts, v.out.to_displs, v.out.to_types)
