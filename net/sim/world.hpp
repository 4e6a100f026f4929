// World: virtual time, processors, lanes, and the messages under way between simulated ranks.
//
// One thread. A run is a function of (machine, map, options, what the ranks do): the only order is
// that of the event queue, the only chance its own generators. Each rank has one processor; work is
// charged to it and its noise stretches it. Costs per carrier (machine.hpp):
//   device  sender charges o_s; the transfer takes its lanes in turn for max(g, bytes G); it is
//           there after L + bytes G more; the send is complete when the last byte has left;
//           receiver charges o_r. Without contention exactly LogGP: o_s + L + bytes G + o_r.
//   copy    sender charges o_s + bytes G (copy in; complete at once); visible after L; receiver
//           charges o_r + bytes G (copy out), or o_r for a view.
//   pull    sender charges o_s; visible after L; receiver charges o_r + CMA call, pages, bytes G;
//           then the sender completes after L.
// A rank handles what has arrived in a *turn*: at the time of the first arrival, or when its
// processor is free of work and detours. Time is in nanoseconds of virtual time.
//
// Ownership: the world owns messages and queues; SimWire objects are registered for the length of
// their lives. Threads: owner. path: data
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/clock.hpp"
#include "core/wire.hpp"
#include "net/sim/event_queue.hpp"
#include "net/sim/faults.hpp"
#include "net/sim/machine.hpp"
#include "net/sim/noise.hpp"

namespace espalier::sim {

class SimWire;

struct WorldOptions {
  std::uint64_t seed = 1;
  NoiseSpec noise;
  FaultSpec faults;
  LinkKind links = LinkKind::kReliable;
  // Off for large runs: segments have a size but no bytes; views and buffers must still be readable
  // memory, whose contents mean nothing.
  bool carry_data = true;
};

// What happened, for --explain and timelines: one transfer.
struct TransferRecord {
  Rank from, to;
  std::uint64_t flow;
  std::uint32_t ordinal;
  std::uint32_t level;
  std::uint64_t bytes;
  std::uint64_t posted_ns;   // the sender's engine asked for it
  std::uint64_t started_ns;  // lanes and processor were free
  std::uint64_t arrived_ns;
  std::uint64_t taken_ns;    // the receiver has handled it
};

class World {
 public:
  World(const Machine& machine, const Map& map, const WorldOptions& options);
  ~World();

  std::uint64_t now_ns() const noexcept;  // of the rank whose turn it is, or of the last event
  // The clock that rank's library code sees.
  Clock& clock(Rank rank) noexcept;

  // Charges work to a rank's processor; returns when it is done.
  std::uint64_t charge(Rank rank, double work_ns) noexcept;

  // Called when a rank has its turn, after its wire's completions ran: the engine's progress().
  using Turn = void (*)(void* context, Rank rank);
  void set_turn(Turn turn, void* context) noexcept;
  // Gives the rank a turn at this time (for starting, and for timers).
  void schedule_turn(Rank rank, std::uint64_t time_ns);

  // Handles the next event. False: nothing will ever happen again.
  bool step();
  // Until nothing is left, or `until_ns`. Returns the time of the last event.
  std::uint64_t run(std::uint64_t until_ns = kNever);

  bool crashed(Rank rank) const noexcept;

  // Hash over all events handled so far: equal seeds must print equal unseeds.
  std::uint64_t unseed() const noexcept;
  std::uint64_t events() const noexcept;

  // nullptr: off.
  void record(std::vector<TransferRecord>* records) noexcept;
};

}  // namespace espalier::sim
