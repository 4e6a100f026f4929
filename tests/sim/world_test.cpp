// What a World charges for messages, against numbers that can be worked out by hand. The prices of
// the machines are in tests/wire/sim_world.cpp: overheads of 100 and 200 ns, and so on.
#include "net/sim/world.hpp"

#include <gtest/gtest.h>

#include "tests/harness/sim_world.hpp"
#include "tests/harness/traffic.hpp"

namespace espalier::test {
namespace {

struct Recorded : SimWorld {
  explicit Recorded(int ranks, sim::Machine machine, const sim::WorldOptions& options = {})
      : SimWorld(ranks, std::move(machine), options) {
    world().record(&transfers);
  }
  // Posts the receive and the send of a message and runs nothing.
  Message& start(Rank from, Rank to, std::uint64_t bytes, bool in_place = false) {
    messages.push_back(
        std::make_unique<Message>(from, to, FlowId(1, 0, messages.size()), bytes, 7));
    Message& m = *messages.back();
    m.in_place = in_place;
    (void)m.receive(wire(to));
    EXPECT_NE(m.send(wire(from)), Posted::kRetry);
    return m;
  }
  void finish() {
    settle(*this);
    for (const auto& m : messages) {
      m->check();
      EXPECT_TRUE(m->sent.complete());
      if (m->in_place) wire(m->to).release(m->received);
    }
  }

