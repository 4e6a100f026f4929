// World: virtual time, processors, lanes, and the messages under way between simulated ranks.
//
// One thread. A run is a function of (machine, map, options, what the ranks do): the only order is
// that of the event queue, the only chance its own generators. Each rank has one processor; work is
// charged to it and its noise stretches it. Costs per carrier (machine.hpp):
//   device  sender charges o_s; the transfer takes the sender's port for max(g, bytes G) and its
//           lanes in turn; it is there after L + bytes G more; the send is complete when the last
//           byte has left; receiver charges o_r. Without contention exactly LogGP: o_s + L +
//           bytes G + o_r. G is the larger of the level's and the lane's.
//   copy    sender charges o_s + bytes G (copy in; complete at once); visible after L; receiver
//           charges o_r + bytes G (copy out), or o_r for a view. A lane is a memory bus: both
//           copies wait for it. A publication is copied in once.
//   pull    sender charges o_s; visible after L; receiver charges o_r + CMA call, pages, bytes G;
//           then the sender completes after L. What is to be read in place, or is small, is
//           copied in instead, as the shared-memory wire does.
// A publication by multicast, on a machine with groups, leaves the sender's port once for all
// readers that a device reaches: o_s once, and the port is taken for the packets' t_s + t_o(n) as
// well (MulticastCost). Switches copy it, and each reader takes it as any device transfer. Readers
// whom `loss` cost packets have it a round trip later. Grants and acknowledgements cost their
// latency and nobody's time. Reductions are charged by SimWire, from the rank's counters. A rank
// handles what has arrived in a *turn*: at the time of the first arrival, or when its processor is
// free again. Inside a turn its own time runs ahead of the world's by the work it is charged; what
// it posts happens at its own time. Times are whole nanoseconds of virtual time.
//
// Ownership: the world owns messages and queues; SimWire objects are registered for the length of
// their lives. Threads: owner. path: data
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/flow_grants.hpp"
#include "core/pool.hpp"
#include "core/wire.hpp"
#include "net/sim/event_queue.hpp"
#include "net/sim/faults.hpp"
#include "net/sim/lane.hpp"
#include "net/sim/machine.hpp"
#include "net/sim/message.hpp"
#include "net/sim/noise.hpp"

namespace espalier::sim {

class SimWire;

// Something that happens at a time, outside the wires: in the ports of adapters. Outlives the
// world's last step.
class Happening {
 public:
  virtual void happen() noexcept = 0;
  // Of the run's hash: what it is, without addresses.
  virtual std::uint64_t mark() const noexcept = 0;

