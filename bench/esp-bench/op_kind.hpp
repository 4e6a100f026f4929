// The operations that esp-bench knows, their names and what kind of operation each is.
//
// Collectives are called as in the API (`gatherv`: esp_gatherv, MPI_Gatherv). `-skewed`: one rank's
// blocks are long, those of the others have one element. path: setup
#pragma once

#include <map>
#include <string>
#include <vector>

namespace espalier::bench {

// The order is used by the functions below.
enum class OpKind {
  kBarrier,
  kBcast,
  kReduce,
  kAllreduce,
  kScan,
  kExscan,
  // Of blocks (block_layout.hpp):
  kAllgather,
  kAllgatherv,
  kAllgathervSkewed,
  kGather,
  kGatherv,
  kGathervSkewed,
  kAlltoall,
  kAlltoallv,
  kAlltoallvSkewed,
  kAlltoallw,
  kScatter,
  kScatterv,
  kReduceScatterBlock,
  kReduceScatter,
  kReduceScatterSkewed,
  kNeighborAllgather,
  kNeighborAlltoall,
  // Between ranks 0 and 1:
  kLatency,
  kBandwidth,
  // By rank 0 on rank 1 (operation_one_sided.cpp):
  kPutLatency,
  kPutBandwidth,
  kGetLatency,
  kGetBandwidth,
  kFetchAddLatency,
  kFetchAddRate,
  kMessageLatency,
  kMessageRate,
};

const char* op_name(OpKind kind);
const std::map<std::string, OpKind>& all_ops();
// Those that are measured where none is named.
std::vector<OpKind> default_ops();

inline bool is_one_sided(OpKind kind) {
  return kind >= OpKind::kPutLatency;
}
// Between ranks 0 and 1.
inline bool is_pair(OpKind kind) {
  return kind >= OpKind::kLatency;
}
inline bool has_blocks(OpKind kind) {
  return kind >= OpKind::kAllgather && kind <= OpKind::kNeighborAlltoall;
}
inline bool has_neighbors(OpKind kind) {
  return kind == OpKind::kNeighborAllgather || kind == OpKind::kNeighborAlltoall;
}
inline bool is_gather(OpKind kind) {
  return kind >= OpKind::kGather && kind <= OpKind::kGathervSkewed;
}
inline bool is_scatter(OpKind kind) {
  return kind == OpKind::kScatter || kind == OpKind::kScatterv;
}
inline bool is_reduce_scatter(OpKind kind) {
  return kind >= OpKind::kReduceScatterBlock && kind <= OpKind::kReduceScatterSkewed;
}
inline bool is_fetch_add(OpKind kind) {
  return kind == OpKind::kFetchAddLatency || kind == OpKind::kFetchAddRate;
}
inline bool is_message(OpKind kind) {
  return kind >= OpKind::kMessageLatency;
}

}  // namespace espalier::bench
