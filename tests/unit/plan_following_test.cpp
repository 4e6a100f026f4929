// Trees that follow nodes and what is inside them: by themselves, and the plans of every variant.
#include <algorithm>
#include <array>

#include "coll/algorithms/trees.hpp"
#include "coll/choice/choose.hpp"
#include "tests/unit/plan_cases.hpp"

namespace espalier::plan_check {
namespace {

// Members in blocks: so many to a node, a socket and a NUMA node; 0: no such level.
struct Blocks {
  std::int32_t node = 0, socket = 0, numa = 0;
};

constexpr Blocks kBlocks[] = {{4, 0, 0}, {6, 3, 0}, {12, 4, 2}, {50, 5, 0}};
constexpr esp_shape kOutside[] = {ESP_SHAPE_CHAIN, ESP_SHAPE_BINOMIAL, ESP_SHAPE_FLAT};

TeamNodes in_blocks(const Blocks& blocks, std::int32_t size) {
  std::vector<std::int32_t> node_of;
  std::vector<MemberLocality> places;
  for (std::int32_t m = 0; m < size; ++m) {
    node_of.push_back(m / blocks.node);
    const auto group = [m](std::int32_t of) { return of > 0 ? m / of : 0; };
    places.push_back({0, group(blocks.socket), group(blocks.numa), 0});
  }
  return TeamNodes::of(node_of, places);
}

// With a shape of its own for each level inside.
TreeSpec following(const TeamNodes& nodes, esp_shape outside) {
  TreeSpec spec{.shape = outside, .size = nodes.size()};
  spec.nodes = {.nodes = &nodes, .follow = true, .inside = ESP_SHAPE_KARY, .inside_radix = 3};
  spec.nodes.between = {
      {{ESP_SHAPE_FLAT, 2}, {ESP_SHAPE_KNOMIAL, 4}, {ESP_SHAPE_BINARY, 2}, {ESP_SHAPE_CHAIN, 2}}};
  return spec;
}

// Chains everywhere.
TreeSpec chains(const TeamNodes& nodes) {
  TreeSpec spec{.shape = ESP_SHAPE_CHAIN, .size = nodes.size()};
  spec.nodes = {.nodes = &nodes, .follow = true, .inside = ESP_SHAPE_CHAIN};
  spec.nodes.between.fill({ESP_SHAPE_CHAIN, 2});
  return spec;
}

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

TEST(FollowingTest, EveryRankOnceInRankOrder) {
  for (const Blocks& blocks : kBlocks) {
    for (std::int32_t size = 1; size <= 40; ++size) {
      const TeamNodes nodes = in_blocks(blocks, size);
      for (const esp_shape outside : kOutside) {
        TreeSpec spec = following(nodes, outside);
        for (spec.root = 0; spec.root < size; ++spec.root) {
          const std::vector<std::int32_t> order = flatten(spec, spec.root, -1);
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
TEST(FollowingTest, ChainOfChains) {
  const TeamNodes nodes = in_blocks({8, 4, 0}, 32);
  const TreeSpec spec = chains(nodes);
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
TEST(FollowingTest, RootIsHeadOfItsGroups) {
  const TeamNodes nodes = in_blocks({4, 0, 0}, 16);
  TreeSpec spec{.shape = ESP_SHAPE_FLAT, .size = 16, .root = 6};
  spec.nodes = {.nodes = &nodes, .follow = true};
  const TreeNode root = tree_node(spec, 6);
  EXPECT_EQ(root.parent, -1);
  EXPECT_EQ(root.children.size(), 6u);  // 3 in its group, 3 other groups
  EXPECT_EQ(root.before, 3u);           // 0, 4, 5 come first
  EXPECT_EQ(tree_node(spec, 4).parent, 6);
  EXPECT_EQ(tree_node(spec, 3).parent, 0);
  EXPECT_EQ(tree_node(spec, 12).parent, 6);
}

// One rank's place, and its bound, cost O(degree + log size) among many.
TEST(FollowingTest, ManyRanks) {
  const TeamNodes nodes = in_blocks({32, 16, 0}, 200'003);
  TreeSpec spec = chains(nodes);
  spec.shape = ESP_SHAPE_BINOMIAL;
  spec.root = 123'456;
  for (const std::int32_t rank : {0, 1, 32, 123'455, 123'457, 200'002}) {
    const TreeNode node = tree_node(spec, rank);
    ASSERT_GE(node.parent, 0);
    const TreeNode parent = tree_node(spec, node.parent);
    EXPECT_EQ(std::count_if(parent.children.begin(), parent.children.end(),
                            [&](const TreeChild& child) { return child.rank == rank; }),
              1);
  }
  std::int64_t bound = 0;
  for (int k = 0; k < 100'000; ++k) bound = std::max(bound, tree_degree_bound(spec));
  const TreeSpec outside{.size = nodes.count(), .rank_order = true};  // binomial
  // Chains of two sockets, and of cores, which the root may cut in two.
  EXPECT_EQ(bound, tree_degree_bound(outside) + 1 + 2);
}

PlanRequest following_call(Collective collective, const TeamNodes& nodes, esp_shape outside) {
  PlanRequest request = call(collective, nodes.size(), 5);
  const TreeSpec spec = following(nodes, outside);
  request.shape = spec.shape;
  request.nodes = spec.nodes;
  return request;
}

TEST(FollowingTest, PlansAreCorrectInEveryVariant) {
  std::uint64_t seed = 1;
  for (const Blocks& blocks : kBlocks) {
    for (const Collective collective :
         {Collective::kBarrier, Collective::kBcast, Collective::kReduce, Collective::kAllreduce}) {
      for (const std::int32_t size : {2, 7, 13, 24}) {
        const TeamNodes nodes = in_blocks(blocks, size);
        for (const esp_variant variant :
             {ESP_VARIANT_EVENT, ESP_VARIANT_WAITALL, ESP_VARIANT_BLOCKING}) {
          PlanRequest request = following_call(collective, nodes, kOutside[seed % 3]);
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

// The control variants have a send for each child: they are about one transfer at a time.
TEST(FollowingTest, ControlVariantsPublishNothing) {
  const TeamNodes nodes = in_blocks({8, 4, 0}, 16);
  PlanRequest request = following_call(Collective::kBcast, nodes, ESP_SHAPE_CHAIN);
  const auto publications = [&](esp_variant variant) {
    request.variant = variant;
    std::ptrdiff_t count = 0;
    for (const Plan& plan : make_plans(request)) {
      count += std::count_if(plan.vertices.begin(), plan.vertices.end(),
                             [](const Vertex& v) { return v.action == Action::kPublish; });
    }
    return count;
  };
  EXPECT_GT(publications(ESP_VARIANT_EVENT), 0);
  EXPECT_EQ(publications(ESP_VARIANT_WAITALL), 0);
  EXPECT_EQ(publications(ESP_VARIANT_BLOCKING), 0);
}

// Whatever the call names: its shape is that of the tree of nodes.
TEST(FollowingTest, AlwaysFollowed) {
  const TeamNodes nodes = in_blocks({8, 4, 0}, 32);
  Tuning tuning;
  tuning.inner_levels = FollowLevels::kAlways;
  tuning.level_shapes.between.fill({ESP_SHAPE_CHAIN, 2});
  tuning.level_shapes.inside = {ESP_SHAPE_BINARY, 2};
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  const auto text = [&](Collective collective) {
    PlanRequest base = call(collective, 32, 4);
    base.nodes.nodes = &nodes;
    auto made = resolve(options, base, tuning);
    if (!made) return made.error().text;
    auto plan = make_plan(*made);
    return plan ? plan->algorithm.substr(0, plan->algorithm.rfind(", ")) : plan.error().text;
  };
  EXPECT_EQ(text(Collective::kBcast),
            "tree(binomial over 4 nodes, chain over 8 sockets, binary inside) event");
  EXPECT_EQ(text(Collective::kBarrier),
            "tree(exchange over 4 nodes, chain over 8 sockets, binary inside) event");
  options.variant = ESP_VARIANT_WAITALL;
  EXPECT_EQ(text(Collective::kBarrier),
            "tree(binomial over 4 nodes, chain over 8 sockets, binary inside) waitall");
  options.shape = ESP_SHAPE_KNOMIAL;
  options.radix = 3;
  EXPECT_EQ(text(Collective::kAllreduce),
            "tree(k-nomial 3 over 4 nodes, chain over 8 sockets, binary inside) waitall");
  options = ESP_COLL_OPTIONS_INIT;
  options.algorithm = ESP_ALGORITHM_PUBLISH;
  EXPECT_EQ(text(Collective::kBcast), "publish");
  options = ESP_COLL_OPTIONS_INIT;
  options.shape = ESP_SHAPE_TWO_TREE;
  EXPECT_EQ(text(Collective::kBcast), "a two-tree is no part of a tree over nodes");
}

}  // namespace
}  // namespace espalier::plan_check
