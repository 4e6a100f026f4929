// Choice by costs: estimates beside predictions, and what is chosen beside all that could be.
#include "coll/choice/cheapest.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "coll/choice/choose_nodes.hpp"
#include "coll/choice/estimate.hpp"
#include "coll/choice/explain.hpp"
#include "coll/choice/predict.hpp"
#include "tests/unit/plan_cases.hpp"

namespace espalier::cheapest_check {
namespace {

using plan_check::expect_correct;
using plan_check::make_plans;
using plan_check::Schedule;
using plan_check::schedules;

constexpr esp_coll_options kAuto = ESP_COLL_OPTIONS_INIT;

TeamNodes equal_nodes(std::int32_t nodes, std::int32_t each) {
  std::vector<std::int32_t> of;
  for (std::int32_t m = 0; m < nodes * each; ++m) of.push_back(m / each);
  return TeamNodes::of(of);
}

struct Team {
  std::int32_t nodes, each;
};
constexpr Team kTeams[] = {{2, 1}, {2, 4}, {5, 3}, {8, 1}, {16, 4}, {24, 2}};
constexpr Collective kOfCosts[] = {
    Collective::kBarrier,           Collective::kBcast,     Collective::kReduce,
    Collective::kAllreduce,         Collective::kAllgather, Collective::kAlltoall,
    Collective::kReduceScatterBlock};

PlanRequest base(Collective collective, const TeamNodes& nodes, std::uint64_t bytes) {
  PlanRequest request;
  request.collective = collective;
  request.size = nodes.size();
  request.element_bytes = 8;
  request.elements = collective == Collective::kBarrier ? 0 : bytes / 8;
  request.nodes.nodes = &nodes;
  return request;
}

PlanRequest resolved(const PlanRequest& request, const Tuning& tuning = {},
                     const esp_coll_options& options = kAuto) {
  auto made = resolve(options, request, tuning);
  EXPECT_TRUE(made.ok());
  return made.ok() ? *made : request;
}

Tuning by_costs(NetworkClass network) {
  Tuning tuning;
  tuning.network = network;
  tuning.costs = Costs::typical(network, CoreClass::kOwn);
  return tuning;
}

// What could be done for a call, complete.
std::vector<PlanRequest> candidates(const PlanRequest& request) {
  std::vector<PlanRequest> all = {resolved(request)};
  for (const esp_algorithm algorithm :
       {ESP_ALGORITHM_RING, ESP_ALGORITHM_BRUCK, ESP_ALGORITHM_HALVING, ESP_ALGORITHM_DOUBLING,
        ESP_ALGORITHM_ONE_FACTOR, ESP_ALGORITHM_TREE}) {
    esp_coll_options options = kAuto;
    options.algorithm = algorithm;
    const bool trees = algorithm == ESP_ALGORITHM_TREE && has_shapes(request.collective);
    if (exists(algorithm, request) && !trees) all.push_back(resolved(request, {}, options));
  }
  if (!has_shapes(request.collective)) return all;
  Tuning trees;
  trees.spread_node_bytes = ~std::uint64_t{0} >> 8;
  PlanRequest tree = resolved(request, trees);
  tree.nodes.exchange_radix = 0;
  tree.nodes.spread = false;
  for (const std::uint64_t segment : {4096U, 16384U, 65536U, 262144U}) {
    if (segment > 4096 && segment / 4 > message_bytes(request)) break;
    tree.segment_bytes = segment;
    for (const esp_shape shape :
         {ESP_SHAPE_FLAT, ESP_SHAPE_CHAIN, ESP_SHAPE_BINARY, ESP_SHAPE_BINOMIAL}) {
      tree.shape = shape;
      all.push_back(tree);
      if (tree.nodes.nodes->largest == 1) continue;
      all.push_back(tree);
      all.back().nodes.stripes = 2;
    }
  }
  return all;
}

std::string name_of(const PlanRequest& request) {
  auto plan = make_plan(request);
  return fmt::format("{} of {} by {} on {}: {}", collective_name(request.collective),
                     message_bytes(request), request.size, request.nodes.nodes->count(),
                     plan.ok() ? plan->algorithm : plan.error().text);
}

template <typename Visit>
void for_each_call(const Visit& visit) {
  for (const Team& team : kTeams) {
    const TeamNodes nodes = equal_nodes(team.nodes, team.each);
    for (const Collective collective : kOfCosts) {
      for (const std::uint64_t bytes : {8U, 2048U, 65536U, 1048576U}) {
        const bool blocks = collective >= Collective::kAllgather;
        if (collective == Collective::kBarrier && bytes > 8) break;
        if (blocks && bytes > 65536) break;
        for (const NetworkClass network : {NetworkClass::kTcp, NetworkClass::kRdma}) {
          visit(base(collective, nodes, bytes), network);
        }
      }
    }
  }
}

// Closed forms know nothing of who waits for whom; where one is far off, choices are.
TEST(Estimate, IsNearThePrediction) {
  int estimates = 0;
  double worst = 1;
  for_each_call([&](const PlanRequest& request, NetworkClass network) {
    const Costs costs = Costs::typical(network, CoreClass::kOwn);
    for (const PlanRequest& candidate : candidates(request)) {
      const auto ns = estimate(candidate, costs);
      if (!ns) continue;
      const auto played = predict(candidate, costs);
      if (!played) continue;
      const double ratio = *ns / *played;
      EXPECT_GT(ratio, 0.4) << name_of(candidate) << ": " << *ns << " for " << *played;
      EXPECT_LT(ratio, 2.5) << name_of(candidate) << ": " << *ns << " for " << *played;
      worst = std::max({worst, ratio, 1 / ratio});
      ++estimates;
    }
  });
  EXPECT_GT(estimates, 500);
  RecordProperty("worst", std::to_string(worst));
}

// The promise: played with the same costs, nothing that could be chosen is much faster.
TEST(Cheapest, NothingIsMuchFaster) {
  std::vector<double> regrets, ruled;
  for_each_call([&](const PlanRequest& request, NetworkClass network) {
    const Tuning tuning = by_costs(network);
    const PlanRequest chosen = resolved(request, tuning);
    const auto ns = predict(chosen, *tuning.costs);
    if (!ns) return;
    double best = *ns;
    for (const PlanRequest& candidate : candidates(request)) {
      const auto other = predict(candidate, *tuning.costs);
      if (other) best = std::min(best, *other);
    }
    regrets.push_back(*ns / best);
    ruled.push_back(predict(resolved(request), *tuning.costs).value_or(0) / best);
    EXPECT_LT(regrets.back(), 1.7) << name_of(chosen);
  });
  ASSERT_GT(regrets.size(), 100U);
  std::ranges::sort(regrets);
  std::ranges::sort(ruled);
  EXPECT_LT(regrets[regrets.size() / 2], 1.05);
  EXPECT_LT(regrets[regrets.size() * 9 / 10], 1.3);
  EXPECT_GT(ruled.back(), 2) << "rules alone are far off somewhere, or this proves nothing";
}

TEST(Cheapest, OnlyWhereNobodyElseChooses) {
  const TeamNodes nodes = equal_nodes(16, 4);
  const PlanRequest request = base(Collective::kBcast, nodes, 1 << 20);
  const Tuning rules;
  const PlanRequest ruled = resolved(request, rules);
  Tuning tuning = by_costs(NetworkClass::kTcp);
  ASSERT_FALSE(resolved(request, tuning) == ruled) << "else this shows nothing";
  const auto expect_ruled = [&](const esp_coll_options& options, const Tuning& with) {
    Tuning without = with;
    without.costs.reset();
    EXPECT_EQ(resolved(request, with, options), resolved(request, without, options));
  };
  esp_coll_options options = kAuto;
  options.shape = ESP_SHAPE_BINARY;
  expect_ruled(options, tuning);
  options = kAuto;
  options.algorithm = ESP_ALGORITHM_TREE;
  expect_ruled(options, tuning);
  Tuning set = tuning;
  set.level_shapes.nodes = {ESP_SHAPE_FLAT, 2};
  expect_ruled(kAuto, set);
  set = tuning;
  set.preferred_algorithm = ESP_ALGORITHM_TREE;
  expect_ruled(kAuto, set);
  options = kAuto;
  options.segment_bytes = 12345;
  EXPECT_EQ(resolved(request, tuning, options).segment_bytes, 12345U);
  Tuning inner = tuning;
  inner.costs->pull_bytes = 1;  // and who reads beside others is slow: trees of pairs pay inside
  inner.costs->reader_per_byte = 100;
  EXPECT_EQ(resolved(request, inner).nodes.inside, ESP_SHAPE_BINOMIAL);
  inner.level_shapes.inside = {ESP_SHAPE_FLAT, 2};
  EXPECT_EQ(resolved(request, inner).nodes.inside, ESP_SHAPE_FLAT);
  set = tuning;
  set.segments_are_set = true;
  EXPECT_EQ(resolved(request, set).segment_bytes, ruled.segment_bytes);
  PlanRequest inside = request;
  inside.nodes = {};
  EXPECT_EQ(resolved(inside, tuning), resolved(inside, rules)) << "one node";
}

// All members choose alike, and what they choose works: costs drawn at random find odd choices.
TEST(Cheapest, WhatIsChosenIsCorrect) {
  std::uint64_t seed = 1;
  int others = 0;
  for (const Team& team : {Team{2, 3}, {3, 1}, {4, 2}, {7, 1}}) {
    const TeamNodes nodes = equal_nodes(team.nodes, team.each);
    for (const Collective collective : kOfCosts) {
      for (int draw = 0; draw < 5; ++draw) {
        Tuning tuning = by_costs(draw % 2 == 0 ? NetworkClass::kTcp : NetworkClass::kRdma);
        tuning.costs->between.message *= std::pow(10, draw - 3);
        tuning.costs->between.port_per_byte *= std::pow(10, 2 - draw % 4);
        tuning.costs->reader_per_byte = draw % 3;
        const PlanRequest request = base(collective, nodes, draw % 3 == 0 ? 64 : 10000);
        PlanRequest chosen = resolved(request, tuning);
        if (!(chosen == resolved(request))) ++others;
        const std::vector<Plan> plans = make_plans(chosen);
        ASSERT_FALSE(plans.empty()) << name_of(chosen);
        for (std::int32_t rank = 0; rank < chosen.size; ++rank) {
          PlanRequest own = request;
          own.rank = rank;
          own = resolved(own, tuning);
          chosen.rank = rank;
          ASSERT_EQ(own, chosen);
        }
        for (const Schedule& schedule : schedules(++seed, chosen.size)) {
          ASSERT_TRUE(expect_correct(plans, chosen, schedule)) << name_of(chosen);
        }
      }
    }
  }
  EXPECT_GT(others, 25) << "choices that are not the rules'";
}

TEST(Cheapest, ExplainsItself) {
  const TeamNodes nodes = equal_nodes(16, 1);
  const Tuning tuning = by_costs(NetworkClass::kRdma);
  const std::string text = explain(kAuto, base(Collective::kBcast, nodes, 4 << 20), tuning, false);
  EXPECT_NE(text.find("a tree over nodes that costs least; predicted "), std::string::npos) << text;
}

TEST(Costs, TheSlowestPortCounts) {
  const Costs usual = Costs::typical(NetworkClass::kTcp, CoreClass::kOwn);
  const Costs slow = Costs::typical(NetworkClass::kTcp, CoreClass::kOwn, 1000);
  EXPECT_DOUBLE_EQ(slow.between.port_per_byte, 8) << "a gigabit";
  EXPECT_LT(usual.between.port_per_byte, 1);
  EXPECT_DOUBLE_EQ(slow.between.latency, usual.between.latency);
}

}  // namespace
}  // namespace espalier::cheapest_check
