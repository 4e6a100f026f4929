// Devices of the simulator that read each other: what that takes, by hand, and whole jobs whose
// ranks share what lies on them.
#include <gtest/gtest.h>

#include <string>

#include "tests/harness/sim_bed.hpp"
#include "tools/esp-sim/cluster.hpp"
#include "tools/esp-sim/localities.hpp"

namespace espalier::test {
namespace {

using Way = sim::DeviceLanes::Way;

constexpr double kPeerNs = 0.03125;

// Nodes of so many ranks, between whose devices a byte takes a fourth of the time to a device.
sim::Machine with_peers(std::uint32_t cores, bool own_lanes) {
  sim::Machine machine = multicast_machine();
  machine.levels.back().arity = cores;
  machine.device = {.to_host_ns_per_byte = 0.25,
                    .to_device_ns_per_byte = 0.125,
                    .latency_ns = 400,
                    .post_ns = 10,
                    .launch_ns = 70,
                    .reduce_ns_per_byte = 0.0625,
                    .peer = {.ns_per_byte = own_lanes ? kPeerNs : 0.25,
                             .across_ns_per_byte = own_lanes ? 2 * kPeerNs : 0.5,
                             .latency_ns = 300,
                             .own_lanes = own_lanes}};
  return machine;
}

struct PeerLanes {
  explicit PeerLanes(const sim::Machine& machine) : bed(machine, 4, {}), devices(bed.world) {}
  SimBed bed;
  sim::Devices devices;
};

TEST(SimPeers, LanesOfTheirOwn) {
  PeerLanes all(with_peers(4, true));
  sim::DeviceLanes &owner = all.devices.of(0), &first = all.devices.of(1);
  EXPECT_EQ(first.copy_of(owner, Way::kToDevice, 32'000), 10U + 1000 + 300);
  // The owner's lane out is taken; its copies to and from the host are not in the way.
  EXPECT_EQ(all.devices.of(2).copy_of(owner, Way::kToDevice, 32'000), 10U + 2 * 1000 + 300);
  EXPECT_EQ(owner.copy(Way::kToHost, 4000), 10U + 1000 + 400);
  // Another owner has a lane of its own, but a reader's copies are in order.
  EXPECT_EQ(first.copy_of(all.devices.of(3), Way::kToDevice, 32'000), 10U + 2 * 1000 + 300);
  // To the host: by way of the reader's device, at the pace of the slower.
  EXPECT_EQ(all.devices.of(3).copy_of(first, Way::kToHost, 4000), 10U + 1000 + 300);
}

TEST(SimPeers, LanesOfTheHost) {
  PeerLanes all(with_peers(4, false));
  sim::DeviceLanes& owner = all.devices.of(0);
  EXPECT_EQ(all.devices.of(1).copy_of(owner, Way::kToDevice, 4000), 10U + 1000 + 300);
  EXPECT_EQ(owner.copy(Way::kToHost, 4000), 10U + 2 * 1000 + 400);
  EXPECT_EQ(owner.copy(Way::kToDevice, 4000), 20U + 500 + 400);
}

TEST(SimPeers, AcrossSockets) {
  sim::Machine machine = with_peers(4, true);
  machine.levels.back().arity = 2;
  sim::Level socket = machine.levels.back();
  socket.name = "socket";
  machine.levels.insert(machine.levels.end() - 1, socket);
  PeerLanes all(machine);
  sim::DeviceLanes& owner = all.devices.of(0);
  EXPECT_EQ(all.devices.of(1).copy_of(owner, Way::kToDevice, 32'000), 10U + 1000 + 300);
  EXPECT_EQ(all.devices.of(2).copy_of(owner, Way::kToDevice, 32'000), 1010U + 2000 + 300);
}

TEST(SimPeers, AKernelReadsOthers) {
  PeerLanes all(with_peers(4, true));
  const sim::DeviceLanes::FromPeer from[] = {{&all.devices.of(1), 32'000},
                                             {&all.devices.of(2), 32'000}};
  // Both through its own lane in, which takes longer than the work.
  EXPECT_EQ(all.devices.of(0).launch({16'000, 0, 0, from}), 10U + 70 + 2 * 1000);
  // Their lanes out are free again after half of that.
  EXPECT_EQ(all.devices.of(3).copy_of(all.devices.of(1), Way::kToDevice, 32'000),
            10U + 70 + 1000 + 1000 + 300);
}

struct SharedJob {
  sim::Operation operation = {};
  sim::Machine machine = with_peers(4, true);
  std::uint32_t ranks = 2;
  sim::Staging staging = sim::Staging::kShared;
  sim::Reducer reducer = sim::Reducer::kDevice;
  Multicast multicast = Multicast::kOff;
  MulticastLeaders leaders = MulticastLeaders::kNode;
  bool carry_data = true;
};

sim::RunResult run_shared(const SharedJob& job) {
  auto map = sim::Map::create(job.machine, job.ranks, 0, sim::Placement::kByCore, 1);
  sim::ClusterOptions options;
  options.world.carry_data = job.carry_data;
  options.staging = job.staging;
  options.reducer = job.reducer;
  options.tuning.device_share_bytes = 1;
  options.tuning.multicast = job.multicast;
  options.around = sim::surroundings_of(job.machine, *map, job.leaders);
  options.tuning.costs = sim::costs_of(job.machine, sim::followed(*options.around));
  sim::Cluster cluster(job.machine, *map, options);
  auto result = cluster.run(job.operation);
  if (!result) {
    ADD_FAILURE() << result.error().text;
    return {};
  }
  EXPECT_TRUE(result->ok()) << result->failure << ": " << result->wrong << " wrong, "
                            << result->unfinished << " unfinished";
  EXPECT_EQ(cluster.world().under_way(), 0U);
  return std::move(*result);
}

sim::Operation chain(Collective collective, std::uint64_t bytes, std::uint64_t pieces) {
  sim::Operation operation;
  operation.collective = collective;
  operation.bytes = bytes;
  operation.options.algorithm = ESP_ALGORITHM_TREE;
  operation.options.shape = ESP_SHAPE_CHAIN;
  operation.options.segment_bytes = bytes / pieces;
  return operation;
}

constexpr std::uint64_t kSharedPiece = 32'000;  // 1000 from another device

// A name takes what an empty message takes; the root is done when it learns that its memory is let
// go. No processor copies anything.
TEST(SimSharedJobs, ABroadcastIsAMessageAndACopy) {
  const sim::RunResult result =
      run_shared({.operation = chain(Collective::kBcast, kSharedPiece, 1)});
  const std::uint64_t name = 100 + 300 + 200, copy = 10 + 1000 + 300;
  ASSERT_EQ(result.completed_ns.size(), 2U);
  EXPECT_EQ(result.completed_ns[1], name + copy);
  EXPECT_EQ(result.completed_ns[0], name + copy + 300);
  EXPECT_EQ(result.counter(&Counters::device_shared_bytes), kSharedPiece);
  EXPECT_EQ(result.counter(&Counters::device_copy_bytes), kSharedPiece);
  EXPECT_EQ(result.counter(&Counters::copy_in_bytes), 0U);
  EXPECT_EQ(result.counter(&Counters::copy_out_bytes), 0U);
}

// Both operands where they lie; the result, too.
TEST(SimSharedJobs, AReductionIsAMessageAndAKernel) {
  const sim::RunResult result =
      run_shared({.operation = chain(Collective::kReduce, kSharedPiece, 1)});
  const std::uint64_t name = 100 + 300 + 200, kernel = 10 + 70 + 2 * 2000;
  EXPECT_EQ(result.completed_ns[0], name + kernel);
  EXPECT_EQ(result.counter(&Counters::device_reductions), 1U);
  EXPECT_EQ(result.counter(&Counters::device_copies), 0U);
}

std::vector<sim::Operation> all_shared() {
  std::vector<sim::Operation> all;
  for (std::size_t c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    const CollectiveTraits& traits = traits_of(collective);
    if (collective == Collective::kBarrier || traits.neighbors || is_irregular(collective))
      continue;
    for (const std::uint64_t bytes : {8U, 4000U, 300'000U}) {
      all.push_back({.collective = collective, .bytes = bytes});
    }
  }
  return all;
}

TEST(SimSharedJobs, EveryResultIsRight) {
  for (const sim::Operation& operation : all_shared()) {
    for (const auto reducer : {sim::Reducer::kHost, sim::Reducer::kDevice}) {
      for (const auto multicast : {Multicast::kOff, Multicast::kOn}) {
        SCOPED_TRACE(std::string(collective_name(operation.collective)) + " of " +
                     std::to_string(operation.bytes));
        const SharedJob job{.operation = operation,
                            .machine = with_peers(4, reducer == sim::Reducer::kHost),
                            .ranks = 14,
                            .reducer = reducer,
                            .multicast = multicast};
        const sim::RunResult with_data = run_shared(job);
        SharedJob without = job;
        without.carry_data = false;
        EXPECT_EQ(run_shared(without).operation_ns, with_data.operation_ns);
      }
    }
  }
}

TEST(SimSharedJobs, SharingPaysOnOneNode) {
  for (const auto collective : {Collective::kBcast, Collective::kAllgather}) {
    SharedJob job{.ranks = 4};
    job.operation.collective = collective;
    job.operation.bytes = 1 << 20;
    const std::uint64_t shared_ns = run_shared(job).operation_ns;
    job.staging = sim::Staging::kPieces;
    EXPECT_LT(2 * shared_ns, run_shared(job).operation_ns) << collective_name(collective);
  }
}

TEST(SimSharedJobs, ShortMessagesAreNotShared) {
  sim::Operation operation;
  operation.bytes = 32'768;
  const sim::Machine machine = with_peers(4, true);
  auto map = sim::Map::create(machine, 4, 0, sim::Placement::kByCore, 1);
  sim::ClusterOptions options;
  options.staging = sim::Staging::kShared;
  sim::Cluster cluster(machine, *map, options);
  auto result = cluster.run(operation);
  ASSERT_TRUE(result.ok()) << result.error().text;
  EXPECT_EQ(result->counter(&Counters::device_shared_bytes), 0U);
}

TEST(SimSharedJobs, WhatCannotBeIsRefused) {
  sim::Machine machine = with_peers(4, true);
  machine.device.peer = {};
  auto map = sim::Map::create(machine, 2, 0, sim::Placement::kByCore, 1);
  sim::ClusterOptions options;
  options.staging = sim::Staging::kShared;
  sim::Cluster cluster(machine, *map, options);
  const auto result = cluster.run({});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().status.code(), ESP_ERR_UNSUPPORTED);
}

}  // namespace
}  // namespace espalier::test
