// How connections end: by goodbye, by death, in the middle of a payload.
#include <poll.h>

#include "tests/tcp/connections.hpp"
#include "tests/tcp/raw_peer.hpp"
#include "tests/unit/child.hpp"

namespace espalier::test {
namespace {

TEST(TcpEnd, DeathEndsEverythingOnce) {
  TcpWorld world(2, loopback());
  connect_pair(world);
  Ends ends(world);
  settle(world);
  world.close(1);
  ASSERT_TRUE(step_first(world, [&] { return ends.over(); }));
  ends.expect_all_ended(ESP_ERR_PEER_DIED);
}

// Half of a payload has come: into the user's memory, and into early memory that a receive claims.
TEST(TcpEnd, ACutInTheMiddleOfAPayload) {
  for (const bool reset : {false, true}) {
    for (const bool early : {false, true}) {
      RelayWorld world(2, loopback(), {});
      connect_pair(world);
      Ends ends(world);
      Message half(1, 0, FlowId(6, 0, 0), 24 << 20, 3);  // more than sockets hold
      if (!early) (void)half.receive(world.wire(0));
      ASSERT_EQ(half.send(world.wire(1)), Posted::kPending);
      Relay& relay = world.relay(0, 1);
      const std::uint64_t before = relay.passed_bytes();
      while (relay.passed_bytes() < before + (1 << 20)) (void)step(world);
      if (early) {
        ASSERT_EQ(half.receive(world.wire(0)), Posted::kPending);
      }
      ASSERT_EQ(half.received.fired, 0);
      relay.cut(reset);
      ASSERT_TRUE(step_first(world, [&] { return ends.over() && half.received.complete(); }));
      EXPECT_EQ(half.received.status.code(), ESP_ERR_PEER_DIED);
      EXPECT_EQ(half.received.fired, 1);
      ends.expect_all_ended(ESP_ERR_PEER_DIED);
      ASSERT_TRUE(step_until(world, [&] { return half.sent.complete(); }));
      EXPECT_EQ(half.sent.status.code(), ESP_ERR_PEER_DIED);
    }
  }
}

// A child of the process has the sockets of both ranks, and does nothing with them.
TEST(TcpEnd, WhatAChildHoldsIsOverAllTheSame) {
  TcpWorld world(3, loopback());
  connect_pair(world);
  world.link(2).reach(0);
  settle(world);
  Child child([] { return ::pause(); });
  for (const Rank gone : {1, 2}) {
    Message from(gone, 0, FlowId(6, 0, 10), 1000, 1);
    ASSERT_EQ(from.receive(world.wire(0)), Posted::kPending);
    world.close(gone);
    ASSERT_TRUE(step_first(world, [&] { return from.received.complete(); }));
    EXPECT_EQ(from.received.status.code(), ESP_ERR_PEER_DIED);
    pollfd asleep = {world.tcp(0).descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&asleep, 1, 100), 0) << "there is nothing more to be told of it";
  }
}

// ... also connections that were being made: one that the other has begun, and one of its own.
TEST(TcpEnd, MeetingsThatAChildHoldsAreOverAllTheSame) {
  for (const bool ours : {false, true}) {
    TcpWorld world(2, loopback());
    world.link(ours ? 0 : 1).reach(ours ? 1 : 0);
    while (!ours && world.tcp(0).strangers() == 0) (void)world.wire(0).progress();
    Child child([] { return ::pause(); });
    world.close(1);
    if (ours) world.link(0).lose(1, error(ESP_ERR_PEER_DIED, "it has left", 1));
    for (int i = 0; i < 50; ++i) {
      if (world.wire(0).progress() == 0) world.rest();
    }
    EXPECT_EQ(world.tcp(0).strangers(), 0U);
    pollfd asleep = {world.tcp(0).descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&asleep, 1, 100), 0);
  }
}