  std::vector<sim::TransferRecord> transfers;
  Messages messages;
};

TEST(SimPrices, ADeviceIsLogGp) {
  Recorded world(2, device_machine());
  (void)world.start(0, 1, 1000);
  world.finish();
  const sim::TransferRecord& t = world.transfers.at(0);
  EXPECT_EQ(t.posted_ns, 0U);
  EXPECT_EQ(t.started_ns, 100U);                   // o
  EXPECT_EQ(t.arrived_ns, 100U + 1000 + 500);      // o + L + n G
  EXPECT_EQ(t.taken_ns, 100U + 1000 + 500 + 200);  // o + L + n G + o
}

TEST(SimPrices, ASendEndsWhenItsLastByteHasLeft) {
  Recorded world(2, device_machine());
  Message& m = world.start(0, 1, 1000);
  EXPECT_EQ(m.sent.posted, Posted::kPending);
  while (m.sent.fired == 0) (void)world.wire(0).progress();
  EXPECT_EQ(world.world().now_ns(), 100U + 500);
  EXPECT_EQ(m.received.fired, 0);
  world.finish();
}

TEST(SimPrices, APortSendsOneMessageAfterTheOther) {
  Recorded world(3, device_machine());
  for (int i = 0; i < 2; ++i) (void)world.start(0, 1 + i, 1000);
  for (int i = 0; i < 2; ++i) (void)world.start(0, 1 + i, 0);
  world.finish();
  EXPECT_EQ(world.transfers.at(0).started_ns, 100U);
  EXPECT_EQ(world.transfers.at(1).started_ns, 600U);  // n G
  EXPECT_EQ(world.transfers.at(2).started_ns, 1100U);
  EXPECT_EQ(world.transfers.at(3).started_ns, 1150U);  // g
}

TEST(SimPrices, CopiesAreMadeByBothProcessors) {
  Recorded world(3, copy_machine());
  Message& copied = world.start(0, 1, 1000);
  EXPECT_EQ(copied.sent.posted, Posted::kDone);
  world.finish();
  EXPECT_EQ(world.transfers.at(0).taken_ns, 100U + 250 + 300 + 200 + 250);
  Recorded other(3, copy_machine());
  (void)other.start(0, 1, 1000, true);
  other.finish();
  EXPECT_EQ(other.transfers.at(0).taken_ns, 100U + 250 + 300 + 200);
}

TEST(SimPrices, APublicationIsCopiedInOnce) {
  Recorded world(3, copy_machine());
  Message a(0, 1, FlowId(1, 0, 9), 1000, 3), b(0, 2, FlowId(1, 0, 9), 1000, 3);
  (void)a.receive(world.wire(1));
  (void)b.receive(world.wire(2));
  Send send;
  send.segment = {kNoRank, a.flow, 0, 1, 0};
  send.data = a.source.data();
  send.bytes = send.flow_bytes = 1000;
  const auto group = world.wire(0).open_group(std::vector<Rank>{1, 2});
  ASSERT_EQ(world.wire(0).publish(send, *group, a.sent), Posted::kDone);
  EXPECT_EQ(world.world().local_ns(0), 100U + 250);
  settle(world);
  a.check();
  b.check();
}

TEST(SimPrices, APullIsPaidByTheReceiver) {
  Recorded world(4, pull_machine());
  const std::uint64_t read = 500 + 3 * 100 + 1250;  // call, 3 pages, 10,000 bytes
  Message& m = world.start(0, 1, 10000);
  EXPECT_EQ(world.world().local_ns(0), 100U);
  while (m.sent.fired == 0) (void)step(world);
  EXPECT_EQ(world.transfers.at(0).taken_ns, 100 + 300 + 200 + read);
  EXPECT_EQ(world.world().now_ns(), 100 + 300 + 200 + read + 300);
  world.finish();
}

TEST(SimPrices, SmallMessagesAreCopiedWherePullsDoNotPay) {
  sim::Machine machine = pull_machine();
  machine.levels[0].pull_from_bytes = 1001;
  Recorded world(2, machine);
  EXPECT_EQ(world.start(0, 1, 1000).sent.posted, Posted::kDone);
  world.finish();
  EXPECT_EQ(world.transfers.at(0).taken_ns, 100U + 125 + 300 + 200 + 125);
  EXPECT_EQ(world.start(0, 1, 1001).sent.posted, Posted::kPending);
  world.finish();
}

TEST(SimPrices, ReadersOfOneSourceSlowEachOtherDown) {
  Recorded world(4, pull_machine());
  const std::uint64_t read = 500 + 3 * 100 + 1250;
  for (Rank to = 1; to <= 3; ++to) (void)world.start(0, to, 10000);
  // Each reader is to have its turn at its own time.
  world.world().set_turn([](void*, Rank) {}, nullptr);
  (void)world.world().run();
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::uint64_t begin = 100 * (i + 1) + 300 + 200;
    EXPECT_EQ(world.transfers.at(i).taken_ns, begin + read + i * 3 * 50) << i;
  }
}

TEST(SimPrices, ALaneIsTakenInTurn) {
  Recorded world(6, cluster_machine());
  (void)world.start(0, 2, 1000);  // Node 0 to node 1, from both cores at once.
  (void)world.start(1, 3, 1000);
  world.finish();
  EXPECT_EQ(world.transfers.at(0).started_ns, 100U);
  EXPECT_EQ(world.transfers.at(0).arrived_ns, 1600U);
  EXPECT_EQ(world.transfers.at(1).started_ns, 600U);
  EXPECT_EQ(world.transfers.at(1).arrived_ns, 2100U);
}

TEST(SimPrices, TheReceiversLaneIsTakenInTurn) {
  Recorded world(6, cluster_machine());
  (void)world.start(0, 2, 1000);  // Nodes 0 and 2 to node 1.
  (void)world.start(4, 3, 1000);
  world.finish();
  EXPECT_EQ(world.transfers.at(0).arrived_ns, 1600U);
  EXPECT_EQ(world.transfers.at(1).started_ns, 100U);
  EXPECT_EQ(world.transfers.at(1).arrived_ns, 2100U);
}

TEST(SimPrices, TheTwoDirectionsOfADuplexLaneAreTwo) {
  Recorded world(4, cluster_machine());
  (void)world.start(0, 2, 1000);
  (void)world.start(2, 0, 1000);
  world.finish();
  EXPECT_EQ(world.transfers.at(0).arrived_ns, 1600U);
  EXPECT_EQ(world.transfers.at(1).arrived_ns, 1600U);
}

TEST(SimPrices, CopiesWaitForTheMemoryBus) {
  Recorded world(4, copy_machine());
  (void)world.start(0, 1, 16000);  // 4 us of copying, 1 us of the bus
  (void)world.start(2, 3, 16000);
  EXPECT_EQ(world.world().local_ns(0), 100U + 4000);
  EXPECT_EQ(world.world().local_ns(2), 100U + 1000 + 4000);
  world.finish();
}

TEST(SimPrices, ReductionsAreChargedBeforeTheNextPost) {
  Recorded world(2, device_machine());
  world.counters(0).combine_bytes += 4000;
  (void)world.start(0, 1, 0);
  world.finish();
  EXPECT_EQ(world.transfers.at(0).started_ns, 1000U + 100);
}

TEST(SimPrices, NoiseStretchesWork) {
  sim::WorldOptions options;
  options.seed = 5;
  options.noise.kind = sim::NoiseSpec::Kind::kFixed;
  options.noise.hertz = 1000;
  options.noise.low_ns = 100'000;
  SimWorld world(2, device_machine(), options);
  for (Rank r = 0; r < 2; ++r) {
    sim::Noise noise(options.noise, options.seed, static_cast<std::uint32_t>(r));
    const std::uint64_t expected = noise.finish(0, 10'000'000);
    EXPECT_EQ(world.world().charge(r, 10'000'000), expected);
    EXPECT_NEAR(static_cast<double>(expected), 11.1e6, 0.2e6);
  }
}

TEST(SimLane, TakesTheFirstGapThatHoldsIt) {
  sim::LaneSchedule lane;
  EXPECT_EQ(lane.reserve(100, 50, 0), 100U);
  EXPECT_EQ(lane.reserve(300, 50, 0), 300U);
  EXPECT_EQ(lane.reserve(120, 150, 0), 150U);  // [150, 300): fits exactly, and all become one
  EXPECT_EQ(lane.intervals(), 1U);
  EXPECT_EQ(lane.reserve(0, 101, 0), 350U);
  EXPECT_EQ(lane.reserve(0, 100, 0), 0U);
  EXPECT_EQ(lane.intervals(), 1U);
  EXPECT_EQ(lane.reserve(0, 1, 0), 451U);
  EXPECT_EQ(lane.reserve(500, 10, 452), 500U);  // what is over is forgotten
  EXPECT_EQ(lane.intervals(), 1U);
  EXPECT_EQ(lane.reserve(505, 0, 452), 505U);
}

// Against a lane that remembers every nanosecond.
TEST(SimLane, AgreesWithAList) {
  Prng prng(3);
  for (int round = 0; round < 50; ++round) {
    sim::LaneSchedule lane;
    std::vector<bool> taken(20000, false);
    std::uint64_t now = 0;
    for (int i = 0; i < 200; ++i) {
      now += prng.below(20);
      const std::uint64_t from = now + prng.below(300), length = 1 + prng.below(30);
      std::uint64_t begin = from;
      for (std::uint64_t free = 0; free < length; ++begin) free = taken[begin] ? 0 : free + 1;
      begin -= length;
      ASSERT_EQ(lane.reserve(from, length, now), begin) << round << " " << i;
      for (std::uint64_t t = begin; t < begin + length; ++t) taken[t] = true;
    }
  }
}

}  // namespace
}  // namespace espalier::test
