// LateAway: a rank's devices as the others of its node meet them. Some places have no name, some
// ranks open none, others refuse some; what is brought as bytes a LateMover brings. A place has one
// address for all: the audit gives who reads it a copy. Ownership: borrows the mover. Threads: one.
#pragma once

#include "core/away_memory.hpp"
#include "tests/swarm/late_mover.hpp"

namespace espalier::swarm {

class LateAway final : public AwayMemory {
 public:
  LateAway(const SharedDevices& devices, std::uint64_t seed, Rank rank, LateMover& mover);

  AwayName name_of(const void* at) noexcept override;
  const void* open(Rank owner, const AwayName& name) noexcept override;
  void close(Rank owner, const void* opened) noexcept override;
  Posted fetch(std::byte* dst, const void* src, std::uint64_t bytes,
               Completion& op) noexcept override;
  void cancel(Completion& op) noexcept override { mover_.cancel(op); }
  std::byte* allocate(std::uint64_t bytes) noexcept override;
  void release(std::byte* memory, std::uint64_t bytes) noexcept override;
  // Places that are open, and memory to fetch into that was not given back.
  std::uint64_t left() const noexcept { return open_ + allocated_; }

 private:
  const SharedDevices devices_;
  const bool opens_;
  Prng prng_;
  LateMover& mover_;
  const Pattern bytes_ = Pattern::plain(ESP_BYTE);
  std::uint64_t open_ = 0, allocated_ = 0;
};

}  // namespace espalier::swarm
