// Devices of the simulator: what copies and kernels take, by hand, and whole simulated jobs whose
// buffers lie on them.
#include <gtest/gtest.h>

#include <string>

#include "tests/harness/sim_bed.hpp"
#include "tools/esp-sim/cluster.hpp"
#include "tools/esp-sim/localities.hpp"

namespace espalier::test {
namespace {

using Way = sim::DeviceLanes::Way;
using Reducer = sim::Reducer;

// o_s = 100, L = 1000, G = 0.5, o_r = 200, and a device each.
sim::Machine with_devices(sim::Machine machine = device_machine()) {
  machine.device = {.to_host_ns_per_byte = 0.25,
                    .to_device_ns_per_byte = 0.125,
                    .latency_ns = 400,
                    .post_ns = 10,
                    .launch_ns = 70,
                    .reduce_ns_per_byte = 0.0625};
  return machine;
}

TEST(SimDevices, ACopyTakesItsBytesAndALatency) {
  SimBed bed(2, {}, 1, with_devices());
  sim::DeviceLanes lanes(bed.world, 0);
  EXPECT_EQ(lanes.copy(Way::kToHost, 4000), 10U + 1000 + 400);
  EXPECT_EQ(bed.world.local_ns(0), 10U);
  // The other direction at once, the same one afterwards, without the latency.
  EXPECT_EQ(lanes.copy(Way::kToDevice, 4000), 20U + 500 + 400);
  EXPECT_EQ(lanes.copy(Way::kToHost, 4000), 10U + 1000 + 1000 + 400);
  // The other rank's device is another.
  sim::DeviceLanes others(bed.world, 1);
  EXPECT_EQ(others.copy(Way::kToHost, 4000), 10U + 1000 + 400);
  others.copy_and_wait(Way::kToDevice, 4000);
  EXPECT_EQ(bed.world.local_ns(1), 20U + 500 + 400);
}

TEST(SimDevices, AKernelTakesWhatItTakesMostOf) {
  SimBed bed(2, {}, 1, with_devices());
  sim::DeviceLanes lanes(bed.world, 0);
  const std::uint64_t begin = 10 + 70;
  EXPECT_EQ(lanes.launch({8000, 0, 0}), begin + 500);
  // In order; one operand comes from the host, and the result goes there.
  EXPECT_EQ(lanes.launch({8000, 4000, 4000}), begin + 500 + 1000);
  // Its lanes are taken as long as its bytes take, and free before.
  EXPECT_EQ(lanes.copy(Way::kToDevice, 8000), begin + 500 + 500 + 1000 + 400);
  EXPECT_EQ(lanes.copy(Way::kToHost, 400), 40U + 100 + 400);
  EXPECT_EQ(lanes.copy(Way::kToHost, 4000), begin + 500 + 1000 + 1000 + 400);
}

struct DeviceJob {
  sim::Operation operation = {};
  std::uint32_t ranks = 2;
  sim::Staging staging = sim::Staging::kPieces;
  Reducer reducer = Reducer::kHost;
  sim::Machine machine = with_devices();
};

sim::RunResult run_on_devices(const DeviceJob& job) {
  auto map = sim::Map::create(job.machine, job.ranks, 0, sim::Placement::kByCore, 1);
  sim::ClusterOptions options;
  options.staging = job.staging;
  options.reducer = job.reducer;
  options.around = sim::surroundings_of(job.machine, *map);
  sim::Cluster cluster(job.machine, *map, options);
  auto result = cluster.run(job.operation);
  if (!result) {
    ADD_FAILURE() << result.error().text;
    return {};
  }
  EXPECT_TRUE(result->ok()) << result->failure << result->wrong << " wrong";
  return std::move(*result);
}

// A chain, windows wider than it has pieces.
sim::Operation in_pieces(Collective collective, std::uint64_t bytes, std::uint64_t pieces) {
  sim::Operation operation;
  operation.collective = collective;
  operation.bytes = bytes;
  operation.options.algorithm = ESP_ALGORITHM_TREE;
  operation.options.shape = ESP_SHAPE_CHAIN;
  operation.options.segment_bytes = bytes / pieces;
  operation.options.window_send = 32;
  operation.options.window_recv = 64;
  return operation;
}

constexpr std::uint64_t kPiece = 16'000;  // 4000 to the host, 8000 on the way, 2000 to the device

TEST(SimDeviceJobs, ABroadcastInOnePieceIsThreeStepsByEitherWay) {
  for (const auto staging : {sim::Staging::kWhole, sim::Staging::kPieces}) {
    const sim::RunResult result =
        run_on_devices({.operation = in_pieces(Collective::kBcast, kPiece, 1), .staging = staging});
    EXPECT_EQ(result.operation_ns,
              (10U + 4000 + 400) + (100 + 8000 + 1000 + 200) + (10 + 2000 + 400));
  }
}

// The first piece's way to the host, all pieces over the slowest lane, the last one's to the
// device. Copied as a whole, it is the sum.
TEST(SimDeviceJobs, PiecesOverlap) {
  constexpr std::uint64_t kPieces = 8, kBytes = kPieces * kPiece;
  const sim::Operation operation = in_pieces(Collective::kBcast, kBytes, kPieces);
  const std::uint64_t first = 10 + 4000 + 400, network = 100 + kPieces * 8000 + 1000 + 200;
  EXPECT_EQ(run_on_devices({.operation = operation}).operation_ns,
            first + network + (10 + 2000 + 400));
  const std::uint64_t whole = (10 + kPieces * 4000 + 400) + network + (10 + kPieces * 2000 + 400);
  EXPECT_EQ(run_on_devices({.operation = operation, .staging = sim::Staging::kWhole}).operation_ns,
            whole);
}

// Two operands a byte, 0.25 ns each by the processor, between two copies. The device reads its own
// where it lies and the other from the host, and leaves the result where it is wanted.
TEST(SimDeviceJobs, WhoReduces) {
  const sim::Operation operation = in_pieces(Collective::kReduce, kPiece, 1);
  const std::uint64_t there = (10 + 4000 + 400) + (100 + 8000 + 1000 + 200);
  const std::uint64_t back = 10 + 2000 + 400;
  EXPECT_EQ(run_on_devices({.operation = operation}).operation_ns, there + 2 * 4000 + back);
  const DeviceJob by_device{.operation = operation, .reducer = Reducer::kDevice};
  EXPECT_EQ(run_on_devices(by_device).operation_ns, there + (10 + 70 + 2000));
}

TEST(SimDeviceJobs, EveryResultIsRight) {
  for (std::size_t c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    const CollectiveTraits& traits = traits_of(collective);
    if (collective == Collective::kBarrier || traits.neighbors || is_irregular(collective))
      continue;
    for (const std::uint64_t bytes : {8U, 4000U, 300'000U}) {
      for (const auto staging : {sim::Staging::kWhole, sim::Staging::kPieces}) {
        for (const auto reducer : {Reducer::kHost, Reducer::kDevice}) {
          DeviceJob job{.ranks = 10, .staging = staging, .reducer = reducer};
          job.machine = with_devices(cluster_machine());
          job.operation.collective = collective;
          job.operation.bytes = bytes;
          SCOPED_TRACE(std::string(traits.name) + " of " + std::to_string(bytes));
          const sim::RunResult result = run_on_devices(job);
          EXPECT_GT(result.operation_ns, 0U);
          const bool copies = result.counter(&Counters::device_copies) > 0;
          EXPECT_EQ(copies, staging == sim::Staging::kPieces);
        }
      }
    }
  }
}

TEST(SimDeviceJobs, WhatCannotBeIsRefused) {
  const sim::Machine machine = device_machine();
  auto map = sim::Map::create(machine, 2, 0, sim::Placement::kByCore, 1);
  sim::ClusterOptions options;
  options.staging = sim::Staging::kPieces;
  sim::Cluster cluster(machine, *map, options);
  const auto result = cluster.run({});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().status.code(), ESP_ERR_UNSUPPORTED);
}

}  // namespace
}  // namespace espalier::test
