// World: what goes wrong on reliable links. Messages may be late, never lost, repeated or out of
// order on one path; posts may be refused; ranks may be slow or end without a word.
// path: data
#include <algorithm>
#include <cmath>
#include <utility>

#include "net/sim/world.hpp"

namespace espalier::sim {
namespace {

constexpr std::uint64_t kHorizonNs = 10'000'000;  // of runs that never heal
constexpr std::uint64_t kNudgeNs = 1'000;         // after a refusal without a reason
constexpr double kParetoAlpha = 1.5;
constexpr double kLongestDelay = 1000;
constexpr std::uint16_t kSlowness = 100;

}  // namespace

void World::draw_faults() {
  const FaultSpec& spec = options_.faults;
  faults_ = sim::draw_faults(spec, map_.ranks(), spec.heal_ns != 0 ? spec.heal_ns : kHorizonNs,
                             options_.seed);
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    Event event;
    event.number = i;
    event.kind = EventKind::kFault;
    push(faults_[i].begin_ns, event);
  }
}

void World::begin_fault(const FaultEvent& fault) {
  switch (fault.kind) {
    case FaultEvent::Kind::kClog:
    case FaultEvent::Kind::kPartition: {
      // A reliable link repeats what a partition swallows: both hold messages back.
      std::uint64_t& until = clogged_until_[{fault.from, fault.to}];
      until = std::max(until, fault.end_ns);
      return;
    }
    case FaultEvent::Kind::kCrash:
      processors_[static_cast<std::size_t>(fault.from)].crashed = true;
      return;
    case FaultEvent::Kind::kSlow: {
      // It begins as a slow one and is healed by an event of the same kind that has ended.
      Processor& p = processors_[static_cast<std::size_t>(fault.from)];
      const bool over = now_ >= fault.end_ns;
      p.slowness = over ? 1 : kSlowness;
      if (over) return;
      Event event;
      event.number = static_cast<std::uint64_t>(&fault - faults_.data());
      event.kind = EventKind::kFault;
      push(fault.end_ns, event);
      return;
    }
  }
}

// Something is refused without a reason; the rank hears soon that it may try again: once, however
// much was refused, or each nudge would make several.
bool World::draw_nudge(Rank rank, double share) {
  if (share <= 0 || !faults_on() || !fault_prng_.chance(share)) return false;
  bool& scheduled = processors_[static_cast<std::size_t>(rank)].nudge_scheduled;
  if (std::exchange(scheduled, true)) return true;
  Event event;
  event.rank = rank;
  event.kind = EventKind::kNudge;
  push(local_ns(rank) + kNudgeNs, event);
  return true;
}

// A post that answers kRetry.
bool World::refuses(Rank rank) {
  return faulty_ && draw_nudge(rank, options_.faults.retry);
}

// An unexpected segment that cannot be taken in yet: it and what came after it wait.
bool World::lacks_memory(Rank rank) {
  return faulty_ && draw_nudge(rank, options_.faults.no_memory);
}

// When something that would be there at `time` is there in fact.
std::uint64_t World::hindered(Rank from, Rank to, std::uint64_t time) {
  if (!faulty_) return time;
  const FaultSpec& spec = options_.faults;
  if (spec.delay > 0 && faults_on() && fault_prng_.chance(spec.delay)) {
    const double u = 1.0 - fault_prng_.unit();
    const double factor = std::min(std::pow(u, -1.0 / kParetoAlpha), kLongestDelay);
    time += static_cast<std::uint64_t>(static_cast<double>(spec.delay_ns) * factor);
  }
  const auto clog = clogged_until_.find({from, to});
  if (clog != clogged_until_.end()) time = std::max(time, clog->second);
  std::uint64_t& last = last_arrival_[{from, to}];
  return last = std::max(last, time);
}

}  // namespace espalier::sim
