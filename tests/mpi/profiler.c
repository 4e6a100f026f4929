/* profiler: a library as tools are made: it stands before the functions of MPI, counts their calls,
 * and says at the end what it has counted on rank 0. Preloaded, or linked before.
 */
#include <mpi.h>
#include <stdio.h>

enum { kInit, kIsend, kIrecv, kWait, kReplace, kMrecv, kBcast, kBarrier, kKinds };
static int calls[kKinds];

int MPI_Init(int* argc, char*** argv) {
  ++calls[kInit];
  return PMPI_Init(argc, argv);
}

int MPI_Isend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  ++calls[kIsend];
  return PMPI_Isend(buf, count, datatype, dest, tag, comm, request);
}

int MPI_Irecv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Request* request) {
  ++calls[kIrecv];
  return PMPI_Irecv(buf, count, datatype, source, tag, comm, request);
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  ++calls[kWait];
  return PMPI_Wait(request, status);
}

int MPI_Sendrecv_replace(void* buf, int count, MPI_Datatype datatype, int dest, int sendtag,
                         int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  ++calls[kReplace];
  return PMPI_Sendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm, status);
}

int MPI_Mrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
              MPI_Status* status) {
  ++calls[kMrecv];
  return PMPI_Mrecv(buf, count, datatype, message, status);
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  ++calls[kBcast];
  return PMPI_Bcast(buffer, count, datatype, root, comm);
}

int MPI_Barrier(MPI_Comm comm) {
  ++calls[kBarrier];
  return PMPI_Barrier(comm);
}

int MPI_Finalize(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    printf("profile: init %d isend %d irecv %d wait %d replace %d mrecv %d bcast %d barrier %d\n",
           calls[kInit], calls[kIsend], calls[kIrecv], calls[kWait], calls[kReplace], calls[kMrecv],
           calls[kBcast], calls[kBarrier]);
  }
  return PMPI_Finalize();
}
