#include "bootstrap/node_processes.hpp"

#include "shm/handover.hpp"

namespace espalier {

bool NodeProcesses::in_own_namespace(Rank rank) const noexcept {
  const std::uint64_t mine = nodes_.card(me_).pid_namespace;
  return rank == me_ || (mine != 0 && nodes_.card(rank).pid_namespace == mine);
}

VisiblePid NodeProcesses::pid(Rank rank) {
  if (in_own_namespace(rank)) return VisiblePid(static_cast<pid_t>(nodes_.card(rank).pid));
  const auto [at, is_new] = asked_.try_emplace(rank);
  if (is_new)
    at->second = shm::MeetingPoint::listener_of(nodes_.card(rank).meeting).value_or(VisiblePid());
  return at->second;
}

}  // namespace espalier
