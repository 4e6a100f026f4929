// The plans that a team keeps: for whom, how many, and who goes.
#include "coll/engine/plan_cache.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "coll/engine/engine.hpp"

namespace espalier {
namespace {

PlanKey bcast_key(std::uint64_t count) {
  PlanKey key;
  key.collective = Collective::kBcast;
  key.count = count;
  return key;
}

// A plan whose instance is little more than so many bytes.
Plan plan_with(std::uint64_t scratch_bytes) {
  Plan plan;
  plan.layouts.push_back({.kind = Layout::Kind::kRing, .elements = scratch_bytes});
  return plan;
}

void use_once(PlanCache& cache, PlanEntry& entry) {
  Instance* instance = cache.take(entry);
  ASSERT_NE(instance, nullptr);
  cache.give_back(*instance);
}

TEST(PlanCache, TheOneNotUsedForLongestGoes) {
  PlanCache cache;
  cache.set_limits({.plans = 3});
  for (std::uint64_t n = 1; n <= 3; ++n) use_once(cache, cache.add(bcast_key(n), plan_with(0)));
  use_once(cache, *cache.find(bcast_key(1)));
  use_once(cache, cache.add(bcast_key(4), plan_with(0)));
  EXPECT_EQ(cache.plans(), 3U);
  EXPECT_EQ(cache.find(bcast_key(2)), nullptr);
  for (const std::uint64_t n : {1, 3, 4}) EXPECT_NE(cache.find(bcast_key(n)), nullptr) << n;
}

// Of a team that has failed: others may still read what was sent from there.
TEST(PlanCache, WhenAllIsKeptNothingGoes) {
  PlanCache cache;
  cache.set_limits({.plans = 1, .plans_least = 0});
  std::vector<Instance*> under_way;
  for (std::uint64_t n = 1; n <= 5; ++n) {
    under_way.push_back(cache.take(cache.add(bcast_key(n), plan_with(1 << 20))));
    ASSERT_NE(under_way.back(), nullptr);
  }
  cache.keep_all();
  for (Instance* instance : under_way) cache.give_back(*instance);
  EXPECT_EQ(cache.plans(), 5U);
}

TEST(PlanCache, ManyShapesHoldABoundedNumberOfBytes) {
  constexpr std::uint64_t kEach = 64 << 10, kMost = 1 << 20;
  PlanCache cache;
  cache.set_limits({.plans = 64, .bytes = kMost, .plans_least = 2});
  for (std::uint64_t n = 1; n <= 1000; ++n) {
    use_once(cache, cache.add(bcast_key(n), plan_with(kEach)));
    ASSERT_LE(cache.idle_bytes(), kMost);
  }
  EXPECT_EQ(cache.plans(), kMost / (kEach + (kEach >> 4)));
  // Few stay however large they are.
  for (std::uint64_t n = 1; n <= 10; ++n) {
    use_once(cache, cache.add(bcast_key(n + 1000), plan_with(2 * kMost)));
  }
  EXPECT_EQ(cache.plans(), 2U);
  EXPECT_NE(cache.find(bcast_key(1009)), nullptr);
}

TEST(PlanCache, WhatManyOperationsOfOneShapeHaveTakenCounts) {
  PlanCache cache;
  cache.set_limits({.plans = 64, .bytes = 1 << 20, .plans_least = 1});
  PlanEntry& entry = cache.add(bcast_key(1), plan_with(64 << 10));
  std::vector<Instance*> running;
  for (int i = 0; i < 100; ++i) running.push_back(cache.take(entry));
  for (Instance* one : running) cache.give_back(*one);
  EXPECT_GT(cache.idle_bytes(), 100U * (64 << 10));
  use_once(cache, cache.add(bcast_key(2), plan_with(0)));
  EXPECT_EQ(cache.find(bcast_key(1)), nullptr);
  EXPECT_LT(cache.idle_bytes(), 64U << 10);
}

TEST(PlanCache, APlanInUseStays) {
  PlanCache cache;
  cache.set_limits({.plans = 2});
  PlanEntry& used = cache.add(bcast_key(1), plan_with(0));
  Instance* first = cache.take(used);
  Instance* second = cache.take(used);
  for (std::uint64_t n = 2; n <= 100; ++n) use_once(cache, cache.add(bcast_key(n), plan_with(0)));
  EXPECT_EQ(cache.find(bcast_key(1)), &used);
  EXPECT_EQ(cache.plans(), 3U);
  cache.give_back(*first);
  EXPECT_EQ(cache.plans(), 3U);
  cache.give_back(*second);  // used last: another goes
  EXPECT_EQ(cache.plans(), 2U);
  EXPECT_EQ(cache.find(bcast_key(1)), &used);
}

// A rank alone, so that operations end at once.
struct Alone {
  Alone() : engine(counters, trace, Tuning()) {
    auto membership = std::make_shared<Membership>();
    membership->ranks = {0};
    team.segment_limit = 1 << 20;
    team.set_membership(0, membership);
  }
  void bcast(std::uint64_t count, const esp_coll_options& options) {
    Call call;
    call.collective = Collective::kBcast;
    call.count = count;
    call.input = call.output = buffer.data();
    call.options = options;
    auto started = engine.start(team, call, {});
    ASSERT_TRUE(started.ok()) << started.error().text;
    ASSERT_TRUE(started->done && started->status.ok());
  }

  Counters counters;
  Trace trace;
  Engine engine;
  Team team;
  std::vector<std::byte> buffer = std::vector<std::byte>(4096);
};

// As a benchmark makes them, in turn.
TEST(PlanCache, CallsThatDifferInOptionsOnlyKeepTheirPlans) {
  std::vector<esp_coll_options> kinds;
  for (const int radix : {2, 3, 4, 5}) {
    for (const std::size_t segment : {64, 128, 1024}) {
      for (const int window : {2, 4}) {
        esp_coll_options options = ESP_COLL_OPTIONS_INIT;
        options.shape = ESP_SHAPE_KARY;
        options.radix = radix;
        options.segment_bytes = segment;
        options.window_recv = window;
        kinds.push_back(options);
      }
    }
  }
  Alone rank;
  for (int round = 0; round < 10; ++round) {
    for (const esp_coll_options& options : kinds) rank.bcast(4096, options);
  }
  EXPECT_EQ(rank.counters.plans_built.value(), kinds.size());
  EXPECT_EQ(rank.counters.plans_reused.value(), 9 * kinds.size());
}

TEST(PlanCache, OfManyCallsFewPlansAreKept) {
  Alone rank;
  const esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  for (std::uint64_t count = 1; count <= 1000; ++count) rank.bcast(count, options);
  EXPECT_EQ(rank.team.plans.plans(), PlanCache::Limits().plans);
}

}  // namespace
}  // namespace espalier
