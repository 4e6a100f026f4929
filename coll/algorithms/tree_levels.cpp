// A rank's place in a tree of levels, put together from its places in the trees of its groups.
#include "coll/algorithms/tree_levels.hpp"

#include <algorithm>

#include "coll/algorithms/trees.hpp"
#include "core/assert.hpp"

namespace espalier {
namespace {

// Ranks [begin, end) whose members are `unit` ranks each, the last maybe fewer.
struct LevelGroup {
  std::int64_t begin = 0, end = 0, unit = 1;

  std::int32_t members() const {
    return static_cast<std::int32_t>((end - begin + unit - 1) / unit);
  }
  std::int32_t member_of(std::int64_t rank) const {
    return static_cast<std::int32_t>((rank - begin) / unit);
  }
};

// The rank that stands for the `ranks` ranks from `begin` on.
std::int64_t head_of(std::int64_t begin, std::int64_t ranks, std::int64_t root) {
  return begin <= root && root < begin + ranks ? root : begin;
}

// The tree over the members of one group, in rank order: so every subtree, of members and hence of
// ranks, is a contiguous range, whatever the root.
TreeSpec spec_inside(const TreeSpec& spec, std::size_t level, const LevelGroup& group) {
  const bool outside = level == level_count(spec.levels);
  TreeSpec inside;
  inside.shape = outside ? spec.shape : spec.levels[level].shape;
  inside.radix = outside ? spec.radix : spec.levels[level].radix;
  inside.size = group.members();
  inside.root = group.member_of(head_of(group.begin, group.end - group.begin, spec.root));
  inside.rank_order = true;
  return inside;
}

std::int32_t rank_of(const TreeSpec& spec, const LevelGroup& group, std::int32_t member) {
  return static_cast<std::int32_t>(
      head_of(group.begin + member * group.unit, group.unit, spec.root));
}

TreeChild child_of(const TreeSpec& spec, const LevelGroup& group, const TreeChild& child) {
  const std::int64_t begin = group.begin + child.rank * group.unit;
  const std::int64_t end = std::min(group.end, begin + child.subtree_ranks * group.unit);
  return {rank_of(spec, group, child.rank), static_cast<std::int32_t>(end - begin)};
}

}  // namespace

TreeNode tree_node_of_levels(const TreeSpec& spec, std::int32_t rank) {
  std::vector<TreeChild> lower, higher;  // children of lower ranks, and of higher ones, in order
  TreeNode node;
  LevelGroup group;
  const std::size_t levels = level_count(spec.levels);
  for (std::size_t level = 0; level <= levels; ++level) {
    const std::int64_t ranks = level < levels ? spec.levels[level].ranks : spec.size;
    group.begin = rank / ranks * ranks;
    group.end = std::min<std::int64_t>(group.begin + ranks, spec.size);
    const TreeNode inside = tree_node(spec_inside(spec, level, group), group.member_of(rank));
    std::vector<TreeChild> below;
    for (const TreeChild& child : inside.children) below.push_back(child_of(spec, group, child));
    const auto cut = below.begin() + static_cast<std::ptrdiff_t>(inside.before);
    lower.insert(lower.begin(), below.begin(), cut);
    higher.insert(higher.end(), cut, below.end());
    if (inside.parent >= 0) {
      node.parent = rank_of(spec, group, inside.parent);
      break;
    }
    group.unit = ranks;
  }
  node.before = lower.size();
  node.children = std::move(lower);
  node.children.insert(node.children.end(), higher.begin(), higher.end());
  return node;
}

std::int64_t degree_bound_of_levels(const TreeSpec& spec) {
  std::int64_t children = 0;
  std::int64_t unit = 1;
  const std::size_t levels = level_count(spec.levels);
  for (std::size_t level = 0; level <= levels; ++level) {
    const std::int64_t ranks = level < levels ? spec.levels[level].ranks : spec.size;
    const LevelGroup largest{0, std::min<std::int64_t>(ranks, spec.size), unit};
    if (largest.members() > 1) children += tree_degree_bound(spec_inside(spec, level, largest));
    unit = ranks;
  }
  return std::min<std::int64_t>(children, spec.size - 1);
}

}  // namespace espalier
