// ConnectionNet: reliable connections between the simulated ports of a World.
//
// An operation costs its sender's processor the level's overhead, and then the way of a device
// transfer (world.hpp), whatever the level's carrier; it is executed when its last byte is there,
// by the adapter alone, and its acknowledgement comes a latency later. Operations of one connection
// are executed in order, once, or the connection breaks:
//   retry exceeded   what should have come, or its acknowledgement, is late by more than retry_ns
//                    (clogs, delays, crashes, an end that is not connected), or a drawn break
//   not ready        no packet was posted, or chance says so, rnr_retries + 1 times in a row
//   remote access    the key or the range is wrong: both ends break
//   local            so is the local one: at once
// Operations that had left when their end broke may be executed nevertheless, the first few of them
// (as many as chance says): their sender cannot know. An adapter may err (`echo`): the arrivals of
// the last few operations are told again. Local memory is read when an operation is
// executed, or when its end breaks: who changes it before the completion, sends something else.
//
// Ownership: owns ends and operations; ports register for the length of their lives. The world
// makes no step after the net's end. Threads: owner. path: data
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/prng.hpp"
#include "net/rdma/connection_port.hpp"
#include "net/sim/world.hpp"

namespace espalier::sim {

class SimConnectionPort;

// Of every port.
struct ConnectionLimits {
  std::uint32_t inline_bytes = 128;
  std::uint32_t packet_bytes = 4096;
  std::uint32_t send_depth = 64;
  std::uint32_t receive_depth = 256;
  std::uint32_t completion_depth = 4096;
  std::uint32_t connections = 1024;
  std::uint64_t retry_ns = 500'000;
  std::uint64_t rnr_wait_ns = 5'000;
  std::uint32_t rnr_retries = 6;
};

struct ConnectionCounts {
  std::uint64_t posted = 0, executed = 0, acknowledged = 0;
  std::uint64_t doorbells = 0;
  std::uint64_t breaks = 0;
  std::uint64_t not_ready = 0;  // times that a receiver had no packet
  std::uint64_t ghosts = 0;     // executed after their end broke
  std::uint64_t echoes = 0;     // arrivals told again
};

class ConnectionNet {
 public:
  explicit ConnectionNet(World& world, const ConnectionLimits& limits = {});
  ~ConnectionNet();
  ConnectionNet(const ConnectionNet&) = delete;
  ConnectionNet& operator=(const ConnectionNet&) = delete;

  World& world() noexcept { return world_; }
  const ConnectionLimits& limits() const noexcept { return limits_; }
  const ConnectionCounts& counts() const noexcept { return counts_; }
  std::size_t under_way() const noexcept { return all_.size() - idle_.size(); }
  // As the drawn faults do, at a time of the caller's choice: connections of `from` to `to` break
  // at that end; the completion queue of a rank overruns; until then others have all connections
  // of a rank's adapter that are not in use.
  void break_path(Rank from, Rank to);
  void overrun(Rank rank);
  void crowd(Rank rank, std::uint64_t until_ns);
  // So many ends of this rank's, when they end, take a packet of its receive queue along.
  void take_along(Rank rank, std::uint32_t ends);
  // So often the adapter of this rank cannot connect an end, and can the next time.
  void refuse_connects(Rank rank, std::uint32_t times);
  // The next message or placement of `from` at `to` is executed, and not told.
  void swallow(Rank from, Rank to);

 private:
  friend class SimConnectionPort;
  enum class Verb : std::uint8_t { kSend, kWrite, kRead, kAtomic };
  struct End;
  struct Operation;
  struct Event;

  void attach(Rank rank, SimConnectionPort* port) noexcept;
  void detach(Rank rank) noexcept;
  SimConnectionPort* port(Rank rank) noexcept { return ports_[static_cast<std::size_t>(rank)]; }
  End& make_end(Rank rank, rdma::ConnectionId id);
  End* find_end(std::uint64_t number) noexcept;

  Operation& take();
  void give_back(Operation& op) noexcept;
  void launch(Operation& op);
  void schedule(Operation& op, std::uint64_t time_ns);
  // The operation's event has come.
  void advance(Operation& op);
  void arrive(Operation& op);
  // What has arrived at the peer of this end, in order.
  void execute_in_order(End& source);
  bool execute(Operation& op);
  bool reachable(const End& source) noexcept;
  bool find_packet(Operation& op, rdma::Packet*& packet);
  void perform(Operation& op, rdma::Packet* packet);
  void tell(Operation& op, rdma::Packet* packet);
  void echo(End& source);
  void acknowledge(Operation& op);
  void complete(Operation& op);
  void give_up(Operation& op, std::uint64_t at_ns);
  // The end takes nothing in and sends nothing from here on.
  void end(End& end, rdma::Fault why, bool told);
  void haunt(End& end);

  World& world_;
  const ConnectionLimits limits_;
  Prng prng_;
  std::vector<SimConnectionPort*> ports_;  // by rank
  std::vector<std::uint64_t> crowded_ns_;  // by rank
  std::vector<std::uint32_t> refusals_;    // by rank: of connects that are left
  std::vector<std::uint32_t> takers_;      // by rank: ends that take a packet along
  std::pair<Rank, Rank> swallows_ = {kNoRank, kNoRank};
  std::vector<std::unique_ptr<End>> ends_;  // by number - 1; all that ever were
  std::vector<std::unique_ptr<Operation>> all_;
  std::vector<Operation*> idle_;
  std::vector<std::unique_ptr<Event>> events_;  // drawn faults
  ConnectionCounts counts_;
};

}  // namespace espalier::sim
