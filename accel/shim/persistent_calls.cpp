// MPI's persistent collectives, which MPIs have since version 4. path: setup
#include "accel/shim/make_calls.hpp"
#include "accel/shim/run_init.hpp"

#if MPI_VERSION >= 4

namespace a = espalier::accel;

extern "C" {

int accel_MPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return a::run_init(a::barrier(comm), info, request);
}

int accel_MPI_Bcast_init(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                         MPI_Info info, MPI_Request* request) {
  return a::run_init(a::bcast(buffer, count, type, root, comm), info, request);
}

int accel_MPI_Reduce_init(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                          int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return a::run_init(a::reduce(in, out, count, type, op, root, comm), info, request);
}

int accel_MPI_Allreduce_init(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return a::run_init(a::reduction<a::AllreduceCall>(in, out, count, type, op, comm), info, request);
}

int accel_MPI_Scan_init(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return a::run_init(a::reduction<a::ScanCall>(in, out, count, type, op, comm), info, request);
}

int accel_MPI_Exscan_init(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return a::run_init(a::reduction<a::ExscanCall>(in, out, count, type, op, comm), info, request);
}

int accel_MPI_Reduce_scatter_block_init(const void* in, void* out, int count, MPI_Datatype type,
                                        MPI_Op op, MPI_Comm comm, MPI_Info info,
                                        MPI_Request* request) {
  return a::run_init(a::reduction<a::ReduceScatterBlockCall>(in, out, count, type, op, comm), info,
                     request);
}

int accel_MPI_Reduce_scatter_init(const void* in, void* out, const int* counts, MPI_Datatype type,
                                  MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return a::run_init(a::reduce_scatter(in, out, counts, type, op, comm), info, request);
}

int accel_MPI_Allgather_init(const void* in, int in_count, MPI_Datatype in_type, void* out,
                             int out_count, MPI_Datatype out_type, MPI_Comm comm, MPI_Info info,
                             MPI_Request* request) {
  return a::run_init(
      a::move<a::AllgatherCall>(in, in_count, in_type, out, out_count, out_type, comm), info,
      request);
}

int accel_MPI_Alltoall_init(const void* in, int in_count, MPI_Datatype in_type, void* out,
                            int out_count, MPI_Datatype out_type, MPI_Comm comm, MPI_Info info,
                            MPI_Request* request) {
  return a::run_init(
      a::move<a::AlltoallCall>(in, in_count, in_type, out, out_count, out_type, comm), info,
      request);
}

int accel_MPI_Gather_init(const void* in, int in_count, MPI_Datatype in_type, void* out,
                          int out_count, MPI_Datatype out_type, int root, MPI_Comm comm,
                          MPI_Info info, MPI_Request* request) {
  return a::run_init(
      a::rooted<a::GatherCall>(in, in_count, in_type, out, out_count, out_type, root, comm), info,
      request);
}

int accel_MPI_Scatter_init(const void* in, int in_count, MPI_Datatype in_type, void* out,
                           int out_count, MPI_Datatype out_type, int root, MPI_Comm comm,
                           MPI_Info info, MPI_Request* request) {
  return a::run_init(
      a::rooted<a::ScatterCall>(in, in_count, in_type, out, out_count, out_type, root, comm), info,
      request);
}

int accel_MPI_Allgatherv_init(const void* in, int count, MPI_Datatype type, void* out,
                              const int* counts, const int* displs, MPI_Datatype out_type,
                              MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return a::run_init(a::allgatherv(in, count, type, out, counts, displs, out_type, comm), info,
                     request);
}

int accel_MPI_Gatherv_init(const void* in, int count, MPI_Datatype type, void* out,
                           const int* counts, const int* displs, MPI_Datatype out_type, int root,
                           MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return a::run_init(a::gatherv(in, count, type, out, counts, displs, out_type, root, comm), info,
                     request);
}

int accel_MPI_Scatterv_init(const void* in, const int* counts, const int* displs,
                            MPI_Datatype in_type, void* out, int count, MPI_Datatype type, int root,
                            MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return a::run_init(a::scatterv(in, counts, displs, in_type, out, count, type, root, comm), info,
                     request);
}

int accel_MPI_Alltoallv_init(const void* in, const int* in_counts, const int* in_displs,
                             MPI_Datatype in_type, void* out, const int* out_counts,
                             const int* out_displs, MPI_Datatype out_type, MPI_Comm comm,
                             MPI_Info info, MPI_Request* request) {
  return a::run_init(
      a::alltoallv(in, in_counts, in_displs, in_type, out, out_counts, out_displs, out_type, comm),
      info, request);
}

}  // extern "C"

#endif
