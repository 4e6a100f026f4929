// The checker is checked: each class of planted bug is found, and named for what it is.
#include <functional>

#include "tests/unit/plan_mutations.hpp"

namespace espalier::plan_check {
namespace {

using Mutation = std::function<void(std::vector<Plan>&)>;

void expect_found(const PlanRequest& request, const Mutation& mutate, const std::string& expected) {
  std::vector<Plan> plans = make_plans(request);
  ASSERT_EQ(first_error(plans, request), "no error found");
  mutate(plans);
  for (Plan& plan : plans) recompute_feeds(plan);
  const std::string error = first_error(plans, request);
  EXPECT_NE(error.find(expected), std::string::npos) << describe(request) << "\n  " << error;
}

PlanRequest tree_call(Collective collective, esp_shape shape) {
  PlanRequest request = call(collective, 7, 20);
  request.shape = shape;
  return request;
}

// The number of the only vertex of the plan with this action and source.
std::uint16_t find(const Plan& plan, Action action, Place src = Place::kNone) {
  for (std::size_t id = 0; id < plan.vertices.size(); ++id) {
    const Vertex& v = plan.vertices[id];
    if (v.action == action && (src == Place::kNone || v.src == src)) {
      return static_cast<std::uint16_t>(id);
    }
  }
  ADD_FAILURE() << "no such vertex in\n" << plan.to_text();
  return 0;
}

void drop_edges(Plan& plan, std::uint16_t from, std::uint16_t to) {
  std::erase_if(plan.vertices[to].needs,
                [&](const Dependency& need) { return need.vertex == from; });
}

TEST(PlantedBugs, ForwardingBeforeArrival) {
  expect_found(
      tree_call(Collective::kBcast, ESP_SHAPE_CHAIN),
      [](std::vector<Plan>& plans) {
        drop_edges(plans[3], find(plans[3], Action::kRecv), find(plans[3], Action::kSend));
      },
      "rank 3 v1[0] reads before anything is there");
}

TEST(PlantedBugs, CombiningBeforeArrival) {
  expect_found(
      tree_call(Collective::kReduce, ESP_SHAPE_BINARY),
      [](std::vector<Plan>& plans) {
        drop_edges(plans[1], find(plans[1], Action::kRecvView), find(plans[1], Action::kCombine));
      },
      "combines a view that is not there");
}

TEST(PlantedBugs, ScratchReusedTooEarly) {
  expect_found(
      tree_call(Collective::kReduce, ESP_SHAPE_CHAIN),
      [](std::vector<Plan>& plans) {
        drop_edges(plans[1], find(plans[1], Action::kSend), find(plans[1], Action::kCombine));
      },
      "overwrites a place that is being sent");
}

TEST(PlantedBugs, ViewsWithoutBound) {
  expect_found(
      tree_call(Collective::kReduce, ESP_SHAPE_BINARY),
      [](std::vector<Plan>& plans) {
        drop_edges(plans[0], find(plans[0], Action::kCombine), find(plans[0], Action::kRecvView));
      },
      "holds more views than its window");
}

TEST(PlantedBugs, OperandsSwapped) {
  expect_found(
      tree_call(Collective::kReduce, ESP_SHAPE_BINARY),
      [](std::vector<Plan>& plans) {
        std::vector<Operand>& operands =
            plans[0].vertices[find(plans[0], Action::kCombine)].operands;
        std::swap(operands[1], operands[2]);
      },
      "combines ranks");
}

TEST(PlantedBugs, ContributionForgotten) {
  expect_found(
      tree_call(Collective::kReduce, ESP_SHAPE_BINOMIAL),
      [](std::vector<Plan>& plans) {
        Vertex& combine = plans[0].vertices[find(plans[0], Action::kCombine)];
        combine.operands.erase(combine.operands.begin());
      },
      "contributions 1+6 instead of 0+7");
}

TEST(PlantedBugs, ContributionCombinedTwice) {
  expect_found(
      tree_call(Collective::kReduce, ESP_SHAPE_BINOMIAL),
      [](std::vector<Plan>& plans) {
        Vertex& combine = plans[0].vertices[find(plans[0], Action::kCombine)];
        combine.operands.push_back(combine.operands.front());
      },
      "combines ranks 0+7 with 0+1");
}

TEST(PlantedBugs, AnotherPiece) {
  expect_found(
      tree_call(Collective::kBcast, ESP_SHAPE_BINARY),
      [](std::vector<Plan>& plans) { plans[2].vertices[0].lane = 1; },
      "speak of different segments");
}

TEST(PlantedBugs, AnotherPeer) {
  expect_found(
      tree_call(Collective::kBcast, ESP_SHAPE_CHAIN),
      [](std::vector<Plan>& plans) { plans[2].vertices[0].peer.first = 0; }, "has no counterpart");
}

TEST(PlantedBugs, AnotherChannel) {
  expect_found(
      tree_call(Collective::kAllreduce, ESP_SHAPE_CHAIN),
      [](std::vector<Plan>& plans) {
        plans[2].vertices[find(plans[2], Action::kRecv)].channel = 3;
      },
      "has no counterpart");
}

TEST(PlantedBugs, SameFlowTwice) {
  expect_found(
      tree_call(Collective::kReduce, ESP_SHAPE_BINARY),
      [](std::vector<Plan>& plans) { plans[0].vertices[1].peer = plans[0].vertices[0].peer; },
      "shares its flow with another vertex");
}

TEST(PlantedBugs, EdgeOfTheTreeMissing) {
  expect_found(
      tree_call(Collective::kBcast, ESP_SHAPE_BINARY),
      [](std::vector<Plan>& plans) { plans[0].vertices.pop_back(); }, "has no counterpart");
}

TEST(PlantedBugs, OneSegmentFewer) {
  expect_found(
      tree_call(Collective::kBcast, ESP_SHAPE_BINARY),
      [](std::vector<Plan>& plans) {
        plans[2].vertices[0].indices.count -= 1;
        plans[2].vertices[0].indices.inner -= 1;
      },
      "differ in segments per peer");
}

TEST(PlantedBugs, CircularWait) {
  expect_found(
      tree_call(Collective::kAllreduce, ESP_SHAPE_CHAIN),
      [](std::vector<Plan>& plans) {
        plans[3].vertices[find(plans[3], Action::kRecvView)].needs.push_back(
            {find(plans[3], Action::kRecv), 0});
      },
      "deadlock");
}

// Without the edge that reserves room in the window for the segment that is late.
TEST(PlantedBugs, WindowFilledByOvertakingSegments) {
  PlanRequest request = call(Collective::kAllreduce, 9, 150);
  request.algorithm = ESP_ALGORITHM_PUBLISH;
  request.window_send = 7;
  request.window_recv = 3;
  expect_found(
      request,
      [](std::vector<Plan>& plans) {
        const std::uint16_t publish = find(plans[0], Action::kPublish);
        drop_edges(plans[0], publish, publish);
      },
      "deadlock");
}

PlanRequest spread_call() {
  PlanRequest request = call(Collective::kAllreduce, 5, 5 * 9);
  request.algorithm = ESP_ALGORITHM_SPREAD;
  return request;
}

TEST(PlantedBugs, SpreadSendsAgainstTheOrderOfViews) {
  expect_found(
      spread_call(),
      [](std::vector<Plan>& plans) {
        for (Plan& plan : plans) {
          Vertex& send = plan.vertices[find(plan, Action::kSend)];
          send.peer = Steps::affine((plan.rank + 1) % plan.size, 1, plan.size);
          send.block = send.peer;
        }
      },
      "deadlock");
}

TEST(PlantedBugs, SpreadReadersEachInAnOrderOfTheirOwn) {
  expect_found(
      spread_call(),
      [](std::vector<Plan>& plans) {
        for (Plan& plan : plans) {
          const std::uint16_t id = find(plan, Action::kRecv);
          plan.vertices.resize(id + 1u);
          Vertex& recv = plan.vertices[id];
          recv.peer = Steps::affine((plan.rank + 1) % plan.size, 1, plan.size);
          recv.block = recv.peer;
          recv.steps = static_cast<std::uint32_t>(plan.size - 1);
          recv.indices.count = recv.steps * recv.indices.inner;
        }
      },
      "deadlock");
}

TEST(PlantedBugs, SpreadPublishesUnfinishedBlocks) {
  expect_found(
      spread_call(),
      [](std::vector<Plan>& plans) {
        for (Dependency& need : plans[2].vertices[find(plans[2], Action::kPublish)].needs) {
          if (need.steps < 0) need.steps = 0;
        }
      },
      "overwrites a place that is being sent");
}

TEST(PlantedBugs, SpreadCombinesOutOfOrder) {
  expect_found(
      spread_call(),
      [](std::vector<Plan>& plans) {
        const std::uint16_t combine = find(plans[2], Action::kCombine);
        drop_edges(plans[2], combine, combine);
      },
      "rank 2 v2");
}

// Right when input and output differ: output = view, then output = input op output.
TEST(PlantedBugs, InputOverwrittenBeforeItIsReadInPlace) {
  PlanRequest request = call(Collective::kReduce, 2, 3);
  std::vector<Plan> plans = make_plans(request);
  Plan& root = plans[0];
  const std::uint16_t first = find(root, Action::kCombine);
  Vertex second = root.vertices[first];
  root.vertices[first].operands.erase(root.vertices[first].operands.begin());
  second.operands = {{Place::kInput, 0}, {Place::kOutput, 0}};
  second.needs = {{first, 0}};
  root.vertices.push_back(second);
  recompute_feeds(root);
  EXPECT_EQ(check(plans, request, {.in_place = false}).error, "");
  EXPECT_NE(check(plans, request, {.in_place = true}).error, "");
}

}  // namespace
}  // namespace espalier::plan_check
