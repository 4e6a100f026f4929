// Trees of several levels: by themselves, and the plans made of them.
#include <algorithm>

#include "coll/algorithms/trees.hpp"
#include "coll/plan/choose.hpp"
#include "tests/unit/plan_cases.hpp"

namespace espalier::plan_check {
namespace {

std::vector<TreeLevels> level_cases() {
  return {
      {{{4, ESP_SHAPE_CHAIN, 2}}},
      {{{3, ESP_SHAPE_FLAT, 2}, {6, ESP_SHAPE_BINOMIAL, 2}}},
      {{{2, ESP_SHAPE_BINARY, 2}, {4, ESP_SHAPE_CHAIN, 2}, {12, ESP_SHAPE_KNOMIAL, 4}}},
      {{{5, ESP_SHAPE_KARY, 3}, {50, ESP_SHAPE_CHAIN, 2}}},
  };
}

constexpr esp_shape kOutside[] = {ESP_SHAPE_CHAIN, ESP_SHAPE_BINOMIAL, ESP_SHAPE_FLAT};

// The ranks under `rank` in order of combination; checks parents and subtree sizes on the way.
std::vector<std::int32_t> flatten(const TreeSpec& spec, std::int32_t rank, std::int32_t parent) {
  const TreeNode node = tree_node(spec, rank);
  EXPECT_EQ(node.parent, parent);
  EXPECT_LE(static_cast<std::int64_t>(node.children.size()), tree_degree_bound(spec));
  std::vector<std::int32_t> order;
  for (std::size_t c = 0; c <= node.children.size(); ++c) {
    if (c == node.before) order.push_back(rank);
    if (c == node.children.size()) break;
    const std::vector<std::int32_t> below = flatten(spec, node.children[c].rank, rank);
    EXPECT_EQ(static_cast<std::int32_t>(below.size()), node.children[c].subtree_ranks);
    order.insert(order.end(), below.begin(), below.end());
  }
  return order;
}

TEST(TreeLevelsTest, EveryRankOnceInRankOrder) {
  for (const TreeLevels& levels : level_cases()) {
    for (const esp_shape outside : kOutside) {
      for (std::int32_t size = 1; size <= 40; ++size) {
        for (std::int32_t root = 0; root < size; ++root) {
          TreeSpec spec{.shape = outside, .size = size, .root = root};
          spec.levels = levels;
          const std::vector<std::int32_t> order = flatten(spec, root, -1);
          ASSERT_EQ(order.size(), static_cast<std::size_t>(size));
          ASSERT_TRUE(std::is_sorted(order.begin(), order.end()));
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Luo et al., figure 5, in shape: sockets of 4, nodes of 8, chains everywhere. The root sends to
// the next node, the next socket and the next core.
TEST(TreeLevelsTest, ChainOfChains) {
  TreeSpec spec{.shape = ESP_SHAPE_CHAIN, .size = 32};
  spec.levels = {{{4, ESP_SHAPE_CHAIN, 2}, {8, ESP_SHAPE_CHAIN, 2}}};
  const auto children = [&](std::int32_t rank) {
    std::vector<std::int32_t> ranks;
    for (const TreeChild& child : tree_node(spec, rank).children) ranks.push_back(child.rank);
    return ranks;
  };
  EXPECT_EQ(children(0), (std::vector<std::int32_t>{1, 4, 8}));
  EXPECT_EQ(children(1), (std::vector<std::int32_t>{2}));
  EXPECT_EQ(children(3), (std::vector<std::int32_t>{}));
  EXPECT_EQ(children(4), (std::vector<std::int32_t>{5}));
  EXPECT_EQ(children(8), (std::vector<std::int32_t>{9, 12, 16}));
  EXPECT_EQ(tree_node(spec, 12).parent, 8);
  EXPECT_EQ(tree_node(spec, 24).parent, 16);
}

// A root inside a group stands for the group.
TEST(TreeLevelsTest, RootIsHeadOfItsGroups) {
  TreeSpec spec{.shape = ESP_SHAPE_FLAT, .size = 16, .root = 6};
  spec.levels = {{{4, ESP_SHAPE_FLAT, 2}}};
  const TreeNode root = tree_node(spec, 6);
  EXPECT_EQ(root.parent, -1);
  EXPECT_EQ(root.children.size(), 6u);  // 3 in its group, 3 other groups
  EXPECT_EQ(root.before, 3u);           // 0, 4, 5 come first
  EXPECT_EQ(tree_node(spec, 4).parent, 6);
  EXPECT_EQ(tree_node(spec, 3).parent, 0);
  EXPECT_EQ(tree_node(spec, 12).parent, 6);
}

// One rank's place costs O(degree + log size) among millions.
TEST(TreeLevelsTest, MillionsOfRanks) {
  TreeSpec spec{.shape = ESP_SHAPE_BINOMIAL, .size = 2'000'003, .root = 1'234'567};
  spec.levels = {{{16, ESP_SHAPE_CHAIN, 2}, {32, ESP_SHAPE_CHAIN, 2}}};
  for (const std::int32_t rank : {0, 1, 32, 1'234'566, 1'234'568, 2'000'002}) {
    const TreeNode node = tree_node(spec, rank);
    ASSERT_GE(node.parent, 0);
    const TreeNode parent = tree_node(spec, node.parent);
    EXPECT_EQ(std::count_if(parent.children.begin(), parent.children.end(),
                            [&](const TreeChild& child) { return child.rank == rank; }),
              1);
  }
}

TEST(TreeLevelsTest, PlansAreCorrectInEveryVariant) {
  std::uint64_t seed = 1;
  for (const TreeLevels& levels : level_cases()) {
    for (const Collective collective :
         {Collective::kBarrier, Collective::kBcast, Collective::kReduce, Collective::kAllreduce}) {
      for (const std::int32_t size : {2, 7, 13, 24}) {
        for (const esp_variant variant :
             {ESP_VARIANT_EVENT, ESP_VARIANT_WAITALL, ESP_VARIANT_BLOCKING}) {
          PlanRequest request = call(collective, size, 5);
          request.shape = kOutside[seed % 3];
          request.levels = levels;
          request.variant = variant;
          // Rank order for any root, which the checker expects of what does not commute.
          request.commutative = seed % 2 == 0;
          request.root = collective == Collective::kAllreduce || request.commutative ? 0 : size / 2;
          if (!expect_correct_under_all_schedules(request, seed++)) return;
        }
      }
    }
  }
}

TEST(TreeLevelsTest, ResolveTakesTheMachinesLevels) {
  Tuning tuning;
  tuning.levels = {{{4, ESP_SHAPE_CHAIN, 2}}};
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  options.shape = ESP_SHAPE_CHAIN;
  const auto tree = resolve(options, call(Collective::kBcast, 16, 4), tuning);
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(tree.value().levels, tuning.levels);
  const auto plan = make_plan(tree.value());
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan.value().algorithm.find("tree(chain, chain of 4) event"), 0u)
      << plan.value().algorithm;
  options.shape = ESP_SHAPE_AUTO;
  options.algorithm = ESP_ALGORITHM_PUBLISH;
  const auto publish = resolve(options, call(Collective::kBcast, 16, 4), tuning);
  ASSERT_TRUE(publish.ok());
  EXPECT_EQ(publish.value().levels, TreeLevels{});
}

TEST(TreeLevelsTest, Refusals) {
  const auto text = [](const TreeLevels& levels, esp_shape shape = ESP_SHAPE_CHAIN) {
    PlanRequest request = call(Collective::kBcast, 24, 2);
    request.shape = shape;
    request.levels = levels;
    const auto plan = make_plan(request);
    return plan.ok() ? std::string("no error") : plan.error().text;
  };
  EXPECT_EQ(text({{{4, ESP_SHAPE_CHAIN, 2}}}), "no error");
  EXPECT_EQ(text({{{1, ESP_SHAPE_CHAIN, 2}}}),
            "a tree level of 1 ranks does not hold several whole groups of 1");
  EXPECT_EQ(text({{{4, ESP_SHAPE_CHAIN, 2}, {6, ESP_SHAPE_CHAIN, 2}}}),
            "a tree level of 6 ranks does not hold several whole groups of 4");
  EXPECT_EQ(text({{{-4, ESP_SHAPE_CHAIN, 2}}}),
            "a tree level of -4 ranks does not hold several whole groups of 1");
  EXPECT_EQ(text({{{4, ESP_SHAPE_AUTO, 2}}}), "a tree level of 4 ranks has shape auto and radix 2");
  EXPECT_EQ(text({{{4, ESP_SHAPE_KNOMIAL, 1}}}),
            "a tree level of 4 ranks has shape k-nomial and radix 1");
  EXPECT_EQ(text({{{4, ESP_SHAPE_TWO_TREE, 2}}}),
            "a two-tree is no part of a tree of several levels");
  EXPECT_EQ(text({{{4, ESP_SHAPE_CHAIN, 2}}}, ESP_SHAPE_TWO_TREE),
            "a two-tree is no part of a tree of several levels");
}

}  // namespace
}  // namespace espalier::plan_check
