// The root's part of a PMIx fence: waits for the data of all nodes that take part and joins it.
//
// Pure bookkeeping, no I/O. A fence is known by its list of participants; fences of the same list
// follow one another, so every node has a queue per list. A node takes part as long as one of the
// participants on it is alive: without that rule the others would wait for ever for a node whose
// last participant died, as its PMIx server then never speaks up. A fence is partial when one of
// its participants died after it had begun and before that rank's node had spoken; the dead of
// earlier times do not count. libpmix 4.2.2 hands no data to the members of a partial fence.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "frame.hpp"

namespace esp_run {

class Collectives {
 public:
  // What one node is to be told.
  struct Answer {
    int node;
    std::uint64_t id;
  };
  struct Finished {
    std::vector<Answer> answers;
    FenceStatus status;
    std::string data;
  };
  struct Contribution {
    std::uint64_t id;  // The node's own number for it.
    FenceStatus status;
    std::string data;
  };
  using Ranks = std::vector<std::int32_t>;  // Empty: the whole job.

  // `node_of_rank`: for every rank of the job.
  explicit Collectives(std::vector<int> node_of_rank);

  std::vector<Finished> contribute(int node, const Ranks& participants, Contribution contribution);
  // The rank has ended, in whatever way; call it once for each.
  std::vector<Finished> rank_ended(std::int32_t rank);

 private:
  struct Pending {
    std::map<int, std::deque<Contribution>> queues;  // By node; no queue is empty.
    bool has_lost_a_rank = false;
  };

  // Calls `visit(node, is_alive)` for each participant.
  void visit_participants(const Ranks& participants,
                          const std::function<void(int node, bool is_alive)>& visit) const;
  bool is_complete(const Ranks& participants, const Pending& pending) const;
  static Finished finish(Pending& pending);
  void finish_while_complete(const Ranks& participants, Pending& pending,
                             std::vector<Finished>& finished) const;

  const std::vector<int> node_of_rank_;
  std::vector<bool> is_alive_;
  std::map<Ranks, Pending> pending_;
};

}  // namespace esp_run
