// Machines whose topology is published, jobs placed on them, and the trees that follow them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "coll/algorithms/trees.hpp"
#include "core/topology.hpp"

namespace espalier::machines {

// Ma's thesis, chapters 3 to 5. Zoot: four sockets around one memory controller; IG: two boards of
// four sockets; nodes of Stremi and of Parapluie: two dies, each a NUMA node, in each socket.
inline constexpr const char* kZoot = "[numa(memory=32GB)] pack:4 l2:2 core:2 pu:1";
inline constexpr const char* kIg = "group:2 pack:4 [numa(memory=16GB)] l3:1 l2:6 core:1 pu:1";
inline constexpr const char* kStremi = "pack:2 group:2 [numa(memory=12GB)] l3:1 core:6 pu:1";
// Two sockets of 64 cores, four NUMA nodes each (NPS4), an L3 cache for four cores.
inline constexpr const char* kManyCores = "pack:2 group:4 [numa(memory=64GB)] l3:4 core:4 pu:1";

struct Job {
  std::vector<Location> places;  // by member
  TeamNodes nodes;

  int between(std::int32_t a, std::int32_t b) const {
    return distance(places[static_cast<std::size_t>(a)], places[static_cast<std::size_t>(b)]);
  }
};

inline Job job_of(std::vector<Location> places) {
  Job job{std::move(places), {}};
  std::vector<std::int32_t> node_of;
  std::vector<MemberLocality> locality_of;
  std::vector<NetworkPlace> network_of;
  for (const Location& place : job.places) {
    network_of.push_back({.switches = place.switches});
    node_of.push_back(static_cast<std::int32_t>(place.host.node_hash));
    locality_of.push_back(member_locality(place.place));
  }
  job.nodes = TeamNodes::of(node_of, locality_of, network_of);
  return job;
}

// One member on each core of `nodes` such machines. `core_of(member)`: counted over all nodes.
inline Job placed(const char* machine, std::int32_t nodes,
                  const std::function<std::int32_t(std::int32_t)>& core_of) {
  auto made = load_machine(machine);
  EXPECT_TRUE(made.ok()) << machine;
  if (!made.ok()) return {};
  const std::int32_t cores = made->core_count();
  std::vector<Location> places;
  for (std::int32_t m = 0; m < nodes * cores; ++m) {
    const std::int32_t core = core_of(m);
    Location place;
    place.host.node_hash = static_cast<std::uint64_t>(core / cores);
    place.place = locality_of_rank(*made, core % cores);
    places.push_back(place);
  }
  return job_of(std::move(places));
}

inline Job in_order(const char* machine, std::int32_t nodes = 1) {
  return placed(machine, nodes, [](std::int32_t m) { return m; });
}

// Up to so many pods, switches, nodes, boards, sockets, ... in each group outside; 1: no such
// level. Sockets contain NUMA nodes or NUMA nodes sockets.
inline Job random_job(std::mt19937& random, std::int32_t members) {
  const auto below = [&](std::int32_t end) {
    return static_cast<std::int32_t>(random() % static_cast<unsigned>(end));
  };
  std::array<std::int32_t, 7> fan;  // pod, switch, node, board, two of socket and NUMA node, cache
  for (std::int32_t& groups : fan) groups = 1 + below(2) * (1 + below(2));
  const bool numa_outside = below(2) == 1;
  std::vector<Location> places;
  for (std::int32_t m = 0; m < members; ++m) {
    std::array<std::int32_t, 7> group;  // numbered over the whole job
    std::int32_t number = 0;
    for (std::size_t level = 0; level < fan.size(); ++level) {
      number = number * fan[level] + below(fan[level]);
      group[level] = number;
    }
    Location place;
    place.switches = {0, group[0], group[1]};
    place.host.node_hash = static_cast<std::uint64_t>(group[2]);
    place.place = {.cpu = m, .core = m, .llc = group[6], .board = group[3]};
    place.place.package = group[numa_outside ? 5 : 4];
    place.place.numa = group[numa_outside ? 4 : 5];
    places.push_back(place);
  }
  return job_of(std::move(places));
}

// Flat on every level: the broadcast tree by recursive grouping.
inline TreeSpec grouped_tree(const Job& job, std::int32_t root) {
  TreeSpec spec{.shape = ESP_SHAPE_FLAT, .size = job.nodes.size(), .root = root};
  spec.nodes = {.nodes = &job.nodes, .follow = true};
  spec.nodes.switches = {ESP_SHAPE_FLAT, 2};
  return spec;
}

using Edges = std::vector<std::pair<std::int32_t, std::int32_t>>;

inline Edges tree_edges(const Job& job, std::int32_t root) {
  Edges edges;
  const TreeSpec spec = grouped_tree(job, root);
  for (std::int32_t m = 0; m < spec.size; ++m) {
    const std::int32_t parent = tree_node(spec, m).parent;
    EXPECT_EQ(parent < 0, m == root);
    if (parent >= 0) edges.emplace_back(parent, m);
  }
  return edges;
}

// How many edges of each distance.
inline std::map<int, int> distances(const Job& job, const Edges& edges) {
  std::map<int, int> counts;
  for (const auto& [a, b] : edges) ++counts[job.between(a, b)];
  return counts;
}

inline int weight(const Job& job, const Edges& edges) {
  int sum = 0;
  for (const auto& [a, b] : edges) sum += job.between(a, b);
  return sum;
}

// Hops from the root to the farthest member; -1: not all are reached. Edges in any direction.
inline int depth(const Edges& edges, std::int32_t size, std::int32_t root) {
  std::vector<int> hops(static_cast<std::size_t>(size), -1);
  hops[static_cast<std::size_t>(root)] = 0;
  for (std::int32_t round = 0; round < size; ++round) {
    for (const auto& [a, b] : edges) {
      int& from = hops[static_cast<std::size_t>(a)];
      int& to = hops[static_cast<std::size_t>(b)];
      if (from >= 0 && to < 0) to = from + 1;
      if (to >= 0 && from < 0) from = to + 1;
    }
  }
  if (std::count(hops.begin(), hops.end(), -1) > 0) return -1;
  return *std::max_element(hops.begin(), hops.end());
}

inline std::vector<std::int32_t> children(const Job& job, std::int32_t root, std::int32_t of) {
  std::vector<std::int32_t> ranks;
  for (const TreeChild& child : tree_node(grouped_tree(job, root), of).children) {
    ranks.push_back(child.rank);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace espalier::machines
