// Calls from the arguments of MPI's functions, in their order. path: data
#pragma once

#include "accel/shim/block_moves.hpp"
#include "accel/shim/moves.hpp"
#include "accel/shim/reductions.hpp"

namespace espalier::accel {

inline BarrierCall barrier(MPI_Comm comm) {
  return {{comm}};
}

inline BcastCall bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return {{comm}, buffer, count, type, root};
}

template <typename Call>
Call reduction(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  Call call = {};
  static_cast<Reduction&>(call) = {{comm}, in, out, count, type, op};
  return call;
}

inline ReduceCall reduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                         int root, MPI_Comm comm) {
  auto call = reduction<ReduceCall>(in, out, count, type, op, comm);
  call.root = root;
  return call;
}

inline ReduceScatterCall reduce_scatter(const void* in, void* out, const int* counts,
                                        MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  auto call = reduction<ReduceScatterCall>(in, out, 0, type, op, comm);
  call.counts = counts;
  return call;
}

template <typename Call>
Call move(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
          MPI_Datatype out_type, MPI_Comm comm) {
  Call call = {};
  static_cast<Move&>(call) = {{comm}, in, in_count, in_type, out, out_count, out_type};
  return call;
}

template <typename Call>
Call rooted(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
            MPI_Datatype out_type, int root, MPI_Comm comm) {
  Call call = move<Call>(in, in_count, in_type, out, out_count, out_type, comm);
  call.root = root;
  return call;
}

inline AllgathervCall allgatherv(const void* in, int count, MPI_Datatype type, void* out,
                                 const int* counts, const int* displs, MPI_Datatype out_type,
                                 MPI_Comm comm) {
  AllgathervCall call = {};
  static_cast<BlocksMove&>(call) = {
      {comm}, const_cast<void*>(in), count, type, {out, counts, displs, out_type}};
  return call;
}

inline GathervCall gatherv(const void* in, int count, MPI_Datatype type, void* out,
                           const int* counts, const int* displs, MPI_Datatype out_type, int root,
                           MPI_Comm comm) {
  GathervCall call = {};
  static_cast<BlocksMove&>(call) = {{comm}, const_cast<void*>(in),           count,
                                    type,   {out, counts, displs, out_type}, root};
  return call;
}

inline ScattervCall scatterv(const void* in, const int* counts, const int* displs,
                             MPI_Datatype in_type, void* out, int count, MPI_Datatype type,
                             int root, MPI_Comm comm) {
  ScattervCall call = {};
  static_cast<BlocksMove&>(call) = {
      {comm}, out, count, type, {const_cast<void*>(in), counts, displs, in_type}, root};
  return call;
}

inline AlltoallvCall alltoallv(const void* in, const int* in_counts, const int* in_displs,
                               MPI_Datatype in_type, void* out, const int* out_counts,
                               const int* out_displs, MPI_Datatype out_type, MPI_Comm comm) {
  return {{comm},
          {const_cast<void*>(in), in_counts, in_displs, in_type},
          {out, out_counts, out_displs, out_type}};
}

}  // namespace espalier::accel
