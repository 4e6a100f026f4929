// Exchanges of blocks on teams over nodes: any placement, nodes of any size; what crosses between
// nodes, counted.
#include <algorithm>
#include <map>
#include <numeric>

#include "coll/choice/choose.hpp"
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
    const std::int64_t input_at = request.in_place ? 0 : -1;
    EXPECT_EQ(find_hazard(plans, std::vector<std::int64_t>(plans.size(), input_at)), "")
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

void check_everywhere(Collective collective, esp_algorithm algorithm, bool in_place = false) {
  for (const Team& team : kTeams) {
    for (const TeamNodes& nodes : placements(team.nodes, team.size)) {
      PlanRequest request = exchange(collective, algorithm, team.size);
      request.in_place = in_place;
      check_on(nodes, request);
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

// ---- allgather by leaders ----

PlanRequest leaders(Collective collective, const TeamNodes& nodes, std::uint64_t elements) {
  PlanRequest request = exchange(collective, ESP_ALGORITHM_TREE, nodes.size());
  request.elements = elements;
  request.nodes.nodes = &nodes;
  return request;
}

TEST(LeadersOfNodes, Correct) {
  check_everywhere(Collective::kAllgather, ESP_ALGORITHM_TREE);
  check_everywhere(Collective::kAllgatherv, ESP_ALGORITHM_TREE);
  for (const bool in_place : {false, true}) {
    check_everywhere(Collective::kReduceScatterBlock, ESP_ALGORITHM_TREE, in_place);
  }
}

// A head that is not its node's first member: that of the deeper of two sockets.
TEST(LeadersOfNodes, HeadsOfDeeperGroups) {
  std::vector<std::int32_t> node_of;
  std::vector<MemberLocality> places;
  for (std::int32_t m = 0; m < 10; ++m) {
    const std::int32_t core = m % 5;
    node_of.push_back(m / 5);
    places.push_back({0, core == 0 ? 0 : 1, (core + 1) / 2, -1});
  }
  const TeamNodes nodes = TeamNodes::of(node_of, places);
  ASSERT_NE(nodes.head(1), nodes.member(1, 0));
  for (const Collective collective : {Collective::kAllgather, Collective::kAllgatherv}) {
    check_on(nodes, exchange(collective, ESP_ALGORITHM_TREE, 10));
  }
}

// Between nodes only heads talk, each to the head on its right; every node's run enters each other
// node once, and what is published stays inside.
TEST(LeadersOfNodes, RunsEnterNodesOnce) {
  for (const Team& team : kTeams) {
    for (const TeamNodes& nodes : placements(team.nodes, team.size)) {
      std::map<std::pair<std::int32_t, std::int32_t>, std::uint64_t> elements;  // from node to node
      for (const Plan& plan : make_plans(leaders(Collective::kAllgather, nodes, 5))) {
        const std::int32_t node = nodes.node_of(plan.rank);
        for (const Vertex& v : plan.vertices) {
          for (const std::int32_t reader : v.peers) EXPECT_TRUE(nodes.together(plan.rank, reader));
          if (v.action != Action::kSend) continue;
          for (std::uint32_t i = 0; i < v.indices.count; ++i) {
            const std::int32_t peer = plan.peer(v, i);
            const std::int32_t to = nodes.node_of(peer);
            EXPECT_EQ(peer, nodes.head(to));
            if (to == node) continue;
            EXPECT_EQ(to, (node + 1) % nodes.count());
            EXPECT_EQ(plan.rank, nodes.head(node));
            elements[{node, to}] += plan.length_elements(v, i);
          }
        }
      }
      EXPECT_EQ(elements.size(), nodes.count() > 1 ? static_cast<std::size_t>(nodes.count()) : 0U);
      for (const auto& [edge, sum] : elements) {
        const std::int32_t own = nodes.members(edge.second);
        EXPECT_EQ(sum, 5U * static_cast<std::uint64_t>(team.size - own)) << "all but the own run";
      }
    }
  }
}

// What a member of nodes that hold consecutive ranks copies itself: a head its own block, nobody
// anything else. In another order each copies its result out of the buffer of runs.
TEST(LeadersOfNodes, CopiesOfItsOwn) {
  const auto copied = [](const Plan& plan) {
    std::uint64_t elements = 0;
    for (const Vertex& v : plan.vertices) {
      for (std::uint32_t i = 0; v.action == Action::kCombine && i < v.indices.count; ++i) {
        elements += plan.length_elements(v, i);
      }
    }
    return elements;
  };
  const std::vector<TeamNodes> all = placements(3, 12);
  for (const bool ordered : {true, false}) {
    const TeamNodes& nodes = all[ordered ? 0 : 1];
    for (const Plan& plan : make_plans(leaders(Collective::kAllgather, nodes, 5))) {
      const bool is_head = nodes.head(nodes.node_of(plan.rank)) == plan.rank;
      EXPECT_EQ(copied(plan), (is_head ? 5U : 0U) + (ordered ? 0U : 60U));
      EXPECT_EQ(plan.scratch_bytes(plan.layouts.data()) > 0, !ordered);
    }
  }
}

// Segment by segment: what is passed on and published waits for the own run once, and for others
// as they come.
TEST(LeadersOfNodes, PlansAndTexts) {
  const std::vector<TeamNodes> all = placements(3, 9);
  const std::vector<Plan> plans = make_plans(leaders(Collective::kAllgather, all[0], 2));
  const std::string head = plans[3].to_text();
  EXPECT_EQ(head.find("allgather of 2 elements of 8 bytes, rank 3 of 9: leaders of 3 nodes, "), 0U);
  for (const char* text :
       {"v2: recv output from 0 x6 blocks 0, 6, ... (table 0), runs of 3, 3, ",
        "v3: send output to 6 x6 blocks 3, 0, ", "v4: publish output to 2 ranks x9 ",
        "needs v0[all], v1[all], v2[i-3], v3[i-2]\n",
        "needs v0[all], v1[all], v2[i-3], v4[i-2]\n"}) {
    EXPECT_NE(head.find(text), std::string::npos) << text << head;
  }
  EXPECT_EQ(plans[4].vertices.size(), 2U) << plans[4].to_text();
  PlanRequest request = leaders(Collective::kAllgather, all[0], 2);
  request.nodes.nodes = nullptr;
  EXPECT_EQ(make_plans(request)[0].algorithm.find("leader of one node"), 0U);
  request.variant = ESP_VARIANT_WAITALL;
  EXPECT_EQ(make_plan(request).error().text, "allgather by tree has the event variant alone");
}

// Few nodes of several members, little in all. No shape asks for it.
TEST(LeadersOfNodes, Chosen) {
  const auto chosen = [](const TeamNodes* nodes, std::int32_t size, std::uint64_t elements,
                         esp_shape shape = ESP_SHAPE_AUTO) {
    PlanRequest request = exchange(Collective::kAllgather, ESP_ALGORITHM_AUTO, size);
    request.elements = elements;
    request.nodes.nodes = nodes;
    esp_coll_options options = ESP_COLL_OPTIONS_INIT;
    options.shape = shape;
    return resolve(options, request)->algorithm;
  };
  const std::vector<TeamNodes> all = placements(3, 12), alone = placements(3, 3);
  EXPECT_EQ(chosen(&all[1], 12, 8), ESP_ALGORITHM_TREE);
  EXPECT_EQ(chosen(&all[1], 12, 8, ESP_SHAPE_CHAIN), ESP_ALGORITHM_TREE);
  EXPECT_EQ(chosen(&all[1], 12, 1000), ESP_ALGORITHM_RING);
  EXPECT_EQ(chosen(&alone[0], 3, 8), ESP_ALGORITHM_BRUCK);
  EXPECT_EQ(chosen(nullptr, 12, 8, ESP_SHAPE_CHAIN), ESP_ALGORITHM_PUBLISH);
  const std::vector<TeamNodes> many = placements(9, 18);
  EXPECT_EQ(chosen(&many[0], 18, 8), ESP_ALGORITHM_BRUCK);
}

// ---- alltoall by leaders ----

TEST(AlltoallOfNodes, Correct) {
  check_everywhere(Collective::kAlltoall, ESP_ALGORITHM_TREE);
  check_everywhere(Collective::kAlltoall, ESP_ALGORITHM_TREE, true);
}

// One bundle from each node to each other, with all that its members have for each other; nothing
// but what a head hands out goes to who is no head.
TEST(AlltoallOfNodes, OneBundleBetweenTwoNodes) {
  for (const Team& team : kTeams) {
    for (const TeamNodes& nodes : placements(team.nodes, team.size)) {
      std::map<std::pair<std::int32_t, std::int32_t>, std::uint64_t> elements;
      PlanRequest request = leaders(Collective::kAlltoall, nodes, 3);
      request.segment_bytes = 1 << 20;
      std::size_t messages = 0;
      for (const Plan& plan : make_plans(request)) {
        for (const Vertex& v : plan.vertices) {
          if (v.action != Action::kSend) continue;
          for (std::uint32_t i = 0; i < v.indices.count; ++i) {
            const std::int32_t peer = plan.peer(v, i);
            if (nodes.together(plan.rank, peer)) continue;
            const std::int32_t from = nodes.node_of(plan.rank), to = nodes.node_of(peer);
            EXPECT_EQ(plan.rank, nodes.head(from));
            EXPECT_EQ(peer, nodes.head(to));
            elements[{from, to}] += plan.length_elements(v, i);
            ++messages;
          }
        }
      }
      const auto count = static_cast<std::size_t>(nodes.count());
      EXPECT_EQ(messages, count * (count - 1));
      EXPECT_EQ(elements.size(), messages);
      for (const auto& [edge, sum] : elements) {
        const std::int64_t pairs =
            std::int64_t{nodes.members(edge.first)} * nodes.members(edge.second);
        EXPECT_EQ(sum, 3U * static_cast<std::uint64_t>(pairs));
      }
    }
  }
}

TEST(AlltoallOfNodes, Refusals) {
  PlanRequest request = exchange(Collective::kAlltoall, ESP_ALGORITHM_TREE, 100'000);
  EXPECT_EQ(make_plan(request).error().text,
            "alltoall by leaders of nodes of up to 100000 members: a leader would hold more blocks "
            "than a plan counts");
  request = exchange(Collective::kAlltoallv, ESP_ALGORITHM_TREE, 4);
  EXPECT_EQ(make_plan(request).error().text, "alltoallv has no tree algorithm");
}

}  // namespace
}  // namespace espalier::plan_check
