// A member's place in a tree that follows nodes and what is inside them, put together from its
// places in the trees of its groups.
#include <algorithm>

#include "coll/algorithms/trees.hpp"

namespace espalier {

namespace {

// Levels of switches that a tree has: none where nodes have several leaders.
std::size_t outer_levels(const NodePlan& plan) {
  return plan.switches.shape == ESP_SHAPE_AUTO || plan.stripes > 1 ? 0 : plan.nodes->outer.size();
}

// The levels as partitions of the positions, from the outside to the inside: all in one group, the
// groups of each outer level, the nodes, the groups of each inner level, every position alone.
class Partitions {
 public:
  explicit Partitions(const NodePlan& plan)
      : nodes_(*plan.nodes), outer_(outer_levels(plan)), size_(nodes_.size()) {}

  std::size_t depth() const { return outer_ + nodes_.inner.size() + 2; }  // of the last one
  // The group that holds a position; of the end: the number of groups.
  std::int32_t group(std::size_t level, std::int32_t position) const {
    if (level == 0) return position < size_ ? 0 : 1;
    if (level == depth()) return position;
    const std::vector<std::int32_t>& begin = begins(level);
    return static_cast<std::int32_t>(std::upper_bound(begin.begin(), begin.end(), position) -
                                     begin.begin()) -
           1;
  }
  std::int32_t begin(std::size_t level, std::int32_t group) const {
    if (level == 0) return group == 0 ? 0 : size_;
    return level == depth() ? group : begins(level)[static_cast<std::size_t>(group)];
  }
  // Its head's position, below level 0.
  std::int32_t head(std::size_t level, std::int32_t group) const {
    return level == depth() ? group : groups(level).head_of(group);
  }

 private:
  const MemberGroups& groups(std::size_t level) const {
    if (level <= outer_) return nodes_.outer[level - 1];
    if (level == outer_ + 1) return nodes_;
    return nodes_.inner[level - outer_ - 2];
  }
  const std::vector<std::int32_t>& begins(std::size_t level) const { return groups(level).begin; }

