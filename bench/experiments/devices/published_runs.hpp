// Collectives whose buffers lie on GPUs, simulated with the library's plans on the sources'
// machines; copied piece by piece, or as a whole before and after the operation.
//
// Times are nanoseconds of the simulated machine. path: setup
#pragma once

#include <cstdint>
#include <span>

#include "bench/experiments/simulated.hpp"

namespace espalier::experiments {

enum class Plan : std::uint8_t {
  kBinomial,   // a tree over rank numbers, the message as it is
  kChains,     // chains of leaders and of members, in pieces
  kChosen,     // as the library chooses for memory of the host
  kCut,        // the same, in pieces of another length
  kMulticast,  // leaders by the network's group, in pieces
};

struct GpuCall {
  Collective collective = Collective::kBcast;
  std::uint64_t bytes = 4 << 20;
  Plan plan = Plan::kChosen;
  std::uint64_t piece_bytes = 512 << 10;  // kChains, kCut, kMulticast
  sim::Staging staging = sim::Staging::kPieces;
  sim::Reducer reducer = sim::Reducer::kHost;
  MulticastLeaders leaders = MulticastLeaders::kNode;
  std::uint32_t ranks = 32, per_node = 4;
};

double simulated_ns(const sim::Machine& machine, const GpuCall& call);

// In pieces, by chains where there are trees, with whichever length of pieces is best; or as
// chosen, if that is less.
struct BestRun {
  double ns = 0;
  std::uint64_t piece_bytes = 0;  // 0: as chosen
};
BestRun best_in_pieces(const sim::Machine& machine, GpuCall call);

// A machine on which every rank is a node for plans, but cards are shared as they are: leaders of
// nodes are unknown to it. All that ranks of a node send each other goes through their card.
sim::Machine without_nodes(const sim::Machine& machine, std::uint32_t per_node);

}  // namespace espalier::experiments
