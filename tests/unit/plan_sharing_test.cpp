// Plans whose members read each other's memory of devices (coll/algorithms/sharing.cpp).
#include <algorithm>

#include "tests/unit/plan_hazards.hpp"
#include "tests/unit/plan_makers.hpp"

namespace espalier::plan_check {
namespace {

PlanRequest shared_bcast(std::int32_t rank, std::int32_t root) {
  PlanRequest request = call(Collective::kBcast, 8, 17);
  request.algorithm = ESP_ALGORITHM_PUBLISH;
  request.rank = rank;
  request.root = root;
  request.packs_output = request.moves = request.shares = true;
  return request;
}

Plan made(const PlanRequest& request) {
  auto plan = make_plan(request);
  EXPECT_TRUE(plan.ok());
  return std::move(*plan);
}

TEST(SharingPlans, ARootPublishesWhatLiesOnItsDevice) {
  const Plan plan = made(shared_bcast(3, 3));
  ASSERT_EQ(plan.vertices.size(), 1U) << plan.to_text();  // Nothing is packed.
  EXPECT_EQ(plan.vertices[0].action, Action::kPublish);
  EXPECT_EQ(plan.vertices[0].src, Place::kUserOutput);
}

TEST(SharingPlans, AReaderUnpacksFromWhereItLies) {
  const Plan plan = made(shared_bcast(2, 3));
  ASSERT_EQ(plan.vertices.size(), 2U) << plan.to_text();
  EXPECT_TRUE(plan.vertices[0].stays);
  EXPECT_TRUE(plan.vertices[1].operands[0].stays);
  EXPECT_EQ(plan.vertices[1].dst, Place::kUserOutput);
}

// What comes from the network is in memory of the host, and goes on to the network from there; to
// the own node from the leader's device, once it is there.
TEST(SharingPlans, ALeaderSharesWhatItHasUnpacked) {
  PlanRequest request = over(nodes_in_order(), call(Collective::kBcast, 8, 17));
  request.shape = ESP_SHAPE_CHAIN;
  request.packs_output = request.moves = request.shares = true;
  request.rank = 3;  // of the second node of three
  const Plan plan = made(request);
  int far = 0, near = 0;
  for (const Vertex& v : plan.vertices) {
    EXPECT_FALSE(v.stays);
    if (v.action != Action::kSend && v.action != Action::kPublish) continue;
    if (v.src == Place::kOutput) ++far;
    if (v.src != Place::kUserOutput) continue;
    ++near;
    const bool follows = std::any_of(v.needs.begin(), v.needs.end(), [&](const Dependency& need) {
      return plan.vertices[need.vertex].dst == Place::kUserOutput;
    });
    EXPECT_TRUE(follows) << plan.to_text();
  }
  EXPECT_EQ(far, 1) << plan.to_text();
  EXPECT_EQ(near, 1) << plan.to_text();
}

// Where adapters take memory of devices it goes on from the leader's, to the network, too.
TEST(SharingPlans, ALeaderSendsFromItsDeviceWhereAdaptersDo) {
  PlanRequest request = over(nodes_in_order(), call(Collective::kBcast, 8, 17));
  request.shape = ESP_SHAPE_CHAIN;
  request.packs_output = request.moves = request.shares = request.direct = true;
  request.rank = 3;
  const Plan plan = made(request);
  int landing = 0;
  for (const Vertex& v : plan.vertices) {
    landing += v.lands ? 1 : 0;
    EXPECT_EQ(v.lands, v.stays) << "what comes from the network alone";
    const bool sends = v.action == Action::kSend || v.action == Action::kPublish;
    EXPECT_TRUE(!sends || v.src == Place::kUserOutput) << plan.to_text();
  }
  EXPECT_EQ(landing, 1) << plan.to_text();
}

// The others of the node want it on the host: it comes there at once.
TEST(SharingPlans, WhatTheNodeWantsOnTheHostComesThere) {
  PlanRequest request = over(nodes_in_order(), call(Collective::kBcast, 8, 17));
  request.shape = ESP_SHAPE_CHAIN;
  request.packs_output = request.moves = request.direct = true;
  request.rank = 3;
  for (const Vertex& v : made(request).vertices) EXPECT_FALSE(v.stays || v.lands);
}

// By multicast: likewise, whatever the root has. It publishes what the host has.
TEST(SharingPlans, WhatIsPublishedByMulticastLandsOnDevices) {
  const TeamNodes nodes = TeamNodes::of(std::vector<std::int32_t>{0, 1, 1, 2});
  PlanRequest request = over(nodes, call(Collective::kBcast, 4, 17));
  request.nodes.multicast = true;
  request.packs_output = request.moves = request.direct = true;
  for (const bool shares : {false, true}) {
    request.shares = shares;
    for (request.rank = 0; request.rank < request.size; ++request.rank) {
      const Plan plan = made(request);
      for (const Vertex& v : plan.vertices) {
        const bool by_group = v.transfer.path == Path::kMulticast;
        const bool alone = plan.rank == 0 || plan.rank == 3;
        const bool lands = by_group && v.action == Action::kRecv && (shares || alone);
        EXPECT_EQ(v.lands, lands) << plan.to_text();
        EXPECT_TRUE(!by_group || v.src != Place::kUserOutput) << plan.to_text();
      }
    }
  }
}

TEST(SharingPlans, PartialResultsGoByTheHostBetweenNodes) {
  PlanRequest request = over(nodes_in_order(), call(Collective::kAllreduce, 8, 17));
  request.packs_input = request.packs_output = request.moves = request.direct = true;
  for (request.rank = 0; request.rank < request.size; ++request.rank) {
    for (const Vertex& v : made(request).vertices) EXPECT_FALSE(v.stays || v.lands);
  }
}

TEST(SharingPlans, AnAllgatherGoesFromDeviceToDevice) {
  PlanRequest request = call(Collective::kAllgather, 4, 17);
  request.algorithm = ESP_ALGORITHM_PUBLISH;
  request.packs_input = request.packs_output = request.moves = request.shares = true;
  request.rank = 1;
  const Plan plan = made(request);
  for (const Vertex& v : plan.vertices) {
    EXPECT_TRUE(v.action != Action::kPublish || v.src == Place::kUserInput) << plan.to_text();
    EXPECT_TRUE(v.action != Action::kRecv || v.stays) << plan.to_text();
  }
}

TEST(SharingPlans, WhatIsCombinedIsPackedAsBefore) {
  PlanRequest request = call(Collective::kAllreduce, 8, 17);
  request.packs_input = request.packs_output = request.moves = request.shares = true;
  for (request.rank = 0; request.rank < request.size; ++request.rank) {
    for (const Vertex& v : made(request).vertices) EXPECT_NE(v.src, Place::kUserInput);
  }
}

// Of movers, what is read in its sender's memory is read until a kernel is through.
std::vector<Schedule> with_held_moves(std::int32_t size) {
  std::vector<Schedule> all = schedules(31, size);
  for (const Order order : {Order::kRandom, Order::kLifo, Order::kStarve}) {
    Schedule held;
    held.order = order;
    held.seed = 37;
    held.late_moves = held.holds_views = true;
    all.push_back(held);
  }
  return all;
}

// Any member may have devices, share, or combine, whatever the others do. How many vertices share.
int check_mixed(const MadeRequest& one, std::mt19937& random) {
  int shared = 0;
  PlanRequest asked = one.request;
  if (asked.nodes.follow) asked.commutative = false;  // combined in the order of nodes
  const CollectiveTraits& traits = traits_of(one.request.collective);
  for (int turn = 0; turn < 4; ++turn) {
    std::vector<Plan> plans;
    for (std::int32_t rank = 0; rank < one.request.size; ++rank) {
      PlanRequest mine = one.request;
      mine.rank = rank;
      const bool is_root = rank == mine.root, all = turn == 0;
      mine.packs_input = (all || random() % 3 != 0) && traits.input != Extent::kNone &&
                         (is_root || !traits.root_sends);
      mine.packs_output = (all || random() % 3 != 0) && (is_root || !traits.root_gets);
      mine.moves = true;
      mine.shares = all || random() % 2 != 0;
      mine.direct = all || random() % 2 != 0;
      mine.combines = traits.reduces && (all || random() % 2 != 0);
      plans.push_back(made(mine));
      for (const Vertex& v : plans.back().vertices) {
        if (v.stays || v.src >= Place::kUserInput) ++shared;
        EXPECT_FALSE(plans.back().on_device && (v.leaves || v.action == Action::kRecv));
      }
    }
    for (Schedule schedule : with_held_moves(one.request.size)) {
      schedule.in_place = false;
      if (!expect_correct(plans, asked, schedule)) return shared;
    }
    EXPECT_EQ(find_hazard(plans, std::vector<std::int64_t>(plans.size(), -1)), "");
  }
  return shared;
}

TEST(SharingPlans, AroundEveryPlan) {
  std::mt19937 random(29);
  int shared = 0;
  for (const MadeRequest& one : made_requests()) {
    SCOPED_TRACE(one.name);
    if (one.request.in_place) continue;
    shared += check_mixed(one, random);
    if (HasFailure()) return;
  }
  EXPECT_GT(shared, 400);
}

// More pieces than windows.
TEST(SharingPlans, AroundLongAllreduces) {
  std::mt19937 random(31);
  for (const esp_algorithm algorithm :
       {ESP_ALGORITHM_PUBLISH, ESP_ALGORITHM_SPREAD, ESP_ALGORITHM_RING, ESP_ALGORITHM_DOUBLING,
        ESP_ALGORITHM_HALVING, ESP_ALGORITHM_TREE}) {
    for (const std::int32_t size : {2, 4, 8}) {
      PlanRequest request = call(Collective::kAllreduce, size, 40);
      request.algorithm = algorithm;
      SCOPED_TRACE(describe(request));
      (void)check_mixed({"", request}, random);
      if (HasFailure()) return;
    }
  }
}

PlanRequest reduction_on_devices(Collective collective, std::int32_t size, std::uint64_t segments) {
  PlanRequest request = call(collective, size, segments);
  request.packs_input = request.packs_output = true;
  request.moves = request.shares = request.combines = true;
  return request;
}

// All of it is the device's, also what a member combines for another.
TEST(OnDevicePlans, NothingIsPacked) {
  PlanRequest request = reduction_on_devices(Collective::kAllreduce, 7, 17);
  for (const esp_shape shape : {ESP_SHAPE_CHAIN, ESP_SHAPE_BINOMIAL, ESP_SHAPE_TWO_TREE}) {
    request.shape = shape;
    for (request.rank = 0; request.rank < request.size; ++request.rank) {
      const Plan plan = made(request);
      EXPECT_TRUE(plan.on_device && !plan.packs_input && !plan.packs_output) << plan.to_text();
      for (const Vertex& v : plan.vertices) {
        EXPECT_NE(v.action, Action::kRecv);
        EXPECT_EQ(v.stays, v.action == Action::kRecvView);
      }
    }
  }
}

TEST(OnDevicePlans, OnlyOnOneNodeAndWhereTheDeviceCombines) {
  PlanRequest request = reduction_on_devices(Collective::kAllreduce, 8, 17);
  request.combines = false;
  EXPECT_FALSE(made(request).on_device);
  PlanRequest far = over(nodes_in_order(), request);
  far.combines = true;
  EXPECT_FALSE(made(far).on_device);
  request.combines = true;
  EXPECT_TRUE(made(request).on_device);
  request.algorithm = ESP_ALGORITHM_DOUBLING;
  EXPECT_TRUE(made(request).on_device);
  request.replaces = true;
  EXPECT_FALSE(made(request).on_device) << "doubling in place";
}

// A sum that a partner reads where it lies is not replaced before that: two places by turns.
TEST(OnDevicePlans, DoublingAlternates) {
  for (const std::int32_t size : {2, 3, 4, 6, 8, 13}) {
    PlanRequest request = reduction_on_devices(Collective::kAllreduce, size, 3);
    request.algorithm = ESP_ALGORITHM_DOUBLING;
    for (request.rank = 0; request.rank < size; ++request.rank) {
      const Plan plan = made(request);
      Place sum = Place::kInput;
      for (const Vertex& v : plan.vertices) {
        if (v.action != Action::kCombine || v.operands.size() == 1) continue;
        EXPECT_NE(v.dst, sum) << plan.to_text();
        sum = v.dst;
      }
      EXPECT_TRUE(sum == Place::kOutput || sum == Place::kInput) << plan.to_text();
    }
  }
}

void check_in_place(PlanRequest request) {
  SCOPED_TRACE(describe(request));
  std::vector<Plan> plans;
  request.replaces = true;
  for (request.rank = 0; request.rank < request.size; ++request.rank) {
    plans.push_back(made(request));
    EXPECT_TRUE(plans.back().on_device);
  }
  for (Schedule schedule : with_held_moves(request.size)) {
    schedule.in_place = true;
    if (!expect_correct(plans, request, schedule)) return;
  }
  EXPECT_EQ(find_hazard(plans, std::vector<std::int64_t>(plans.size(), 0)), "");
}

TEST(OnDevicePlans, InPlace) {
  for (const std::int32_t size : {2, 3, 4, 7, 8}) {
    for (const std::uint64_t segments : {1, 40}) {
      PlanRequest request = reduction_on_devices(Collective::kAllreduce, size, segments);
      for (const esp_algorithm algorithm : {ESP_ALGORITHM_PUBLISH, ESP_ALGORITHM_SPREAD,
                                            ESP_ALGORITHM_RING, ESP_ALGORITHM_HALVING}) {
        request.algorithm = algorithm;
        check_in_place(request);
      }
      request.algorithm = ESP_ALGORITHM_TREE;
      for (const ShapeCase& shape : shape_cases()) {
        request.shape = shape.shape;
        request.radix = shape.radix;
        check_in_place(request);
      }
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace espalier::plan_check
