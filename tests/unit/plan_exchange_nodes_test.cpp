// Exchanges of blocks on teams over nodes: any placement, nodes of any size; what crosses between
// nodes, counted.
#include <algorithm>
#include <map>
#include <numeric>

#include "tests/unit/exchange_cases.hpp"
#include "tests/unit/plan_hazards.hpp"

namespace espalier::plan_check {
namespace {

// Members dealt out to nodes in blocks, in turn, or at random; then nodes differ in size.
std::vector<TeamNodes> placements(std::int32_t nodes, std::int32_t size) {
  std::vector<std::int32_t> in_order, in_turn, random;
  std::mt19937 numbers(static_cast<unsigned>(size));
  for (std::int32_t m = 0; m < size; ++m) {
    in_order.push_back(m * nodes / size);
    in_turn.push_back(m % nodes);
    random.push_back(static_cast<std::int32_t>(numbers() % static_cast<unsigned>(nodes)));
  }
  std::vector<std::int32_t> uneven = in_order;  // the first node has most members
  for (std::int32_t m = nodes; m < size; ++m) {
    uneven[static_cast<std::size_t>(m)] = uneven[static_cast<std::size_t>(m)] / 2;
  }
  std::sort(uneven.begin(), uneven.end());
  return {TeamNodes::of(in_order), TeamNodes::of(in_turn), TeamNodes::of(random),
          TeamNodes::of(uneven)};
}

struct Team {
  std::int32_t nodes, size;
};
constexpr Team kTeams[] = {{1, 3}, {2, 2}, {2, 5}, {3, 7}, {4, 4}, {4, 12}, {5, 17}};

void check_on(const TeamNodes& nodes, PlanRequest request) {
  request.nodes.nodes = &nodes;
  std::mt19937 random(static_cast<unsigned>(request.size));
  const auto expect_all = [&](const std::vector<Plan>& plans, std::uint64_t seed) {
    for (const Schedule& schedule : schedules(seed, request.size)) {
      if (!expect_correct(plans, request, schedule)) return;
    }
    if (request.size > 7) return;
    EXPECT_EQ(find_hazard(plans, std::vector<std::int64_t>(plans.size(), -1)), "")
        << describe(request);
  };
  for (const std::uint64_t elements : {0, 1, 5, 33}) {
    request.elements = elements;
    if (!is_irregular(request.collective)) {
      expect_all(make_plans(request), elements + 1);
      continue;
    }
    const bool gaps = elements % 2 == 1;
    const auto sent = random_lengths(request.size, request.in_place, random);
    const IrregularPlans made(request, sent, gaps, random);
    expect_all(made.plans(), elements + 1);
  }
}

void check_everywhere(Collective collective, esp_algorithm algorithm) {
  for (const Team& team : kTeams) {
    for (const TeamNodes& nodes : placements(team.nodes, team.size)) {
      check_on(nodes, exchange(collective, algorithm, team.size));
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Segments that come to a member from another node: of which block they are, by node.
using Crossings = std::map<std::pair<std::int32_t, std::uint32_t>, int>;

Crossings crossings(const std::vector<Plan>& plans, const TeamNodes& nodes) {
  Crossings found;
  for (const Plan& plan : plans) {
    for (const Vertex& v : plan.vertices) {
      if (v.action != Action::kRecv) continue;
      for (std::uint32_t i = 0; i < v.indices.count; ++i) {
        if (nodes.together(plan.rank, plan.peer(v, i))) continue;
        ++found[{nodes.node_of(plan.rank), plan.block(v, i)}];
      }
    }
  }
  return found;
}

TEST(RingOverNodes, Correct) {
  check_everywhere(Collective::kAllgather, ESP_ALGORITHM_RING);
  check_everywhere(Collective::kAllgatherv, ESP_ALGORITHM_RING);
}

// Each block once into each node; also into its own, when the ring closes, but that of the arc's
// first member.
TEST(RingOverNodes, BlocksEnterNodesOnce) {
  for (const Team& team : kTeams) {
    for (const TeamNodes& nodes : placements(team.nodes, team.size)) {
      if (nodes.count() == 1) continue;
      PlanRequest request = exchange(Collective::kAllgather, ESP_ALGORITHM_RING, team.size);
      request.elements = 1;
      request.nodes.nodes = &nodes;
      const Crossings found = crossings(make_plans(request), nodes);
      for (const auto& [where, times] : found) EXPECT_EQ(times, 1) << where.second;
      EXPECT_EQ(found.size(), static_cast<std::size_t>(nodes.count() * (team.size - 1)));
      for (std::int32_t node = 0; node < nodes.count(); ++node) {
        const auto first = static_cast<std::uint32_t>(nodes.member(node, 0));
        EXPECT_FALSE(found.contains({node, first}));
      }
    }
  }
}

// Where members are in order there is no table, and the plan is that without nodes.
TEST(RingOverNodes, TablesWhereTheOrderNeedsThem) {
  const std::vector<TeamNodes> all = placements(3, 9);
  PlanRequest request = exchange(Collective::kAllgather, ESP_ALGORITHM_RING, 9);
  request.elements = 1;
  const std::vector<Plan> without = make_plans(request);
  request.nodes.nodes = &all[0];
  EXPECT_EQ(make_plans(request), without);
  request.nodes.nodes = &all[1];
  for (const Plan& plan : make_plans(request)) {
    ASSERT_EQ(plan.tables.size(), 1U);
    EXPECT_EQ(*plan.tables[0].entries, (std::vector<std::int32_t>{0, 3, 6, 1, 4, 7, 2, 5, 8}));
    EXPECT_EQ(plan.vertices.size(), 3U);
  }
}

}  // namespace
}  // namespace espalier::plan_check
