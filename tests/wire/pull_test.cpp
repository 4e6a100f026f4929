// Large frames that their receiver reads (net/rdma/pulls.hpp), as the wire above sees them: late
// receives of every kind, either end that takes its memory back, leaves or dies meanwhile.
#include "tests/harness/rdma_world.hpp"
#include "tests/harness/traffic.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t kPulledBytes = (3 << 20) + 1;  // read in four parts

class PullTest : public testing::Test {
 protected:
  PullTest() { connect(); }
  // A new world, whose connection is up.
  void connect() {
    RdmaWorldOptions options;
    options.registers = true;
    options.pull_from_bytes = 64 << 10;
    world_ = std::make_unique<RdmaWorld>(2, options);
    for (std::uint64_t flow : {1000, 1001}) {
      Message first(0, 1, FlowId(1, 0, flow), 8, flow);
      EXPECT_EQ(first.receive(world_->wire(1)), Posted::kPending);
      EXPECT_NE(first.send(world_->wire(0)), Posted::kRetry);
      EXPECT_TRUE(until(first));
      settle(*world_);
    }
    EXPECT_TRUE(world_->rdma(0).connected(1));
  }
  bool until(const Message& m) {
    return step_until(*world_, [&] { return m.sent.complete() && m.received.complete(); });
  }
  const rdma::ConnectionStatistics& counts(Rank r) { return world_->connections(r).statistics(); }
  // What there is to do is done; not until nothing is left, for a frame that waits is something.
  void go_on() {
    for (int i = 0; i < 200; ++i) (void)step(*world_);
  }
  // Offered, and known at the other side.
  void send(Message& m) {
    ASSERT_EQ(m.send(world_->wire(0)), Posted::kPending);
    go_on();
    EXPECT_FALSE(m.sent.complete()) << "its receive is not posted";
    EXPECT_EQ(world_->frames(1).held_bytes(), 0U);
  }
  // Until the adapter reads.
  void receive_and_begin(Message& m) {
    ASSERT_EQ(m.receive(world_->wire(1)), Posted::kPending);
    world_->pass(1'000);
  }

  std::unique_ptr<RdmaWorld> world_;
  Message message_{0, 1, FlowId(1, 0, 1), kPulledBytes, 5};
};

TEST_F(PullTest, ALateReceiveCostsNoCopy) {
  const std::uint64_t in = counts(0).copied_bytes, out = counts(1).copied_out_bytes;
  send(message_);
  (void)message_.receive(world_->wire(1));
  ASSERT_TRUE(until(message_));
  message_.check();
  EXPECT_EQ(counts(0).offered, 1U);
  EXPECT_EQ(counts(1).pulled, 1U);
  EXPECT_EQ(counts(0).copied_bytes, in);
  EXPECT_EQ(counts(1).copied_out_bytes, out);
  EXPECT_EQ(world_->counters(1).unexpected.value(), 0U);
  EXPECT_EQ(world_->counters(1).segments_read.value(), 1U);
}

// What people see of it is what the links count.
TEST_F(PullTest, CountersTellOfCopiesAndRegistrations) {
  send(message_);
  (void)message_.receive(world_->wire(1));
  ASSERT_TRUE(until(message_));
  for (const Rank r : {0, 1}) {
    const rdma::DatagramLinkCounts& datagrams = world_->datagrams(r).counts();
    const Counters& told = world_->counters(r);
    EXPECT_EQ(told.packet_bytes.value(), counts(r).copied_bytes + counts(r).copied_out_bytes +
                                             datagrams.copied_bytes + datagrams.copied_out_bytes);
    EXPECT_GT(told.packet_bytes.value(), 0U);
    EXPECT_EQ(told.registrations.value(), world_->connections(r).registrations());
    EXPECT_GT(told.registrations.value(), 0U);
    EXPECT_EQ(told.queue_pairs.value(), 1U);
  }
}

TEST_F(PullTest, OthersGoOnMeanwhile) {
  send(message_);
  Messages others = make_flow(0, 1, FlowId(1, 0, 2), 5, 1000);
  for (auto& m : others) {
    (void)m->receive(world_->wire(1));
    ASSERT_NE(m->send(world_->wire(0)), Posted::kRetry);
    ASSERT_TRUE(until(*m));
    m->check();
  }
  (void)message_.receive(world_->wire(1));
  ASSERT_TRUE(until(message_));
  message_.check();
}

// A view has no memory of its own; the frame is asked for.
TEST_F(PullTest, AReceiveWithoutMemoryGetsItAsWell) {
  message_.in_place = true;
  send(message_);
  (void)message_.receive(world_->wire(1));
  ASSERT_TRUE(until(message_));
  message_.check();
  EXPECT_EQ(counts(1).pulled, 0U);
  world_->wire(1).release(message_.received);
}

TEST_F(PullTest, AnotherSizeIsAMismatch) {
  send(message_);
  message_.received.dst = message_.target.data();
  for (const std::uint64_t wanted : {kPulledBytes - 1, std::uint64_t{8}, std::uint64_t{0}}) {
    RecvProbe receive;
    receive.dst = message_.target.data();
    receive.bytes = wanted;
    if (wanted <= 8) {
      Message small(0, 1, FlowId(1, 0, 3 + wanted), kPulledBytes, 6);
      send(small);
      ASSERT_EQ(world_->wire(1).recv({0, small.flow}, 16, receive), Posted::kPending);
      ASSERT_TRUE(step_until(*world_, [&] { return receive.complete() && small.sent.complete(); }));
    } else {
      ASSERT_EQ(world_->wire(1).recv({0, message_.flow}, 16, receive), Posted::kPending);
      ASSERT_TRUE(
          step_until(*world_, [&] { return receive.complete() && message_.sent.complete(); }));
    }
    EXPECT_EQ(receive.status.code(), ESP_ERR_MISMATCH) << wanted;
  }
}

TEST_F(PullTest, ASenderMayTakeItsMemoryBack) {
  for (const bool reading : {false, true}) {
    Message m(0, 1, FlowId(1, 0, reading ? 10 : 11), kPulledBytes, 7);
    send(m);
    if (reading) receive_and_begin(m);
    world_->wire(0).cancel(m.sent);
    std::memset(m.source.data(), 0xEE, m.source.size());
    if (!reading) (void)m.receive(world_->wire(1));
    ASSERT_TRUE(step_until(*world_, [&] { return m.received.complete(); })) << reading;
    m.check();
    go_on();
    EXPECT_EQ(m.sent.fired, 0);
    EXPECT_GT(counts(0).rebuilds + counts(1).rebuilds, 0U) << "the peer might read";
  }
}

// ... at any moment: also while the connection has no other end yet.
TEST_F(PullTest, ASenderMayTakeItsMemoryBackWhileTheConnectionIsMadeAnew) {
  int unmade = 0;
  for (std::uint64_t moment = 0; moment < 12; ++moment) {
    Message m(0, 1, FlowId(1, 0, 30 + moment), kPulledBytes, moment);
    send(m);
    world_->connection_net().break_path(0, 1);
    for (std::uint64_t i = 0; i < moment; ++i) {
      (void)world_->frames(i % 3 == 2 ? 1 : 0).progress();
      world_->pass(5'000);
    }
    unmade += world_->connections(0).up(1) ? 0 : 1;
    world_->wire(0).cancel(m.sent);
    std::memset(m.source.data(), 0xEE, m.source.size());
    (void)m.receive(world_->wire(1));
    ASSERT_TRUE(step_until(*world_, [&] { return m.received.complete(); })) << moment;
    m.check();
    go_on();
    EXPECT_EQ(m.sent.fired, 0);
  }
  EXPECT_GE(unmade, 4);
}

TEST_F(PullTest, AReceiverMayTakeItsMemoryBack) {
  for (const bool reading : {false, true}) {
    Message m(0, 1, FlowId(1, 0, reading ? 20 : 21), kPulledBytes, 8);
    send(m);
    ASSERT_EQ(m.receive(world_->wire(1)), Posted::kPending);
    if (reading) world_->pass(1'000);
    world_->wire(1).cancel(m.received);
    std::memset(m.target.data(), 0, kPulledBytes);
    go_on();
    for (const std::byte b : std::span(m.target).first(kPulledBytes)) ASSERT_EQ(b, std::byte{0});
    EXPECT_FALSE(m.sent.complete()) << reading;
    EXPECT_TRUE(!reading || counts(0).rebuilds + counts(1).rebuilds > 0) << "it was being read";
    // Another receive gets it.
    m.received.fired = 0;
    (void)m.receive(world_->wire(1));
    ASSERT_TRUE(until(m)) << reading;
    m.check();
  }
}

TEST_F(PullTest, BreaksWhileItIsReadDoNoHarm) {
  send(message_);
  receive_and_begin(message_);
  world_->connection_net().break_path(1, 0);
  ASSERT_TRUE(until(message_));
  message_.check();
  EXPECT_GE(counts(1).rebuilds + counts(0).rebuilds, 1U);
}

// Whoever leaves waits for no receive: what it has sent goes before its goodbye.
TEST_F(PullTest, WhoLeavesIsNotHeldUp) {
  send(message_);
  world_->link(0).say_goodbye(1);
  ASSERT_TRUE(step_until(*world_, [&] { return message_.sent.complete(); }));
  ASSERT_TRUE(step_until(*world_, [&] { return world_->link(0).drained(); }));
  (void)message_.receive(world_->wire(1));
  ASSERT_TRUE(step_until(*world_, [&] { return message_.received.complete(); }));
  message_.check();
}

// It has been read and waits for the end of another frame when its sender leaves, or takes it back,
// and its receiver wants it no more. The sender is done all the same.
class PullOfNobody : public PullTest, public testing::WithParamInterface<bool> {};

TEST_P(PullOfNobody, EndsAtAnyMoment) {
  const bool leaves = GetParam();
  constexpr std::uint64_t kTimes = 10, kApart = 20;
  const auto go_on_for = [&](std::uint64_t moments) {
    for (; moments > 0; --moments) {
      (void)world_->wire(0).progress();
      (void)world_->wire(1).progress();
      world_->pass(500);
    }
  };
  for (std::uint64_t moment = 0; moment < 4 * kTimes * kTimes; ++moment) {
    SCOPED_TRACE(moment);
    connect();
    // The other is a view, for which it takes many packets, in several rounds of credits.
    Message unwanted(0, 1, FlowId(1, 0, 1), 70'000, 5), other(0, 1, FlowId(1, 0, 2), 800'000, 6);
    other.in_place = true;
    send(unwanted);
    (void)other.receive(world_->wire(1));
    ASSERT_NE(other.send(world_->wire(0)), Posted::kRetry);
    go_on_for(kApart * (moment % kTimes));
    (void)unwanted.receive(world_->wire(1));
    go_on_for(kApart * (moment / kTimes % kTimes));
    if (leaves) {
      world_->link(0).say_goodbye(1);
    } else if (!unwanted.sent.complete()) {
      world_->wire(0).cancel(unwanted.sent);
    }
    go_on_for(kApart * (moment / kTimes / kTimes));
    if (!unwanted.received.complete()) world_->wire(1).cancel(unwanted.received);
    if (!leaves) world_->link(0).say_goodbye(1);
    ASSERT_TRUE(step_until(*world_, [&] { return world_->link(0).drained(); }));
    if (other.received.complete()) world_->wire(1).release(other.received);
  }
}

INSTANTIATE_TEST_SUITE_P(Sender, PullOfNobody, testing::Bool(),
                         [](const auto& test) { return test.param ? "Leaves" : "TakesItBack"; });

TEST_F(PullTest, ALostPeerEndsBothSides) {
  send(message_);
  receive_and_begin(message_);
  world_->link(1).lose(0, error(ESP_ERR_PEER_DIED, "the test says so", 0));
  ASSERT_TRUE(step_until(*world_, [&] { return message_.received.complete(); }));
  EXPECT_EQ(message_.received.status.code(), ESP_ERR_PEER_DIED);
  std::memset(message_.target.data(), 0, kPulledBytes);
  ASSERT_TRUE(step_until(*world_, [&] { return message_.sent.complete(); }));
  EXPECT_FALSE(message_.sent.status.ok());
  for (const std::byte b : std::span(message_.target).first(kPulledBytes))
    ASSERT_EQ(b, std::byte{0});
}

// More than there are slots for: the others are sent.
TEST_F(PullTest, ManyAtOnce) {
  Messages many;
  for (std::uint64_t i = 0; i < 80; ++i) {
    many.push_back(std::make_unique<Message>(0, 1, FlowId(1, 0, 100 + i), 70'000, i));
    ASSERT_NE(many.back()->send(world_->wire(0)), Posted::kRetry);
  }
  go_on();
  for (auto& m : many) (void)m->receive(world_->wire(1));
  for (auto& m : many) {
    ASSERT_TRUE(until(*m));
    m->check();
  }
  EXPECT_EQ(counts(1).pulled, 32U);
}

}  // namespace
}  // namespace espalier::test
