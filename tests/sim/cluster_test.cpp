// Whole simulated jobs: every result right, times as computed by hand, runs that repeat themselves.
#include "tools/esp-sim/cluster.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "tests/harness/sim_world.hpp"

namespace espalier::test {
namespace {

using sim::Cluster;
using sim::ClusterOptions;
using sim::Machine;
using sim::Operation;
using sim::RunResult;

RunResult run(const Machine& machine, int ranks, const Operation& operation,
              const ClusterOptions& options = {}) {
  auto map =
      sim::Map::create(machine, static_cast<std::uint32_t>(ranks), 0, sim::Placement::kByCore, 1);
  if (!map) {
    ADD_FAILURE() << map.error().text;
    return {};
  }
  Cluster cluster(machine, *map, options);
  auto result = cluster.run(operation);
  if (!result) {
    ADD_FAILURE() << result.error().text;
    return {};
  }
  return std::move(*result);
}

Operation make(Collective collective, std::uint64_t bytes, esp_shape shape = ESP_SHAPE_AUTO,
               std::uint64_t segment = 0) {
  Operation operation;
  operation.collective = collective;
  operation.bytes = bytes;
  operation.options.shape = shape;
  operation.options.segment_bytes = segment;
  if (shape != ESP_SHAPE_AUTO) operation.options.algorithm = ESP_ALGORITHM_TREE;
  return operation;
}

constexpr Collective kAll[] = {Collective::kBarrier, Collective::kBcast, Collective::kReduce,
                               Collective::kAllreduce};

std::string describe(const Operation& operation, int ranks) {
  return std::string(collective_name(operation.collective)) + " of " +
         std::to_string(operation.bytes) + " bytes, shape " +
         std::to_string(operation.options.shape) + ", algorithm " +
         std::to_string(operation.options.algorithm) + ", " + std::to_string(ranks) + " ranks";
}

// Which rank broadcasts, and whether one call waits for the other.
TEST(SimCluster, SourcesTakeTurnsOrGoAtOnce) {
  Operation operation = make(Collective::kBcast, 1000, ESP_SHAPE_FLAT);
  const std::uint64_t alone = run(device_machine(), 2, operation).operation_ns;
  operation.calls = operation.sources = 2;
  // The second root has what it sends when it has got the first one's.
  EXPECT_EQ(run(device_machine(), 2, operation).operation_ns, 2 * alone);
  operation.sources = 1;
  const std::uint64_t same = run(device_machine(), 2, operation).operation_ns;
  EXPECT_LT(same, 2 * alone);
  operation.sources = 2;
  operation.at_once = true;
  ClusterOptions options;
  options.world.carry_data = false;
  EXPECT_LT(run(device_machine(), 2, operation, options).operation_ns, alone + 500);
}

TEST(SimCluster, EveryResultIsRight) {
  for (const Machine& machine :
       {device_machine(), copy_machine(), pull_machine(), cluster_machine()}) {
    for (const Collective collective : kAll) {
      for (const std::uint64_t bytes : {0U, 8U, 4001U, 400000U}) {
        for (const int ranks : {1, 2, 3, 8, 17}) {
          Operation operation = make(collective, bytes);
          operation.root = ranks / 2;
          const RunResult result = run(machine, ranks, operation);
          ASSERT_TRUE(result.ok())
              << machine.name << ": " << describe(operation, ranks) << ": " << result.failure
              << result.unfinished << " unfinished, " << result.wrong << " wrong";
          ASSERT_EQ(result.counter(&Counters::operations), static_cast<std::uint64_t>(ranks));
        }
      }
    }
  }
}

TEST(SimCluster, EveryTreeIsRight) {
  for (const Collective collective : kAll) {
    for (int shape = ESP_SHAPE_AUTO + 1; shape < ESP_SHAPE_COUNT; ++shape) {
      for (int variant = 0; variant < ESP_VARIANT_COUNT; ++variant) {
        for (const int ranks : {2, 13}) {
          Operation operation = make(collective, 100000, static_cast<esp_shape>(shape), 2048);
          operation.options.variant = static_cast<esp_variant>(variant);
          operation.options.window_send = 2;
          operation.options.window_recv = 3;
          const RunResult result = run(cluster_machine(), ranks, operation);
          ASSERT_TRUE(result.ok()) << describe(operation, ranks) << " variant " << variant << ": "
                                   << result.unfinished << " unfinished";
        }
      }
    }
  }
}

// All others.
std::vector<Collective> gathers() {
  std::vector<Collective> all;
  for (auto c = static_cast<std::size_t>(Collective::kAllgather); c < kCollectives; ++c) {
    all.push_back(static_cast<Collective>(c));
  }
  return all;
}

TEST(SimCluster, EveryGatherIsRight) {
  for (const Machine& machine :
       {device_machine(), copy_machine(), pull_machine(), cluster_machine()}) {
    for (const Collective collective : gathers()) {
      for (int algorithm = ESP_ALGORITHM_AUTO; algorithm < ESP_ALGORITHM_COUNT; ++algorithm) {
        const auto chosen = static_cast<esp_algorithm>(algorithm);
        if (chosen != ESP_ALGORITHM_AUTO && !has_algorithm(collective, chosen)) continue;
        const bool pairs = chosen == ESP_ALGORITHM_XOR || chosen == ESP_ALGORITHM_DOUBLING;
        for (const int ranks : {1, 2, pairs ? 8 : 9}) {
          for (const std::uint64_t bytes : {0U, 401U, 8000U}) {
            Operation operation = make(collective, bytes, ESP_SHAPE_AUTO, 1024);
            operation.options.algorithm = chosen;
            operation.root = ranks / 2;
            operation.options.radix = ranks == 9 ? 3 : 0;
            operation.calls = 2;
            const RunResult result = run(machine, ranks, operation);
            ASSERT_TRUE(result.ok())
                << machine.name << ": " << describe(operation, ranks) << ": " << result.failure
                << result.unfinished << " unfinished, " << result.wrong << " wrong";
          }
        }
      }
    }
  }
}

// Everything virtual is the same whether bytes are moved or not.
TEST(SimCluster, DataDoNotChangeTime) {
  std::vector<Collective> all(std::begin(kAll), std::end(kAll));
  for (const Collective collective : gathers()) all.push_back(collective);
  for (const Machine& machine : {device_machine(), pull_machine(), cluster_machine()}) {
    for (const Collective collective : all) {
      const CollectiveTraits& traits = traits_of(collective);
      const bool blocks = std::max(traits.input, traits.output) > Extent::kOne;
      const Operation operation = make(collective, blocks ? 20000 : 300000);
      ClusterOptions options;
      const RunResult with = run(machine, 16, operation, options);
      options.world.carry_data = false;
      const RunResult without = run(machine, 16, operation, options);
      ASSERT_TRUE(with.ok() && without.ok());
      EXPECT_EQ(with.completed_ns, without.completed_ns) << describe(operation, 16);
      EXPECT_EQ(with.unseed, without.unseed);
      EXPECT_EQ(with.counters, without.counters);
    }
  }
}

// No contention: (P - 1) hops of the first segment, then one segment per transfer time.
TEST(SimCluster, AChainTakesWhatItsFormulaSays) {
  Operation operation = make(Collective::kBcast, std::uint64_t{16} * 8192, ESP_SHAPE_CHAIN, 8192);
  operation.options.window_send = 16;
  operation.options.window_recv = 32;
  const RunResult result = run(device_machine(), 8, operation);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.makespan_ns, 7U * (100 + 1000 + 4096 + 200) + 15 * 4096);
}

TEST(SimCluster, AReductionPaysForItsOperands) {
  const RunResult result =
      run(device_machine(), 2, make(Collective::kReduce, 8000, ESP_SHAPE_FLAT));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.completed_ns[0], 100U + 4000 + 1000 + 200 + 2 * 2000);
  EXPECT_EQ(result.completed_ns[1], 100U + 4000);
}

