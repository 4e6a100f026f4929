// Trees by themselves: every rank once, parents and children agree, contiguous subtrees, depth.
#include <algorithm>
#include <cmath>

#include "coll/algorithms/trees.hpp"
#include "tests/unit/plan_cases.hpp"

namespace espalier {
namespace {

using plan_check::shape_cases;
using plan_check::ShapeCase;

// The ranks under `rank` in order of combination; checks parents and subtree sizes on the way.
std::vector<std::int32_t> flatten(const TreeSpec& spec, std::int32_t rank, std::int32_t parent) {
  const TreeNode node = tree_node(spec, rank);
  EXPECT_EQ(node.parent, parent);
  EXPECT_LE(static_cast<std::int64_t>(node.children.size()), tree_degree_bound(spec));
  EXPECT_LE(node.before, node.children.size());
  std::vector<std::int32_t> order;
  for (std::size_t c = 0; c <= node.children.size(); ++c) {
    if (c == node.before) order.push_back(rank);
    if (c == node.children.size()) break;
    const TreeChild& child = node.children[c];
    const std::vector<std::int32_t> below = flatten(spec, child.rank, rank);
    EXPECT_EQ(static_cast<std::int32_t>(below.size()), child.subtree_ranks);
    order.insert(order.end(), below.begin(), below.end());
  }
  return order;
}

void expect_order(const TreeSpec& spec) {
  const std::vector<std::int32_t> order = flatten(spec, spec.root, -1);
  ASSERT_EQ(order.size(), static_cast<std::size_t>(spec.size));
  for (std::int32_t k = 0; k < spec.size; ++k) {
    const std::int32_t expected = spec.rank_order ? k : (spec.root + k) % spec.size;
    ASSERT_EQ(order[static_cast<std::size_t>(k)], expected)
        << shape_name(spec.shape) << " size " << spec.size << " root " << spec.root;
  }
}

TEST(Trees, EverySizeRootAndShapeCombinesInOrder) {
  for (const ShapeCase& c : shape_cases()) {
    for (std::int32_t size = 1; size <= 64; ++size) {
      for (std::int32_t root = 0; root < size; ++root) {
        for (int half = 0; half <= (c.shape == ESP_SHAPE_TWO_TREE ? 1 : 0); ++half) {
          TreeSpec spec{c.shape, c.radix, size, root, false, half};
          expect_order(spec);
          spec.rank_order = true;
          expect_order(spec);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(Trees, InnerRanksOfOneTwoTreeHalfAreLeavesOfTheOther) {
  for (const bool rank_order : {false, true}) {
    for (std::int32_t size = 2; size <= 64; ++size) {
      for (std::int32_t root = 0; root < size; ++root) {
        for (std::int32_t rank = 0; rank < size; ++rank) {
          if (rank == root) continue;
          TreeSpec spec{ESP_SHAPE_TWO_TREE, 2, size, root, rank_order, 0};
          const bool inner = !tree_node(spec, rank).children.empty();
          spec.half = 1;
          ASSERT_FALSE(inner && !tree_node(spec, rank).children.empty());
        }
      }
    }
  }
}

// Millions of ranks: one rank's place costs O(degree + log size), and the ends still meet.
TEST(Trees, MillionsOfRanks) {
  for (const ShapeCase& c : shape_cases()) {
    TreeSpec spec{c.shape, c.radix, 2'000'003, 1'234'567, true, 0};
    for (const std::int32_t rank : {0, 1, 1'234'566, 1'234'568, 1'700'000, 2'000'002}) {
      const TreeNode node = tree_node(spec, rank);
      ASSERT_GE(node.parent, 0);
      const TreeNode parent = tree_node(spec, node.parent);
      const auto is_rank = [&](const TreeChild& child) { return child.rank == rank; };
      EXPECT_EQ(std::count_if(parent.children.begin(), parent.children.end(), is_rank), 1);
      for (const TreeChild& child : node.children) {
        EXPECT_EQ(tree_node(spec, child.rank).parent, rank);
      }
    }
  }
}

TEST(TreesDeathTest, RanksOutsideTheTeam) {
  EXPECT_DEATH((void)tree_node({.size = 4}, 4), "invariant violated");
  EXPECT_DEATH((void)tree_node({.size = 4, .root = 4}, 0), "invariant violated");
}

}  // namespace
}  // namespace espalier
