// RegisteredMemory: memory that is registered for longer, and by which keys.
//
// It is the library's to give out and take back (memory of esp_alloc), or whoever adds it promises
// to remove it before it goes. For other memory see net/rdma/direct_memory.hpp.
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
