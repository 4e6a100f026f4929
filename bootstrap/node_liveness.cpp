#include "bootstrap/node_liveness.hpp"

#include <atomic>

#include "core/process_state.hpp"

namespace espalier {

NodeLiveness::NodeLiveness(shm::Segment& segment, const std::vector<Card>& cards,
                           const std::vector<Rank>& locals, NodeProcesses& processes, Rank me,
                           Bootstrap& bootstrap)
    : segment_(segment),
      cards_(cards),
      local_of_rank_(cards.size(), shm::kMaxLocalRanks),
      dead_(cards.size(), false),
      left_(cards.size(), false),
      losses_(cards.size()),
      processes_(processes),
      me_(me),
      bootstrap_(bootstrap) {
  for (std::uint32_t i = 0; i < locals.size(); ++i) {
    local_of_rank_[static_cast<std::size_t>(locals[i])] = i;
  }
}

// Of a rank that holds no lock. What cannot be looked up: one that has had it is gone, and one that
// is about to take it is there as long as it can be met.
bool NodeLiveness::process_gone(Rank rank, bool joined) noexcept {
  const Card& card = cards_[static_cast<std::size_t>(rank)];
  if (processes_.in_own_namespace(rank) && card.pid_start != 0) {
    if (const auto state = process_state(processes_.pid(rank))) {
      return state->letter == 0 || state->letter == 'Z' || state->letter == 'X' ||
             state->start != card.pid_start;
    }
  }
  return joined || !shm::MeetingPoint::listener_of(card.meeting).has_value();
}

void NodeLiveness::take_reports() noexcept {
  for (const Rank reported : bootstrap_.poll_deaths()) {
    dead_[static_cast<std::size_t>(reported)] = true;
  }
}

bool NodeLiveness::is_dead(Rank rank) noexcept {
  take_reports();
  return dead_[static_cast<std::size_t>(rank)] || has_died_here(rank);
}

// Of a rank of this node.
bool NodeLiveness::has_died_here(Rank rank) noexcept {
  const auto r = static_cast<std::size_t>(rank);
  const std::uint32_t local = local_of_rank_[r];
  if (local == shm::kMaxLocalRanks) return false;
  const bool joined = segment_.has_joined(local);
  if (segment_.holds_lock(local)) return false;
  // A rank of the own process ends with this one, and its lock cannot be seen from here.
  if (processes_.is_own(rank)) return false;
  dead_[r] = process_gone(rank, joined);
  return dead_[r];
}

Status NodeLiveness::first_lost() noexcept {
  take_reports();
  for (Rank rank = 0; rank < static_cast<Rank>(dead_.size()); ++rank) {
    if (rank == me_ || has_left(rank)) continue;
    if (dead_[static_cast<std::size_t>(rank)] || has_died_here(rank)) return loss(rank);
  }
  return {};
}

Status NodeLiveness::loss(Rank rank) noexcept {
  const Status loss = losses_[static_cast<std::size_t>(rank)];
  return loss.ok() ? Status(ESP_ERR_PEER_DIED, rank) : loss;
}

void NodeLiveness::note_lost(Rank rank, bool left, const Status& why) noexcept {
  const auto r = static_cast<std::size_t>(rank);
  left_[r] = left && !dead_[r];
  dead_[r] = true;
  if (losses_[r].ok()) losses_[r] = Status(why.code(), rank, why.error_number());
}

bool NodeLiveness::is_stopped(Rank rank) noexcept {
  if (local_of_rank_[static_cast<std::size_t>(rank)] == shm::kMaxLocalRanks) return false;
  const char letter = process_state(processes_.pid(rank)).value_or(ProcessState()).letter;
  return letter == 'T' || letter == 't';
}

bool NodeLiveness::is_leaving(Rank rank) noexcept {
  const std::uint32_t local = local_of_rank_[static_cast<std::size_t>(rank)];
  return local != shm::kMaxLocalRanks &&
         segment_.rank_block(local).flags.leaving.load(std::memory_order_acquire) != 0;
}

bool NodeLiveness::has_left(Rank rank) noexcept {
  const std::uint32_t local = local_of_rank_[static_cast<std::size_t>(rank)];
  if (local == shm::kMaxLocalRanks) return left_[static_cast<std::size_t>(rank)];
  return segment_.rank_block(local).flags.left.load(std::memory_order_acquire) != 0;
}

}  // namespace espalier
