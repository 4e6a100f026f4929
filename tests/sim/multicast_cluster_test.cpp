// Whole simulated jobs whose plans go through the network's group.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/harness/sim_bed.hpp"
#include "tools/esp-sim/cluster.hpp"
#include "tools/esp-sim/localities.hpp"

namespace espalier::test {
namespace {

struct GroupJob {
  Collective collective = Collective::kBcast;
  std::uint64_t bytes = 1000;
  std::uint32_t ranks = 16, per_node = 1;
  std::int32_t root = 0;
  double growth_ns = 0;
  double loss = 0;
  sim::Placement placement = sim::Placement::kByCore;
  MulticastLeaders leaders = MulticastLeaders::kNode;
};

sim::RunResult run(const GroupJob& job, Multicast multicast = Multicast::kOn) {
  sim::Machine machine = multicast_machine();
  machine.multicast.growth_ns = job.growth_ns;
  if (job.leaders == MulticastLeaders::kSocket) {
    sim::Level socket = machine.levels[2];
    socket.name = "socket";
    machine.levels.insert(machine.levels.begin() + 2, socket);
  }
  auto map = sim::Map::create(machine, job.ranks, job.per_node, job.placement, 1);
  sim::ClusterOptions options;
  options.world.faults.loss = job.loss;
  options.around = sim::surroundings_of(machine, *map, job.leaders);
  options.tuning.multicast = multicast;
  options.tuning.multicast_packet_bytes = 400;
  sim::Cluster cluster(machine, *map, options);
  sim::Operation operation;
  operation.collective = job.collective;
  operation.bytes = job.bytes;
  operation.root = job.root;
  auto result = cluster.run(operation);
  if (!result) {
    ADD_FAILURE() << result.error().text;
    return {};
  }
  return std::move(*result);
}

TEST(SimMulticastJobs, EveryResultIsRight) {
  for (const Collective collective :
       {Collective::kBcast, Collective::kAllreduce, Collective::kBarrier, Collective::kAllgather}) {
    for (const std::uint64_t bytes : {8U, 1000U, 300'000U}) {
      for (const std::uint32_t per_node : {1U, 2U}) {
        for (const auto placement : {sim::Placement::kByCore, sim::Placement::kByNode}) {
          const GroupJob job = {.collective = collective,
                                .bytes = collective == Collective::kBarrier ? 0 : bytes,
                                .ranks = 10,
                                .per_node = per_node,
                                .root = collective == Collective::kBcast ? 3 : 0,
                                .loss = 0.01,
                                .placement = placement};
          const sim::RunResult result = run(job);
          EXPECT_TRUE(result.ok()) << result.failure;
          EXPECT_NE(result.algorithm.find("multicast"), std::string::npos) << result.algorithm;
        }
      }
    }
  }
}

// One of each socket is in the group.
TEST(SimMulticastJobs, LeadersOfSockets) {
  for (const Collective collective :
       {Collective::kBcast, Collective::kAllreduce, Collective::kBarrier, Collective::kAllgather}) {
    for (const auto placement : {sim::Placement::kByCore, sim::Placement::kByNode}) {
      const GroupJob job = {.collective = collective,
                            .bytes = collective == Collective::kBarrier ? 0U : 3000U,
                            .ranks = 10,
                            .per_node = 3,
                            .root = collective == Collective::kBcast ? 3 : 0,
                            .loss = 0.01,
                            .placement = placement,
                            .leaders = MulticastLeaders::kSocket};
      const sim::RunResult result = run(job);
      EXPECT_TRUE(result.ok()) << result.failure;
      EXPECT_NE(result.algorithm.find(" leaders of 4 nodes"), std::string::npos)
          << result.algorithm;
    }
  }
}

// One publication, whatever the number of nodes: o + packets t_s + n G + L + o.
TEST(SimMulticastJobs, ABroadcastTakesOnePort) {
  for (const std::uint32_t nodes : {3U, 4U, 32U}) {
    const sim::RunResult result = run({.ranks = nodes});
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result.operation_ns, 100U + 3 * 30 + 500 + 1000 + 200) << nodes;
    EXPECT_EQ(result.counter(&Counters::publishes), 1U);
  }
}

TEST(SimMulticastJobs, PacketsCostMoreInLargerGroups) {
  const std::uint64_t few = run({.ranks = 4, .growth_ns = 50}).operation_ns;
  const std::uint64_t many = run({.ranks = 32, .growth_ns = 50}).operation_ns;
  EXPECT_EQ(many - few, static_cast<std::uint64_t>(std::llround(3 * 50 * std::log(32.0))) -
                            static_cast<std::uint64_t>(std::llround(3 * 50 * std::log(4.0))));
}

TEST(SimMulticastJobs, OffIsATree) {
  const sim::RunResult result = run({}, Multicast::kOff);
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.algorithm.find("multicast"), std::string::npos) << result.algorithm;
  EXPECT_GT(result.operation_ns, run({}).operation_ns);
}

}  // namespace
}  // namespace espalier::test
