// Costs: what messages, copies and sums cost, as LogGP has it (Alexandrov et al., 1995).
//
// Choice and prediction go by them. Those of a job are the same on all its ranks: typical ones of
// its kind of network, with the speed of the slowest port of all (bootstrap/make_tuning.hpp). Those
// of a simulated machine are its own (tools/esp-sim/localities.hpp).
//
// Values. path: setup
#pragma once

#include <cstdint>

namespace espalier {

// Between the nodes of a team.
enum class NetworkClass : std::uint8_t { kAny, kTcp, kRdma };  // kAny: also where there is one node
enum class CoreClass : std::uint8_t { kAny, kOwn, kShared };

// Nanoseconds.
struct LinkCosts {
  double latency = 0;        // from the end of a send to the beginning of its receive
  double message = 0;        // of the processor, on either side
  double copy_per_byte = 0;  // of the processor, on either side
  // Of the node's port, which sends and receives at once: the larger one counts.
  double port_message = 0;
  double port_per_byte = 0;
  friend bool operator==(const LinkCosts&, const LinkCosts&) = default;
};
// Of what goes to the network's group (Path::kMulticast). It goes in packets, each of which its
// source's port sends once.
struct GroupCosts {
  double packet = 0;         // of the processor, on either side; 0: as a message between nodes
  double copy_per_byte = 0;  // likewise: packets are copied
  // A packet of the processor's for so many of the group: acknowledgements, which are merged on
  // their way.
  double packets_per_answer = 8;
  std::uint32_t packet_bytes = 0;  // 0: no multicast is estimated
  friend bool operator==(const GroupCosts&, const GroupCosts&) = default;
};
struct Costs {
  LinkCosts inside, between;
  GroupCosts group;
  // Inside nodes, segments from `pull_bytes` on are copied once, by a system call of
  // `pull_message`; each other reader of the same memory at the same time adds so much for a byte.
  std::uint64_t pull_bytes = 0;
  double pull_message = 0, reader_per_byte = 0;
  double combine_per_byte = 0;  // and operand
  double index = 0;             // what the engine does for each
  std::int32_t cores = 0;       // of a node, which its ranks share in turn; 0: one each
  double turn = 0;              // added to the latency where ranks share cores
  friend bool operator==(const Costs&, const Costs&) = default;

  // As measured with this library on processors of 2020 to 2025, rounded; `cores` and `turn` are
  // zero where ranks have cores of their own. `port_mbits`: per second; 0: as is usual.
  static Costs typical(NetworkClass network, CoreClass cores, std::uint32_t port_mbits = 0);
};

}  // namespace espalier
