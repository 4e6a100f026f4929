// MPI's blocking collectives. path: data
#include "accel/shim/make_calls.hpp"
#include "accel/shim/run.hpp"

namespace a = espalier::accel;

extern "C" {

int accel_MPI_Barrier(MPI_Comm comm) {
  return a::run(a::barrier(comm));
}

int accel_MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return a::run(a::bcast(buffer, count, type, root, comm));
}

int accel_MPI_Reduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root,
                     MPI_Comm comm) {
  return a::run(a::reduce(in, out, count, type, op, root, comm));
}

int accel_MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm) {
  return a::run(a::reduction<a::AllreduceCall>(in, out, count, type, op, comm));
}

int accel_MPI_Scan(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm) {
  return a::run(a::reduction<a::ScanCall>(in, out, count, type, op, comm));
}

int accel_MPI_Exscan(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm) {
  return a::run(a::reduction<a::ExscanCall>(in, out, count, type, op, comm));
}

int accel_MPI_Reduce_scatter_block(const void* in, void* out, int count, MPI_Datatype type,
                                   MPI_Op op, MPI_Comm comm) {
  return a::run(a::reduction<a::ReduceScatterBlockCall>(in, out, count, type, op, comm));
}

int accel_MPI_Reduce_scatter(const void* in, void* out, const int* counts, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm) {
  return a::run(a::reduce_scatter(in, out, counts, type, op, comm));
}

int accel_MPI_Allgather(const void* in, int in_count, MPI_Datatype in_type, void* out,
                        int out_count, MPI_Datatype out_type, MPI_Comm comm) {
  return a::run(a::move<a::AllgatherCall>(in, in_count, in_type, out, out_count, out_type, comm));
}

int accel_MPI_Alltoall(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                       MPI_Datatype out_type, MPI_Comm comm) {
  return a::run(a::move<a::AlltoallCall>(in, in_count, in_type, out, out_count, out_type, comm));
}

int accel_MPI_Gather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                     MPI_Datatype out_type, int root, MPI_Comm comm) {
  return a::run(
      a::rooted<a::GatherCall>(in, in_count, in_type, out, out_count, out_type, root, comm));
}

int accel_MPI_Scatter(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                      MPI_Datatype out_type, int root, MPI_Comm comm) {
  return a::run(
      a::rooted<a::ScatterCall>(in, in_count, in_type, out, out_count, out_type, root, comm));
}

int accel_MPI_Allgatherv(const void* in, int count, MPI_Datatype type, void* out, const int* counts,
                         const int* displs, MPI_Datatype out_type, MPI_Comm comm) {
  return a::run(a::allgatherv(in, count, type, out, counts, displs, out_type, comm));
}

int accel_MPI_Gatherv(const void* in, int count, MPI_Datatype type, void* out, const int* counts,
                      const int* displs, MPI_Datatype out_type, int root, MPI_Comm comm) {
  return a::run(a::gatherv(in, count, type, out, counts, displs, out_type, root, comm));
}

int accel_MPI_Scatterv(const void* in, const int* counts, const int* displs, MPI_Datatype in_type,
                       void* out, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return a::run(a::scatterv(in, counts, displs, in_type, out, count, type, root, comm));
}

int accel_MPI_Alltoallv(const void* in, const int* in_counts, const int* in_displs,
                        MPI_Datatype in_type, void* out, const int* out_counts,
                        const int* out_displs, MPI_Datatype out_type, MPI_Comm comm) {
  return a::run(
      a::alltoallv(in, in_counts, in_displs, in_type, out, out_counts, out_displs, out_type, comm));
}

}  // extern "C"
