// World: events, turns, and the rank's processors.
// path: data
#include "net/sim/world.hpp"

#include <algorithm>
#include <cmath>

#include "net/sim/sim_wire.hpp"

namespace espalier::sim {

World::World(const Machine& machine, const Map& map, const WorldOptions& options)
    : machine_(machine),
      map_(map),
      options_(options),
      faulty_(options.faults.any()),
      processors_(map.ranks()),
      unseed_(options.seed),
      fault_prng_(options.seed ^ 0x6661756c74ULL) {
  read_machine();
  clocks_.reserve(map.ranks());
  for (std::uint32_t r = 0; r < map.ranks(); ++r) clocks_.emplace_back(*this, static_cast<Rank>(r));
  if (options_.noise.kind != NoiseSpec::Kind::kNone) {
    noise_.reserve(map.ranks());
    for (std::uint32_t r = 0; r < map.ranks(); ++r) {
      noise_.emplace_back(r % options_.noise_every == 0 ? options_.noise : silence_, options_.seed,
                          r);
    }
  }
  if (faulty_) draw_faults();
}

World::~World() {
  while (!queue_.empty()) {
    const Event event = queue_.pop();
    const bool holds = event.kind == EventKind::kHead || event.kind == EventKind::kArrive;
    if (holds) give_back(*event.message);
  }
}

void World::attach(Rank rank, SimWire* wire) noexcept {
  ESP_ASSERT(rank >= 0 && static_cast<std::uint32_t>(rank) < map_.ranks());
  Processor& p = processors_[static_cast<std::size_t>(rank)];
  ESP_ASSERT(p.wire == nullptr);
  p.wire = wire;
}

void World::detach(Rank rank) noexcept {
  processors_[static_cast<std::size_t>(rank)].wire = nullptr;
}

std::uint64_t World::charge(Rank rank, double work_ns) noexcept {
  const auto index = static_cast<std::size_t>(rank);
  Processor& p = processors_[index];
  const std::uint64_t begin = std::max(now_, p.busy_until);
  const auto work = static_cast<std::uint64_t>(std::floor(work_ns * p.slowness + 0.5));
  p.busy_until = noise_.empty() ? begin + work : noise_[index].finish(begin, work);
  ESP_ASSERT(p.busy_until >= begin + work);
  if (work_ != nullptr && p.busy_until > begin) work_->push_back({rank, begin, p.busy_until});
  return p.busy_until;
}

void World::set_turn(Turn turn, void* context) noexcept {
  turn_ = turn;
  turn_context_ = context;
}

void World::schedule_turn(Rank rank, std::uint64_t time_ns) {
  Event event;
  event.rank = rank;
  push(std::max(time_ns, now_), event);
}

bool World::step() {
  if (queue_.empty()) return false;
  ESP_ASSERT(queue_.time() >= now_);
  now_ = queue_.time();
  const Event event = queue_.pop();
  ++events_;
  note(event);
  handle(event);
  return true;
}

std::uint64_t World::run(std::uint64_t until_ns) {
  while (!queue_.empty() && queue_.time() <= until_ns) (void)step();
  return now_;
}

// Addresses are not part of a run.
void World::note(const Event& event) noexcept {
  std::uint64_t word =
      static_cast<std::uint64_t>(event.kind) << 32 | static_cast<std::uint32_t>(event.rank);
  if (event.kind == EventKind::kHead || event.kind == EventKind::kArrive ||
      event.kind == EventKind::kWanted) {
    word ^= event.message->flow ^ static_cast<std::uint64_t>(event.message->ordinal) << 40;
  }
  if (event.kind == EventKind::kCall) word ^= event.happening->mark();
  unseed_ = (unseed_ ^ word ^ now_ * 0xff51afd7ed558ccdULL) * 0x9e3779b97f4a7c15ULL;
  unseed_ ^= unseed_ >> 29;
}

void World::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::kTurn:
      processors_[static_cast<std::size_t>(event.rank)].turn_scheduled = false;
      return wake(event.rank);
    case EventKind::kNudge:
      processors_[static_cast<std::size_t>(event.rank)].nudge_scheduled = false;
      if (SimWire* wire = processors_[static_cast<std::size_t>(event.rank)].wire) wire->nudge();
      return wake(event.rank);
    case EventKind::kHead:
      return at_lane(*event.message);
    case EventKind::kArrive:
      return deliver(*event.message);
    case EventKind::kSent:
      return complete(*event.send);
    case EventKind::kGrant: {
      const Grant grant = *event.grant;
      grants_.give_back(*event.grant);
      SimWire* wire = processors_[static_cast<std::size_t>(grant.to)].wire;
      if (wire != nullptr && wire->note_grant(grant.from, grant.flow, grant.limit)) wake(grant.to);
      return;
    }
    case EventKind::kFault:
      return begin_fault(faults_[event.number]);
    case EventKind::kAlarm: {
      // One that was superseded by an earlier one has nothing to say.
      Processor& p = processors_[static_cast<std::size_t>(event.rank)];
      if (p.alarm != now_) return;
      p.alarm = kNever;
      return wake(event.rank);
    }
    case EventKind::kCall:
      return event.happening->happen();
    case EventKind::kWanted:
      return ask_for_bytes(*event.message);
  }
}

