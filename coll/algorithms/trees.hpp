// Trees over the ranks of a team: who is my parent, who are my children, in which order.
//
// Ranks are laid out by *position*: position 0 is the root, position q is rank (root + q) mod size.
// Every subtree covers a contiguous range of positions, so whatever a tree reduces, each partial
// result is a contiguous run of ranks and operands can always be combined in position order:
// root, root + 1, ..., root - 1 (mod size). With `rank_order` the one range below the root that
// would wrap from rank size - 1 to rank 0 is cut in two there, and operands are combined in plain
// rank order for any root, at the price of at most one more child of the root.
//
//   binomial, 8 ranks        k-ary 2, 8 ranks         two-tree, 8 ranks: segments alternate
//   0 -- 1                   0 -- 1 -- 2 -- 3         0 -- 4 -- 2 -- 1     0 -- 7 -- 3 -- 1 -- 2 .
//    |-- 2 -- 3               |    \-- 4               .    |    \-- 3      .         \-- 5 -- 4 .
//    \-- 4 -- 5               \-- 5 -- 6               .    \-- 6 -- 5      .              \-- 6 .
//         \-- 6 -- 7               \-- 7               .         \-- 7      (inner here: odd ranks)
//
// double-leader: rank 0 -- 1 -- 2, 3, ... 7. Of a node whose root is its leader, the second leader
// combines what the node has while the leader is at the network (Ma's thesis, section 5.1.3; there
// the leader's own share goes to the second one and comes back in the sum. Here the leader adds it
// to what comes from the second leader and from the network, which saves a copy of it).
//
// two-tree (Sanders, Speck, Traeff: "Two-tree algorithms for full bandwidth broadcast, reduction
// and scan", Parallel Computing 35 (2009)): in-order binary trees over the positions 1, 2, ...;
// inner ranks of half 0 are the even positions, of half 1 the odd ones.
//
// Cost: O(children + log size) per rank; no memory that grows with the team, but for the children
// of a flat tree's root. Values only; any thread. path: setup
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coll/team/team_nodes.hpp"
#include "espalier/espalier.h"

namespace espalier {

struct TreeSpec {
  esp_shape shape = ESP_SHAPE_BINOMIAL;  // not AUTO
  std::int32_t radix = 2;                // of k-ary (>= 1) and k-nomial (>= 2)
  std::int32_t size = 1;
  std::int32_t root = 0;
  bool rank_order = false;  // true: combine in rank order, not in rotated rank order
  int half = 0;             // two-tree: which of the two, 0 or 1
  NodePlan nodes = {};      // followed: `shape` is over the nodes; in the order of nodes
  std::int32_t stripe = 0;  // of nodes.stripes: which leader of each node is its head
  bool relays = false;      // the stripe's leader on the root's node talks to others, not the root
};

struct TreeChild {
  std::int32_t rank = 0;
  std::int32_t subtree_ranks = 1;
};

struct TreeNode {
  std::int32_t parent = -1;         // -1: the root
  std::vector<TreeChild> children;  // in order of combination
  std::size_t before = 0;           // this many children are combined before the own contribution
};

TreeNode tree_node(const TreeSpec& spec, std::int32_t rank);

// Upper bound of the number of children of any rank, the same on every rank; 64-bit because a flat
// tree over many ranks may be refused by it.
std::int64_t tree_degree_bound(const TreeSpec& spec);

// The same for trees that follow nodes (team_nodes.hpp); the functions above call them. Where all
// shapes are flat this is a tree of least weight and, of those, of least depth (weight: process
// distance). Inside: the rank's place among the members of its own node alone, whose root is the
// node's head, whatever the root.
TreeNode tree_node_of_nodes(const TreeSpec& spec, std::int32_t rank);
// Of a stripe among several: the same over nodes without levels inside.
TreeNode tree_node_of_stripe(const TreeSpec& spec, std::int32_t rank);
std::int32_t stripe_leader(const TeamNodes& nodes, std::int32_t stripe, std::int32_t node);
TreeNode tree_node_inside(const TreeSpec& spec, std::int32_t rank);
// By multicast, on the way down: inside the root's node (or part of it: TeamNodes::of_group()) the
// root is on top, inside others the member of the network's group, whose parent is that of the
// root's.
TreeNode tree_node_of_multicast(const TreeSpec& spec, std::int32_t rank);
std::int64_t degree_bound_of_nodes(const TreeSpec& spec);

const char* shape_name(esp_shape shape) noexcept;  // "binomial"; "unknown" otherwise

}  // namespace espalier
