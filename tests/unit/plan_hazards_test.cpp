// No plan leaves to timing what its memory holds: the proof, for every maker, and that it finds
// what is planted.
#include "tests/unit/plan_hazards.hpp"

#include "tests/unit/exchange_cases.hpp"

namespace espalier::plan_check {
namespace {

std::vector<std::int64_t> nowhere(const std::vector<Plan>& plans) {
  return std::vector<std::int64_t>(plans.size(), -1);
}

// Of a call in place: at the beginning of the output, or in the own block of a gather.
std::vector<std::int64_t> in_output(const std::vector<Plan>& plans) {
  std::vector<std::int64_t> at(plans.size(), 0);
  const CollectiveTraits& traits = traits_of(plans[0].collective);
  const bool gathers = traits.input == Extent::kOne && traits.output != Extent::kOne;
  for (std::size_t r = 0; gathers && r < plans.size(); ++r) {
    at[r] = static_cast<std::int64_t>(plans[r].layout(Place::kOutput).begin(r));
  }
  return at;
}

void expect_none(const std::vector<Plan>& plans, const PlanRequest& request) {
  const bool other_plan = replaces_blocks(request.collective);
  if (!other_plan || !request.in_place) {
    EXPECT_EQ(find_hazard(plans, nowhere(plans)), "") << describe(request);
  }
  if (!other_plan || request.in_place) {
    EXPECT_EQ(find_hazard(plans, in_output(plans)), "") << describe(request) << " in place";
  }
}

TEST(Hazards, NoneInTrees) {
  for (const Collective collective :
       {Collective::kBcast, Collective::kReduce, Collective::kAllreduce}) {
    for (const ShapeCase& shape : shape_cases()) {
      for (int variant = 0; variant < ESP_VARIANT_COUNT; ++variant) {
        for (const std::int32_t size : {2, 3, 6, 9}) {
          PlanRequest request = call(collective, size, 9);
          request.shape = shape.shape;
          request.radix = shape.radix;
          request.variant = static_cast<esp_variant>(variant);
          request.root = size / 2;
          expect_none(make_plans(request), request);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(Hazards, NoneInPublicationsAndSpreads) {
  for (const std::int32_t size : {2, 3, 6}) {
    for (const esp_algorithm algorithm : {ESP_ALGORITHM_PUBLISH, ESP_ALGORITHM_SPREAD}) {
      for (const std::uint64_t segments : {1, 7, 30}) {
        PlanRequest request = call(Collective::kAllreduce, size, segments);
        request.algorithm = algorithm;
        expect_none(make_plans(request), request);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(Hazards, NoneOverNodes) {
  for (const std::int32_t nodes : {2, 3}) {
    std::vector<std::int32_t> node_of;
    for (std::int32_t m = 0; m < 2 * nodes + 1; ++m) node_of.push_back(m % nodes);
    const TeamNodes placed = TeamNodes::of(node_of);
    for (int how = 0; how < 3; ++how) {
      PlanRequest request = call(Collective::kAllreduce, 2 * nodes + 1, 7);
      request.shape = ESP_SHAPE_BINOMIAL;
      request.nodes.nodes = &placed;
      request.nodes.follow = true;
      request.nodes.exchange_radix = how == 1 ? 2 : 0;
      request.nodes.spread = how == 2;
      expect_none(make_plans(request), request);
    }
  }
}

TEST(Hazards, NoneInExchanges) {
  for (const Case& c : kCases) {
    for (const std::int32_t size : {2, 3, 4, 7, 8}) {
      PlanRequest request = exchange(c.collective, c.algorithm, size);
      request.radix = c.radix;
      request.in_place = c.in_place;
      request.elements = 5;
      if (!make_plan(request)) continue;  // of 2^n ranks alone
      if (is_irregular(c.collective)) {
        std::mt19937 random(3);
        const auto sent = random_lengths(size, c.in_place, random);
        expect_none(IrregularPlans(request, sent, true, random).plans(), request);
      } else {
        expect_none(make_plans(request), request);
      }
      if (HasFailure()) return;
    }
  }
}

// As calls have it whose buffers are all on a device: a mover that combines packs only what others
// send and receive.
std::vector<Plan> combined(PlanRequest request) {
  std::vector<Plan> plans;
  for (request.rank = 0; request.rank < request.size; ++request.rank) {
    const bool gets = !traits_of(request.collective).root_gets || request.rank == request.root;
    request.packs_input = request.moves = request.combines = true;
    request.packs_output = gets;
    // Where one plan is for both, it is the one that may be in place.
    request.replaces = request.in_place || !replaces_blocks(request.collective);
    plans.push_back(std::move(make_plan(request).value()));
  }
  return plans;
}

void expect_combined(const PlanRequest& request) {
  const std::vector<Plan> plans = combined(request);
  expect_none(plans, request);
  for (Schedule schedule : schedules(29, request.size)) {
    schedule.in_place = false;
    if (request.in_place || !expect_correct(plans, request, schedule)) return;
  }
}

TEST(Hazards, NoneWhereAMoverCombines) {
  for (const Case& c : kCases) {
    if (!traits_of(c.collective).reduces || is_irregular(c.collective)) continue;
    for (const std::int32_t size : {2, 3, 4, 7, 8, 18}) {
      PlanRequest request = exchange(c.collective, c.algorithm, size);
      request.in_place = c.in_place;
      request.elements = 5;
      if (make_plan(request).ok()) expect_combined(request);
      if (HasFailure()) return;
    }
  }
  for (const Collective collective : {Collective::kReduce, Collective::kAllreduce}) {
    for (const ShapeCase& shape : shape_cases()) {
      for (const std::int32_t size : {2, 3, 6, 9}) {
        PlanRequest request = call(collective, size, 9);
        request.shape = shape.shape;
        request.radix = shape.radix;
        request.root = size / 2;
        expect_combined(request);
        if (HasFailure()) return;
      }
    }
  }
  for (const esp_algorithm algorithm : {ESP_ALGORITHM_PUBLISH, ESP_ALGORITHM_SPREAD}) {
    PlanRequest request = call(Collective::kAllreduce, 6, 7);
    request.algorithm = algorithm;
    expect_combined(request);
  }
}

TEST(Hazards, AMoverThatCombinesPacksWhatOthersSendAndReceive) {
  PlanRequest request = call(Collective::kReduce, 7, 3);
  request.shape = ESP_SHAPE_BINOMIAL;
  request.root = 0;
  const std::vector<Plan> reduce = combined(request);
  EXPECT_FALSE(reduce[0].packs_input || reduce[0].packs_output) << "the root";
  EXPECT_EQ(reduce[0].scratch_bytes(reduce[0].layouts.data()), 0u);
  EXPECT_FALSE(reduce[2].packs_input) << "inside the tree";
  EXPECT_TRUE(reduce[1].packs_input) << "a leaf, which sends";
  request.collective = Collective::kAllreduce;
  const std::vector<Plan> allreduce = combined(request);
  EXPECT_TRUE(!allreduce[0].packs_input && allreduce[0].packs_output) << "the root sends it on";
  request.algorithm = ESP_ALGORITHM_RING;
  const std::vector<Plan> ring = combined(request);
  const auto reads_the_callers = [](const Vertex& v) {
    return std::ranges::any_of(v.operands, [&](const Operand& o) {
      return v.operands.size() > 1 && o.place == Place::kUserInput;
    });
  };
  EXPECT_TRUE(ring[1].packs_input && std::ranges::any_of(ring[1].vertices, reads_the_callers));
}

// What some executions get away with: each edge of a plan that only orders memory, taken out.
TEST(Hazards, EveryMissingEdgeIsFound) {
  const auto without = [](PlanRequest request, std::uint16_t from, std::uint16_t to) {
    std::vector<Plan> plans = make_plans(request);
    std::erase_if(plans[1].vertices[to].needs,
                  [&](const Dependency& need) { return need.vertex == from; });
    return find_hazard(plans, request.in_place ? in_output(plans) : nowhere(plans));
  };
  // Alltoall in place: v0 stage, v1 send, v2 recv.
  PlanRequest request = exchange(Collective::kAlltoall, ESP_ALGORITHM_ONE_FACTOR, 4);
  request.in_place = true;
  request.elements = 9;
  EXPECT_EQ(without(request, 0, 2), "rank 1 v0[0] and rank 1 v2[0] meet in buffer 1, in no order");
  EXPECT_EQ(without(request, 1, 0), "rank 1 v0[2] and rank 1 v1[0] meet in buffer 2, in no order");
  EXPECT_EQ(without(request, 0, 1), "rank 1 v0[0] and rank 1 v1[0] meet in buffer 2, in no order");
  // Bruck: v0 own block, v1 rotation, v2 pack, v3 recv, v4 send, v5 to the output, v6 to slots.
  request = exchange(Collective::kAlltoall, ESP_ALGORITHM_BRUCK, 4);
  request.radix = 2;
  request.elements = 1;
  request.in_place = true;
  EXPECT_NE(without(request, 1, 5), "");
  EXPECT_NE(without(request, 2, 6), "");
  EXPECT_NE(without(request, 3, 6), "");
  // Scan by doubling: the sum changes when it is out.
  request = exchange(Collective::kScan, ESP_ALGORITHM_DOUBLING, 4);
  request.elements = 2;
  EXPECT_NE(without(request, 1, 3), "");
  // Reduction: v0 view, v1 combine, v2 send.
  request = call(Collective::kReduce, 3, 20);
  request.shape = ESP_SHAPE_CHAIN;
  EXPECT_NE(without(request, 2, 1), "");
}

}  // namespace
}  // namespace espalier::plan_check
