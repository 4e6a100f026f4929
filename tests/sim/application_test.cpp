// What simulated ranks do beside an operation: times as computed by hand on the flat machine, where
// a message of s bytes takes 200 ns, s / 8 ns and 1000 ns on the way, and 200 ns.
#include "tools/esp-sim/application.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tools/esp-sim/cluster.hpp"

namespace espalier::test {
namespace {

using sim::Application;
using sim::Cluster;
using sim::ClusterOptions;
using sim::Consuming;
using sim::Consumption;
using sim::Operation;
using sim::Overlap;
using sim::RunResult;

constexpr std::uint64_t kBytes = 8000, kHop = 2400, kOverhead = 200;

RunResult run_with(const Application& application, const Operation& operation, std::uint32_t ranks,
                   bool carry = true) {
  auto machine = sim::load_machine("flat");
  auto map = sim::Map::create(*machine, ranks, 0, sim::Placement::kByCore, 1);
  ClusterOptions options;
  options.application = application;
  options.world.carry_data = carry;
  Cluster cluster(*machine, *map, options);
  auto result = cluster.run(operation);
  if (!result || !result->ok()) {
    ADD_FAILURE() << (result ? result->failure : result.error().text);
    return {};
  }
  return std::move(*result);
}

// One segment through a chain of ranks.
Operation chain() {
  Operation operation;
  operation.bytes = operation.options.segment_bytes = kBytes;
  operation.options.algorithm = ESP_ALGORITHM_TREE;
  operation.options.shape = ESP_SHAPE_CHAIN;
  return operation;
}

Operation exchange(esp_algorithm algorithm, std::uint64_t bytes = kBytes) {
  Operation operation;
  operation.collective = Collective::kAlltoall;
  operation.bytes = bytes;
  operation.options.algorithm = algorithm;
  return operation;
}

TEST(SimApplication, WithoutProgressAChainWaitsForTheComputation) {
  const std::uint64_t hops = 16, alone = hops * kHop;
  ASSERT_EQ(run_with({}, chain(), hops + 1).makespan_ns, alone);
  const Application computes = {.overlap = Overlap::kNone, .work_ns = alone};
  const RunResult result = run_with(computes, chain(), hops + 1);
  // The root's message is there long before the next rank looks.
  EXPECT_EQ(result.makespan_ns, alone + kOverhead + (hops - 1) * kHop);
  EXPECT_EQ(result.operation_ns, result.makespan_ns);
  EXPECT_EQ(result.work_ns, alone);
}

TEST(SimApplication, AThreadOfItsOwnHidesTheShorter) {
  const std::uint64_t hops = 16, alone = hops * kHop;
  for (const std::uint64_t work : {std::uint64_t{0}, alone / 2, alone, 2 * alone}) {
    const Application computes = {.overlap = Overlap::kThread, .work_ns = work};
    const RunResult result = run_with(computes, chain(), hops + 1);
    EXPECT_EQ(result.operation_ns, alone);
    EXPECT_EQ(result.makespan_ns, std::max(alone, work));
  }
}

TEST(SimApplication, OnASharedCoreTheComputationEndsLaterByWhatTheLibraryWorks) {
  const std::uint64_t hops = 16, alone = hops * kHop;
  const Application computes = {.overlap = Overlap::kShared, .work_ns = alone};
  const RunResult result = run_with(computes, chain(), hops + 1);
  EXPECT_EQ(result.operation_ns, alone);
  EXPECT_EQ(result.makespan_ns, alone + 2 * kOverhead);
  // What is done before the message comes is not pushed back: rank 1 works on it from 2200 on.
  const Application little = {.overlap = Overlap::kShared, .work_ns = kHop - kOverhead};
  EXPECT_EQ(run_with(little, chain(), 2).makespan_ns, kHop);
  const Application more = {.overlap = Overlap::kShared, .work_ns = kHop - kOverhead + 1};
  EXPECT_EQ(run_with(more, chain(), 2).makespan_ns, kHop + 1);
}

// Each rank posts a send (until 200), copies its own block (1200) and posts two more (1400, 1600):
// then its own block is delivered, the others an overhead after they arrive at 2200, 3400, 4400.
constexpr std::uint64_t kOwn = 1600, kFirst = 2400, kSecond = 3600, kThird = 4600;

TEST(SimApplication, GroupsAreWorkedOnAsTheyLand) {
  const Operation operation = exchange(ESP_ALGORITHM_RING);
  const std::uint64_t alone = run_with({}, operation, 4).makespan_ns;
  ASSERT_EQ(alone, kThird);
  Application eats = {.consuming = Consuming::kAfter, .ns_per_byte = 0.05};
  const std::uint64_t block = kBytes / 20;  // less than from one to the next: the consumer waits
  const RunResult after = run_with(eats, operation, 4);
  EXPECT_EQ(after.operation_ns, alone);
  EXPECT_EQ(after.work_ns, 4 * block);
  EXPECT_EQ(after.makespan_ns, alone + 4 * block);
  eats.consuming = Consuming::kPartial;
  EXPECT_EQ(run_with(eats, operation, 4).makespan_ns, alone + block);
  eats.group = 2;
  EXPECT_EQ(run_with(eats, operation, 4).makespan_ns, alone + 2 * block);
  eats.group = 3;
  EXPECT_EQ(run_with(eats, operation, 4).makespan_ns, kSecond + 3 * block + block);
  eats.group = 5;
  EXPECT_EQ(run_with(eats, operation, 4).makespan_ns, alone + 4 * block);
  // It has more to do than the network: it works from its own block on, or from the second.
  eats.ns_per_byte = 1;
  eats.group = 1;
  EXPECT_EQ(run_with(eats, operation, 4).makespan_ns, kOwn + 4 * kBytes);
  eats.group = 2;
  EXPECT_EQ(run_with(eats, operation, 4).makespan_ns, kFirst + 4 * kBytes);
}

TEST(SimApplication, AMergeCostsTheLogarithmOfItsRuns) {
  const Operation operation = exchange(ESP_ALGORITHM_RING);
  const std::uint64_t alone = run_with({}, operation, 4).makespan_ns;
  Application merges = {.consuming = Consuming::kAfter, .ns_per_byte = 0.05, .merges = true};
  const std::uint64_t pass = 4 * kBytes / 20;
  EXPECT_EQ(run_with(merges, operation, 4).makespan_ns, alone + 2 * pass);
  merges.consuming = Consuming::kPartial;  // of single blocks: all is left to the end
  EXPECT_EQ(run_with(merges, operation, 4).makespan_ns, alone + 2 * pass);
  merges.group = 2;
  const RunResult pairs = run_with(merges, operation, 4);
  EXPECT_EQ(pairs.work_ns, 2 * pass);
  EXPECT_EQ(pairs.makespan_ns, alone + pass / 2 + pass);
  merges.group = 4;
  EXPECT_EQ(run_with(merges, operation, 4).makespan_ns, alone + 2 * pass);
}

// Heat: the inner part is computed meanwhile, the outer one by the same core.
TEST(SimApplication, AConsumerBeginsWhenItsCoreHasComputed) {
  const Operation operation = exchange(ESP_ALGORITHM_RING);
  const std::uint64_t alone = kThird, block = kBytes / 20;
  Application heat = {.overlap = Overlap::kThread,
                      .work_ns = alone,
                      .consuming = Consuming::kAfter,
                      .ns_per_byte = 0.05};
  EXPECT_EQ(run_with(heat, operation, 4).makespan_ns, alone + 4 * block);
  heat.consuming = Consuming::kPartial;
  EXPECT_EQ(run_with(heat, operation, 4).makespan_ns, alone + 4 * block);
  heat.work_ns = alone - 1000;  // one block is not there yet
  EXPECT_EQ(run_with(heat, operation, 4).makespan_ns, alone - 1000 + 4 * block);
  heat.work_ns = 0;
  EXPECT_EQ(run_with(heat, operation, 4).makespan_ns, alone + block);
}

TEST(SimApplication, EveryAlgorithmDeliversEachBlockOnce) {
  for (const bool carry : {true, false}) {
    for (const std::uint32_t ranks : {1U, 2U, 5U, 8U, 16U}) {
      for (const auto algorithm : {ESP_ALGORITHM_AUTO, ESP_ALGORITHM_RING, ESP_ALGORITHM_ONE_FACTOR,
                                   ESP_ALGORITHM_BRUCK}) {
        Operation operation = exchange(algorithm, 24000);
        operation.options.segment_bytes = 7000;  // blocks come in pieces
        const Application eats = {.consuming = Consuming::kPartial, .group = 3, .ns_per_byte = 1};
        EXPECT_EQ(run_with(eats, operation, ranks, carry).work_ns, ranks * 24000)
            << ranks << " ranks, algorithm " << algorithm;
      }
    }
  }
}

// A group as it lands takes nothing from the work but its own, and the last merge comes after it.
TEST(SimApplication, PartialIsNotLaterThanAfterButByItsLastGroup) {
  for (const auto algorithm : {ESP_ALGORITHM_RING, ESP_ALGORITHM_BRUCK}) {
    for (const std::uint32_t ranks : {3U, 8U, 13U}) {
      for (const std::uint32_t group : {1U, 2U, 4U, 8U}) {
        const Operation operation = exchange(algorithm);
        Application merges = {
            .consuming = Consuming::kAfter, .group = group, .ns_per_byte = 0.3, .merges = true};
        const std::uint64_t after = run_with(merges, operation, ranks).makespan_ns;
        merges.consuming = Consuming::kPartial;
        const double last = group * kBytes * 0.3 * std::log2(group + 1);
        EXPECT_LE(run_with(merges, operation, ranks).makespan_ns,
                  after + static_cast<std::uint64_t>(last))
            << ranks << " ranks, groups of " << group << ", algorithm " << algorithm;
      }
    }
  }
}

TEST(SimApplication, ABlockIsThereWhenAllOfItsPiecesAre) {
  const Application eats = {.consuming = Consuming::kPartial, .ns_per_byte = 1};
  Consumption consumption(eats, 100, 0);
  const auto land = [&](std::uint64_t at, std::uint64_t bytes, std::uint64_t time) {
    Portion portion;
    portion.at = at;
    portion.bytes = bytes;
    consumption.land(portion, time);
  };
  land(100, 60, 1);
  land(0, 99, 2);
  EXPECT_EQ(consumption.worked_ns(), 0U);
  land(160, 240, 10);  // ends the second, and two whole ones
  EXPECT_EQ(consumption.worked_ns(), 300U);
  land(99, 1, 20);
  EXPECT_EQ(consumption.finish(30), 410U);
}

TEST(SimApplication, EqualRunsAreEqual) {
  const Application all = {.overlap = Overlap::kThread,
                           .work_ns = 5000,
                           .consuming = Consuming::kPartial,
                           .group = 2,
                           .ns_per_byte = 0.7,
                           .merges = true};
  const Operation operation = exchange(ESP_ALGORITHM_BRUCK);
  const RunResult one = run_with(all, operation, 13), two = run_with(all, operation, 13);
  EXPECT_EQ(one.unseed, two.unseed);
  EXPECT_EQ(one.makespan_ns, two.makespan_ns);
}

}  // namespace
}  // namespace espalier::test