 protected:
  ~Happening() = default;
};

struct WorldOptions {
  std::uint64_t seed = 1;
  NoiseSpec noise;
  std::uint32_t noise_every = 1;  // noise on the ranks 0, k, 2k, ... only
  FaultSpec faults;
  // Segments of a flow that may come before they are expected: what more memory would buy.
  std::uint32_t eager_segments = kEagerSegments;
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
  std::uint64_t taken_ns;  // the receiver has handled it
};

// What a processor was charged: from `begin_ns` on, detours included, done at `end_ns`.
struct WorkRecord {
  Rank rank;
  std::uint64_t begin_ns, end_ns;
};

class World {
 public:
  // Machine and map outlive the world.
  World(const Machine& machine, const Map& map, const WorldOptions& options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const WorldOptions& options() const noexcept { return options_; }
  std::uint32_t ranks() const noexcept { return map_.ranks(); }
  const Machine& machine() const noexcept { return machine_; }
  const Map& map() const noexcept { return map_; }

  // Of the rank whose turn it is, or of the last event.
  std::uint64_t now_ns() const noexcept { return turn_of_ < 0 ? now_ : local_ns(turn_of_); }
  // Of the event that is being handled: no rank does anything before it.
  std::uint64_t event_ns() const noexcept { return now_; }
  // When this rank's processor is free: what it does next, begins then.
  std::uint64_t local_ns(Rank rank) const noexcept {
    return std::max(now_, processors_[static_cast<std::size_t>(rank)].busy_until);
  }
  // The clock that rank's library code sees.
  Clock& clock(Rank rank) noexcept { return clocks_[static_cast<std::size_t>(rank)]; }

  // Charges work to a rank's processor; returns when it is done.
  std::uint64_t charge(Rank rank, double work_ns) noexcept;
  double reduce_ns_per_byte() const noexcept { return machine_.reduce_ns_per_byte; }

  // Work of the application on the same processor, from this turn's end on: it runs whenever the
  // rank has no turn, and turns push it back. Detours do not; the next one replaces it.
  void run_beside(Rank rank, std::uint64_t work_ns);
  // When it is done, if the rank has no more turns before.
  std::uint64_t beside_done_ns(Rank rank) const noexcept {
    const Beside& work = beside_[static_cast<std::size_t>(rank)];
    return work.since + work.left;
  }

  // Called when a rank has its turn, after its wire's completions ran: the engine's progress().
  using Turn = void (*)(void* context, Rank rank);
  void set_turn(Turn turn, void* context) noexcept;
  // Gives the rank a turn at this time (for starting, and for timers).
  void schedule_turn(Rank rank, std::uint64_t time_ns);

  // Gives the rank a turn now, or when it is done with what it does.
  void wake(Rank rank);
  // The same at this time; of several times asked for, the earliest counts. For the timers of ports
  // and links, which ask again after each turn.
  void wake_at(Rank rank, std::uint64_t time_ns);

  // For ports (net/sim/datagram_net.hpp, group_net.hpp). A rank with ports needs no SimWire to have
  // turns.
  void attach_port(Rank rank) noexcept { ++processors_[static_cast<std::size_t>(rank)].ports; }
  void detach_port(Rank rank) noexcept { --processors_[static_cast<std::size_t>(rank)].ports; }
  void schedule(Happening& what, Rank rank, std::uint64_t time_ns);
  // A transfer between two ranks as a device makes it, from the sender's local time on: its last
  // byte has left at left_ns, all is there at there_ns. With `in_lane`, that is when the first byte
  // is at the receiver's lane: pass_lane(), called then, says when all is there.
  struct Departure {
    std::uint64_t begin_ns, left_ns, there_ns;
    bool in_lane;
    std::uint64_t extra_ns = 0;  // of the port, from begin_ns on, before the first byte
  };
  Departure depart(Rank from, Rank to, std::uint64_t bytes) noexcept;
  std::uint64_t pass_lane(Rank from, Rank to, std::uint64_t bytes) noexcept;
  // To a group of so many members, the sender among them, for all: at the price of the level
  // between it and the farthest of them, and what the machine's network takes for groups.
  Departure depart_to_group(Rank from, Rank farthest, std::uint64_t members,
                            std::uint64_t bytes) noexcept;
  // What has departed once, as switches copy it to another rank; not before it has left.
  Departure fork(const Departure& departure, Rank from, Rank to, std::uint64_t bytes) noexcept;
  // Of the level between two ranks.
  struct Price {
    double overhead_send_ns, overhead_recv_ns, latency_ns, ns_per_byte;
  };
  Price price(Rank from, Rank to) const noexcept;

  // Faults, for ports. Whether chance has its way at this time, and how it goes.
  const FaultSpec& faults() const noexcept { return options_.faults; }
  bool faults_on() const noexcept {
    return options_.faults.heal_ns == 0 || now_ < options_.faults.heal_ns;
  }
  // A request that is refused without a reason; the rank gets a turn soon, to try again.
  bool refuses(Rank rank);
  bool lacks_memory(Rank rank);
  // An extra delay with a heavy tail, mostly 0.
  std::uint64_t draw_delay();
  // Until when nothing moves on this path; whether everything on it is lost.
  std::uint64_t clogged_until(Rank from, Rank to) const noexcept;
  bool parted(Rank from, Rank to) const noexcept;
  // When a message that would be there at `time` is there in fact, on a path that keeps its order.
  std::uint64_t hindered(Rank from, Rank to, std::uint64_t time);
  // As the drawn faults do, at a place and time of the caller's choice.
  void part(Rank from, Rank to, std::uint64_t until_ns);
  void crash(Rank rank) noexcept { processors_[static_cast<std::size_t>(rank)].crashed = true; }

  // Handles the next event. False: nothing will ever happen again.
  bool step();
  // Until nothing is left, or `until_ns`. Returns the time of the last event.
  std::uint64_t run(std::uint64_t until_ns = kNever);

  bool crashed(Rank rank) const noexcept {
    return processors_[static_cast<std::size_t>(rank)].crashed;
  }

  // Hash over all events handled so far: equal seeds must print equal unseeds.
  std::uint64_t unseed() const noexcept { return unseed_; }
  std::uint64_t events() const noexcept { return events_; }
  // Messages, incomplete sends and grants that somebody still holds: none when all is quiet.
  std::size_t under_way() const noexcept {
    return messages_.in_use() + sends_.in_use() + grants_.in_use();
  }

  // nullptr: off.
  void record(std::vector<TransferRecord>* records) noexcept { records_ = records; }
  void record_work(std::vector<WorkRecord>* work) noexcept { work_ = work; }

 private:
  friend class SimWire;

  enum class EventKind : std::uint8_t {
    kTurn,    // rank: may go on
    kNudge,   // rank: what answered kRetry may be tried again
    kHead,    // message: its first byte is at the receiver's lane
    kArrive,  // message: is there
    kSent,    // send, rank the sender: one message has left or was acknowledged
    kGrant,   // grant
    kFault,   // number of a drawn fault: begins
    kAlarm,   // rank: wake_at
    kCall,    // happening
    kWanted,  // message, rank the sender: the receiver wants what is away as bytes
  };
  struct Grant {
    Rank from = kNoRank, to = kNoRank;
    std::uint64_t flow = 0;
    std::uint32_t limit = 0;
  };
  struct Event {
    union {
      Message* message = nullptr;
      PendingSend* send;
      Grant* grant;
      Happening* happening;
      std::uint64_t number;
    };
    Rank rank = kNoRank;
    EventKind kind = EventKind::kTurn;
  };
  struct RankClock final : Clock {
    RankClock(const World& world_, Rank rank_) noexcept : world(world_), rank(rank_) {}
    std::uint64_t now_ns() noexcept override { return world.local_ns(rank); }
    const World& world;
    Rank rank;
  };
  struct Processor {
    std::uint64_t busy_until = 0;
    std::uint64_t port_free = 0;   // its connection to the network
    std::uint64_t alarm = kNever;  // of wake_at; one event at that time is in the queue
    SimWire* wire = nullptr;
    std::uint16_t ports = 0;
    bool turn_scheduled = false;
    bool nudge_scheduled = false;
    bool crashed = false;
    std::uint16_t slowness = 1;
  };
  // Work that is not the library's: `left` is to be done from `since` on; kNever: in a turn.
  struct Beside {
    std::uint64_t left = 0, since = 0;
  };
  // A level's prices, in whole nanoseconds where they do not depend on the size.
  struct Tariff {
    Carrier carrier = Carrier::kDevice;
    std::uint64_t pull_from_bytes = 0;
    std::uint64_t latency = 0, gap = 0, lane_gap = 0;
    double overhead_send = 0, overhead_recv = 0;
    double copy_ns_per_byte = 0;      // of a processor
    double transfer_ns_per_byte = 0;  // the slower of level and lane
    double lane_ns_per_byte = 0;
    std::size_t lane = 0;  // + 1
  };
  struct Lane {
    std::size_t level = 0;  // of whose units there is one each
    bool duplex = true;
    std::vector<LaneSchedule> schedules;  // two per unit, the second for arrivals if duplex
  };
  // The lanes between two ranks: of the sender's unit and, when that is another, the receiver's.
  struct LanePair {
    LaneSchedule* out = nullptr;
    LaneSchedule* in = nullptr;
  };

  void attach(Rank rank, SimWire* wire) noexcept;
  void detach(Rank rank) noexcept;

  // Transfers (world_transfer.cpp).
  void read_machine();
  LanePair lanes_between(const Tariff& tariff, Rank from, Rank to) noexcept;
  static std::uint64_t lane_time(const Tariff& tariff, std::uint64_t bytes) noexcept;
  const Tariff& tariff(const Message& m) const noexcept { return tariffs_[m.level]; }
  void copy(Rank rank, Message& m, bool out) noexcept;
  void pull(Message& m) noexcept;
  // The sender's part of the path, from its local time on. `left`: told when the last byte of a
  // device transfer has left.
  void launch(Message& m, PendingSend* left);
  Departure depart(const Tariff& tariff, Rank from, Rank to, std::uint64_t bytes,
                   std::uint64_t extra_ns = 0) noexcept;
  // One reader's copy of what has departed to its group, and what those of its packets cost that
  // are lost.
  void launch_copy(Message& m, const Departure& departure);
  std::uint64_t repair_ns(const Message& m);
  // The last byte of a device transfer has left.
  void push_left(PendingSend& left, Rank from, std::uint64_t time);
  std::uint64_t pass_lane(const Tariff& tariff, Rank from, Rank to, std::uint64_t bytes) noexcept;
  const Tariff& tariff_between(Rank from, Rank to) const noexcept;
  void go(Message& m, const Departure& departure);
  void at_lane(Message& m);
  void arrive(Message& m, std::uint64_t time);
  void acknowledge(const Message& m);
  void want_bytes(Message& m);
  // What was read on the sender's device is let go.
  void let_go(PendingSend& send, Rank reader) noexcept;
  void send_grant(const Grant& grant);
  void open_record(Message& m, std::uint64_t posted_ns);
  void close_record(const Message& m) noexcept;

  // Faults (world_faults.cpp).
  void draw_faults();
  void begin_fault(const FaultEvent& fault);
  bool draw_nudge(Rank rank, double share);

  void push(std::uint64_t time, const Event& event) { queue_.push(time, event); }
  void handle(const Event& event);
  void note(const Event& event) noexcept;
  void take_turn(Rank rank);
  void pause_beside(Rank rank) noexcept;
  void resume_beside(Rank rank) noexcept;
  void deliver(Message& m);
  void ask_for_bytes(Message& m);
  void complete(PendingSend& send);
  void give_back(Message& m) noexcept;
  // Nobody will take the message.
  void drop(Message& m) noexcept;

  const Machine& machine_;
  const Map& map_;
  const WorldOptions options_;
  const bool faulty_;
  std::vector<Tariff> tariffs_;  // by level
  std::vector<Lane> lanes_;
  std::vector<Processor> processors_;
  std::vector<RankClock> clocks_;
  const NoiseSpec silence_;
  std::vector<Noise> noise_;                            // by rank, or none
  std::map<Rank, std::vector<std::uint64_t>> readers_;  // of a rank's memory: until when
  std::vector<Beside> beside_;                          // by rank, or none
  EventQueue<Event> queue_;
  Recycler<Message> messages_;
  Recycler<PendingSend> sends_;
  Recycler<AwayFetch> fetches_;
  Recycler<Grant> grants_;                              // on their way
  Pool<FlowGrant> flow_grants_{{64, ~std::size_t{0}}};  // of all wires
  std::uint64_t now_ = 0;
  Rank turn_of_ = kNoRank;
  Turn turn_ = nullptr;
  void* turn_context_ = nullptr;
  std::uint64_t unseed_ = 0;
  std::uint64_t events_ = 0;
  std::vector<TransferRecord>* records_ = nullptr;
  std::vector<WorkRecord>* work_ = nullptr;

  Prng fault_prng_;
  std::vector<FaultEvent> faults_;
  // Paths: until when. A reliable wire repeats what a partition swallows: there, both only delay.
  using PathTimes = std::map<std::pair<Rank, Rank>, std::uint64_t>;
  static std::uint64_t until(const PathTimes& times, Rank from, Rank to) noexcept;
  PathTimes clogged_until_;
  PathTimes parted_until_;
  std::map<std::pair<Rank, Rank>, std::uint64_t> last_arrival_;  // reliable paths keep their order
};

}  // namespace espalier::sim
