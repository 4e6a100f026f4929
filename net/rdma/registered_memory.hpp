// RegisteredMemory: which memory an adapter may touch, and by which keys.
//
// The rule: memory stays registered only if the library gives it out and takes it back itself (its
// own pools, memory of esp_alloc), or if the user has registered it and promised to take that back
// before the memory goes. All other memory is copied through registered packets, or registered for
// the length of one operation, during which it belongs to the library by contract. So there is no
// cache that could be stale after free(), munmap() or mremap(), and nothing hooks the allocator or
// watches page tables: what hooks miss (raw system calls, other allocators, threads in between) is
// how such caches go wrong.
//
// Ownership: owns registrations, not memory. Threads: owner. path: data (find), slow (the rest)
#pragma once

#include <cstdint>
#include <vector>

#include "net/rdma/connection_port.hpp"

namespace espalier::rdma {

class RegisteredMemory {
 public:
  explicit RegisteredMemory(ConnectionPort& port) noexcept : port_(port) {}
  ~RegisteredMemory();
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;

  // Regions do not overlap.
  Outcome add(const void* begin, std::uint64_t bytes);
  // Of an add(); no operation uses it any more.
  void remove(const void* begin) noexcept;
  // The region that holds all of this, or nullptr. Valid until the next add() or remove().
  const Region* find(const void* begin, std::uint64_t bytes) const noexcept;
  std::size_t count() const noexcept { return regions_.size(); }

 private:
  ConnectionPort& port_;
  std::vector<Region> regions_;  // by address
};

}  // namespace espalier::rdma
