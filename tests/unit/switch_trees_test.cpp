// Trees and rings over nodes behind switches, leaders near the adapter, and leaders of one level.
#include <numeric>
#include <random>

#include "coll/algorithms/ring_order.hpp"
#include "coll/choice/choose.hpp"
#include "core/host.hpp"
#include "core/switches.hpp"
#include "tests/unit/machine_cases.hpp"
#include "tests/unit/plan_cases.hpp"
#include "tests/unit/plan_hazards.hpp"

namespace espalier::machines::behind_switches {
namespace {

using Ranks = std::vector<std::int32_t>;
using Counts = std::map<int, int>;

// ---- a fat tree: 2 pods of 2 switches of 4 nodes of 2 sockets of 2 cores ----

constexpr const char* kFatTree =
    "SwitchName=leaf0 Nodes=n[0-3];SwitchName=leaf1 Nodes=n[4-7];SwitchName=leaf2 Nodes=n[8-11];"
    "SwitchName=leaf3 Nodes=n[12-15];SwitchName=pod0 Switches=leaf[0-1];"
    "SwitchName=pod1 Switches=leaf[2-3];SwitchName=core Switches=pod[0-1]";

Job fat_tree(const std::function<std::int32_t(std::int32_t)>& core_of) {
  auto map = SwitchMap::parse(kFatTree);
  EXPECT_TRUE(map.ok());
  Job job = placed("pack:2 [numa] l3:1 core:2 pu:1", 16, core_of);
  for (Location& place : job.places) {
    place.switches = map->find("n" + std::to_string(place.host.node_hash)).value();
  }
  return job_of(std::move(job.places));
}

Job fat_tree_in_order() {
  return fat_tree([](std::int32_t rank) { return rank; });
}

Edges ring_edges(const Job& job) {
  Edges edges;
  for (std::int32_t m = 0; m < job.nodes.size(); ++m) {
    edges.emplace_back(m, ring_place(&job.nodes, job.nodes.size(), m).right);
  }
  return edges;
}

TEST(SwitchTrees, FatTreeDistances) {
  const Job job = fat_tree_in_order();
  Counts counts;
  for (std::int32_t m = 1; m < 64; ++m) ++counts[job.between(0, m)];
  EXPECT_EQ(counts, (Counts{{1, 1}, {5, 2}, {7, 12}, {8, 16}, {9, 32}}));
  EXPECT_EQ(job.between(0, 15), 7);
  EXPECT_EQ(job.between(15, 16), 8);
  EXPECT_EQ(job.between(31, 32), 9);
}

TEST(SwitchTrees, FatTreeByGroups) {
  const Job job = fat_tree_in_order();
  ASSERT_EQ(job.nodes.outer.size(), 2U);
  EXPECT_EQ(job.nodes.outer[0].begin, (Ranks{0, 32, 64}));
  EXPECT_EQ(job.nodes.outer[1].begin, (Ranks{0, 16, 32, 48, 64}));
  EXPECT_EQ(job.nodes.widest_outer, (Ranks{2, 2, 4}));
  EXPECT_EQ(children(job, 0, 0), (Ranks{1, 2, 4, 8, 12, 16, 32}));
  EXPECT_EQ(children(job, 0, 32), (Ranks{33, 34, 36, 40, 44, 48}));
  EXPECT_EQ(children(job, 0, 48), (Ranks{49, 50, 52, 56, 60}));
  const Edges edges = tree_edges(job, 0);
  EXPECT_EQ(distances(job, edges), (Counts{{1, 32}, {5, 16}, {7, 12}, {8, 2}, {9, 1}}));
  EXPECT_EQ(depth(edges, 64, 0), 5);
  // Any root stands for its groups.
  EXPECT_EQ(children(job, 23, 23), (Ranks{0, 16, 20, 22, 24, 28, 32}));
  EXPECT_EQ(distances(job, tree_edges(job, 23)), distances(job, edges));
}

TEST(SwitchTrees, FatTreeRing) {
  const Counts expected = {{1, 32}, {5, 16}, {7, 12}, {8, 2}, {9, 2}};
  const Job job = fat_tree_in_order();
  EXPECT_EQ(distances(job, ring_edges(job)), expected);
  const Job by_node = fat_tree([](std::int32_t r) { return r % 16 * 4 + r / 16; });
  EXPECT_EQ(distances(by_node, ring_edges(by_node)), expected);
}

TEST(SwitchTrees, PlacementChangesNothing) {
  const Job in_order = fat_tree_in_order();
  std::vector<std::int32_t> cores(64);
  std::iota(cores.begin(), cores.end(), 0);
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(cores.begin(), cores.end(), random);
    const Job job = fat_tree([&](std::int32_t r) { return cores[static_cast<std::size_t>(r)]; });
    const auto root = static_cast<std::int32_t>(random() % 64);
    ASSERT_EQ(distances(job, tree_edges(job, root)), distances(in_order, tree_edges(in_order, 0)));
    ASSERT_EQ(distances(job, ring_edges(job)), distances(in_order, ring_edges(in_order)));
  }
}

// A level is one where it separates nodes, and not each from all others.
TEST(SwitchTrees, LevelsThatSeparateNobodyOrEverybody) {
  const auto levels = [](const std::vector<SwitchPath>& paths) {
    std::vector<std::int32_t> node_of;
    std::vector<NetworkPlace> network_of;
    for (const SwitchPath& path : paths) {
      node_of.push_back(static_cast<std::int32_t>(node_of.size()));
      network_of.push_back({.switches = path});
    }
    return TeamNodes::of(node_of, {}, network_of).outer.size();
  };
  EXPECT_EQ(levels({{1, 2, 3}, {1, 2, 3}, {1, 2, 3}}), 0U);
  EXPECT_EQ(levels({{1, 2, 3}, {1, 2, 4}, {1, 2, 5}}), 0U);
  EXPECT_EQ(levels({{1, 2, 3}, {1, 2, 3}, {1, 4, 5}}), 1U) << "pods are the switches";
  EXPECT_EQ(levels({{1, 2, 3}, {1, 2, 4}, {1, 5, 6}}), 1U) << "each node has a switch";
  EXPECT_EQ(levels({{-1, -1, -1}, {-2, -2, -2}}), 0U) << "no node is known";
  EXPECT_EQ(levels({{1, 2, 3}, {1, 2, 3}, {-1, -1, -1}}), 1U);
}

// ---- plans on random machines ----

// How often a tree enters a group from outside, and from how many groups it goes elsewhere.
std::int32_t crossings(const Job& job, const MemberGroups& groups, const Edges& edges) {
  const auto group = [&](std::int32_t member) {
    return std::upper_bound(groups.begin.begin(), groups.begin.end(),
                            job.nodes.position_of(member));
  };
  return static_cast<std::int32_t>(std::count_if(edges.begin(), edges.end(), [&](const auto& edge) {
    return group(edge.first) != group(edge.second);
  }));
}

Edges edges_of(const TreeSpec& spec) {
  Edges edges;
  for (std::int32_t m = 0; m < spec.size; ++m) {
    const std::int32_t parent = tree_node(spec, m).parent;
    if (parent >= 0) edges.emplace_back(parent, m);
  }
  return edges;
}

constexpr esp_shape kShapes[] = {ESP_SHAPE_FLAT, ESP_SHAPE_BINOMIAL, ESP_SHAPE_CHAIN,
                                 ESP_SHAPE_BINARY};

// Into each group of each level once, whatever the shapes and the root.
TEST(SwitchTrees, EachGroupIsEnteredOnce) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    const Job job = random_job(random, static_cast<std::int32_t>(1 + random() % 60));
    TreeSpec spec = grouped_tree(job, 0);
    spec.root = static_cast<std::int32_t>(random() % static_cast<unsigned>(spec.size));
    spec.shape = kShapes[random() % 4];
    spec.nodes.switches = {kShapes[random() % 4], 2};
    spec.nodes.between.fill({kShapes[random() % 4], 2});
    spec.nodes.inside = kShapes[random() % 4];
    const Edges edges = edges_of(spec);
    ASSERT_EQ(edges.size() + 1, static_cast<std::size_t>(spec.size));
    const auto expect_once = [&](const MemberGroups& groups) {
      EXPECT_EQ(crossings(job, groups, edges), static_cast<std::int32_t>(groups.begin.size()) - 2);
    };
    for (const MemberGroups& groups : job.nodes.outer) expect_once(groups);
    expect_once(job.nodes);
    for (const LocalityGroups& groups : job.nodes.inner) expect_once(groups);
    for (std::int32_t m = 0; m < spec.size; ++m) {
      EXPECT_LE(static_cast<std::int64_t>(tree_node(spec, m).children.size()),
                tree_degree_bound(spec));
    }
    if (HasFailure()) return;
  }
}

