// Plans of every maker beyond one tree on one node: over nodes and switches, by leaders and
// stripes, blocks of a root, scans. Small, but with more pieces than windows.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "coll/algorithms/trees.hpp"
#include "tests/unit/exchange_cases.hpp"

namespace espalier::plan_check {

// `nodes` of a request are static: they outlive it.
struct MadeRequest {
  std::string name;
  PlanRequest request;
};

// Members of three nodes of 3, 2 and 3: beside each other, or dealt out.
inline const TeamNodes& nodes_in_order() {
  static const TeamNodes nodes = TeamNodes::of(std::vector<std::int32_t>{0, 0, 0, 1, 1, 2, 2, 2});
  return nodes;
}
inline const TeamNodes& nodes_dealt_out() {
  static const TeamNodes nodes = TeamNodes::of(std::vector<std::int32_t>{0, 1, 2, 0, 1, 2, 0, 2});
  return nodes;
}
// Two switches of two nodes each, of two members.
inline const TeamNodes& nodes_behind_switches() {
  static const TeamNodes nodes = [] {
    std::vector<std::int32_t> node_of;
    std::vector<NetworkPlace> network_of;
    for (std::int32_t m = 0; m < 8; ++m) {
      node_of.push_back(m / 2);
      network_of.push_back({.switches = {0, 0, m / 4}});
    }
    return TeamNodes::of(node_of, {}, network_of);
  }();
  return nodes;
}

inline PlanRequest over(const TeamNodes& nodes, PlanRequest request) {
  request.nodes.nodes = &nodes;
  request.nodes.follow = true;
  return request;
}

// Trees in which members are combined in the order of nodes, which is theirs.
inline void add_trees(std::vector<MadeRequest>& made) {
  const auto add = [&](const std::string& name, PlanRequest request) {
    made.push_back({std::string(collective_name(request.collective)) + " " + name, request});
  };
  for (const Collective collective :
       {Collective::kBcast, Collective::kReduce, Collective::kAllreduce}) {
    PlanRequest request = over(nodes_in_order(), call(collective, 8, 17));
    request.shape = ESP_SHAPE_CHAIN;
    request.root = collective == Collective::kAllreduce ? 0 : 4;
    for (const std::int32_t stripes : {2, 3}) {
      request.nodes.stripes = stripes;
      add(std::to_string(stripes) + " leaders", request);
    }
    request.nodes.inside = ESP_SHAPE_DOUBLE_LEADER;
    add("leaders and second leaders", request);
    request.nodes.stripes = 1;
    add("second leaders", request);
    for (const esp_shape shape : {ESP_SHAPE_BINOMIAL, ESP_SHAPE_CHAIN}) {
      PlanRequest switched = over(nodes_behind_switches(), call(collective, 8, 17));
      switched.shape = shape;
      switched.root = request.root;
      switched.nodes.switches = {ESP_SHAPE_CHAIN, 2};
      add(std::string("switches ") + shape_name(shape), switched);
    }
    PlanRequest alone = call(collective, 6, 17);
    alone.shape = ESP_SHAPE_DOUBLE_LEADER;
    add("double leader", alone);
  }
}

// By leaders of nodes, blocks of a root, scans; members alone, and on nodes in either order.
inline void add_blocks(std::vector<MadeRequest>& made) {
  const std::pair<const char*, const TeamNodes*> places[] = {
      {"alone", nullptr}, {"in order", &nodes_in_order()}, {"dealt out", &nodes_dealt_out()}};
  for (const Case& c : kCases) {
    const bool scans = c.collective == Collective::kScan || c.collective == Collective::kExscan;
    if (is_irregular(c.collective) || (c.algorithm != ESP_ALGORITHM_TREE && !scans)) continue;
    for (const auto& [where, nodes] : places) {
      if (nodes != nullptr && scans) continue;
      PlanRequest request = exchange(c.collective, c.algorithm, 8);
      request.in_place = c.in_place;
      request.elements = 9;
      request.root = traits_of(c.collective).rooted ? 4 : 0;
      request.nodes.nodes = nodes;
      request.nodes.follow = nodes != nullptr && has_shapes(c.collective);
      made.push_back({std::string(collective_name(c.collective)) + " " +
                          algorithm_name(c.algorithm) + " " + where +
                          (c.in_place ? " in place" : ""),
                      request});
    }
  }
}

// Members of five nodes of 3, 2, 1, 3 and 2: the last one's run waits for that of the first.
inline const TeamNodes& five_nodes_in_order() {
  static const TeamNodes nodes =
      TeamNodes::of(std::vector<std::int32_t>{0, 0, 0, 1, 1, 2, 3, 3, 3, 4, 4});
  return nodes;
}
inline const TeamNodes& five_nodes_dealt_out() {
  static const TeamNodes nodes =
      TeamNodes::of(std::vector<std::int32_t>{0, 1, 2, 3, 4, 0, 1, 3, 4, 0, 3});
  return nodes;
}

inline void add_multicasts(std::vector<MadeRequest>& made) {
  PlanRequest request = over(nodes_in_order(), call(Collective::kBcast, 8, 17));
  request.nodes.multicast = true;
  request.shape = ESP_SHAPE_CHAIN;
  request.root = 4;  // no member of the network's group
  made.push_back({"bcast multicast", request});
  request.collective = Collective::kAllreduce;
  request.root = 0;
  made.push_back({"allreduce multicast", request});
  for (const auto& [where, nodes] : {std::pair{"in order", &five_nodes_in_order()},
                                     std::pair{"dealt out", &five_nodes_dealt_out()}}) {
    PlanRequest gather = exchange(Collective::kAllgather, ESP_ALGORITHM_TREE, 11);
    gather.elements = 9;
    gather.nodes.nodes = nodes;
    gather.nodes.multicast = true;
    made.push_back({std::string("allgather multicast ") + where, gather});
  }
}

inline void PrintTo(const MadeRequest& made, std::ostream* out) {
  *out << made.name;
}

inline const std::vector<MadeRequest>& made_requests() {
  static const std::vector<MadeRequest> all = [] {
    std::vector<MadeRequest> made;
    add_trees(made);
    add_blocks(made);
    add_multicasts(made);
    return made;
  }();
  return all;
}

}  // namespace espalier::plan_check