TEST(SimCluster, EqualSeedsAreEqualRuns) {
  ClusterOptions options;
  options.world.noise.kind = sim::NoiseSpec::Kind::kUniform;
  options.world.noise.hertz = 1000;
  options.world.noise.high_ns = 200'000;
  options.world.faults.retry = 0.05;
  options.world.faults.delay = 0.05;
  options.world.faults.delay_ns = 1000;
  const Operation operation = make(Collective::kAllreduce, 200000);
  std::vector<RunResult> results;
  for (const std::uint64_t seed : {1U, 1U, 2U}) {
    options.world.seed = seed;
    results.push_back(run(cluster_machine(), 24, operation, options));
    ASSERT_TRUE(results.back().ok());
  }
  EXPECT_EQ(results[0].unseed, results[1].unseed);
  EXPECT_EQ(results[0].completed_ns, results[1].completed_ns);
  EXPECT_NE(results[0].unseed, results[2].unseed);
  EXPECT_NE(results[0].completed_ns, results[2].completed_ns);
}

TEST(SimCluster, OperationsFollowEachOther) {
  const Machine machine = cluster_machine();
  auto map = sim::Map::create(machine, 12, 0, sim::Placement::kByNode, 1);
  ASSERT_TRUE(map.ok());
  Cluster cluster(machine, *map, {});
  std::uint64_t end = 0;
  for (const Collective collective : kAll) {
    for (const std::uint64_t bytes : {64U, 100000U}) {
      auto result = cluster.run(make(collective, bytes));
      ASSERT_TRUE(result.ok());
      ASSERT_TRUE(result->ok());
      EXPECT_GE(result->started_ns, end);
      end = result->started_ns + result->makespan_ns;
    }
  }
}

TEST(SimCluster, WhatDoesNotExistIsRefused) {
  const Machine machine = device_machine();
  auto map = sim::Map::create(machine, 4, 0, sim::Placement::kByCore, 1);
  ASSERT_TRUE(map.ok());
  Cluster cluster(machine, *map, {});
  Operation operation = make(Collective::kBcast, 100, ESP_SHAPE_KNOMIAL);
  operation.options.radix = 1;
  EXPECT_FALSE(cluster.run(operation).ok());
  Operation nowhere = make(Collective::kBcast, 100);
  nowhere.root = 4;
  EXPECT_FALSE(cluster.run(nowhere).ok());
}

// Who can complete, completes with the right result; who cannot, is told who died.
TEST(SimCluster, ADeathEndsTheOperation) {
  std::uint32_t failures = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    ClusterOptions options;
    options.world.seed = seed;
    options.world.faults.crashes = 1;
    options.world.faults.heal_ns = 200'000;
    const RunResult result =
        run(device_machine(), 12, make(Collective::kAllreduce, 200000), options);
    EXPECT_EQ(result.wrong, 0U);
    EXPECT_EQ(result.started_ns, 0U);
    if (result.status.ok()) {  // Too late to harm anybody else.
      EXPECT_LE(result.unfinished, 1U) << "seed " << seed;
      continue;
    }
    ++failures;
    EXPECT_EQ(result.status.code(), ESP_ERR_PEER_DIED) << "seed " << seed;
    EXPECT_NE(result.failure.find("died"), std::string::npos) << result.failure;
  }
  EXPECT_GT(failures, 10U);
}

}  // namespace
}  // namespace espalier::test