  const TeamNodes& nodes_;
  const std::size_t outer_;
  const std::int32_t size_;
};

// The tree over the groups of `level` + 1 in one of `level`. In rank order: so every subtree is a
// run of groups, whatever the root.
TreeSpec spec_of(const TreeSpec& spec, std::size_t level, std::int32_t groups) {
  const NodePlan& plan = spec.nodes;
  const std::size_t outer = outer_levels(plan);
  LevelShape shape{plan.inside, plan.inside_radix};
  if (level < outer) {
    shape = plan.switches;
  } else if (level == outer) {
    shape = {spec.shape, spec.radix};
  } else if (level <= outer + plan.nodes->inner.size()) {
    shape = plan.between[static_cast<std::size_t>(plan.nodes->inner[level - outer - 1].level)];
  }
  return {.shape = shape.shape, .radix = shape.radix, .size = groups, .rank_order = true};
}

// A rank's place, put together from its places in the trees of its groups: from the innermost to
// that of level `outermost`. The root is the head of all groups that hold it.
TreeNode assemble(const TreeSpec& spec, std::int32_t rank, std::size_t outermost) {
  const TeamNodes& nodes = *spec.nodes.nodes;
  const Partitions parts(spec.nodes);
  const std::int32_t me = nodes.position_of(rank);
  const std::int32_t root = nodes.position_of(spec.root);
  const auto head = [&](std::size_t level, std::int32_t group) {
    const bool holds_root =
        parts.begin(level, group) <= root && root < parts.begin(level, group + 1);
    return holds_root ? root : parts.head(level, group);
  };
  TreeNode node;
  std::vector<TreeChild> lower, higher;  // children before this rank in the order, and after it
  for (std::size_t level = parts.depth(); level-- > outermost && node.parent < 0;) {
    const std::int32_t group = parts.group(level, me);
    const std::int32_t begin = parts.begin(level, group), end = parts.begin(level, group + 1);
    const std::int32_t first = parts.group(level + 1, begin);
    TreeSpec inside = spec_of(spec, level, parts.group(level + 1, end) - first);
    inside.root = parts.group(level + 1, head(level, group)) - first;
    const TreeNode mine = tree_node(inside, parts.group(level + 1, me) - first);
    if (mine.parent >= 0) node.parent = nodes.member_at(head(level + 1, first + mine.parent));
    std::vector<TreeChild> children;
    for (const TreeChild& child : mine.children) {
      const std::int32_t at = first + child.rank;
      children.push_back(
          {nodes.member_at(head(level + 1, at)),
           parts.begin(level + 1, at + child.subtree_ranks) - parts.begin(level + 1, at)});
    }
    const auto cut = children.begin() + static_cast<std::ptrdiff_t>(mine.before);
    lower.insert(lower.begin(), children.begin(), cut);
    higher.insert(higher.end(), cut, children.end());
  }
  node.before = lower.size();
  node.children = std::move(lower);
  node.children.insert(node.children.end(), higher.begin(), higher.end());
  return node;
}

// Among the members of its node, `top` being one of them.
TreeNode assemble_inside(const TreeSpec& spec, std::int32_t rank, std::int32_t top) {
  TreeSpec inside = spec;
  inside.root = top;
  inside.nodes.switches = {ESP_SHAPE_AUTO, 2};
  return assemble(inside, rank, 1);
}

}  // namespace

TreeNode tree_node_inside(const TreeSpec& spec, std::int32_t rank) {
  const TeamNodes& nodes = *spec.nodes.nodes;
  return assemble_inside(spec, rank, nodes.head(nodes.node_of(rank)));
}

TreeNode tree_node_of_multicast(const TreeSpec& spec, std::int32_t rank) {
  TreeSpec down = spec;
  down.nodes.nodes = &spec.nodes.nodes->of_group();
  const TeamNodes& nodes = *down.nodes.nodes;
  const std::int32_t own = nodes.node_of(rank), first = nodes.node_of(spec.root);
  if (own == first) return assemble_inside(down, rank, spec.root);
  TreeNode node = assemble_inside(down, rank, nodes.group_member(own));
  if (node.parent < 0) node.parent = nodes.group_member(first);
  return node;
}

std::int32_t stripe_leader(const TeamNodes& nodes, std::int32_t stripe, std::int32_t node) {
  const std::int32_t head = nodes.head_of(node) - nodes.begin[static_cast<std::size_t>(node)];
  return nodes.member(node, (head + stripe) % nodes.members(node));
}

TreeNode tree_node_of_stripe(const TreeSpec& spec, std::int32_t rank) {
  const TeamNodes& nodes = *spec.nodes.nodes;
  const std::int32_t own = nodes.node_of(rank), first = nodes.node_of(spec.root);
  const auto leader = [&](std::int32_t node) {
    return node == first && !spec.relays ? spec.root : stripe_leader(nodes, spec.stripe, node);
  };
  TreeSpec inside = spec_of(spec, 1, nodes.members(own));
  inside.root = nodes.place(own == first ? spec.root : leader(own));
  TreeNode node = tree_node(inside, nodes.place(rank));
  if (node.parent >= 0) node.parent = nodes.member(own, node.parent);
  for (TreeChild& child : node.children) child.rank = nodes.member(own, child.rank);
  if (rank != leader(own)) return node;
  TreeSpec over = spec_of(spec, 0, nodes.count());
  over.root = first;
  const TreeNode among = tree_node(over, own);
  if (own != first) node.parent = leader(among.parent);
  std::vector<TreeChild> others;
  for (const TreeChild& child : among.children) {
    const auto begin = static_cast<std::size_t>(child.rank);
    const std::int32_t ranks =
        nodes.begin[begin + static_cast<std::size_t>(child.subtree_ranks)] - nodes.begin[begin];
    others.push_back({leader(child.rank), ranks});
  }
  // Those of nodes before this one in the order, this node's, and those after it.
  const auto cut = others.begin() + static_cast<std::ptrdiff_t>(among.before);
  node.children.insert(node.children.begin(), others.begin(), cut);
  node.children.insert(node.children.end(), cut, others.end());
  node.before += among.before;
  return node;
}

TreeNode tree_node_of_nodes(const TreeSpec& spec, std::int32_t rank) {
  if (spec.nodes.stripes > 1) return tree_node_of_stripe(spec, rank);
  return assemble(spec, rank, 0);
}

std::int64_t degree_bound_of_nodes(const TreeSpec& spec) {
  const TeamNodes& nodes = *spec.nodes.nodes;
  std::vector<std::int32_t> most = nodes.widest;
  if (outer_levels(spec.nodes) > 0) {
    most = nodes.widest_outer;
    most.insert(most.end(), nodes.widest.begin() + 1, nodes.widest.end());
  }
  std::int64_t children = 0;
  for (std::size_t level = 0; level < most.size(); ++level) {
    const std::int32_t widest = most[level];
    if (widest > 1) children += tree_degree_bound(spec_of(spec, level, widest));
  }
  if (spec.nodes.multicast && nodes.leaders != nullptr) {  // Down there is no tree over parts.
    TreeSpec down = spec;
    down.shape = ESP_SHAPE_BINOMIAL;
    down.nodes.nodes = nodes.leaders;
    children = std::max(children, degree_bound_of_nodes(down));
  }
  return std::min<std::int64_t>(children, spec.size - 1);
}

}  // namespace espalier
