// MPI's non-blocking collectives. path: data
#include "accel/shim/make_calls.hpp"
#include "accel/shim/run.hpp"

namespace a = espalier::accel;

extern "C" {

int accel_MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return a::run_started(a::barrier(comm), request);
}

int accel_MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                     MPI_Request* request) {
  return a::run_started(a::bcast(buffer, count, type, root, comm), request);
}

int accel_MPI_Ireduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root,
                      MPI_Comm comm, MPI_Request* request) {
  return a::run_started(a::reduce(in, out, count, type, op, root, comm), request);
}

int accel_MPI_Iallreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm, MPI_Request* request) {
  return a::run_started(a::reduction<a::AllreduceCall>(in, out, count, type, op, comm), request);
}

int accel_MPI_Iscan(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm, MPI_Request* request) {
  return a::run_started(a::reduction<a::ScanCall>(in, out, count, type, op, comm), request);
}

int accel_MPI_Iexscan(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm comm, MPI_Request* request) {
  return a::run_started(a::reduction<a::ExscanCall>(in, out, count, type, op, comm), request);
}

int accel_MPI_Ireduce_scatter_block(const void* in, void* out, int count, MPI_Datatype type,
                                    MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return a::run_started(a::reduction<a::ReduceScatterBlockCall>(in, out, count, type, op, comm),
                        request);
}

int accel_MPI_Ireduce_scatter(const void* in, void* out, const int* counts, MPI_Datatype type,
                              MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return a::run_started(a::reduce_scatter(in, out, counts, type, op, comm), request);
}

int accel_MPI_Iallgather(const void* in, int in_count, MPI_Datatype in_type, void* out,
                         int out_count, MPI_Datatype out_type, MPI_Comm comm,
                         MPI_Request* request) {
  return a::run_started(
      a::move<a::AllgatherCall>(in, in_count, in_type, out, out_count, out_type, comm), request);
}

int accel_MPI_Ialltoall(const void* in, int in_count, MPI_Datatype in_type, void* out,
                        int out_count, MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request) {
  return a::run_started(
      a::move<a::AlltoallCall>(in, in_count, in_type, out, out_count, out_type, comm), request);
}

int accel_MPI_Igather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                      MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request* request) {
  return a::run_started(
      a::rooted<a::GatherCall>(in, in_count, in_type, out, out_count, out_type, root, comm),
      request);
}

int accel_MPI_Iscatter(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                       MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request* request) {
  return a::run_started(
      a::rooted<a::ScatterCall>(in, in_count, in_type, out, out_count, out_type, root, comm),
      request);
}

int accel_MPI_Iallgatherv(const void* in, int count, MPI_Datatype type, void* out,
                          const int* counts, const int* displs, MPI_Datatype out_type,
                          MPI_Comm comm, MPI_Request* request) {
  return a::run_started(a::allgatherv(in, count, type, out, counts, displs, out_type, comm),
                        request);
}

int accel_MPI_Igatherv(const void* in, int count, MPI_Datatype type, void* out, const int* counts,
                       const int* displs, MPI_Datatype out_type, int root, MPI_Comm comm,
                       MPI_Request* request) {
  return a::run_started(a::gatherv(in, count, type, out, counts, displs, out_type, root, comm),
                        request);
}

int accel_MPI_Iscatterv(const void* in, const int* counts, const int* displs, MPI_Datatype in_type,
                        void* out, int count, MPI_Datatype type, int root, MPI_Comm comm,
                        MPI_Request* request) {
  return a::run_started(a::scatterv(in, counts, displs, in_type, out, count, type, root, comm),
                        request);
}

int accel_MPI_Ialltoallv(const void* in, const int* in_counts, const int* in_displs,
                         MPI_Datatype in_type, void* out, const int* out_counts,
                         const int* out_displs, MPI_Datatype out_type, MPI_Comm comm,
                         MPI_Request* request) {
  return a::run_started(
      a::alltoallv(in, in_counts, in_displs, in_type, out, out_counts, out_displs, out_type, comm),
      request);
}

}  // extern "C"
