// World: what goes wrong. On reliable wires messages may be late, never lost, repeated or out of
// order on one path (lost packets of multicast are repaired, which takes time); what happens to
// datagrams is in datagram_net.cpp. Posts may be refused; ranks may be slow or end without a word.
// path: data
#include <algorithm>
#include <cmath>
#include <utility>

#include "net/sim/world.hpp"

namespace espalier::sim {
namespace {

constexpr std::uint64_t kNudgeNs = 1'000;  // after a refusal without a reason
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
    case FaultEvent::Kind::kClog: {
      std::uint64_t& end = clogged_until_[{fault.from, fault.to}];
      end = std::max(end, fault.end_ns);
      return;
    }
    case FaultEvent::Kind::kPartition:
      return part(fault.from, fault.to, fault.end_ns);
    case FaultEvent::Kind::kCrash:
      return crash(fault.from);
    case FaultEvent::Kind::kBreak:
    case FaultEvent::Kind::kOverrun:
      return;  // ConnectionNet's
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

std::uint64_t World::draw_delay() {
  const FaultSpec& spec = options_.faults;
  if (spec.delay <= 0 || !faults_on() || !fault_prng_.chance(spec.delay)) return 0;
  const double u = 1.0 - fault_prng_.unit();
  const double factor = std::min(std::pow(u, -1.0 / kParetoAlpha), kLongestDelay);
  return static_cast<std::uint64_t>(static_cast<double>(spec.delay_ns) * factor);
}

// All that are lost of one message are asked for and come at once.
std::uint64_t World::repair_ns(const Message& m) {
  const double loss = options_.faults.loss;
  if (!m.to_group || loss <= 0 || !faults_on()) return 0;
  const MulticastCost& cost = machine_.multicast;
  const double all_come = std::pow(1 - loss, static_cast<double>(cost.packets(m.bytes)));
  if (!fault_prng_.chance(1 - all_come)) return 0;
  const Tariff& t = tariff(m);
  const auto packet = static_cast<double>(std::min(m.bytes, cost.packet_bytes));
  return 2 * t.latency + static_cast<std::uint64_t>(packet * t.transfer_ns_per_byte);
}

std::uint64_t World::until(const PathTimes& times, Rank from, Rank to) noexcept {
  const auto found = times.find({from, to});
  return found == times.end() ? 0 : found->second;
}

std::uint64_t World::clogged_until(Rank from, Rank to) const noexcept {
  return until(clogged_until_, from, to);
}

bool World::parted(Rank from, Rank to) const noexcept {
  return now_ < until(parted_until_, from, to);
}

void World::part(Rank from, Rank to, std::uint64_t until_ns) {
  std::uint64_t& end = parted_until_[{from, to}];
  end = std::max(end, until_ns);
}

// When a message that would be there at `time` is there in fact.
std::uint64_t World::hindered(Rank from, Rank to, std::uint64_t time) {
  if (!faulty_) return time;
  time += draw_delay();
  time = std::max(time, clogged_until(from, to));
  time = std::max(time, until(parted_until_, from, to));
  std::uint64_t& last = last_arrival_[{from, to}];
  return last = std::max(last, time);
}

}  // namespace espalier::sim
