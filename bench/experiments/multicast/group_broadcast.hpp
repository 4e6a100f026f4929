// A broadcast by a multicast group on a simulated machine: one member per node, over SimGroupPort
// and GroupMail; when all have it, and what it took.
// path: setup
#pragma once

#include <string>

#include "core/histogram.hpp"
#include "net/multicast/group.hpp"
#include "net/sim/machine.hpp"
#include "net/sim/sim_group_port.hpp"

namespace espalier::experiments {

// Nodes and cards of RI2, as many as are asked for: 32 to a switch, 32 switches to a group. Packets
// to groups cost no more than others.
sim::Machine group_machine(std::uint32_t nodes);

struct GroupBroadcast {
  std::uint32_t nodes = 2;
  std::uint64_t bytes = 1 << 20;
  double loss = 0, branch_loss = 0;  // per member; per link (net/sim/group_net.hpp)
  double growth_ns = 0;              // of a packet's cost, times ln(nodes) (net/sim/machine.hpp)
  std::uint64_t seed = 1;
  std::uint32_t packet_bytes = 4096;
  std::uint32_t receive_packets = 390;  // for the widest window
  // Times of this machine; false: those that GroupOptions has.
  bool tuned = true;
};

struct GroupBroadcastResult {
  std::string failure;         // empty: all have got all, and right
  std::uint64_t all_ns = 0;    // the last member has the last byte
  std::uint64_t known_ns = 0;  // the source knows
  std::uint32_t window = 0;
  std::uint64_t losses = 0;         // copies, at members
  std::uint64_t group_packets = 0;  // that the source's card sent to all: data, again, probes
  std::uint64_t again = 0, probes = 0;
  std::uint64_t source_mail = 0;             // messages of the source's card to one member
  std::uint64_t source_questions = 0;        // messages that came to the source
  std::uint64_t questions = 0, repairs = 0;  // of all members
  Histogram repair_ns;
  std::uint64_t unseed = 0;
};

GroupBroadcastResult run_broadcast(const GroupBroadcast& broadcast);

}  // namespace espalier::experiments