// As choice makes them: correct, and between switches once each; a chain over all nodes enters the
// root's own switch again where it begins before it.
TEST(SwitchTrees, PlansAreCorrectOnRandomMachines) {
  std::mt19937 random(3);
  int chains = 0, over_switches = 0;
  for (std::uint64_t round = 1; round <= 250; ++round) {
    const auto size = static_cast<std::int32_t>(2 + random() % 22);
    const Job job = random_job(random, size);
    constexpr Collective kCollectivesHere[] = {Collective::kBarrier, Collective::kBcast,
                                               Collective::kReduce, Collective::kAllreduce};
    PlanRequest base = plan_check::call(kCollectivesHere[round % 4], size, 1 + round % 25);
    const bool rooted =
        base.collective == Collective::kBcast || base.collective == Collective::kReduce;
    base.root = rooted ? static_cast<std::int32_t>(random() % static_cast<unsigned>(size)) : 0;
    base.nodes.nodes = &job.nodes;
    Tuning tuning;
    tuning.inner_levels = FollowLevels::kOn;
    if (round % 3 == 0) tuning.level_shapes.switches = {kShapes[random() % 4], 2};
    if (round % 5 == 0) tuning.level_shapes.nodes = {kShapes[random() % 4], 2};
    esp_coll_options options = ESP_COLL_OPTIONS_INIT;
    options.segment_bytes = 32;
    options.window_send = 3;
    options.window_recv = 5;
    auto made = resolve(options, base, tuning);
    ASSERT_TRUE(made.ok() && made->nodes.follow);
    const std::vector<Plan> plans = plan_check::make_plans(*made);
    ASSERT_FALSE(plans.empty());
    ASSERT_TRUE(plan_check::publishes_only_inside(plans, job.nodes));
    if (rooted) {
      TreeSpec spec{.shape = made->shape, .radix = made->radix, .size = size, .root = base.root};
      spec.nodes = made->nodes;
      const bool level = made->nodes.switches.shape != ESP_SHAPE_AUTO;
      for (const MemberGroups& groups : job.nodes.outer) {
        const auto once = static_cast<std::int32_t>(groups.begin.size()) - 2;
        const std::int32_t crossed = crossings(job, groups, edges_of(spec));
        EXPECT_GE(crossed, once);
        EXPECT_LE(crossed, level ? once : once + 1);
      }
      if (!job.nodes.outer.empty()) ++(level ? over_switches : chains);
    }
    if (size <= 12) {
      ASSERT_EQ(plan_check::find_hazard(plans, std::vector<std::int64_t>(plans.size(), -1)), "");
    }
    made->root = job.nodes.position_of(base.root);
    made->commutative = false;
    for (const plan_check::Schedule& schedule : plan_check::schedules(round, size)) {
      ASSERT_TRUE(
          plan_check::expect_correct(plan_check::in_node_order(plans, job.nodes), *made, schedule));
    }
  }
  EXPECT_GT(chains, 5);
  EXPECT_GT(over_switches, 15);
}

