#include "rank_groups.hpp"

#include <sys/wait.h>

#include <csignal>

namespace esp_run {
namespace {

// Otherwise its daemon has reaped it (and had no time to say so), and the number may be anybody's.
bool is_child(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

void RankGroups::end_orphans(const std::vector<int>& ranks) {
  for (const int rank : ranks) {
    const auto found = leaders_.find(rank);
    if (found == leaders_.end()) continue;
    if (is_child(found->second)) kill(-found->second, SIGKILL);
    leaders_.erase(found);
  }
}

void RankGroups::before_reaping(pid_t child) {
  std::erase_if(leaders_, [child](const auto& entry) {
    if (entry.second != child) return false;
    kill(-child, SIGKILL);
    return true;
  });
}

}  // namespace esp_run
