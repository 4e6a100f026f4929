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
static int prepare_equal(Call* call, const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                         void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                         int sends_to_each) {
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

static int prepare_allgatherv(VCall* v, const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                              void* recvbuf, const int* recvcounts, const int* displs,
                              MPI_Datatype recvtype, MPI_Comm comm) {
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
#define PARAMETERS_OF_BLOCKS                                                                \
  (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, \
   MPI_Datatype recvtype, MPI_Comm comm)

CALL_FORMS(MPI_Neighbor_allgather, MPI_Ineighbor_allgather, MPI_Neighbor_allgather_init,
           neighbor_allgather, PARAMETERS_OF_BLOCKS,
           prepare_equal(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                         0),
           call.comm->topology->graph, call.input, call.output, call.count, call.type)

CALL_FORMS(MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, MPI_Neighbor_alltoall_init,
           neighbor_alltoall, PARAMETERS_OF_BLOCKS,
           prepare_equal(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                         1),
           call.comm->topology->graph, call.input, call.output, call.count, call.type)

BLOCKS_FORMS(MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, MPI_Neighbor_allgatherv_init,
             neighbor_allgatherv,
             (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
              const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm),
             prepare_allgatherv(&v, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                recvtype, comm),
             GRAPH_OF_CALL, v.call.input, v.call.count, v.call.output, v.out.to_counts,
             v.out.to_displs, v.call.type)

BLOCKS_FORMS(MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, MPI_Neighbor_alltoallv_init,
             neighbor_alltoallv,
             (const void* sendbuf, const int sendcounts[], const int sdispls[],
              MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
              MPI_Datatype recvtype, MPI_Comm comm),
             prepare_sides(&v, sendbuf, side_of_arrays(sendcounts, sdispls), sendtype, recvbuf,
                           side_of_arrays(recvcounts, rdispls), recvtype, comm),
             GRAPH_OF_CALL, v.call.input, v.in.to_counts, v.in.to_displs, v.call.output,
             v.out.to_counts, v.out.to_displs, v.call.type)

/* The one function here whose displacements are of type MPI_Aint. */
static Side side_of_types(const int* counts, const MPI_Aint* displs, const MPI_Datatype* types) {
  return (Side){.counts = counts, .byte_displs = displs, .block_types = types};
}

BLOCKS_FORMS(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, MPI_Neighbor_alltoallw_init,
             neighbor_alltoallw,
             (const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
              const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
              const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm),
             prepare_sides(&v, sendbuf, side_of_types(sendcounts, sdispls, sendtypes),
                           MPI_DATATYPE_NULL, recvbuf,
                           side_of_types(recvcounts, rdispls, recvtypes), MPI_DATATYPE_NULL, comm),
             GRAPH_OF_CALL, v.call.input, v.in.to_counts, v.in.to_displs, v.in.to_types,
             v.call.output, v.out.to_counts, v.out.to_displs, v.out.to_types)
