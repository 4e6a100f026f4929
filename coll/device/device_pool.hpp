// DevicePool: memory of devices for what calls combine there on its way, used again.
//
// Blocks come in powers of two. None is freed before the end: the driver would wait for all that
// the device does, also for streams of the program's that wait for this library. So there is a
// limit, and what the driver has refused once is not asked for again: the memory is the program's.
//
// Ownership: borrows the driver; owns all memory. Threads: the owner of the worker. path: data (a
// block that is there), slow
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/device/device.hpp"

namespace espalier {

class DevicePool {
 public:
  explicit DevicePool(device::Driver& driver) noexcept : driver_(driver) {}
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  // Of this many bytes at least. nullptr: there is none.
  std::byte* take(std::uint64_t bytes, device::Home home) noexcept;
  void give_back(std::byte* block) noexcept;

 private:
  // As drivers give it; and in all, of all devices.
  static constexpr std::uint64_t kLeastBytes = std::uint64_t{2} << 20;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;

  struct Block {
    device::DeviceMemory memory;
    std::uint64_t bytes = 0;
    bool taken = false;

    std::byte* begin() const noexcept { return static_cast<std::byte*>(memory.handle()); }
  };

  Block* find(std::uint64_t bytes, device::Home home) noexcept;
  Block* allocate(std::uint64_t bytes, device::Home home) noexcept;

  device::Driver& driver_;
  std::vector<Block> blocks_;
  std::uint64_t left_ = kMostBytes;
};

}  // namespace espalier
