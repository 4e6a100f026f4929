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

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

struct JobPlan {
  Options options;
  std::vector<std::string> paths;       // Of the programs, to execute.
  std::string job_name;                 // The PMIx namespace.
  std::vector<std::string> node_names;  // One per emulated node.
  std::vector<BindingPlace> places;     // Rank r is bound to places[r % size]; empty: not bound.
  Topology topology;                    // Of this machine, limited to the CPUs we may use.
  std::string stack_tool;               // Of --stacks; empty: none are asked for.
  int first_own_fd = 3;                 // Descriptors from here on are the launcher's business.

  int ranks() const { return options.ranks; }
  int nodes() const { return options.nodes; }
  const std::vector<int>& ranks_on(int node) const {
    return ranks_of_nodes[static_cast<std::size_t>(node)];
  }
  int node_of(int rank) const { return nodes_of_ranks[static_cast<std::size_t>(rank)]; }
  // The number of the rank's program, in the order of the command line.
  int program_of(int rank) const { return programs_of_ranks[static_cast<std::size_t>(rank)]; }
  // NULL: not bound.
  const BindingPlace* place_of(int rank) const {
    return places.empty() ? nullptr : &places[static_cast<std::size_t>(rank) % places.size()];
  }

  std::vector<int> nodes_of_ranks;
  std::vector<int> programs_of_ranks;            // ascending
  std::vector<std::vector<int>> ranks_of_nodes;  // ascending
};

// Deals the ranks out to the nodes as the options say: as evenly as possible, no node is empty.
void place_ranks(JobPlan& plan);

// The most descriptors that a process of the launcher has open: the root has a connection to each
// node, a node's daemon one to each rank and with --tag two pipes, and both what they begin with.
int descriptors_needed(const JobPlan& plan);

JobPlan make_job_plan(const Options& options);

}  // namespace esp_run
