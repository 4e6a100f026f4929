// AwayRegions: memory of devices that an adapter reads or writes itself, registered by the files
// that the driver gives of it (dma-buf), each allocation as a whole.
//
// What was registered stays so, for it takes an adapter long: of kMost, what nobody holds and was
// held longest ago goes; until then the driver keeps memory that its owner has freed. Allocations
// are known by their numbers, so what is given again at the same address is another one. What was
// refused is remembered, too.
//
// Ownership: borrows port and memory; owns registrations. Threads: owner. path: data (known), slow
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "core/away_memory.hpp"
#include "net/rdma/connection_port.hpp"

namespace espalier::rdma {

class AwayRegions {
 public:
  explicit AwayRegions(ConnectionPort& port) noexcept : port_(port) {}
  ~AwayRegions() { forget_all(); }
  AwayRegions(const AwayRegions&) = delete;
  AwayRegions& operator=(const AwayRegions&) = delete;

  // nullptr: nothing is registered any more.
  void set(AwayMemory* away) noexcept;
  // The region that holds all of this, until as many drop() of the same place. nullptr: there is
  // none; why() says why.
  const Region* hold(const void* at, std::uint64_t bytes) noexcept;
  void drop(const void* at) noexcept;
  // Of what is held: the adapter does not touch it any more. Who holds it still drops it.
  void revoke(const void* at) noexcept;
  // Of what is held.
  const Region* find(const void* at, std::uint64_t bytes) const noexcept;

  // Something may be registered. Any thread asks.
  bool usable() const noexcept { return usable_.load(std::memory_order_relaxed); }
  const std::string& why() const noexcept { return why_; }
  std::size_t count() const noexcept { return entries_.size(); }

 private:
  static constexpr std::size_t kMost = 64, kRefusedMost = 64;
  struct Entry {
    AwayAllocation of;
    Region region;  // its pages
    std::uint32_t holders = 0;
    std::uint64_t used = 0;
    bool revoked = false;
  };

  Entry* make(const AwayAllocation& allocation) noexcept;
  Entry* holding(const void* at) noexcept;
  bool shed() noexcept;
  void remove(std::size_t at) noexcept;
  void forget_all() noexcept;
  void refuse(const AwayAllocation& allocation, const Error& why) noexcept;

  ConnectionPort& port_;
  AwayMemory* away_ = nullptr;
  std::vector<Entry> entries_;
  std::array<std::uint64_t, kRefusedMost> refused_ = {};  // numbers
  std::size_t refused_next_ = 0;
  std::uint64_t uses_ = 0;
  // Writer: the owner. Readers: any thread, as a hint; it publishes nothing.
  std::atomic<bool> usable_ = false;
  std::string why_;
};

}  // namespace espalier::rdma