TEST(SwitchTrees, Texts) {
  const Job job = fat_tree_in_order();
  const auto text = [&](std::uint64_t segments, const LevelShape& switches) {
    PlanRequest base = plan_check::call(Collective::kBcast, 64, segments);
    base.nodes.nodes = &job.nodes;
    Tuning tuning;
    tuning.inner_levels = FollowLevels::kOn;
    tuning.level_shapes.switches = switches;
    esp_coll_options options = ESP_COLL_OPTIONS_INIT;
    options.segment_bytes = 32;
    auto made = resolve(options, base, tuning);
    auto plan = made.ok() ? make_plan(*made) : Result<Plan>(made.error());
    EXPECT_TRUE(plan.ok());
    return plan.ok() ? plan->algorithm.substr(0, plan->algorithm.find(')')) : "";
  };
  const LevelShape chosen = {ESP_SHAPE_AUTO, 2};
  EXPECT_EQ(text(1, chosen),
            "tree(binomial over 2 groups of nodes, binomial over 4 groups of nodes, binomial over "
            "16 nodes, flat over 32 sockets, flat inside");
  EXPECT_EQ(text(100, chosen), "tree(chain over 16 nodes, flat over 32 sockets, flat inside");
  EXPECT_EQ(text(100, {ESP_SHAPE_FLAT, 2}),
            "tree(flat over 2 groups of nodes, flat over 4 groups of nodes, chain over 16 nodes, "
            "flat over 32 sockets, flat inside");
}

