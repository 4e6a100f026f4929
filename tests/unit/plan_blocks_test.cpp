// Blocks of a root, of owners and of neighbours, and elements that lie apart: every root, trees of
// all shapes and over nodes, operators that do not commute, random graphs.
#include <algorithm>

#include "tests/unit/exchange_cases.hpp"
#include "tests/unit/plan_hazards.hpp"

namespace espalier::plan_check {
namespace {

bool check_blocks(const std::vector<Plan>& plans, const PlanRequest& request, std::uint64_t seed,
                  const std::vector<Neighbors>* graph = nullptr) {
  for (Schedule schedule : schedules(seed, request.size)) {
    schedule.graph = graph;
    if (!expect_correct(plans, request, schedule)) return false;
  }
  return true;
}

TEST(BlockPlans, EveryRootAndShape) {
  for (const Collective collective : {Collective::kGather, Collective::kScatter}) {
    for (const ShapeCase& shape : shape_cases()) {
      if (shape.shape == ESP_SHAPE_TWO_TREE) continue;
      for (const std::int32_t size : {2, 3, 5, 8, 13}) {
        for (std::int32_t root = 0; root < size; ++root) {
          PlanRequest request = exchange(collective, ESP_ALGORITHM_TREE, size);
          request.shape = shape.shape;
          request.radix = shape.radix;
          request.root = root;
          request.elements = root % 2 == 0 ? 1 : 5;
          request.in_place = collective == Collective::kScatter && root % 3 == 0;
          ASSERT_TRUE(check_blocks(make_plans(request), request, 7));
        }
      }
    }
  }
}

TEST(BlockPlans, IrregularRoots) {
  std::mt19937 random(11);
  for (const Collective collective : {Collective::kGatherv, Collective::kScatterv}) {
    for (const std::int32_t size : {1, 2, 5, 9}) {
      for (std::int32_t root = 0; root < size; ++root) {
        PlanRequest request = exchange(collective, ESP_ALGORITHM_LINEAR, size);
        request.root = root;
        const IrregularPlans made(request, {random_counts(size, random)}, true, random);
        ASSERT_TRUE(check_blocks(made.plans(), request, 5));
      }
    }
  }
}

// Members of a node are not neighbours, so blocks go by a buffer at the root.
TEST(BlockPlans, OverNodes) {
  for (const std::int32_t nodes : {2, 3}) {
    const std::int32_t size = 3 * nodes + 1;
    std::vector<std::int32_t> node_of;
    for (std::int32_t m = 0; m < size; ++m) node_of.push_back(m % nodes);
    const TeamNodes placed = TeamNodes::of(node_of);
    for (const Collective collective : {Collective::kGather, Collective::kScatter}) {
      for (std::int32_t root = 0; root < size; ++root) {
        PlanRequest request = exchange(collective, ESP_ALGORITHM_TREE, size);
        request.root = root;
        request.elements = 3;
        request.nodes.nodes = &placed;
        request.nodes.follow = true;
        const std::vector<Plan> plans = make_plans(request);
        ASSERT_TRUE(check_blocks(plans, request, 3));
        const std::vector<std::int64_t> nowhere(plans.size(), -1);
        ASSERT_EQ(find_hazard(plans, nowhere), "");
      }
    }
  }
}

TEST(BlockPlans, RankOrder) {
  for (const std::int32_t size : {2, 9, 16, 17, 24, 33}) {
    for (const bool in_place : {false, true}) {
      PlanRequest request = exchange(Collective::kReduceScatterBlock, ESP_ALGORITHM_SPREAD, size);
      request.commutative = false;
      request.elements = 5;
      request.in_place = in_place;
      ASSERT_TRUE(check_blocks(make_plans(request), request, 9));
      if (size > 17) continue;
      const std::vector<Plan> plans = make_plans(request);
      ASSERT_EQ(find_hazard(plans, std::vector<std::int64_t>(plans.size(), in_place ? 0 : -1)), "");
    }
  }
}

// Up to 16 ranks each element of a block is read once from each contribution and written once.
TEST(BlockPlans, OnePassOfTheOwner) {
  PlanRequest request = exchange(Collective::kReduceScatterBlock, ESP_ALGORITHM_SPREAD, 16);
  request.elements = 5;
  for (const Plan& plan : make_plans(request)) {
    const auto combines = std::count_if(plan.vertices.begin(), plan.vertices.end(),
                                        [](const Vertex& v) { return !v.operands.empty(); });
    EXPECT_EQ(combines, 1);
    for (const Vertex& v : plan.vertices) {
      EXPECT_TRUE(v.operands.empty() || v.operands.size() == 16U);
    }
  }
}

// ---- neighbours ----

struct Edge {
  std::int32_t from, to;
};

// Several between two, to oneself, and places without a neighbour.
std::vector<Neighbors> random_graph(std::int32_t size, std::mt19937& random) {
  std::vector<Neighbors> graph(static_cast<std::size_t>(size));
  std::vector<Edge> edges;
  const auto member = [&] {
    return static_cast<std::int32_t>(random() % static_cast<unsigned>(size));
  };
  for (std::int32_t e = 0; e < 3 * size; ++e) edges.push_back({member(), member()});
  const auto at = [&](std::int32_t r) -> Neighbors& { return graph[static_cast<std::size_t>(r)]; };
  for (const Edge& edge : edges) at(edge.from).destinations.push_back(edge.to);
  std::shuffle(edges.begin(), edges.end(), random);
  for (const Edge& edge : edges) at(edge.to).sources.push_back(edge.from);
  for (Neighbors& near : graph) {
    if (random() % 3 == 0) near.sources.push_back(Neighbors::kNone);
    if (random() % 3 == 0) near.destinations.insert(near.destinations.begin(), Neighbors::kNone);
    EXPECT_TRUE(Neighbors::number(near.sources, near.source_edges));
    EXPECT_TRUE(Neighbors::number(near.destinations, near.destination_edges));
    near.id = 1;
  }
  return graph;
}

std::vector<Plan> neighbor_plans(PlanRequest request, const std::vector<Neighbors>& graph) {
  std::vector<Plan> plans;
  for (std::size_t r = 0; r < graph.size(); ++r) {
    request.rank = static_cast<std::int32_t>(r);
    request.neighbors = &graph[r];
    Result<Plan> made = make_plan(request);
    if (!made) {
      ADD_FAILURE() << made.error().text;
      return {};
    }
    plans.push_back(std::move(made.value()));
  }
  return plans;
}

constexpr std::pair<Collective, esp_algorithm> kNeighborCases[] = {
    {Collective::kNeighborAllgather, ESP_ALGORITHM_PUBLISH},
    {Collective::kNeighborAllgather, ESP_ALGORITHM_LINEAR},
    {Collective::kNeighborAlltoall, ESP_ALGORITHM_LINEAR},
};

// Many more segments than a window holds: nobody may wait in a circle.
TEST(NeighborPlans, RandomGraphs) {
  std::mt19937 random(5);
  for (const std::int32_t size : {1, 2, 3, 5, 8, 17}) {
    for (int round = 0; round < 5; ++round) {
      const std::vector<Neighbors> graph = random_graph(size, random);
      for (const auto& [collective, algorithm] : kNeighborCases) {
        PlanRequest request = exchange(collective, algorithm, size);
        request.elements = round == 0 ? 0 : round == 1 ? 1 : 40;
        const std::vector<Plan> plans = neighbor_plans(request, graph);
        ASSERT_TRUE(check_blocks(plans, request, 13, &graph));
        if (size > 5) continue;
        ASSERT_EQ(find_hazard(plans, std::vector<std::int64_t>(plans.size(), -1)), "");
      }
    }
  }
}

// The lengths of what goes along an edge are those of what comes.
TEST(NeighborPlans, LengthsOfTheirOwn) {
  std::mt19937 random(6);
  for (const std::int32_t size : {1, 3, 6}) {
    const std::vector<Neighbors> graph = random_graph(size, random);
    std::vector<Counts> in, out;
    for (const Neighbors& near : graph) {
      in.push_back(Counts(near.destinations.size()));
      for (std::size_t& count : in.back()) count = random() % 7;
    }
    for (std::size_t r = 0; r < graph.size(); ++r) {
      Counts lengths;
      for (std::size_t i = 0; i < graph[r].sources.size(); ++i) {
        const std::int32_t from = graph[r].sources[i];
        std::size_t length = 3;  // of one that is not there
        for (std::size_t j = 0; from >= 0 && j < in[static_cast<std::size_t>(from)].size(); ++j) {
          const Neighbors& theirs = graph[static_cast<std::size_t>(from)];
          if (theirs.destinations[j] == static_cast<std::int32_t>(r) &&
              theirs.destination_edges[j] == graph[r].source_edges[i]) {
            length = in[static_cast<std::size_t>(from)][j];
          }
        }
        lengths.push_back(length);
      }
      out.push_back(lengths);
    }
    PlanRequest request = exchange(Collective::kNeighborAlltoallv, ESP_ALGORITHM_LINEAR, size);
    const IrregularPlans made(neighbor_plans(request, graph), in, out,
                              Counts(static_cast<std::size_t>(size), 0));
    ASSERT_TRUE(check_blocks(made.plans(), request, 2, &graph));
  }
}

TEST(NeighborPlans, AtMost256EdgesBetweenTwo) {
  std::vector<std::uint8_t> edges;
  EXPECT_TRUE(Neighbors::number(std::vector<std::int32_t>(256, 3), edges));
  EXPECT_EQ(edges.back(), 255);
  EXPECT_FALSE(Neighbors::number(std::vector<std::int32_t>(257, 3), edges));
}

// ---- elements that lie apart ----

// Any rank may have its elements apart, whatever the others have.
TEST(PackingPlans, AroundEveryPlan) {
  std::mt19937 random(17);
  std::vector<Case> cases(std::begin(kCases), std::end(kCases));
  cases.push_back({Collective::kBcast, ESP_ALGORITHM_PUBLISH});
  cases.push_back({Collective::kBcast, ESP_ALGORITHM_TREE});
  cases.push_back({Collective::kReduce, ESP_ALGORITHM_TREE});
  cases.push_back({Collective::kAllreduce, ESP_ALGORITHM_SPREAD});
  cases.push_back({Collective::kAllreduce, ESP_ALGORITHM_TREE});
  for (const Case& c : cases) {
    for (const std::int32_t size : {1, 2, 4, 8}) {
      PlanRequest request = exchange(c.collective, c.algorithm, size);
      const CollectiveTraits& traits = traits_of(c.collective);
      // What is packed is not in place; but a scatter's root may keep its block.
      const bool keeps = traits.rooted && c.in_place;
      if (c.in_place && !keeps) continue;
      request.radix = c.radix;
      request.in_place = keeps;
      request.elements = 5;
      request.root = size - 1;
      if (is_irregular(c.collective)) {
        // All alike here; that members differ the swarm has. Of rooted ones sides are not there.
        if (traits.rooted) continue;
        request.packs_input = request.packs_output = true;
        request.moves = random() % 2 != 0;
        const IrregularPlans made(request, random_lengths(size, false, random), true, random);
        for (Schedule schedule : schedules(23, size)) {
          schedule.in_place = false;
          ASSERT_TRUE(expect_correct(made.plans(), request, schedule));
        }
        continue;
      }
      const auto plans_of = [&](std::int32_t rank) {
        PlanRequest mine = request;
        mine.rank = rank;
        const bool is_root = rank == request.root;
        mine.packs_input =
            random() % 3 != 0 && traits.input != Extent::kNone && (is_root || !traits.root_sends);
        mine.packs_output =
            random() % 3 != 0 && (is_root || !traits.root_gets) && !(keeps && is_root);
        mine.moves = random() % 2 != 0;
        mine.shares = mine.moves && !mine.in_place && random() % 2 != 0;
        mine.combines = mine.moves && random() % 2 != 0;
        return make_plan(mine);
      };
      std::vector<Plan> plans;
      for (std::int32_t rank = 0; rank < size; ++rank) {
        Result<Plan> made = plans_of(rank);
        ASSERT_TRUE(made.ok()) << made.error().text;
        plans.push_back(std::move(made.value()));
      }
      for (Schedule schedule : schedules(19, size)) {
        schedule.in_place = false;
        ASSERT_TRUE(expect_correct(plans, request, schedule));
      }
      ASSERT_EQ(find_hazard(plans, std::vector<std::int64_t>(plans.size(), -1)), "");
    }
  }
}

}  // namespace
}  // namespace espalier::plan_check
