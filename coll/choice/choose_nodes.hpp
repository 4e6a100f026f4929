// The parts of choice that are about nodes: which levels of the machine a plan follows, and how.
//
// Pure; any thread. path: setup
#pragma once

#include <cstdint>

#include "coll/choice/choose.hpp"

namespace espalier {

inline std::uint64_t message_bytes(const PlanRequest& request) noexcept {
  return request.elements * request.element_bytes;
}
inline bool crosses_network(const PlanRequest& request) noexcept {
  return request.nodes.nodes != nullptr && request.nodes.nodes->count() > 1;
}
// Between a root and all others.
inline bool moves_blocks(const PlanRequest& request) noexcept {
  return request.collective == Collective::kGather || request.collective == Collective::kScatter;
}

// Does the call leave it to this library how ranks are connected?
bool is_free(const esp_coll_options& options, const Tuning& tuning);
// Where members are, as far as a plan is to make use of it.
const TeamNodes* choose_nodes(const esp_coll_options& options, const PlanRequest& request,
                              const Tuning& tuning);
// Of a request whose algorithm and segments are chosen: its trees over nodes and inside them, or
// what is done in their place. `all`: the call's options with what a profile adds.
void choose_node_trees(const esp_coll_options& options, const esp_coll_options& all,
                       const Tuning& tuning, PlanRequest& request);
// Leaders of each node, of a tree over nodes.
std::int32_t stripes_at_most(const PlanRequest& request) noexcept;
// Over switches as over nodes. A chain over all nodes in their order enters each switch once, too,
// and its nodes send each segment once, where the heads of a chain of chains would do so twice.
void choose_switch_level(const LevelShape& wished, PlanRequest& request);

}  // namespace espalier
