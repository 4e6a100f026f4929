// DeviceLanes: what copies and kernels of one rank's device (GPU) take; see Machine::device.
//
//   memory of the host --- to device --> memory of the device     two lanes, each a stream:
//   memory of the host <-- to host ----- memory of the device     in order, and both at once
//                                        kernels                  a third stream
//
// The processor is charged for posting. A copy begins when it has been posted and its lane is free,
// occupies the lane for its bytes, and its end is known a latency later. A kernel that reads or
// writes memory of the host takes the lanes for that.
//
// Ownership: borrows the world. Threads: owner, in the rank's turn. path: data
#pragma once

#include <array>
#include <cstdint>

#include "net/sim/world.hpp"

namespace espalier::sim {

class DeviceLanes {
 public:
  enum class Way : std::uint8_t { kToHost, kToDevice };
  struct Kernel {
    std::uint64_t operand_bytes;    // of all operands
    std::uint64_t from_host_bytes;  // of those in memory of the host
    std::uint64_t to_host_bytes;    // of the result, if it goes there
  };

  DeviceLanes(World& world, Rank rank) noexcept : world_(world), rank_(rank) {}

  // Posts it. When its end is known.
  std::uint64_t copy(Way way, std::uint64_t bytes) noexcept;
  std::uint64_t launch(const Kernel& kernel) noexcept;
  // The processor posts it and does nothing else before its end.
  void copy_and_wait(Way way, std::uint64_t bytes) noexcept;

 private:
  std::uint64_t post() noexcept;
  std::uint64_t& free_at(Way way) noexcept { return free_at_[static_cast<std::size_t>(way)]; }
  double ns_per_byte(Way way) const noexcept;

  World& world_;
  Rank rank_;
  std::array<std::uint64_t, 2> free_at_{};  // by way
  std::uint64_t kernels_free_at_ = 0;
};

}  // namespace espalier::sim
