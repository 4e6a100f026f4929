// Segments in memory of devices over RDMA (net/frame_wire_away.cpp): adapters bring them from there
// and to there; what an adapter does not take is fetched and sent as bytes. What is called memory
// of a device is the host's here; that no processor touches it, counters tell.
#include "tests/harness/rdma_world.hpp"
#include "tests/harness/traffic.hpp"
#include "tests/harness/two_places.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t kLong = 300'000;

class RdmaAwayTest : public testing::Test {
 protected:
  explicit RdmaAwayTest(int ranks = 3) : away_(static_cast<std::size_t>(ranks)) {
    RdmaWorldOptions options;
    options.registers = true;
    world_ = std::make_unique<RdmaWorld>(ranks, options);
    for (Rank r = 0; r < ranks; ++r) world_->frames(r).set_away(&away(r));
    for (const Rank to : {1, 2}) {
      for (std::uint64_t flow : {1000, 1001}) {
        Message first(0, to, FlowId(1, 0, flow), 8, flow);
        EXPECT_EQ(first.receive(world_->wire(to)), Posted::kPending);
        EXPECT_NE(first.send(world_->wire(0)), Posted::kRetry);
        EXPECT_TRUE(until([&] { return first.complete(); }));
        settle(*world_);
      }
    }
  }
  ~RdmaAwayTest() override {
    for (std::size_t r = 0; r < away_.size(); ++r) {
      world_->frames(static_cast<Rank>(r)).set_away(nullptr);
      EXPECT_EQ(away_[r].allocated, 0);
      EXPECT_TRUE(away_[r].fetches.empty());
    }
    EXPECT_EQ(world_->frames(1).held_bytes(), 0U);
  }

  TwoPlaces& away(Rank r) { return away_[static_cast<std::size_t>(r)]; }
  Message& message(std::uint64_t flow, Rank to = 1) {
    messages_.push_back(std::make_unique<Message>(0, to, FlowId(1, 0, flow), kLong, flow));
    Message& m = *messages_.back();
    places_.push_back(std::make_unique<std::vector<std::byte>>(kLong));
    away(0).add(m.source);
    away(to).add(*places_.back());
    m.received.takes_away = true;
    m.received.place = places_.back()->data();
    return m;
  }
  static Send away_send(const Message& m) {
    Send send;
    send.segment = {m.to, m.flow, m.ordinal, m.total, m.signature};
    send.data = m.source.data();
    send.bytes = send.flow_bytes = m.bytes;
    send.away = true;
    return send;
  }
  void send(Message& m) { m.sent.posted = world_->wire(0).send(away_send(m), m.sent); }
  void receive(Message& m) { (void)m.receive(world_->wire(m.to)); }
  template <typename Done>
  bool until(Done&& done) {
    return step_until(*world_, std::forward<Done>(done));
  }
  void go_on() {
    for (int i = 0; i < 300; ++i) (void)step(*world_);
  }
  // Also what is fetched meanwhile.
  void finish(Message& m) {
    for (int i = 0; i < 50 && !m.complete(); ++i) {
      go_on();
      away(0).end_fetches();
    }
    ASSERT_TRUE(m.complete());
  }
  void expect_placed(const Message& m, std::size_t at = 0) {
    ASSERT_EQ(m.received.status.code(), ESP_OK);
    EXPECT_EQ(m.received.view, places_[at]->data());
    EXPECT_TRUE(m.received.is_away);
    EXPECT_TRUE(holds(places_[at]->data(), kLong, m.seed));
  }
  void expect_bytes(Message& m) {
    EXPECT_FALSE(m.received.is_away);
    m.check();
  }
  std::uint64_t copied() {
    return world_->counters(0).packet_bytes.value() + world_->counters(1).packet_bytes.value();
  }

  std::vector<TwoPlaces> away_;
  std::unique_ptr<RdmaWorld> world_;
  std::vector<std::unique_ptr<Message>> messages_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> places_;
};

