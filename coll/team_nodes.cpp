// Where members lie, and a member's place in a tree that follows it.
#include "coll/team_nodes.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "coll/trees.hpp"
#include "core/assert.hpp"

namespace espalier {

TeamNodes TeamNodes::of(std::span<const std::int32_t> node_of) {
  const auto members = static_cast<std::int32_t>(node_of.size());
  TeamNodes made;
  std::map<std::int32_t, std::int32_t> number;
  for (const std::int32_t name : node_of) {
    const auto next = static_cast<std::int32_t>(number.size());
    made.node.push_back(number.emplace(name, next).first->second);
  }
  made.order.resize(node_of.size());
  std::iota(made.order.begin(), made.order.end(), 0);
  std::stable_sort(made.order.begin(), made.order.end(), [&](std::int32_t a, std::int32_t b) {
    return made.node_of(a) < made.node_of(b);
  });
  made.position.resize(node_of.size());
  for (std::int32_t p = 0; p < members; ++p) {
    const std::int32_t member = made.order[static_cast<std::size_t>(p)];
    made.position[static_cast<std::size_t>(member)] = p;
    made.in_order = made.in_order && member == p;
    if (made.node_of(member) == static_cast<std::int32_t>(made.begin.size())) {
      made.begin.push_back(p);
    }
  }
  made.begin.push_back(members);
  for (std::int32_t k = 0; k < made.count(); ++k) {
    made.largest = std::max(made.largest, made.members(k));
  }
  return made;
}

namespace {

std::int32_t head_place(const TeamNodes& nodes, std::int32_t node, std::int32_t root) {
  return nodes.node_of(root) == node ? nodes.place(root) : 0;
}

TreeSpec spec_inside(const TreeSpec& spec, std::int32_t node) {
  const TeamNodes& nodes = *spec.nodes.nodes;
  return {.shape = spec.nodes.inside,
          .radix = spec.nodes.inside_radix,
          .size = nodes.members(node),
          .root = head_place(nodes, node, spec.root),
          .rank_order = true};
}

TreeSpec spec_outside(const TreeSpec& spec) {
  const TeamNodes& nodes = *spec.nodes.nodes;
  return {.shape = spec.shape,
          .radix = spec.radix,
          .size = nodes.count(),
          .root = nodes.node_of(spec.root),
          .rank_order = true};
}

// The members of `node` and of all nodes under it.
std::int32_t ranks_below(const TreeSpec& outside, const TeamNodes& nodes, std::int32_t node) {
  std::int32_t ranks = nodes.members(node);
  for (const TreeChild& child : tree_node(outside, node).children) {
    ranks += ranks_below(outside, nodes, child.rank);
  }
  return ranks;
}

}  // namespace

TreeNode tree_node_inside(const TreeSpec& spec, std::int32_t rank) {
  const TeamNodes& nodes = *spec.nodes.nodes;
  const std::int32_t mine = nodes.node_of(rank);
  TreeNode node = tree_node(spec_inside(spec, mine), nodes.place(rank));
  if (node.parent >= 0) node.parent = nodes.member(mine, node.parent);
  for (TreeChild& child : node.children) child.rank = nodes.member(mine, child.rank);
  return node;
}

TreeNode tree_node_of_nodes(const TreeSpec& spec, std::int32_t rank) {
  const TeamNodes& nodes = *spec.nodes.nodes;
  TreeNode node = tree_node_inside(spec, rank);
  if (node.parent >= 0) return node;
  const TreeSpec above = spec_outside(spec);
  const TreeNode outside = tree_node(above, nodes.node_of(rank));
  const auto head = [&](std::int32_t of) {
    return nodes.member(of, head_place(nodes, of, spec.root));
  };
  if (outside.parent >= 0) node.parent = head(outside.parent);
  // Subtrees of nodes are neighbours in the order of nodes: lower ones come before this node.
  std::vector<TreeChild> others;
  for (const TreeChild& child : outside.children) {
    others.push_back({head(child.rank), ranks_below(above, nodes, child.rank)});
  }
  const auto cut = others.begin() + static_cast<std::ptrdiff_t>(outside.before);
  node.children.insert(node.children.end(), cut, others.end());
  node.children.insert(node.children.begin(), others.begin(), cut);
  node.before += outside.before;
  return node;
}

std::int64_t degree_bound_of_nodes(const TreeSpec& spec) {
  const TeamNodes& nodes = *spec.nodes.nodes;
  TreeSpec inside = spec_inside(spec, 0);
  inside.size = nodes.largest;
  inside.root = 0;
  const std::int64_t children =
      (nodes.largest > 1 ? tree_degree_bound(inside) : 0) + tree_degree_bound(spec_outside(spec));
  return std::min<std::int64_t>(children, spec.size - 1);
}

}  // namespace espalier
