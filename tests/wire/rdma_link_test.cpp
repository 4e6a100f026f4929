// RdmaLink: which way frames go, and what happens where connections cannot be had, or take long.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/harness/rdma_world.hpp"
#include "tests/harness/traffic.hpp"

namespace espalier::test {
namespace {

void carry_all(World& world, Messages& all) {
  for (auto& m : all) (void)m->receive(world.wire(m->to));
  for (auto& m : all) {
    ASSERT_TRUE(step_until(world, [&] { return m->send(world.wire(m->from)) != Posted::kRetry; }));
  }
  for (auto& m : all) finish(world, *m);
}

// The first frames meet before there is a connection.
void carry_one(World& world, Rank from, Rank to, std::uint64_t flow) {
  Message m(from, to, FlowId(1, 0, flow), 100, flow);
  carry(world, m);
}

TEST(RdmaLink, TheFirstFrameDoesNotWaitForTheConnection) {
  RdmaWorld world(2, {});
  carry_one(world, 0, 1, 0);
  EXPECT_EQ(world.connections(0).statistics().frames, 0U);
  settle(world);
  carry_one(world, 0, 1, 1);
  EXPECT_TRUE(world.rdma(0).connected(1));
  EXPECT_EQ(world.connections(0).statistics().frames, 1U);
}

// A connection that brings something in every round does not keep another rank's datagram waiting.
TEST(RdmaLink, DatagramsHaveTheirTurnWhileConnectionsAreBusy) {
  RdmaWorld world(3, {});
  carry_one(world, 1, 0, 0);
  settle(world);
  Message apart(2, 0, FlowId(1, 0, 1000), 100, 1000);
  (void)apart.receive(world.wire(0));
  ASSERT_NE(apart.send(world.wire(2)), Posted::kRetry);
  Messages stream;
  for (std::uint64_t round = 1; round <= 20; ++round) {
    stream.push_back(std::make_unique<Message>(1, 0, FlowId(1, 0, round), 100, round));
    (void)stream.back()->receive(world.wire(0));
    ASSERT_NE(stream.back()->send(world.wire(1)), Posted::kRetry);
    world.pass(5'000);
    EXPECT_GT(world.frames(0).progress(), 0) << round;
    EXPECT_TRUE(stream.back()->received.complete()) << round;
    (void)world.frames(1).progress();
  }
  EXPECT_TRUE(apart.received.complete());
  ASSERT_TRUE(step_until(world, [&] { return apart.sent.complete(); }));
  apart.check();
}

// Connections are made along the edges that are used, once per pair, and no receiver runs dry.
TEST(RdmaLink, AsManyQueuePairsAsTheTreeHasNeighbours) {
  constexpr int kRanks = 15;
  RdmaWorld world(kRanks, {});
  for (std::uint64_t round = 0; round < 6; ++round) {
    for (const bool up : {true, false}) {
      Messages all;
      for (Rank child = 1; child < kRanks; ++child) {
        const Rank parent = (child - 1) / 2;
        all.push_back(std::make_unique<Message>(up ? child : parent, up ? parent : child,
                                                FlowId(1, 0, 4 * round + (up ? 1 : 2)), 40'000,
                                                round * 100 + static_cast<std::uint64_t>(child)));
      }
      carry_all(world, all);
    }
  }
  for (Rank r = 0; r < kRanks; ++r) {
    const std::uint64_t degree = (r > 0 ? 1U : 0U) + (2 * r + 1 < kRanks ? 2U : 0U);
    const rdma::ConnectionStatistics& counts = world.connections(r).statistics();
    EXPECT_EQ(counts.open, degree) << r;
    EXPECT_LE(counts.open_max, degree + 1) << "two that ask at once";
    EXPECT_EQ(counts.not_ready, 0U);
    EXPECT_EQ(counts.rebuilds, 0U);
  }
  EXPECT_EQ(world.connection_net().counts().not_ready, 0U);
}

// More peers than queue pairs, in both directions: nobody is lost, and no frame overtakes another.
TEST(RdmaLink, WhereThereIsNoQueuePairLeftFramesGoByDatagrams) {
  RdmaWorldOptions options;
  options.adapter.connections = 2;
  RdmaWorld world(7, options);
  std::uint64_t flow = 0;
  for (int round = 0; round < 4; ++round) {
    Messages all;
    for (Rank r = 1; r < 7; ++r) {
      for (const bool up : {true, false}) {
        Messages some = make_flow(up ? r : 0, up ? 0 : r, FlowId(1, 0, flow++), 20, 3000);
        for (auto& m : some) all.push_back(std::move(m));
      }
    }
    carry_all(world, all);
  }
  std::uint64_t without = 0, connected = 0;
  for (Rank r = 0; r < 7; ++r) {
    without += world.connections(r).statistics().no_room;
    EXPECT_LE(world.connections(r).statistics().open_max, 2U);
    for (Rank p = 0; p < 7; ++p) {
      EXPECT_TRUE(world.frames(r).state(p).ok()) << r << " " << p;
      connected += world.rdma(r).connected(p) ? 1 : 0;
    }
  }
  EXPECT_EQ(connected, 4U) << "both directions of two";
  EXPECT_GE(without, 4U);
}

struct Said {
  static void write(void* self, LogLevel, Rank, std::string_view message) noexcept {
    static_cast<Said*>(self)->all.emplace_back(message);
  }
  Log log() { return Log(LogLevel::kInfo, 0, {&write, this}); }
  std::vector<std::string> all;
};

// Whichever path finds it out, and whoever else says so afterwards.
TEST(RdmaLink, ALossIsLoggedOnceWithItsReason) {
  for (const bool told : {true, false}) {
    Said said;
    RdmaWorldOptions options;
    options.log = said.log();
    options.give_up_ns = 10'000'000;
    RdmaWorld world(2, options);
    carry_one(world, 0, 1, 0);
    settle(world);
    if (told) {
      world.rdma(0).lose(1, error(ESP_ERR_PEER_DIED, "the launcher says so", 1));
    } else {
      world.close(1);
    }
    for (int i = 0; i < 1000 && world.frames(0).state(1).ok(); ++i) {
      world.rdma(0).reach(1);
      (void)world.frames(0).progress();
      world.pass(1'000'000);
    }
    EXPECT_EQ(world.frames(0).state(1).code(), ESP_ERR_PEER_DIED);
    world.rdma(0).lose(1, error(ESP_ERR_PEER_DIED, "another says so", 1));
    world.pass(1'000'000);
    (void)world.frames(0).progress();
    ASSERT_EQ(said.all.size(), 1U);
    const std::string silent = "rank 1 is lost: datagrams, lost: it has answered nothing for ";
    EXPECT_EQ(said.all[0].substr(0, silent.size()),
              told ? "rank 1 is lost: the launcher says so" : silent);
  }
}

// Small frames whose owner goes on while they wait.
TEST(RdmaLink, FlushTellsWhetherFramesWait) {
  RdmaWorld world(2, {});
  carry_one(world, 0, 1, 0);
  settle(world);
  // One goes by datagrams, whose acknowledgement the first of the connection waits for.
  net::FrameHeader message;
  message.kind = net::FrameKind::kControl;
  Completion nobody([](Completion&, Status) noexcept {});
  (void)world.datagrams(0).post(1, message, nullptr, nobody);
  Message second(0, 1, FlowId(1, 0, 1), 8, 1), third(0, 1, FlowId(1, 0, 2), 8, 2);
  (void)second.receive(world.wire(1));
  (void)third.receive(world.wire(1));
  ASSERT_EQ(second.send(world.wire(0)), Posted::kDone);
  ASSERT_TRUE(world.rdma(0).connected(1));
  EXPECT_FALSE(world.frames(0).flush());
  ASSERT_TRUE(step_until(world, [&] { return world.frames(0).flush(); }));
  ASSERT_TRUE(step_until(world, [&] { return second.received.complete(); }));
  second.check();
  settle(world);
  // One meets a connection that is broken, and is made anew.
  world.connection_net().break_path(0, 1);
  ASSERT_TRUE(step_until(world, [&] { return !world.connections(0).up(1); }));
  ASSERT_EQ(third.send(world.wire(0)), Posted::kDone);
  EXPECT_FALSE(world.frames(0).flush());
  ASSERT_TRUE(step_until(world, [&] { return world.frames(0).flush(); }));
  ASSERT_TRUE(step_until(world, [&] { return third.received.complete(); }));
  third.check();
  // Who is lost is waited for no longer.
  world.connection_net().break_path(0, 1);
  ASSERT_TRUE(step_until(world, [&] { return !world.connections(0).up(1); }));
  Message fourth(0, 1, FlowId(1, 0, 3), 8, 3);
  ASSERT_EQ(fourth.send(world.wire(0)), Posted::kDone);
  EXPECT_FALSE(world.frames(0).flush());
  world.rdma(0).lose(1, error(ESP_ERR_PEER_DIED, "the launcher says so", 1));
  EXPECT_TRUE(world.frames(0).flush());
}

// A connection needs both of its ranks inside the library: one that computes is waited for once.
TEST(RdmaLink, FlushIsPatientOnceForAPeer) {
  RdmaWorldOptions options;
  options.give_up_ns = 60'000'000'000;
  RdmaWorld world(2, options);
  for (std::uint64_t flow : {0, 1}) {
    carry_one(world, 0, 1, flow);
    settle(world);
  }
  world.connection_net().break_path(0, 1);
  ASSERT_TRUE(step_until(world, [&] { return !world.connections(0).up(1); }));
  Messages more;
  for (std::uint64_t flow = 2; flow < 5; ++flow) {
    more.push_back(std::make_unique<Message>(0, 1, FlowId(1, 0, flow), 8, flow));
    (void)more.back()->receive(world.wire(1));
    ASSERT_EQ(more.back()->send(world.wire(0)), Posted::kDone);
    EXPECT_EQ(world.frames(0).flush(), flow > 2) << flow;
    world.pass(net::kFlushPatienceNs + 1);
    EXPECT_TRUE(world.frames(0).flush());
  }
  for (auto& m : more) {
    ASSERT_TRUE(step_until(world, [&] { return m->received.complete(); }));
    m->check();
  }
}

// A peer that does not keep to the protocol: on one path a frame, inside one of the other.
TEST(RdmaLink, AFrameInsideOneOfTheOtherPathLosesItsSender) {
  RdmaWorld world(2, {});
  for (std::uint64_t flow : {0, 1}) {
    carry_one(world, 1, 0, flow);
    settle(world);
  }
  ASSERT_TRUE(world.rdma(1).connected(0));
  Message large(1, 0, FlowId(1, 0, 2), 300'000, 2), small(1, 0, FlowId(1, 0, 3), 8, 3);
  (void)large.receive(world.wire(0));
  (void)small.receive(world.wire(0));
  const auto header = [](const Message& m) {
    net::FrameHeader frame;
    frame.flow = m.flow.key;
    frame.total = 1;
    frame.bytes = m.bytes;
    return frame;
  };
  Completion nobody([](Completion&, Status) noexcept {});
  const std::uint64_t before = world.datagrams(0).counts().copied_out_bytes;
  (void)world.datagrams(1).post(0, header(large), large.source.data(), nobody);
  ASSERT_TRUE(
      step_until(world, [&] { return world.datagrams(0).counts().copied_out_bytes > before; }));
  ASSERT_FALSE(large.received.complete());
  (void)world.connections(1).post(0, header(small), small.source.data(), nobody);
  ASSERT_TRUE(
      step_until(world, [&] { return large.received.complete() && small.received.complete(); }));
  EXPECT_EQ(world.frames(0).state(1).code(), ESP_ERR_NETWORK);
  EXPECT_EQ(large.received.status.code(), ESP_ERR_NETWORK);
  EXPECT_EQ(small.received.status.code(), ESP_ERR_NETWORK);
  EXPECT_NE(world.connections(0).describe(1).find("a frame inside one of the other path"),
            std::string::npos)
      << world.connections(0).describe(1);
  world.datagrams(1).withdraw(0, nobody);
  world.connections(1).withdraw(0, nobody);
}

// A rank that computes for half a minute at first contact, and again when its connection breaks.
TEST(RdmaLink, ARankThatComputesIsNotLost) {
  RdmaWorldOptions options;
  options.give_up_ns = 60'000'000'000;
  RdmaWorld world(2, options);
  const auto only_rank_0 = [&](std::uint64_t seconds) {
    for (std::uint64_t i = 0; i < 10 * seconds; ++i) {
      while (world.frames(0).progress() > 0) {
      }
      world.pass(100'000'000);
    }
  };
  std::uint64_t flow = 0;
  for (int time = 0; time < 2; ++time) {
    Message m(0, 1, FlowId(1, 0, flow), 20'000, flow);
    ++flow;
    ASSERT_TRUE(step_until(world, [&] { return m.send(world.wire(0)) != Posted::kRetry; }));
    only_rank_0(30);
    EXPECT_TRUE(world.frames(0).state(1).ok());
    (void)m.receive(world.wire(1));
    finish(world, m);
    carry_one(world, 0, 1, flow++);
    EXPECT_TRUE(world.rdma(0).connected(1));
    world.connection_net().break_path(0, 1);
  }
}

}  // namespace
}  // namespace espalier::test