TEST_F(RdmaAwayTest, FromDeviceToDevice) {
  EXPECT_TRUE(world_->frames(0).caps(1).away);
  const std::uint64_t before = copied();
  Message &early = message(1), &late = message(2);
  receive(early);
  send(early);
  send(late);
  go_on();
  EXPECT_FALSE(late.sent.complete());
  receive(late);
  ASSERT_TRUE(until([&] { return early.complete() && late.complete(); }));
  expect_placed(early, 0);
  expect_placed(late, 1);
  EXPECT_LT(copied() - before, 1'000U) << "names and answers";
  EXPECT_EQ(world_->counters(0).device_direct_bytes.value(), 2 * kLong);
  EXPECT_EQ(world_->counters(1).device_direct_bytes.value(), 2 * kLong);
  for (Message* m : {&early, &late}) world_->wire(1).release(m->received);
}

// An allocation is registered once.
TEST_F(RdmaAwayTest, WhatIsRegisteredStaysSo) {
  Message& first = message(1);
  receive(first);
  send(first);
  ASSERT_TRUE(until([&] { return first.complete(); }));
  Message again(0, 1, FlowId(1, 0, 2), kLong, 1);
  again.source.swap(first.source);
  again.received.takes_away = true;
  again.received.place = first.received.place;
  receive(again);
  send(again);
  ASSERT_TRUE(until([&] { return again.complete(); }));
  expect_placed(again);
  EXPECT_EQ(away(0).files, 1);
  EXPECT_EQ(away(1).files, 1);
}

TEST_F(RdmaAwayTest, IntoMemoryOfTheHost) {
  for (const int why : {0, 1, 2}) {
    Message& m = message(static_cast<std::uint64_t>(why) + 1);
    m.received.takes_away = why > 0;
    m.in_place = why == 1;
    if (why == 1) m.received.place = nullptr;
    if (why == 2) away(1).file_error = ESP_ERR_SYSTEM;
    receive(m);
    send(m);
    ASSERT_TRUE(until([&] { return m.complete(); })) << why;
    expect_bytes(m);
    if (m.in_place) world_->wire(1).release(m.received);
  }
  EXPECT_EQ(world_->counters(0).device_direct_bytes.value(), 3 * kLong);
  EXPECT_EQ(world_->counters(1).device_direct_bytes.value(), 0U);
}

TEST_F(RdmaAwayTest, WhatTheAdapterDoesNotTakeIsFetched) {
  away(0).file_error = ESP_ERR_SYSTEM;
  away(0).retries = 2;
  Message &early = message(1), &late = message(2);
  receive(early);
  send(early);
  send(late);
  finish(early);
  expect_bytes(early);
  go_on();
  away(0).end_fetches();
  go_on();
  receive(late);
  finish(late);
  expect_bytes(late);
  EXPECT_TRUE(world_->frames(0).caps(1).away) << "of other memory it may do";
  EXPECT_EQ(world_->counters(0).device_direct_bytes.value(), 0U);
}

TEST_F(RdmaAwayTest, ADriverWithoutFilesIsAskedOnce) {
  away(0).file_error = ESP_ERR_UNSUPPORTED;
  for (std::uint64_t flow : {1, 2, 3}) {
    Message& m = message(flow);
    receive(m);
    send(m);
    finish(m);
    expect_bytes(m);
  }
  EXPECT_FALSE(world_->frames(0).caps(1).away);
  EXPECT_EQ(away(0).files, 1);
}

// The receiver cannot read from there (its rank has no connection to the sender's yet).
TEST_F(RdmaAwayTest, WhatIsDeclinedComesAsBytes) {
  world_->frames(2).set_away(&away(2));
  messages_.push_back(std::make_unique<Message>(1, 2, FlowId(1, 0, 5), kLong, 5));
  Message& m = *messages_.back();
  away(1).add(m.source);
  for (const bool early : {true, false}) {
    m.ordinal = early ? 0 : 1;
    m.total = 2;
    m.sent.fired = m.received.fired = 0;
    if (early) receive(m);
    m.sent.posted = world_->wire(1).send(away_send(m), m.sent);
    go_on();
    if (!early) receive(m);
    for (int i = 0; i < 50 && !m.complete(); ++i) {
      go_on();
      away(1).end_fetches();
    }
    ASSERT_TRUE(m.complete());
    m.check();
    if (!early) continue;
    EXPECT_EQ(away(1).files, 1);
    EXPECT_EQ(away(1).fetched, 1);
    EXPECT_EQ(world_->counters(1).device_direct_bytes.value(), 0U);
  }
}

TEST_F(RdmaAwayTest, AMismatchIsTold) {
  for (const bool early : {true, false}) {
    Message& m = message(early ? 1 : 2);
    m.received.bytes = kLong - 1;
    m.received.dst = m.target.data();
    const auto post = [&] {
      m.received.posted = world_->wire(1).recv({0, m.flow, 0, 1, 0}, 16, m.received);
    };
    if (early) post();
    send(m);
    go_on();
    if (!early) post();
    ASSERT_TRUE(until([&] { return m.complete(); }));
    EXPECT_EQ(m.received.status.code(), ESP_ERR_MISMATCH);
    EXPECT_EQ(m.received.its_bytes, kLong);
  }
}

// Its owner overwrites it at once: nobody takes what is there then for the message.
TEST_F(RdmaAwayTest, ASenderMayTakeItsMemoryBack) {
  for (const int moment : {0, 1, 2, 3}) {
    Message& m = message(static_cast<std::uint64_t>(moment) + 1);
    if (moment == 3) away(0).file_error = ESP_ERR_SYSTEM;
    if (moment >= 1) receive(m);
    send(m);
    if (moment == 2) world_->pass(2'000);
    if (moment == 3) go_on();  // It is being fetched.
    world_->wire(0).cancel(m.sent);
    std::memset(m.source.data(), 0xEE, m.source.size());
    if (moment == 0) receive(m);
    if (moment == 3) {
      go_on();
      world_->wire(1).cancel(m.received);
      continue;
    }
    ASSERT_TRUE(until([&] { return m.received.complete(); })) << moment;
    EXPECT_FALSE(moment < 2 && m.received.status.ok()) << moment;
    if (m.received.status.ok()) {
      EXPECT_TRUE(holds(m.received.data(), kLong, m.seed)) << moment;
    } else {
      EXPECT_EQ(m.received.status.code(), ESP_ERR_SYSTEM) << moment;
    }
    EXPECT_EQ(m.sent.fired, 0);
    go_on();
  }
  EXPECT_EQ(away(0).allocated, 0);
}

TEST_F(RdmaAwayTest, AReceiverMayTakeItsMemoryBack) {
  for (const bool reading : {false, true}) {
    Message& m = message(reading ? 1 : 2);
    receive(m);
    if (reading) {
      send(m);
      world_->pass(2'000);
      (void)world_->frames(1).progress();
    }
    world_->wire(1).cancel(m.received);
    const std::vector<std::byte> kept = *places_.back();
    if (!reading) send(m);
    go_on();
    EXPECT_EQ(m.received.fired, 0);
    EXPECT_TRUE(!reading || m.sent.complete());
    if (!reading) world_->wire(0).cancel(m.sent);
  }
}

TEST_F(RdmaAwayTest, APeerThatIsLostEndsIt) {
  Message &getting = message(1), &waiting = message(2), &other = message(3, 2);
  receive(getting);
  send(getting);
  send(waiting);
  receive(other);
  world_->frames(1).link().lose(0, error(ESP_ERR_PEER_DIED, "for the test", 0));
  world_->frames(0).link().lose(1, error(ESP_ERR_PEER_DIED, "for the test", 1));
  send(other);
  ASSERT_TRUE(
      until([&] { return getting.complete() && waiting.sent.complete() && other.complete(); }));
  EXPECT_FALSE(getting.received.status.ok());
  EXPECT_FALSE(waiting.sent.status.ok());
  expect_placed(other, 2);
  world_->wire(2).release(other.received);
}

TEST_F(RdmaAwayTest, APublicationGoesToAll) {
  Message &one = message(1, 1), &two = message(1, 2);
  away(0).add(one.source);
  receive(one);
  const Rank readers[] = {1, 2};
  const auto group = world_->wire(0).open_group(readers);
  one.sent.posted = world_->wire(0).publish(away_send(one), *group, one.sent);
  go_on();
  EXPECT_FALSE(one.sent.complete());
  receive(two);
  ASSERT_TRUE(until([&] { return one.complete() && two.received.complete(); }));
  expect_placed(one, 0);
  expect_placed(two, 1);
}

}  // namespace
}  // namespace espalier::test