// ---- leaders ----

// Two nodes of two sockets; the adapter is at the second.
TEST(Leaders, NearestToTheAdapterOfEquallyDeepSubgroups) {
  Job job = in_order("pack:2 [numa] l3:1 core:3 pu:1", 2);
  auto machine = load_machine("pack:2 [numa] l3:1 core:3 pu:1");
  ASSERT_TRUE(machine.ok());
  const Locality adapter = numa_locality(*machine, 1);
  EXPECT_EQ(adapter, (Locality{.numa = 1, .package = 1, .board = 0}));
  EXPECT_EQ(numa_locality(*machine, 2), Locality{});
  const auto nodes_of = [&](const std::vector<std::size_t>& cores, bool levels) {
    std::vector<std::int32_t> node_of;
    std::vector<MemberLocality> locality_of;
    std::vector<NetworkPlace> network_of;
    for (const std::size_t core : cores) {
      const Location& place = job.places[core];
      node_of.push_back(static_cast<std::int32_t>(place.host.node_hash));
      locality_of.push_back(levels ? member_locality(place.place) : kBoundNowhere);
      network_of.push_back({.to_adapter = distance(place.place, adapter)});
    }
    return TeamNodes::of(node_of, locality_of, network_of);
  };
  const std::vector<std::size_t> all = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const TeamNodes equal = nodes_of(all, true);
  EXPECT_EQ(equal.head(0), 3);
  EXPECT_EQ(equal.head(1), 9);
  EXPECT_EQ(nodes_of(all, false).head(1), 9) << "without levels inside";
  // The first socket of node 0 is deeper: three members, one in the other.
  const TeamNodes deeper = nodes_of({0, 1, 2, 3, 6, 9}, true);
  EXPECT_EQ(deeper.head(0), 0);
  EXPECT_EQ(deeper.head(1), 5);
  // A root is the head of its groups.
  TreeSpec spec{.shape = ESP_SHAPE_FLAT, .size = 12, .root = 1};
  spec.nodes = {.nodes = &equal, .follow = true};
  EXPECT_EQ(tree_node(spec, 9).parent, 1);
  EXPECT_EQ(tree_node(spec, 6).parent, 9);
  EXPECT_EQ(tree_node(spec, 3).parent, 1);
}

// LEVELS=numa: two nodes of two sockets of two NUMA nodes of two cores. A leader for each NUMA
// node, those of a node beside each other, and one of them talks to the other node.
TEST(Leaders, OfEachNumaNode) {
  const Job job = in_order("pack:2 group:2 [numa(memory=1GB)] core:2 pu:1", 2);
  const auto alone = [&](LocalityLevel level) {
    std::vector<std::int32_t> node_of;
    std::vector<MemberLocality> locality_of;
    for (const Location& place : job.places) {
      node_of.push_back(static_cast<std::int32_t>(place.host.node_hash));
      locality_of.push_back(kBoundNowhere);
      const auto at = static_cast<std::size_t>(level);
      locality_of.back()[at] = member_locality(place.place)[at];
    }
    return Job{job.places, TeamNodes::of(node_of, locality_of)};
  };
  const Job numa = alone(LocalityLevel::kNuma);
  ASSERT_EQ(numa.nodes.inner.size(), 1U);
  EXPECT_EQ(children(numa, 0, 0), (Ranks{1, 2, 4, 6, 8}));
  EXPECT_EQ(children(numa, 0, 8), (Ranks{9, 10, 12, 14}));
  EXPECT_EQ(children(numa, 0, 14), (Ranks{15}));
  const Job socket = alone(LocalityLevel::kSocket);
  EXPECT_EQ(children(socket, 0, 0), (Ranks{1, 2, 3, 4, 8}));
  EXPECT_EQ(children(socket, 0, 12), (Ranks{13, 14, 15}));
  EXPECT_EQ(distances(job, tree_edges(numa, 0))[kDistanceOtherNode], 1);
}

}  // namespace
}  // namespace espalier::machines::behind_switches
