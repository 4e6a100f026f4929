// The process groups of running ranks, which the root ends when their daemon cannot.
//
// A daemon ends the group of each rank that ends. When a daemon is killed itself, the kernel kills
// its ranks (PDEATHSIG), but not what they have started. The ranks then become children of the
// root (a subreaper): until it reaps one, the number of its group is given to nobody else.
#pragma once

#include <sys/types.h>

#include <map>
#include <vector>

namespace esp_run {

class RankGroups {
 public:
  void started(int rank, pid_t leader) { leaders_[rank] = leader; }
  // The daemon has ended its group.
  void ended(int rank) { leaders_.erase(rank); }
  // The daemon of these ranks has been reaped.
  void end_orphans(const std::vector<int>& ranks);
  // To be called with every child of the root that has ended, before it is reaped.
  void before_reaping(pid_t child);

 private:
  std::map<int, pid_t> leaders_;  // by rank
};

}  // namespace esp_run
