// SimWire: one rank's wire in a simulated World. Keeps the contract of core/wire.hpp; see world.hpp
// for what things cost.
//
// progress() hands out what has arrived at this rank. With `self_driving` it also makes the world
// take a step when there was nothing: so the conformance suite, which only calls progress(), moves
// virtual time. Memory per wire stays below 2 KiB plus what is in flight: a million of them fit.
//
// Ownership: borrows the world and the counters. Threads: owner. path: data
#pragma once

#include "core/counters.hpp"
#include "core/wire.hpp"
#include "net/sim/world.hpp"

namespace espalier::sim {

class SimWire final : public Wire {
 public:
  SimWire(World& world, Rank rank, Counters& counters, bool self_driving = false);
  ~SimWire() override;

  WireCaps caps(Rank peer) const noexcept override;
  Posted send(const Send& send, SendOp& op) noexcept override;
  Posted publish(const Send& send, std::span<const Rank> peers, SendOp& op) noexcept override;
  Posted recv(const SegmentId& segment, std::uint32_t window, RecvOp& op) noexcept override;
  void release(RecvOp& op) noexcept override;
  void cancel(RecvOp& op) noexcept override;
  void cancel(SendOp& op) noexcept override;
  int progress() noexcept override;
};

}  // namespace espalier::sim
