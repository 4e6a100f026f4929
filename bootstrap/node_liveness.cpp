#include "bootstrap/node_liveness.hpp"

#include <atomic>
#include <utility>

#include "core/process_state.hpp"

namespace espalier {

NodeLiveness::NodeLiveness(shm::Segment& segment, const JobNodes& nodes, NodeProcesses& processes,
                           Rank me, Bootstrap& bootstrap)
    : segment_(segment), nodes_(nodes), processes_(processes), me_(me), bootstrap_(bootstrap) {}

// Of a rank that holds no lock. What cannot be looked up: one that has had it is gone, and one that
// is about to take it is there as long as it can be met.
bool NodeLiveness::process_gone(Rank rank, bool joined) noexcept {
  const Card& card = nodes_.card(rank);
  if (processes_.in_own_namespace(rank) && card.pid_start != 0) {
    if (const auto state = process_state(processes_.pid(rank))) {
      return state->letter == 0 || state->letter == 'Z' || state->letter == 'X' ||
             state->start != card.pid_start;
    }
  }
  return joined || !shm::MeetingPoint::listener_of(card.meeting).has_value();
}

// What has been told, and what a look finds: this rank's, if none of the node's has looked lately.
void NodeLiveness::look() noexcept {
  for (const Rank reported : bootstrap_.poll_deaths()) note_dead(reported);
  shm::Lives& lives = segment_.header().lives;
  const std::uint64_t now = clock_.now_ns();
  std::uint64_t looked = lives.looked_ns.load(std::memory_order_relaxed);
  // Clocks of time namespaces differ: a later look than now was none of this rank's time.
  if (looked <= now && now - looked < kLookNs) return;
  if (!lives.looked_ns.compare_exchange_strong(looked, now, std::memory_order_relaxed)) return;
  for (const Rank rank : nodes_.locals) {
    if (rank != me_ && !has_left(rank) && !known_dead(rank)) (void)has_died_here(rank);
  }
}

std::uint64_t NodeLiveness::changes() noexcept {
  look();
  return changes_ + segment_.header().lives.changes.load(std::memory_order_acquire);
}

void NodeLiveness::note_dead(Rank rank) {
  Fate& fate = fates_[rank];
  if (!std::exchange(fate.dead, true)) ++changes_;
}

bool NodeLiveness::known_dead(Rank rank) const noexcept {
  const auto known = fates_.find(rank);
  if (known != fates_.end() && known->second.dead) return true;
  const std::uint32_t local = nodes_.locals.index_of(rank);
  return local != RankMap::kNone &&
         segment_.rank_block(local).flags.lost.load(std::memory_order_acquire) != 0;
}

bool NodeLiveness::is_dead(Rank rank) noexcept {
  look();
  return known_dead(rank);
}

// Asks the kernel about a rank of this node, and tells the others.
bool NodeLiveness::has_died_here(Rank rank) noexcept {
  const std::uint32_t local = nodes_.locals.index_of(rank);
  if (local == RankMap::kNone) return false;
  const bool joined = segment_.has_joined(local);
  if (segment_.holds_lock(local)) return false;
  // A rank of the own process ends with this one, and its lock cannot be seen from here.
  if (processes_.is_own(rank) || !process_gone(rank, joined)) return false;
  if (segment_.rank_block(local).flags.lost.exchange(1, std::memory_order_release) == 0) {
    segment_.header().lives.changes.fetch_add(1, std::memory_order_release);
  }
  return true;
}

Status NodeLiveness::first_lost() noexcept {
  look();
  Rank first = kNoRank;
  const auto consider = [&](Rank rank) {
    if (rank != me_ && !has_left(rank) && (first == kNoRank || rank < first)) first = rank;
  };
  for (const auto& [rank, fate] : fates_) {
    if (fate.dead) consider(rank);
  }
  for (const Rank rank : nodes_.locals) {
    if (known_dead(rank) || has_died_here(rank)) consider(rank);
  }
  return first != kNoRank ? loss(first) : Status();
}

Status NodeLiveness::loss(Rank rank) noexcept {
  const auto known = fates_.find(rank);
  const bool told = known != fates_.end() && !known->second.loss.ok();
  return told ? known->second.loss : Status(ESP_ERR_PEER_DIED, rank);
}

void NodeLiveness::note_lost(Rank rank, bool left, const Status& why) noexcept {
  Fate& fate = fates_[rank];
  if (left && !fate.dead) fate.left = true;
  if (fate.loss.ok()) fate.loss = Status(why.code(), rank, why.error_number());
  note_dead(rank);
}

bool NodeLiveness::is_stopped(Rank rank) noexcept {
  if (!nodes_.locals.contains(rank)) return false;
  const char letter = process_state(processes_.pid(rank)).value_or(ProcessState()).letter;
  return letter == 'T' || letter == 't';
}

bool NodeLiveness::is_leaving(Rank rank) noexcept {
  const std::uint32_t local = nodes_.locals.index_of(rank);
  return local != RankMap::kNone &&
         segment_.rank_block(local).flags.leaving.load(std::memory_order_acquire) != 0;
}

bool NodeLiveness::has_left(Rank rank) noexcept {
  const std::uint32_t local = nodes_.locals.index_of(rank);
  if (local != RankMap::kNone) {
    return segment_.rank_block(local).flags.left.load(std::memory_order_acquire) != 0;
  }
  const auto known = fates_.find(rank);
  return known != fates_.end() && known->second.left;
}

}  // namespace espalier
