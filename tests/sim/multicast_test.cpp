// SimWire: what a publication to readers on other nodes costs that leaves its sender once. Prices
// of the machines: tests/harness/sim_bed.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "tests/harness/sim_world.hpp"
#include "tests/harness/traffic.hpp"

namespace espalier::test {
namespace {

// Nodes of one core with a duplex card each.
sim::Machine cards() {
  sim::Machine machine = cluster_machine();
  machine.levels[1].arity = 64;
  machine.levels[2].arity = 1;
  return machine;
}

sim::Machine cards_with_groups(double setup_ns = 0, double growth_ns = 0) {
  sim::Machine machine = cards();
  machine.multicast = {.packet_bytes = 400, .setup_ns = setup_ns, .growth_ns = growth_ns};
  return machine;
}

// Publications of one rank to all others, and what became of them.
struct Published : SimWorld {
  explicit Published(int ranks, sim::Machine machine, const sim::WorldOptions& options = {})
      : SimWorld(ranks, std::move(machine), options) {
    world().record(&transfers);
  }
  SendProbe& publish(Rank from, std::uint64_t bytes, Path path = Path::kMulticast,
                     bool synchronous = false) {
    std::vector<Rank> readers;
    for (Rank to = 0; to < size(); ++to) {
      if (to == from) continue;
      readers.push_back(to);
      copies.push_back(
          std::make_unique<Message>(from, to, FlowId(1, 0, sends.size()), bytes, sends.size()));
      copies.back()->transfer.path = path;
      (void)copies.back()->receive(wire(to));
    }
    groups.push_back(wire(from).open_group(readers));
    const Message& first = *copies[copies.size() - readers.size()];
    Send send;
    send.segment = {kNoRank, first.flow, 0, 1, 0};
    send.data = first.source.data();
    send.bytes = send.flow_bytes = bytes;
    send.synchronous = synchronous;
    send.transfer.path = path;
    sends.push_back(std::make_unique<SendProbe>());
    SendProbe& sent = *sends.back();
    sent.posted = wire(from).publish(send, *groups.back(), sent);
    EXPECT_NE(sent.posted, Posted::kRetry);
    return sent;
  }
  void finish() {
    settle(*this);
    for (const auto& copy : copies) copy->check();
    for (const auto& sent : sends) EXPECT_TRUE(sent->complete());
    EXPECT_EQ(world().under_way(), 0U);
  }

