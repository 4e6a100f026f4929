// What is fixed before the first process starts: who runs where, and bound to what.
//
// Built once by the root; the node daemons inherit it through fork and never change it.
#pragma once

#include <hwloc.h>

#include <memory>
#include <string>
#include <vector>

#include "options.hpp"

namespace esp_run {

// In the layout of sched_setaffinity: one bit per CPU.
using CpuMask = std::vector<unsigned long>;

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

struct JobPlan {
  Options options;
  std::string program;                  // Path to execute.
  std::string job_name;                 // The PMIx namespace.
  std::vector<std::string> node_names;  // One per emulated node.
  std::vector<CpuMask> masks;           // Rank r is bound to masks[r % size]; empty: not bound.
  Topology topology;                    // Of this machine, limited to the CPUs we may use.
  int first_own_fd = 3;                 // Descriptors from here on are the launcher's business.

  int ranks() const { return options.ranks; }
  int nodes() const { return options.nodes; }
  // Blocks of ranks, as even as possible: node i has [first_rank(i), first_rank(i + 1)).
  int first_rank(int node) const;
  int node_of(int rank) const;
};

JobPlan make_job_plan(const Options& options);

}  // namespace esp_run
