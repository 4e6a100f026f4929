// NodeLiveness: liveness of the ranks of a job: well known of those of this node; of others, what
// the launcher and the network report.
//
// Dead, on this node: the record lock on the shared segment is gone, and the process is not to be
// seen any more under its pid and start time (where that can be looked up: in the same PID
// namespace), or the launcher said so. Every kLookNs one of the node's ranks looks for all of them,
// and what it finds stands in the segment. Threads: owner. path: slow
#pragma once

#include <unordered_map>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/job_nodes.hpp"
#include "bootstrap/node_processes.hpp"
#include "core/clock.hpp"
#include "core/liveness.hpp"
#include "shm/segment.hpp"

namespace espalier {

class NodeLiveness final : public Liveness {
 public:
  static constexpr std::uint64_t kLookNs = 15'000'000;

  // All outlive this object.
  NodeLiveness(shm::Segment& segment, const JobNodes& nodes, NodeProcesses& processes, Rank me,
               Bootstrap& bootstrap);

  std::uint64_t changes() noexcept override;
  bool is_dead(Rank rank) noexcept override;
  bool is_stopped(Rank rank) noexcept override;
  bool is_leaving(Rank rank) noexcept override;
  bool has_left(Rank rank) noexcept override;
  Status loss(Rank rank) noexcept override;
  // How a rank was lost that has not left the job: of several, the lowest. Ok: there is none. Asks
  // the kernel about each of this node.
  Status first_lost() noexcept;
  // The network does not reach the rank any more: it has left the job, or else why, which names it.
  void note_lost(Rank rank, bool left, const Status& why) noexcept;

 private:
  // What is known of a rank that is not as it was; of this node, the segment says the rest.
  struct Fate {
    bool dead = false;
    bool left = false;  // of another node
    Status loss;        // ok: it just died
  };

  bool process_gone(Rank rank, bool joined) noexcept;
  bool has_died_here(Rank rank) noexcept;
  bool known_dead(Rank rank) const noexcept;
  void note_dead(Rank rank);
  void look() noexcept;

  shm::Segment& segment_;
  const JobNodes& nodes_;
  std::unordered_map<Rank, Fate> fates_;
  std::uint64_t changes_ = 1;  // of these
  SteadyClock clock_;
  NodeProcesses& processes_;
  Rank me_;
  Bootstrap& bootstrap_;
};

}  // namespace espalier