TEST(TcpEnd, SegmentsThatHadComeWholeAreStillThere) {
  TcpWorld world(2, loopback());
  connect_pair(world);
  auto flow = make_flow(1, 0, FlowId(6, 0, 1), 8, 30'000);
  for (auto& m : flow) ASSERT_NE(m->send(world.wire(1)), Posted::kRetry);
  settle(world);
  world.close(1);
  ASSERT_TRUE(step_first(world, [&] { return !world.frames(0).state(1).ok(); }));
  for (auto& m : flow) {
    EXPECT_EQ(m->receive(world.wire(0)), Posted::kDone);
    m->check();
  }
}

TEST(TcpEnd, AGoodbyeIsNotALoss) {
  TcpWorld world(3, loopback());
  connect_pair(world);
  Message last(1, 0, FlowId(6, 0, 2), 300'000, 4);
  (void)last.receive(world.wire(0));
  ASSERT_NE(last.send(world.wire(1)), Posted::kRetry);
  for (Rank r : {0, 1, 2}) {
    for (Rank other : {0, 1, 2}) {
      if (r != other) world.link(r).say_goodbye(other);
    }
  }
  ASSERT_TRUE(step_until(world, [&] { return last.received.complete(); }));
  last.check();
  Message none(0, 1, FlowId(6, 0, 9), 10, 1);
  EXPECT_NE(none.send(world.wire(0)), Posted::kRetry) << "what comes after it goes nowhere";
  ASSERT_TRUE(step_until(world, [&] {
    return world.link(0).drained() && world.link(1).drained() && world.link(2).drained();
  }));
  world.close(1);
  for (int i = 0; i < 50; ++i) {
    if (world.wire(0).progress() == 0) world.rest();
  }
  EXPECT_TRUE(world.frames(0).state(1).ok());
  EXPECT_TRUE(world.frames(2).state(1).ok());
  EXPECT_EQ(world.tcp(0).describe(1), "has left the job");
}

// One side says goodbye; what the other still has to say arrives.
TEST(TcpEnd, AGoodbyeOfOneSideLetsTheOtherFinish) {
  TcpWorld world(2, loopback());
  connect_pair(world);
  world.link(1).say_goodbye(0);
  settle(world);
  Message m(0, 1, FlowId(6, 0, 3), 300'000, 4);
  carry(world, m);
  world.close(1);
  // Who leaves does not read any more. What is posted when that is known does not go in silence.
  Message unread(0, 1, FlowId(6, 0, 4), 300'000, 4), late(0, 1, FlowId(6, 0, 5), 300'000, 4);
  (void)unread.send(world.wire(0));
  ASSERT_TRUE(step_first(world, [&] { return world.tcp(0).describe(1) == "has left the job"; }));
  EXPECT_TRUE(world.frames(0).state(1).ok());
  (void)late.send(world.wire(0));
  ASSERT_TRUE(step_first(world, [&] { return !world.frames(0).state(1).ok(); }));
  EXPECT_EQ(world.frames(0).state(1).code(), ESP_ERR_PEER_DIED);
  EXPECT_EQ(world.tcp(0).describe(1), "lost: it has left the job");
}

// Who leaves while a connection is being made, at any moment of that, is not taken for dead: the
// peer may have taken the connection already.
TEST(TcpEnd, AGoodbyeDuringTheHandshakeIsNotALoss) {
  int met = 0, apart = 0;
  for (const Rank leaves : {0, 1}) {
    for (const bool both_reach : {false, true}) {
      for (int moment = 0; moment < 24; ++moment) {
        SCOPED_TRACE("rank " + std::to_string(leaves) + ", moment " + std::to_string(moment));
        const Rank stays = 1 - leaves;
        TcpWorld world(2, loopback());
        world.link(leaves).reach(stays);
        if (both_reach) world.link(stays).reach(leaves);
        // One of the two looks at a time, so that each moment is between other messages.
        for (int i = 0; i < moment; ++i) {
          (void)world.wire(i % 2 == 0 ? leaves : stays).progress();
          ::usleep(100);
        }
        world.link(leaves).say_goodbye(stays);
        ASSERT_TRUE(step_until(world, [&] { return world.link(leaves).drained(); }));
        world.link(stays).say_goodbye(leaves);
        ASSERT_TRUE(step_until(world, [&] { return world.link(stays).drained(); }));
        for (int i = 0; i < 10; ++i) {
          if (step(world) == 0) world.rest();
        }
        for (const Rank r : {leaves, stays}) {
          EXPECT_TRUE(world.frames(r).state(1 - r).ok()) << world.tcp(r).describe(1 - r);
        }
        ++(world.tcp(stays).describe(leaves) == "has left the job" ? met : apart);
      }
    }
  }
  EXPECT_GT(met, 10);
  EXPECT_GT(apart, 1);
}

// ... also by a connection that the other has begun, for as long as a stranger may be silent.
TEST(TcpEnd, WhoIsReachedWhileItLeavesSaysGoodbye) {
  for (const bool silent : {false, true}) {
    LoneRank rank;
    RawPeer peer(rank);
    auto shake = net::Handshake::initiator(1, 0, rank.link->contact().secret, {});
    peer.send(shake.reply());
    const Bytes challenge = peer.receive(shake.expects());
    ASSERT_EQ(shake.take(challenge), net::Handshake::Step::kMore);
    EXPECT_TRUE(rank.link->drained());
    rank.link->say_goodbye(1);
    EXPECT_FALSE(rank.link->drained()) << "it may prove itself at any moment";
    if (silent) {
      rank.clock.advance_ns(60'000'000'000);
      EXPECT_TRUE(rank.until([&] { return rank.link->drained(); }));
      continue;
    }
    peer.send(shake.reply());
    const Bytes verdict = peer.receive(shake.expects());
    ASSERT_EQ(shake.take(verdict), net::Handshake::Step::kProven);
    net::FrameHeader goodbye;
    goodbye.kind = net::FrameKind::kGoodbye;
    EXPECT_EQ(peer.receive(net::kFrameHeaderBytes), bytes_of(goodbye));
    EXPECT_TRUE(rank.until([&] { return rank.link->drained(); }));
  }
}

}  // namespace
}  // namespace espalier::test
