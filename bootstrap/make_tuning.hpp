// From settings, and where ranks are, to the thresholds of choice (coll/choice/choose.hpp).
// Values. path: setup
#pragma once

#include "coll/choice/choose.hpp"
#include "core/config.hpp"

namespace espalier {

// Of the job, as this rank sees it.
struct Surroundings {
  bool crowded = false;  // more ranks on this machine than processors
  int usable_cpus = 1;   // of this machine
  bool all_have_rdma = false;
  bool several_nodes = false;
  // Equal on all ranks.
  bool some_crowded = false;     // some machine has more ranks than processors
  std::uint32_t port_mbits = 0;  // per second, of the slowest port; 0: not known
  // Payload bytes of a packet to a group of the network; 0: not all ranks have groups.
  std::uint32_t multicast_packet_bytes = 0;
};

Tuning make_tuning(const Config& config, const LevelShapes& level_shapes,
                   const Surroundings& surroundings);

}  // namespace espalier
