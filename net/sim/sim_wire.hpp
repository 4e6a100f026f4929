// SimWire: one rank's wire in a simulated World. Keeps the contract of core/wire.hpp; see world.hpp
// for what things cost.
//
// progress() hands out what has arrived at this rank. With `self_driving` it also makes the world
// take a step when there was nothing: so the conformance suite, which only calls progress(), moves
// virtual time. Memory per wire stays below 2 KiB plus what is in flight: a million of them fit.
//
// The network's groups need no joining here. With set_away(), ranks of a node whose devices reach
// each other say so (WireCaps::away): of a segment there a name travels, at the price of an empty
// message, and its sender completes when the receiver has let it go. Who wants bytes gets them by
// way of the sender's host (sim_wire_away.cpp).
//
// Reductions cost time, too: each post first charges the processor for what the rank's counters say
// was combined since the last one, so a partial result leaves when it has been computed.
//
// Ownership: borrows the world and the counters. Threads: owner. path: data
#pragma once

#include "core/away_memory.hpp"
#include "core/counters.hpp"
#include "core/flow_grants.hpp"
#include "core/wire.hpp"
#include "net/sim/sparse_matcher.hpp"
#include "net/sim/world.hpp"

namespace espalier::sim {

class SimWire final : public Wire {
 public:
  enum class Drive : std::uint8_t {
    kByWorld,  // World::run gives this rank its turns
    kBySelf,   // progress() steps the world
  };
  SimWire(World& world, Rank rank, Counters& counters, Drive drive = Drive::kByWorld);
  ~SimWire() override;
  SimWire(const SimWire&) = delete;
  SimWire& operator=(const SimWire&) = delete;

  // Who knows memory of devices; nullptr: nobody. Its fetches neither retry nor fail.
  void set_away(AwayMemory* away) noexcept { away_ = away; }

  WireCaps caps(Rank peer) const noexcept override;
  Posted send(const Send& send, SendOp& op) noexcept override;
  Posted publish(const Send& send, const Group& group, SendOp& op) noexcept override;
  Posted recv(const SegmentId& segment, std::uint32_t window, RecvOp& op) noexcept override;
  void release(RecvOp& op) noexcept override;
  void cancel(RecvOp& op) noexcept override;
  void cancel(SendOp& op) noexcept override;
  int progress() noexcept override;
  bool has_arrivals() const noexcept { return inbox_ != nullptr; }

  // Neither posted nor unexpected segments, nothing to hand out, no grant that was not used.
  bool quiet() const noexcept {
    return inbox_ == nullptr && finished_ == nullptr && wanted_ == nullptr &&
           fetching_ == nullptr && matcher_.count() == 0 && grants_.count() == 0;
  }

  // Charges the processor for reductions since the last call.
  void charge_combines() noexcept;
  // So much of what the counters are about to say is a device's work, and nobody's time here.
  void spare(std::uint64_t bytes) noexcept { combined_bytes_ += bytes; }

 private:
  friend class World;

  Posted post(const Send& send, std::span<const Rank> peers, SendOp& op) noexcept;
  std::size_t level_to(Rank peer) const noexcept;
  bool by_device(Rank peer) const noexcept;
  bool may_post(const Send& send, std::span<const Rank> peers) noexcept;
  void post_each(const Send& send, std::span<const Rank> peers, SendOp& op) noexcept;
  void post_to_group(const Send& send, std::span<const Rank> peers, SendOp& op) noexcept;
  void note_sent(Rank to, const Send& send) noexcept;
  bool granted(Rank peer, const SegmentId& segment) noexcept;
  Message& make_message(const Send& send, Rank to) noexcept;
  PendingSend& pending(SendOp& op) noexcept;
  void load(Message& m, Payload*& payload) noexcept;
  bool accept(Message& m) noexcept;
  // False: it is not here yet, its bytes are asked for.
  bool hand_over(Message& m, RecvOp& op) noexcept;
  void fetch(Message& m, RecvOp& op) noexcept;
  int finish_sends() noexcept;

  // What lies on devices (sim_wire_away.cpp).
  bool reaches(Rank peer) const noexcept;
  bool take_away(Message& m, RecvOp& op) noexcept;
  int serve_wanted() noexcept;
  void fetch_wanted(Message& m) noexcept;
  static void on_fetched(Completion& fetch, Status status) noexcept;
  void send_fetched(Message& m) noexcept;
  void end_fetch(AwayFetch& fetch) noexcept;
  void stop_fetches(const PendingSend& send) noexcept;

  // The world's.
  void enqueue(Message& m) noexcept;
  void enqueue(PendingSend& send) noexcept;
  void enqueue_wanted(Message& m) noexcept;
  bool note_grant(Rank from, std::uint64_t flow, std::uint32_t limit) noexcept;
  void nudge() noexcept { ++news_; }

  World& world_;
  Counters& counters_;
  const Rank rank_;
  const Drive drive_;
  bool awaits_grant_ = false;
  int news_ = 0;                      // grants that were waited for, and the like
  std::uint64_t combined_bytes_ = 0;  // charged so far
  Message* inbox_ = nullptr;
  Message* inbox_last_ = nullptr;
  Completion* finished_ = nullptr;  // PendingSends
  Completion* finished_last_ = nullptr;
  Message* wanted_ = nullptr;       // whose bytes are asked for
  Completion* fetching_ = nullptr;  // AwayFetches
  AwayMemory* away_ = nullptr;
  SparseMatcher matcher_;  // posted receives, unexpected messages
  FlowGrantsIn<SparseMatcher> grants_;
};
static_assert(sizeof(SimWire) <= 256);

}  // namespace espalier::sim
