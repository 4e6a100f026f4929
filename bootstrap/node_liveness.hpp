// NodeLiveness: liveness of the ranks of a job: well known of those of this node; of others, what
// the launcher and the network report.
//
// Dead, on this node: the record lock on the shared segment is gone, and the process is not to be
// seen any more under its pid and start time (where that can be looked up: in the same PID
// namespace), or the launcher said so. Threads: owner. path: slow
#pragma once

#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/card.hpp"
#include "bootstrap/node_processes.hpp"
#include "core/liveness.hpp"
#include "shm/segment.hpp"

namespace espalier {

class NodeLiveness final : public Liveness {
 public:
  // All outlive this object. Local indices are the positions in `locals` (job ranks).
  NodeLiveness(shm::Segment& segment, const std::vector<Card>& cards,
               const std::vector<Rank>& locals, NodeProcesses& processes, Rank me,
               Bootstrap& bootstrap);

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
  bool process_gone(Rank rank, bool joined) noexcept;
  bool has_died_here(Rank rank) noexcept;
  void take_reports() noexcept;

  shm::Segment& segment_;
  const std::vector<Card>& cards_;
  std::vector<std::uint32_t> local_of_rank_;
  std::vector<bool> dead_;
  std::vector<bool> left_;      // of other nodes
  std::vector<Status> losses_;  // ok: it just died
  NodeProcesses& processes_;
  Rank me_;
  Bootstrap& bootstrap_;
};

}  // namespace espalier
