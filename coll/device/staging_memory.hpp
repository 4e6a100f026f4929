// StagingMemory: memory of the host that devices copy to and from without waiting: registered with
// the driver, kept and used again.
//
// Registering takes as long as copying the same bytes several times, so blocks come in powers of
// two and are laid aside; small ones are parts of a slab. Where the driver registers no more,
// memory is given all the same: copies of it are right, and wait.
//
// Ownership: borrows the driver; owns all memory. Threads: the owner of the worker. path: data (a
// block that is there), slow
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/device/device.hpp"

namespace espalier {

class StagingMemory {
 public:
  explicit StagingMemory(device::Driver& driver) noexcept : driver_(driver) {}
  ~StagingMemory();
  StagingMemory(const StagingMemory&) = delete;
  StagingMemory& operator=(const StagingMemory&) = delete;

  // Of this many bytes at least, 64-byte aligned. `home`: of the device that is to reach it first;
  // others of the driver do, too. nullptr: there is no memory.
  std::byte* take(std::uint64_t bytes, device::Home home) noexcept;
  void give_back(std::byte* block, std::uint64_t bytes) noexcept;
  // Do kernels reach it, too?
  bool is_registered(const std::byte* block) const noexcept;

 private:
  // From the system, at once.
  struct Area {
    std::byte* begin;
    std::uint64_t bytes;
    device::HostRegistration registration;  // none: the driver registers no more
  };
  static constexpr unsigned kLeastBits = 12, kSlabBits = 20, kBits = 48;
  // Laid aside, of blocks that are areas of their own.
  static constexpr std::uint64_t kKeptBytes = std::uint64_t{256} << 20;

  static unsigned bits_of(std::uint64_t bytes) noexcept;
  Area* map(std::uint64_t bytes, device::Home home) noexcept;
  void unmap(std::byte* begin) noexcept;
  bool carve(unsigned bits, device::Home home) noexcept;

  device::Driver& driver_;
  std::vector<Area> areas_;
  std::array<std::vector<std::byte*>, kBits + 1> free_;  // by size
  std::uint64_t kept_ = 0;
};

}  // namespace espalier
