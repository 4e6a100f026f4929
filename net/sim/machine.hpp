// Machine: what a message costs between two places of a machine; a value read from a file.
//
// A machine is a nest of levels, the outermost first: cluster > group > switch > node > board >
// socket > numa > cache > core. A message between two ranks is carried at the innermost level whose
// unit holds both: two ranks on different nodes under one switch talk at level "switch", two ranks
// on one socket at level "socket". Each level prices a message as LogGP does (Alexandrov et al.,
// 1995): overhead o on the processor of either end, latency L, gap g between messages and G per
// byte. A level may carry messages over a *lane*: something that one transfer occupies at a time,
// such as the network card of the node or the link between sockets. The lane's per-byte time says
// how long it is occupied, the level's how long one transfer takes (never less).
//
// Times are nanoseconds, sizes bytes. File format: docs/simulation.md. Values; any thread to read.
// path: setup
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"

namespace espalier::sim {

// What moves the bytes at a level.
enum class Carrier : std::uint8_t {
  kDevice,  // a network card: the processors pay overhead only
  kCopy,    // processors copy through shared memory: in by the sender, out by the receiver
  kPull,    // the receiver's processor copies out of the sender's memory (CMA)
};

struct Level {
  std::string name;
  std::uint32_t arity = 1;  // units of this level inside one unit of the level around it
  // For messages between units of the next inner level, inside one unit of this one:
  Carrier carrier = Carrier::kDevice;
  std::uint64_t pull_from_bytes = 0;  // kPull: smaller messages are copied
  double latency_ns = 0;
  double overhead_send_ns = 0;  // of the sending processor, per message
  double overhead_recv_ns = 0;
  double gap_ns = 0;       // between two messages of one sender
  double ns_per_byte = 0;  // of one transfer; at least the lane's
  std::uint32_t lane = 0;  // index into Machine::lanes, +1; 0: no shared lane
};

// Something that transfers at a level occupy one after the other. `per` says of which unit there is
// one each ("node": one per node), `duplex` whether it serves either direction by itself.
struct Lane {
  std::string name;
  std::string per;
  double ns_per_byte = 0;
  double gap_ns = 0;
  bool duplex = true;
};

// Copies by process_vm_readv (Ma et al.).
struct CmaCost {
  double call_ns = 0;
  double page_ns = 0;
  double reader_ns = 0;  // per page and further reader of the same source at the same time
};

// Messages to groups of a network that multicasts: a card sends them once, in packets, each for
// t_s + t_o(n) and its bytes' time (Chu et al., TPDS; coll/choice/broadcast_models.hpp).
struct MulticastCost {
  std::uint64_t packet_bytes = 0;  // 0: the network has no groups
  double setup_ns = 0;             // t_s
  double growth_ns = 0;            // t_o(n) = ln(n) times this: 1 / a

  bool any() const noexcept { return packet_bytes > 0; }
  std::uint64_t packets(std::uint64_t bytes) const noexcept;  // at least one
  // What all packets of a message to a group of `members`, its sender included, cost the sender's
  // card beside the bytes. Without groups: nothing.
  double extra_ns(std::uint64_t bytes, std::uint64_t members) const noexcept;
};

// Copies from the memory of one device to that of another of the same node.
struct PeerCost {
  double ns_per_byte = 0;         // of two devices at one socket; 0: devices reach no others
  double across_ns_per_byte = 0;  // at two
  double latency_ns = 0;          // as DeviceCost's
  // Each device has a lane out and a lane in for them (NVLink); else they take those to and from
  // the host (PCIe).
  bool own_lanes = false;
};

// The device (GPU) that each rank has, of which it is the process (net/sim/device_lanes.hpp).
struct DeviceCost {
  double to_host_ns_per_byte = 0;  // 0: ranks have no devices
  double to_device_ns_per_byte = 0;
  double latency_ns = 0;          // of a copy beside its bytes, until its end is known
  double post_ns = 0;             // of the processor, for a copy or a kernel
  double launch_ns = 0;           // from the post of a kernel until it runs
  double reduce_ns_per_byte = 0;  // of one operand, in memory of the device
  PeerCost peer = {};

  bool any() const noexcept { return to_host_ns_per_byte > 0; }
  bool reaches_peers() const noexcept { return peer.ns_per_byte > 0; }
};

// Where one parameter of the file comes from: shown to people, and checked to be there.
struct Origin {
  enum class Kind : std::uint8_t { kPublished, kMeasured, kAssumed };
  std::string parameter;  // "level node: latency"
  Kind kind = Kind::kAssumed;
  std::string text;  // where published, on what measured, why assumed
};
const char* origin_name(Origin::Kind kind) noexcept;  // "published"

struct Machine {
  std::string name;
  std::string title;
  std::vector<Level> levels;  // outermost first; the last is the core
  std::vector<Lane> lanes;
  CmaCost cma;
  MulticastCost multicast;
  DeviceCost device;
  double reduce_ns_per_byte = 0;  // of one operand, by one core
  std::vector<Origin> origins;

  std::uint64_t cores() const noexcept;  // of the whole machine, below 2^32
  // Units of this level in the whole machine.
  std::uint64_t units(std::size_t level) const noexcept;
  // Cores in one unit of this level.
  std::uint64_t cores_per_unit(std::size_t level) const noexcept;
  // Index of the level with this name, or -1.
  int find_level(std::string_view wanted) const noexcept;
};

// ESP_ERR_ARGUMENT with "FILE:LINE: what is wrong, and what would be right".
Result<Machine> parse_machine(std::string_view text, std::string_view file_name);
// "cori": a machine that ships; with a '/' or ending in ".machine": a file.
Result<Machine> load_machine(const std::string& path_or_name);
// Names of the machines that ship, sorted.
std::vector<std::string> shipped_machines();

// Where the ranks of a job sit: rank -> core. A job uses the first nodes of the machine, as few as
// hold its ranks; on each node ranks lie evenly over its cores (2 ranks on 2 sockets of 24 cores:
// cores 0 and 24), as launchers bind them that give each rank an equal share.
enum class Placement : std::uint8_t {
  kByCore,    // fill a node before the next one
  kByNode,    // deal ranks round the nodes
  kRandom,    // a seeded permutation of by-core
  kBySocket,  // fill a node before the next one, but deal its ranks round the sockets
};
// "core", "node", "random", "socket". ESP_ERR_ARGUMENT for anything else.
Result<Placement> parse_placement(std::string_view text);
const char* placement_name(Placement placement) noexcept;

class Map {
 public:
  // ranks_per_node 0: as many as the node has cores. ESP_ERR_ARGUMENT if the ranks do not fit, or
  // there are no sockets to deal them round.
  static Result<Map> create(const Machine& machine, std::uint32_t ranks,
                            std::uint32_t ranks_per_node, Placement placement, std::uint64_t seed);

  std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(core_.size()); }
  std::uint64_t core(std::uint32_t rank) const noexcept { return core_[rank]; }
  // The unit of `level` that holds this rank's core, numbered through the whole machine.
  std::uint64_t unit(std::uint32_t rank, std::size_t level) const noexcept {
    return core_[rank] / cores_per_unit_[level];
  }
  // The level at which two different ranks talk: the innermost whose unit holds both.
  std::size_t level_between(std::uint32_t a, std::uint32_t b) const noexcept;

 private:
  std::vector<std::uint32_t> core_;
  std::vector<std::uint32_t> cores_per_unit_;  // by level
};

}  // namespace espalier::sim
