// SimBed: a simulated machine, where its ranks are, and the World in which they run; for whatever a
// test puts on it.
#pragma once

#include <string>

#include "net/rdma/datagram_link.hpp"
#include "net/sim/world.hpp"

namespace espalier::test {

// Machines small enough to read, with prices that make expectations easy to compute.
sim::Machine device_machine();     // nodes of one core under one switch, no shared lane
sim::Machine copy_machine();       // one node of many cores: copies through a memory bus
sim::Machine pull_machine();       // one node of many cores: the receiver reads
sim::Machine cluster_machine();    // nodes of two cores (copy), a duplex card each (device)
sim::Machine multicast_machine();  // the same, with groups

struct SimBed {
  SimBed(sim::Machine made, std::uint32_t ranks, const sim::WorldOptions& options,
         sim::Placement placement = sim::Placement::kByCore);
  // One rank per node; `faults` as in net/sim/faults.hpp.
  explicit SimBed(std::uint32_t ranks, const std::string& faults = {}, std::uint64_t seed = 1,
                  sim::Machine made = device_machine());

  const sim::Machine machine;
  const sim::Map map;
  sim::World world;
};

// Of simulated datagram ports.
const rdma::AddressBook& sim_addresses() noexcept;

}  // namespace espalier::test