// There is something for this rank: now, or when it is done with what it does.
void World::wake(Rank rank) {
  Processor& p = processors_[static_cast<std::size_t>(rank)];
  if (turn_ == nullptr || p.turn_scheduled || p.crashed) return;
  // Not inside another turn: its own, or that of a rank which does something to it.
  if (p.busy_until <= now_ && turn_of_ == kNoRank) return take_turn(rank);
  p.turn_scheduled = true;
  schedule_turn(rank, p.busy_until);
}

void World::wake_at(Rank rank, std::uint64_t time_ns) {
  Processor& p = processors_[static_cast<std::size_t>(rank)];
  time_ns = std::max(time_ns, now_);
  if (time_ns >= p.alarm) return;
  p.alarm = time_ns;
  Event event;
  event.rank = rank;
  event.kind = EventKind::kAlarm;
  push(time_ns, event);
}

void World::schedule(Happening& what, Rank rank, std::uint64_t time_ns) {
  Event event;
  event.happening = &what;
  event.rank = rank;
  event.kind = EventKind::kCall;
  push(std::max(time_ns, now_), event);
}

void World::take_turn(Rank rank) {
  const Processor& p = processors_[static_cast<std::size_t>(rank)];
  SimWire* wire = p.wire;
  if (wire == nullptr && p.ports == 0) return;
  ESP_ASSERT(turn_of_ == kNoRank);
  turn_of_ = rank;
  pause_beside(rank);
  int events = 0;
  do {
    events = wire != nullptr ? wire->progress() : 0;
    turn_(turn_context_, rank);
  } while (events > 0 && wire->has_arrivals());
  if (wire != nullptr) wire->charge_combines();
  resume_beside(rank);
  turn_of_ = kNoRank;
}

void World::run_beside(Rank rank, std::uint64_t work_ns) {
  ESP_ASSERT(turn_of_ == rank);
  beside_.resize(processors_.size());
  beside_[static_cast<std::size_t>(rank)] = {work_ns, kNever};
}

// What is done stays done.
void World::pause_beside(Rank rank) noexcept {
  if (beside_.empty()) return;
  Beside& work = beside_[static_cast<std::size_t>(rank)];
  if (work.since + work.left <= now_) return;
  work.left -= now_ - work.since;
  work.since = kNever;
}

void World::resume_beside(Rank rank) noexcept {
  if (beside_.empty()) return;
  Beside& work = beside_[static_cast<std::size_t>(rank)];
  if (work.since == kNever) work.since = local_ns(rank);
}

void World::deliver(Message& m) {
  Processor& p = processors_[static_cast<std::size_t>(m.to)];
  if (m.record != 0 && records_ != nullptr) (*records_)[m.record - 1].arrived_ns = now_;
  if (p.wire == nullptr || p.crashed) return drop(m);
  p.wire->enqueue(m);
  wake(m.to);
}

void World::ask_for_bytes(Message& m) {
  Processor& p = processors_[static_cast<std::size_t>(m.peer)];
  if (p.wire == nullptr || p.crashed) return drop(m);
  p.wire->enqueue_wanted(m);
  wake(m.peer);
}

void World::complete(PendingSend& send) {
  ESP_ASSERT(send.readers > 0);
  if (--send.readers > 0 || (send.lost && send.chain != nullptr)) return;
  const Rank sender = send.sender;
  Processor& p = processors_[static_cast<std::size_t>(sender)];
  if (p.wire == nullptr || p.crashed || send.lost) return sends_.give_back(send);
  p.wire->enqueue(send);
  wake(sender);
}

void World::drop(Message& m) noexcept {
  if (m.acknowledge != nullptr) {
    m.acknowledge->lost = true;
    complete(*m.acknowledge);
  }
  give_back(m);
}

void World::give_back(Message& m) noexcept {
  if (m.payload != nullptr) m.payload->drop();
  messages_.give_back(m);
}

}  // namespace espalier::sim
