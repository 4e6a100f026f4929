// Broadcasts over one process per node, simulated with the library's plans: by multicast, along a
// chain (ring), down a binomial tree, and as the library chooses; and what the published models say
// of them.
//
// Times are nanoseconds of the simulated machine: nodes, cards and groups of RI2. path: setup
#pragma once

#include <cstdint>

#include "net/sim/machine.hpp"

namespace espalier::experiments {

inline constexpr std::uint64_t kChunkBytes = 512 << 10;  // C: pieces of a pipelined ring

enum class Way : std::uint8_t { kRing, kPipelinedRing, kKnomial, kMulticast, kChosen };

struct Broadcasts {
  Way way = Way::kMulticast;
  std::uint32_t nodes = 2;
  std::uint64_t bytes = 2 << 20;
  std::uint32_t sources = 1;  // a broadcast of each
  bool at_once = false;       // or one after the other: a rank waits for one, then enters the next
  double setup_ns = 300;      // t_s of a packet to a group
};

// As group_machine(), with the groups of RI2.
sim::Machine published_machine(const Broadcasts& broadcasts);
// Until the last rank has the last one.
double simulated_ns(const Broadcasts& broadcasts);
// The published forms for one source. Of a message they take the way as part of t_s; to a packet's
// the way is added, once. Packets are whole. Two nodes have no multicast: the plan sends a message.
// Not of what the library chooses.
double model_ns(const Broadcasts& broadcasts);
// Ours, for several sources by multicast: all in turn, or the port that sends or receives most.
double sources_model_ns(const Broadcasts& broadcasts);

}  // namespace espalier::experiments