  std::vector<sim::TransferRecord> transfers;
  Messages copies;
  std::vector<std::unique_ptr<Group>> groups;
  std::vector<std::unique_ptr<SendProbe>> sends;
};

TEST(SimMulticast, TheSendersPortIsTakenOnceForAnyNumberOfReaders) {
  for (const int ranks : {2, 3, 5, 64}) {
    Published world(ranks, cards_with_groups());
    SendProbe& first = world.publish(0, 1000);
    (void)world.publish(0, 1000);
    EXPECT_EQ(world.world().local_ns(0), 2 * 100U) << ranks;  // o, once each
    while (first.fired == 0) (void)world.wire(0).progress();
    EXPECT_EQ(world.world().now_ns(), 100U + 500) << ranks;
    world.finish();
    ASSERT_EQ(world.transfers.size(), 2 * static_cast<std::size_t>(ranks - 1));
    for (std::size_t i = 0; i < world.transfers.size(); ++i) {
      const sim::TransferRecord& t = world.transfers[i];
      const std::uint64_t begin = i < world.transfers.size() / 2 ? 100U : 600U;
      EXPECT_EQ(t.started_ns, begin) << ranks;
      EXPECT_EQ(t.arrived_ns, begin + 1000 + 500) << ranks;
    }
  }
}

TEST(SimMulticast, WithoutGroupsEachReaderGetsAMessage) {
  Published world(4, cards());
  Published asked(4, cards());
  (void)world.publish(0, 1000, Path::kAny);
  (void)asked.publish(0, 1000, Path::kMulticast);
  world.finish();
  asked.finish();
  EXPECT_EQ(asked.world().unseed(), world.world().unseed());
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(asked.transfers[i].started_ns, 100U + 500 * i);
    EXPECT_EQ(asked.transfers[i].arrived_ns, 100U + 500 * i + 1000 + 500);
  }
}

TEST(SimMulticast, OtherPathsGoToEachReaderWhereThereAreGroups) {
  Published world(4, cards_with_groups());
  (void)world.publish(0, 1000, Path::kAny);
  world.finish();
  EXPECT_EQ(world.transfers[2].started_ns, 100U + 500 * 2);
}

TEST(SimMulticast, EachPacketCostsTheSendersPort) {
  for (const int ranks : {2, 16}) {
    Published world(ranks, cards_with_groups(40, 50));
    (void)world.publish(0, 1000);  // 3 packets of 400 bytes
    (void)world.publish(0, 8);     // 1 packet
    world.finish();
    const double growth = 50 * std::log(static_cast<double>(ranks));
    const auto three = static_cast<std::uint64_t>(std::llround(3 * (40 + growth)));
    const auto one = static_cast<std::uint64_t>(std::llround(40 + growth));
    const std::uint64_t free = 100 + three + 500;
    EXPECT_EQ(world.transfers.front().started_ns, 100U);
    EXPECT_EQ(world.transfers.front().arrived_ns, free + 1000);
    EXPECT_EQ(world.transfers.back().started_ns, free);
    EXPECT_EQ(world.transfers.back().arrived_ns, free + one + 1000 + 4);
  }
}

TEST(SimMulticast, AReadersPortIsTakenOnceByEach) {
  Published world(4, cards_with_groups());
  (void)world.publish(0, 1000);
  (void)world.publish(1, 1000);
  world.finish();
  // 2 and 3 take both, one after the other; 0 and 1 have one each, beside what they send.
  for (const sim::TransferRecord& t : world.transfers) {
    const std::uint64_t alone = 100 + 1000 + 500;
    EXPECT_EQ(t.arrived_ns, t.from == 1 && t.to > 1 ? alone + 500 : alone) << t.from << t.to;
  }
}

TEST(SimMulticast, ReadersOnTheSameNodeGetCopies) {
  Published world(6, multicast_machine());
  SendProbe& sent = world.publish(0, 1000);
  world.finish();
  EXPECT_TRUE(sent.complete());
  EXPECT_EQ(world.counters(0).copy_in_bytes.value(), 1000U);
  // o + n G + L of the memory; then, by the same processor, 3 packets of 30 ns each. A card takes
  // them for each reader.
  const std::uint64_t near = 100 + 125 + 300, far = 225 + 100 + 90 + 1000 + 500;
  const std::uint64_t arrived[] = {0, near, far, far + 500, far, far + 500};
  for (const sim::TransferRecord& t : world.transfers) {
    EXPECT_EQ(t.arrived_ns, arrived[t.to]) << t.to;
  }
}

TEST(SimMulticast, ASynchronousOneEndsWhenAllHaveIt) {
  Published world(3, cards_with_groups());
  SendProbe& sent = world.publish(0, 1000, Path::kMulticast, true);
  while (sent.fired == 0) (void)step(world);
  EXPECT_EQ(world.world().now_ns(), 100U + 1000 + 500 + 200 + 1000);
  world.finish();
}

TEST(SimMulticast, LostPacketsCostARoundTrip) {
  sim::WorldOptions options;
  options.faults.loss = 1;
  Published world(3, cards_with_groups(), options);
  (void)world.publish(0, 1000);
  world.finish();
  const std::uint64_t repair = 2 * 1000 + 200;  // and a packet's bytes
  for (const sim::TransferRecord& t : world.transfers) {
    EXPECT_EQ(t.arrived_ns, 100U + 1000 + 500 + repair);
  }
  Published other(3, cards(), options);  // no message suffers it
  (void)other.publish(0, 1000);
  other.finish();
  EXPECT_EQ(other.transfers[0].arrived_ns, 100U + 1000 + 500);
}

TEST(SimMulticast, TheShareOfLossIsThatOfPackets) {
  sim::WorldOptions options;
  options.faults.loss = 0.1;
  Published world(2, cards_with_groups(), options);
  constexpr int kTimes = 1000;
  for (int i = 0; i < kTimes; ++i) {
    (void)world.publish(0, 800);  // two packets
    settle(world);
  }
  world.finish();
  int late = 0;
  for (const sim::TransferRecord& t : world.transfers) {
    late += t.arrived_ns > t.started_ns + 1000 + 400 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(late) / kTimes, 0.19, 0.05);
}

TEST(SimMulticast, CloggedPathsHoldOneReaderAlone) {
  Published world(3, cards_with_groups(), [] {
    sim::WorldOptions options;
    options.faults.retry = 1e-9;  // so that there are faults
    return options;
  }());
  world.world().part(0, 1, 50'000);
  (void)world.publish(0, 1000);
  world.finish();
  EXPECT_EQ(world.transfers[0].arrived_ns, 50'000U);
  EXPECT_EQ(world.transfers[1].arrived_ns, 100U + 1000 + 500);
}

}  // namespace
}  // namespace espalier::test
