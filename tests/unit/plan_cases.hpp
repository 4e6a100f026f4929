// What the plan tests share: the trees and calls to try, and how to run the checker on a call.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/plan_checker.hpp"

namespace espalier::plan_check {

struct ShapeCase {
  esp_shape shape;
  std::int32_t radix;
};

inline const std::vector<ShapeCase>& shape_cases() {
  static const std::vector<ShapeCase> cases = {
      {ESP_SHAPE_FLAT, 2},          {ESP_SHAPE_CHAIN, 2},   {ESP_SHAPE_BINARY, 2},
      {ESP_SHAPE_BINOMIAL, 2},      {ESP_SHAPE_KARY, 1},    {ESP_SHAPE_KARY, 3},
      {ESP_SHAPE_KNOMIAL, 3},       {ESP_SHAPE_KNOMIAL, 8}, {ESP_SHAPE_TWO_TREE, 2},
      {ESP_SHAPE_DOUBLE_LEADER, 2},
  };
  return cases;
}

// A call whose message is `segments` segments of 4 elements of 8 bytes, the last one shorter.
inline PlanRequest call(Collective collective, std::int32_t size, std::uint64_t segments) {
  PlanRequest request;
  request.collective = collective;
  request.size = size;
  request.element_bytes = 8;
  request.segment_bytes = 32;
  request.elements = segments * 4 - 1;
  request.window_send = 3;
  request.window_recv = 5;
  return request;
}

inline std::vector<Plan> make_plans(const PlanRequest& request) {
  std::vector<Plan> plans;
  plans.reserve(static_cast<std::size_t>(request.size));
  for (std::int32_t rank = 0; rank < request.size; ++rank) {
    PlanRequest mine = request;
    mine.rank = rank;
    Result<Plan> plan = make_plan(mine);
    if (!plan) {
      ADD_FAILURE() << plan.error().text;
      return {};
    }
    plans.push_back(std::move(*plan));
  }
  return plans;
}

inline std::string describe(const PlanRequest& r) {
  return std::string(collective_name(r.collective)) + " size " + std::to_string(r.size) + " root " +
         std::to_string(r.root) + " algorithm " + std::to_string(r.algorithm) + " shape " +
         std::to_string(r.shape) + " radix " + std::to_string(r.radix) + " variant " +
         std::to_string(r.variant) + " elements " + std::to_string(r.elements) + " windows " +
         std::to_string(r.window_send) + "/" + std::to_string(r.window_recv) +
         (r.commutative ? "" : " rank order");
}

inline std::string describe(const Schedule& s) {
  return " | order " + std::to_string(static_cast<int>(s.order)) + " seed " +
         std::to_string(s.seed) + (s.in_order_posts ? " in-order posts" : "") +
         (s.in_place ? " in place" : "") + (s.all_or_none ? " publications to all or none" : "") +
         (s.holds_views ? " views hold their sends" : "");
}

// Adversarial, seeded and orderly executions, in place and not.
inline std::vector<Schedule> schedules(std::uint64_t seed, std::int32_t size) {
  const auto starved = static_cast<std::int32_t>(seed % static_cast<std::uint64_t>(size));
  return {
      {.order = Order::kRandom, .seed = seed, .in_place = seed % 2 == 0},
      {.order = Order::kLifo, .in_place = seed % 2 == 1},
      {.order = Order::kStarve, .seed = seed, .starved = starved, .in_place = seed % 2 == 0},
      {.order = Order::kFifo, .in_order_posts = true, .in_place = seed % 2 == 1},
      {.order = Order::kStarve,
       .seed = seed,
       .starved = starved,
       .in_order_posts = true,
       .all_or_none = true},
      {.order = Order::kRounds, .in_place = true},
      {.order = Order::kRandom,
       .seed = seed,
       .in_place = seed % 2 == 1,
       .late_moves = true,
       .all_or_none = true},
      {.order = Order::kRandom, .seed = seed, .in_place = seed % 2 == 0, .holds_views = true},
  };
}

inline bool expect_correct(const std::vector<Plan>& plans, const PlanRequest& request,
                           const Schedule& schedule) {
  const Report report = check(plans, request, schedule);
  EXPECT_TRUE(report.ok()) << describe(request) << describe(schedule) << "\n  " << report.error;
  return report.ok();
}

inline bool expect_correct_under_all_schedules(const PlanRequest& request, std::uint64_t seed) {
  const std::vector<Plan> plans = make_plans(request);
  if (plans.empty()) return false;
  for (const Schedule& schedule : schedules(seed, request.size)) {
    if (!expect_correct(plans, request, schedule)) return false;
  }
  return true;
}

// The plans as if members were numbered in the order of nodes: partial results are runs then, as
// the checker wants them.
inline std::vector<Plan> in_node_order(const std::vector<Plan>& plans, const TeamNodes& nodes) {
  std::vector<Plan> renamed(plans.size());
  const auto name = [&](std::int32_t member) {
    return member < 0 ? member : nodes.position_of(member);
  };
  for (const Plan& plan : plans) {
    Plan copy = plan;
    copy.rank = name(plan.rank);
    for (Vertex& vertex : copy.vertices) {
      vertex.peer.first = name(vertex.peer.first);
      for (std::int32_t& peer : vertex.peers) peer = name(peer);
    }
    renamed[static_cast<std::size_t>(copy.rank)] = std::move(copy);
  }
  return renamed;
}

inline bool publishes_only_inside(const std::vector<Plan>& plans, const TeamNodes& nodes) {
  for (const Plan& plan : plans) {
    for (const Vertex& vertex : plan.vertices) {
      for (const std::int32_t peer : vertex.peers) {
        EXPECT_TRUE(nodes.together(plan.rank, peer)) << plan.rank << " publishes to " << peer;
        if (!nodes.together(plan.rank, peer)) return false;
      }
    }
  }
  return true;
}

}  // namespace espalier::plan_check
