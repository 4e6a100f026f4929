// DeviceLanes: what copies and kernels of one rank's device (GPU) take; see Machine::device.
//
//   memory of the host --- to device --> memory of the device     a lane in either direction, and
//   memory of the host <-- to host ----- memory of the device     a stream: in order
//                                        kernels                  a third stream
//   memory of another  --- to device --> memory of the device     over lanes of that kind (NVLink),
//                                                                 or those with the host (PCIe)
//
// The processor is charged for posting. A copy begins when it has been posted, the one before it in
// its direction is over and its lanes are free; it occupies them for its bytes, and its end is
// known a latency later. What comes from another device takes its lane out, too. A kernel that
// reads or writes memory of the host or of others takes the lanes for that.
//
// Ownership: borrows the world. Threads: owner, in the rank's turn. path: data
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "net/sim/world.hpp"

namespace espalier::sim {

class DeviceLanes {
 public:
  enum class Way : std::uint8_t { kToHost, kToDevice };
  struct FromPeer {
    DeviceLanes* owner;
    std::uint64_t bytes;
  };
  struct Kernel {
    std::uint64_t operand_bytes = 0;    // of all operands
    std::uint64_t from_host_bytes = 0;  // of those in memory of the host
    std::uint64_t to_host_bytes = 0;    // of the result, if it goes there
    std::span<const FromPeer> from_peers = {};
  };

  DeviceLanes(World& world, Rank rank) noexcept : world_(world), rank_(rank) {}

  // Posts it. When its end is known.
  std::uint64_t copy(Way way, std::uint64_t bytes);
  // What lies on another device of the node, to the own one or to the host.
  std::uint64_t copy_of(DeviceLanes& owner, Way way, std::uint64_t bytes);
  std::uint64_t launch(const Kernel& kernel);
  // The processor posts it and does nothing else before its end.
  void copy_and_wait(Way way, std::uint64_t bytes);

 private:
  class Claim;

  std::uint64_t post() noexcept;
  std::uint64_t in_order(Way way, const Claim& claim, std::uint64_t length_ns);
  LaneSchedule& lane(Way way) noexcept { return lanes_[static_cast<std::size_t>(way)]; }
  LaneSchedule& peer_lane(Way way) noexcept;
  double ns_per_byte(Way way) const noexcept;
  std::uint64_t peer_time(const DeviceLanes& owner, std::uint64_t bytes) const noexcept;

  World& world_;
  Rank rank_;
  std::array<LaneSchedule, 2> lanes_, peer_lanes_;  // by way; kToHost: out of the device
  std::array<std::uint64_t, 2> stream_free_{};      // by way
  std::uint64_t kernels_free_ = 0;
};

// Those of all ranks.
class Devices {
 public:
  explicit Devices(World& world);
  DeviceLanes& of(Rank rank) noexcept { return lanes_[static_cast<std::size_t>(rank)]; }

 private:
  std::vector<DeviceLanes> lanes_;
};

}  // namespace espalier::sim
