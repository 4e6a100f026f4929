#include "collectives.hpp"

#include <algorithm>
#include <utility>

namespace esp_run {

Collectives::Collectives(std::vector<int> node_of_rank)
    : node_of_rank_(std::move(node_of_rank)), is_alive_(node_of_rank_.size(), true) {}

std::vector<Collectives::Finished> Collectives::contribute(int node, const Ranks& participants,
                                                           Contribution contribution) {
  Ranks key = participants;
  std::sort(key.begin(), key.end());  // Nodes may list the same ranks in different orders.
  Pending& pending = pending_[key];
  pending.queues[node].push_back(std::move(contribution));
  std::vector<Finished> finished;
  finish_while_complete(key, pending, finished);
  if (pending.queues.empty()) pending_.erase(key);
  return finished;
}

std::vector<Collectives::Finished> Collectives::rank_ended(std::int32_t rank) {
  std::vector<Finished> finished;
  if (rank < 0 || static_cast<std::size_t>(rank) >= is_alive_.size()) return finished;
  is_alive_[static_cast<std::size_t>(rank)] = false;
  for (auto& [participants, pending] : pending_) {
    const bool takes_part =
        participants.empty() || std::binary_search(participants.begin(), participants.end(), rank);
    const bool has_spoken = pending.queues.contains(node_of_rank_[static_cast<std::size_t>(rank)]);
    if (takes_part && !has_spoken) pending.has_lost_a_rank = true;
    finish_while_complete(participants, pending, finished);
  }
  std::erase_if(pending_, [](const auto& entry) { return entry.second.queues.empty(); });
  return finished;
}

void Collectives::visit_participants(
    const Ranks& participants, const std::function<void(int node, bool is_alive)>& visit) const {
  const auto visit_rank = [&](std::size_t rank) {
    if (rank < node_of_rank_.size()) visit(node_of_rank_[rank], is_alive_[rank]);
  };
  if (participants.empty()) {
    for (std::size_t rank = 0; rank < node_of_rank_.size(); ++rank) visit_rank(rank);
  } else {
    for (const std::int32_t rank : participants) visit_rank(static_cast<std::size_t>(rank));
  }
}

bool Collectives::is_complete(const Ranks& participants, const Pending& pending) const {
  bool complete = !pending.queues.empty();
  visit_participants(participants, [&](int node, bool is_alive) {
    if (is_alive && !pending.queues.contains(node)) complete = false;
  });
  return complete;
}

Collectives::Finished Collectives::finish(Pending& pending) {
  Finished result{{}, FenceStatus::kComplete, {}};
  if (std::exchange(pending.has_lost_a_rank, false)) result.status = FenceStatus::kPartial;
  for (auto& [node, queue] : pending.queues) {
    result.answers.push_back({node, queue.front().id});
    // libpmix reads the blobs of several servers one after the other.
    result.data += queue.front().data;
    if (queue.front().status == FenceStatus::kPartial) result.status = FenceStatus::kPartial;
    queue.pop_front();
  }
  std::erase_if(pending.queues, [](const auto& entry) { return entry.second.empty(); });
  return result;
}

void Collectives::finish_while_complete(const Ranks& participants, Pending& pending,
                                        std::vector<Finished>& finished) const {
  while (is_complete(participants, pending)) finished.push_back(finish(pending));
}

}  // namespace esp_run
