#include "collectives.hpp"

#include <algorithm>

namespace esp_run {

Collectives::Collectives(std::vector<int> node_of_rank)
    : node_of_rank_(std::move(node_of_rank)), is_alive_(node_of_rank_.size(), true) {}

std::vector<Collectives::Finished> Collectives::contribute(int node, const Ranks& participants,
                                                           Contribution contribution) {
  Ranks key = participants;
  std::sort(key.begin(), key.end());  // Nodes may list the same ranks in different orders.
  Queues& queues = pending_[key];
  queues[node].push_back(std::move(contribution));
  std::vector<Finished> finished;
  finish_while_complete(key, queues, finished);
  if (queues.empty()) pending_.erase(key);
  return finished;
}

std::vector<Collectives::Finished> Collectives::rank_ended(std::int32_t rank) {
  std::vector<Finished> finished;
  if (rank < 0 || static_cast<std::size_t>(rank) >= is_alive_.size()) return finished;
  is_alive_[static_cast<std::size_t>(rank)] = false;
  for (auto& [participants, queues] : pending_) {
    finish_while_complete(participants, queues, finished);
  }
  std::erase_if(pending_, [](const auto& entry) { return entry.second.empty(); });
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

bool Collectives::is_complete(const Ranks& participants, const Queues& queues) const {
  bool complete = !queues.empty();
  visit_participants(participants, [&](int node, bool is_alive) {
    if (is_alive && !queues.contains(node)) complete = false;
  });
  return complete;
}

Collectives::Finished Collectives::finish(const Ranks& participants, Queues& queues) const {
  Finished result{{}, FenceStatus::kComplete, {}};
  visit_participants(participants, [&](int node, bool) {
    if (!queues.contains(node)) result.status = FenceStatus::kPartial;
  });
  for (auto& [node, queue] : queues) {
    result.answers.push_back({node, queue.front().id});
    // libpmix reads the blobs of several servers one after the other.
    result.data += queue.front().data;
    if (queue.front().status == FenceStatus::kPartial) result.status = FenceStatus::kPartial;
    queue.pop_front();
  }
  std::erase_if(queues, [](const auto& entry) { return entry.second.empty(); });
  return result;
}

void Collectives::finish_while_complete(const Ranks& participants, Queues& queues,
                                        std::vector<Finished>& finished) const {
  while (is_complete(participants, queues)) finished.push_back(finish(participants, queues));
}

}  // namespace esp_run
