// NodeProcesses: which process each rank of this node is, as it is named from here.
//
// What a rank says of its process holds in its PID namespace. Of ranks in another one, or where
// that is not known, the kernel is asked when somebody wants to know, once per rank: by a
// connection to where the rank is met. Threads: owner. path: slow
#pragma once

#include <map>

#include "bootstrap/job_nodes.hpp"
#include "core/visible_pid.hpp"

namespace espalier {

class NodeProcesses {
 public:
  // `nodes` outlives this object.
  NodeProcesses(const JobNodes& nodes, Rank me) noexcept : nodes_(nodes), me_(me) {}

  // Of ranks of this node. None: it cannot be seen from here.
  VisiblePid pid(Rank rank);
  bool in_own_namespace(Rank rank) const noexcept;
  // Another rank of this process, or this one?
  bool is_own(Rank rank) { return pid(rank) == VisiblePid::self(); }

 private:
  const JobNodes& nodes_;
  Rank me_;
  std::map<Rank, VisiblePid> asked_;  // of other namespaces
};

}  // namespace espalier
