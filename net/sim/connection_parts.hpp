// What ConnectionNet keeps of each end and each operation; private to it and its ports.
// Threads: owner. path: data
#pragma once

#include <deque>
#include <vector>

#include "net/sim/connection_net.hpp"

namespace espalier::sim {

struct ConnectionNet::End {
  enum class State : std::uint8_t { kFresh, kReady, kBroken, kGone };

  Rank rank = kNoRank;
  rdma::ConnectionId id = {};
  std::uint64_t number = 0;  // net-wide, never used again
  State state = State::kFresh;
  Rank peer_rank = kNoRank;
  std::uint64_t peer_number = 0;
  std::deque<Operation*> posted;  // not acknowledged, in order
  std::size_t executed = 0;       // of these, from the front
  std::uint64_t answered_ns = 0;  // when the last answer comes
  std::uint32_t slots = 0;        // of the send queue
  std::uint32_t silent = 0;       // acknowledged, unsignaled: their slots wait for a signaled one
  std::deque<Operation*> ghosts;  // had left when this end broke; executed in order
};

struct ConnectionNet::Operation final : Happening {
  enum class Stage : std::uint8_t { kLane, kThere, kGivingUp, kAcknowledged };

  explicit Operation(ConnectionNet& owner) noexcept : net(owner) {}
  void happen() noexcept override { net.advance(*this); }
  std::uint64_t mark() const noexcept override {
    return number << 3 | static_cast<std::uint64_t>(stage);
  }
  const std::byte* data() const noexcept {
    return copied ? bytes.data() : static_cast<const std::byte*>(what.local);
  }

  ConnectionNet& net;
  End* source = nullptr;  // nullptr: idle
  std::uint64_t number = 0;
  Verb verb = Verb::kSend;
  Stage stage = Stage::kThere;
  bool scheduled = false;
  bool arrived = false;   // waits for those before it, or for a packet
  bool disowned = false;  // its end is no more: goes with its event
  bool ghost = false;
  bool with_immediate = false;
  bool copied = false;  // `bytes` holds what `what.local` held
  rdma::Atomic atomic = rdma::Atomic::kFetchAdd;
  std::uint32_t immediate = 0;
  std::uint32_t tries = 0;
  rdma::Transfer what;
  rdma::RemoteMemory remote;
  std::uint64_t operand = 0, compare = 0;
  std::uint64_t left_ns = 0;
  std::vector<std::byte> bytes;  // inline data, a ghost's data, the result of a read
};

struct ConnectionNet::Event final : Happening {
  Event(ConnectionNet& owner, const FaultEvent& what) noexcept : net(owner), fault(what) {}
  void happen() noexcept override {
    if (fault.kind == FaultEvent::Kind::kBreak) return net.break_path(fault.from, fault.to);
    net.overrun(fault.from);
  }
  std::uint64_t mark() const noexcept override { return fault.begin_ns; }

  ConnectionNet& net;
  const FaultEvent fault;
};

}  // namespace espalier::sim
