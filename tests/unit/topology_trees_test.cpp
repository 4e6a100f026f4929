// Broadcast trees by recursive grouping on published machines, and on random ones: of all spanning
// trees they have the least weight (sum of process distances) and, of those, the least depth.
#include <array>
#include <limits>
#include <numeric>
#include <random>

#include "tests/unit/machine_cases.hpp"

namespace espalier::machines {
namespace {

using Ranks = std::vector<std::int32_t>;
using Counts = std::map<int, int>;

// ---- published machines ----

TEST(TopologyTrees, Zoot) {
  const Job job = in_order(kZoot);
  ASSERT_EQ(job.nodes.inner.size(), 2U) << "one NUMA node separates nobody";
  EXPECT_EQ(job.nodes.inner[0].level, LocalityLevel::kSocket);
  EXPECT_EQ(job.nodes.inner[1].level, LocalityLevel::kCache);
  EXPECT_EQ(children(job, 0, 0), (Ranks{1, 2, 4, 8, 12}));
  EXPECT_EQ(children(job, 0, 4), (Ranks{5, 6}));
  const Edges edges = tree_edges(job, 0);
  EXPECT_EQ(distances(job, edges), (Counts{{1, 8}, {2, 4}, {3, 3}}));
  EXPECT_EQ(depth(edges, 16, 0), 3);
}

TEST(TopologyTrees, Ig) {
  const Job job = in_order(kIg);
  EXPECT_EQ(job.between(0, 1), 1);
  EXPECT_EQ(job.between(0, 12), 5);
  EXPECT_EQ(job.between(0, 24), 6);
  ASSERT_EQ(job.nodes.inner.size(), 2U) << "NUMA nodes and caches are the sockets";
  EXPECT_EQ(job.nodes.inner[0].level, LocalityLevel::kBoard);
  EXPECT_EQ(job.nodes.inner[1].level, LocalityLevel::kSocket);
  EXPECT_EQ(children(job, 0, 0), (Ranks{1, 2, 3, 4, 5, 6, 12, 18, 24}));
  EXPECT_EQ(children(job, 0, 24), (Ranks{25, 26, 27, 28, 29, 30, 36, 42}));
  const Edges edges = tree_edges(job, 0);
  EXPECT_EQ(distances(job, edges), (Counts{{1, 40}, {5, 6}, {6, 1}}));
  EXPECT_EQ(depth(edges, 48, 0), 3);
  // Any root stands for its groups.
  EXPECT_EQ(children(job, 31, 31), (Ranks{0, 24, 30, 32, 33, 34, 35, 36, 42}));
  EXPECT_EQ(weight(job, tree_edges(job, 31)), weight(job, edges));
}

// One node of Stremi, and of Parapluie, which differ in their networks; and four of them.
TEST(TopologyTrees, StremiAndParapluie) {
  const Job node = in_order(kStremi);
  EXPECT_EQ(node.between(0, 6), 4);
  EXPECT_EQ(node.between(0, 12), 5);
  EXPECT_EQ(children(node, 0, 0), (Ranks{1, 2, 3, 4, 5, 6, 12}));
  EXPECT_EQ(children(node, 0, 12), (Ranks{13, 14, 15, 16, 17, 18}));
  EXPECT_EQ(distances(node, tree_edges(node, 0)), (Counts{{1, 20}, {4, 2}, {5, 1}}));
  const Job four = in_order(kStremi, 4);
  const Edges edges = tree_edges(four, 0);
  EXPECT_EQ(distances(four, edges), (Counts{{1, 80}, {4, 8}, {5, 4}, {kDistanceOtherNode, 3}}));
  EXPECT_EQ(depth(edges, 96, 0), 4);
}

// The nodes of a fat tree are equally far from each other: one edge into each.
TEST(TopologyTrees, FatTreeOfNodes) {
  const Job cluster = placed(kStremi, 32, [](std::int32_t r) { return r % 32 * 24 + r / 32; });
  const Edges edges = tree_edges(cluster, 5);
  EXPECT_EQ(distances(cluster, edges),
            (Counts{{1, 640}, {4, 64}, {5, 32}, {kDistanceOtherNode, 31}}));
  EXPECT_EQ(depth(edges, 768, 5), 4);
  EXPECT_EQ(children(cluster, 5, 5).size(), 31U + 1 + 1 + 5);
}

TEST(TopologyTrees, TwoSocketsOfFourNumaNodes) {
  const Job job = in_order(kManyCores);
  ASSERT_EQ(job.nodes.size(), 128);
  ASSERT_EQ(job.nodes.inner.size(), 3U);
  EXPECT_EQ(job.nodes.inner[1].level, LocalityLevel::kNuma);
  EXPECT_EQ(children(job, 0, 0), (Ranks{1, 2, 3, 4, 8, 12, 16, 32, 48, 64}));
  EXPECT_EQ(children(job, 0, 64), (Ranks{65, 66, 67, 68, 72, 76, 80, 96, 112}));
  const Edges edges = tree_edges(job, 0);
  EXPECT_EQ(distances(job, edges), (Counts{{1, 96}, {2, 24}, {4, 6}, {5, 1}}));
  EXPECT_EQ(depth(edges, 128, 0), 4);
}

// Contiguous, and as the thesis places ranks across sockets (section 4.5.1): as far and as deep.
TEST(TopologyTrees, PlacementChangesNothing) {
  const Job contiguous = in_order(kIg);
  const Job across = placed(kIg, 1, [](std::int32_t r) { return r % 8 * 6 + r / 8; });
  EXPECT_FALSE(across.nodes.in_order());
  for (std::int32_t root = 0; root < 48; ++root) {
    const Edges here = tree_edges(contiguous, root), there = tree_edges(across, root);
    EXPECT_EQ(distances(contiguous, here), distances(across, there));
    EXPECT_EQ(depth(here, 48, root), depth(there, 48, root));
  }
  const Job by_node = placed(kStremi, 4, [](std::int32_t r) { return r % 4 * 24 + r / 4; });
  EXPECT_EQ(distances(by_node, tree_edges(by_node, 0)), (Counts{{1, 80}, {4, 8}, {5, 4}, {7, 3}}));
}

// Members of a part of a machine: what separates them, and no more.
TEST(TopologyTrees, PartsOfAMachine) {
  const Job whole = in_order(kIg);
  std::vector<Location> places;
  for (const std::size_t core : {40U, 7U, 1U, 42U, 8U}) places.push_back(whole.places[core]);
  const Job part = job_of(places);
  const Edges edges = tree_edges(part, 0);
  EXPECT_EQ(distances(part, edges), (Counts{{1, 1}, {5, 2}, {6, 1}}));
  EXPECT_EQ(children(part, 0, 1), (Ranks{2, 4})) << "the deepest socket of its board";
}

// ---- random machines ----

// The counter-example to "the lowest rank leads" (Ma's thesis, section 4.4.2): rank 0 on one board,
// NUMA nodes {1} and {2, 3, 4} on the other.
TEST(TopologyTrees, HeadIsInTheDeepestSubgroup) {
  std::vector<Location> places(5);
  const std::int32_t board[] = {0, 1, 1, 1, 1}, numa[] = {0, 1, 2, 2, 2};
  for (std::int32_t m = 0; m < 5; ++m) {
    places[static_cast<std::size_t>(m)].place = {
        .cpu = m, .core = m, .llc = m, .numa = numa[m], .package = numa[m], .board = board[m]};
  }
  const Job job = job_of(places);
  const Edges edges = tree_edges(job, 0);
  EXPECT_EQ(edges, (Edges{{2, 1}, {0, 2}, {2, 3}, {2, 4}}));
  EXPECT_EQ(weight(job, edges), 6 + 5 + 2 + 2);
  EXPECT_EQ(depth(edges, 5, 0), 2);
}

// Visits all trees over `size` vertices, by their codes (Pruefer's).
template <typename Visit>
void for_each_tree(std::int32_t size, Visit&& visit) {
  if (size == 1) return visit(Edges{});
  std::vector<std::int32_t> code(static_cast<std::size_t>(size - 2), 0);
  for (;;) {
    std::vector<std::int32_t> degree(static_cast<std::size_t>(size), 1);
    for (const std::int32_t v : code) ++degree[static_cast<std::size_t>(v)];
    Edges edges;
    const auto leaf = [&] {
      const auto found = std::find(degree.begin(), degree.end(), 1);
      *found = 0;
      return static_cast<std::int32_t>(found - degree.begin());
    };
    for (const std::int32_t v : code) {
      edges.emplace_back(leaf(), v);
      --degree[static_cast<std::size_t>(v)];
    }
    const std::int32_t last = leaf();
    edges.emplace_back(last, leaf());
    visit(edges);
    std::size_t digit = 0;
    while (digit < code.size() && ++code[digit] == size) code[digit++] = 0;
    if (digit == code.size()) return;
  }
}

TEST(TopologyTrees, EveryTreeIsAsHeavyAndThoseAsLightAreAsDeep) {
  std::mt19937 random(1);
  int deeper_by_the_lowest = 0;
  for (int round = 0; round < 500; ++round) {
    const std::int32_t size = 1 + round % 6;
    const Job job = random_job(random, size);
    int least = std::numeric_limits<int>::max();
    std::vector<Edges> lightest;
    for_each_tree(size, [&](const Edges& edges) {
      const int sum = weight(job, edges);
      if (sum < least) lightest.clear();
      least = std::min(least, sum);
      if (sum == least) lightest.push_back(edges);
    });
    for (std::int32_t root = 0; root < size; ++root) {
      int least_depth = size;
      for (const Edges& edges : lightest) {
        least_depth = std::min(least_depth, depth(edges, size, root));
      }
      const Edges made = tree_edges(job, root);
      ASSERT_EQ(weight(job, made), least) << round;
      ASSERT_EQ(depth(made, size, root), least_depth) << round;
    }
    deeper_by_the_lowest += job.nodes.heads.empty() ? 0 : 1;
    for (const LocalityGroups& groups : job.nodes.inner) {
      deeper_by_the_lowest += groups.heads.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(deeper_by_the_lowest, 20) << "cases in which a head is not the lowest of its group";
}

// The weight of the lightest tree, by Prim.
int least_weight(const Job& job) {
  const auto size = static_cast<std::size_t>(job.nodes.size());
  std::vector<int> near(size, std::numeric_limits<int>::max());
  std::vector<bool> in(size, false);
  near[0] = 0;
  int sum = 0;
  for (std::size_t k = 0; k < size; ++k) {
    std::size_t next = size;
    for (std::size_t m = 0; m < size; ++m) {
      if (!in[m] && (next == size || near[m] < near[next])) next = m;
    }
    in[next] = true;
    sum += near[next];
    for (std::size_t m = 0; m < size; ++m) {
      const int far = job.between(static_cast<std::int32_t>(next), static_cast<std::int32_t>(m));
      near[m] = std::min(near[m], far);
    }
  }
  return sum;
}

TEST(TopologyTrees, LeastWeightOfManyMembers) {
  std::mt19937 random(2);
  for (int round = 0; round < 400; ++round) {
    const auto size = static_cast<std::int32_t>(2 + random() % 60);
    const Job job = random_job(random, size);
    const auto root = static_cast<std::int32_t>(random() % static_cast<unsigned>(size));
    const Edges edges = tree_edges(job, root);
    ASSERT_EQ(weight(job, edges), least_weight(job)) << round;
    ASSERT_GE(depth(edges, size, root), 1) << round;
  }
}

}  // namespace
}  // namespace espalier::machines
