// Segments that lie in memory of a device (shm/shm_wire_away.cpp): they stay there for who takes
// them so, and come as bytes to all others.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "tests/harness/shm_world.hpp"
#include "tests/harness/traffic.hpp"
#include "tests/harness/two_places.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t kAwayBytes = 100'000;

class ShmAwayTest : public testing::Test {
 protected:
  void make(int ranks) {
    world_.emplace(ranks, ShmWorldOptions{});
    away_.resize(static_cast<std::size_t>(ranks));
    for (int r = 0; r < ranks; ++r) wire(r).set_away(&away(r));
  }
  ~ShmAwayTest() override {
    for (std::size_t r = 0; r < away_.size(); ++r) {
      if (world_) wire(static_cast<int>(r)).set_away(nullptr);
      EXPECT_EQ(away_[r].allocated, 0);
      EXPECT_EQ(away_[r].open_now, 0);
    }
  }
  shm::ShmWire& wire(int r) { return static_cast<shm::ShmWire&>(world_->wire(r)); }
  TwoPlaces& away(int r) { return away_[static_cast<std::size_t>(r)]; }
  static Send away_send(const Message& m) {
    Send send;
    send.segment = {m.to, m.flow, m.ordinal, m.total, m.signature};
    send.data = m.source.data();
    send.bytes = send.flow_bytes = m.bytes;
    send.away = true;
    return send;
  }
  void send(Message& m) { m.sent.posted = wire(0).send(away_send(m), m.sent); }
  void progress(int times = 20) {
    for (int i = 0; i < times; ++i) {
      for (std::size_t r = 0; r < away_.size(); ++r) (void)wire(static_cast<int>(r)).progress();
    }
  }

  std::optional<ShmWorld> world_;
  std::vector<TwoPlaces> away_;
};

TEST_F(ShmAwayTest, SaysWhoReachesIt) {
  make(2);
  EXPECT_TRUE(wire(0).caps(1).away);
  wire(1).set_away(nullptr);
  EXPECT_FALSE(wire(0).caps(1).away);  // The other does not open it,
  EXPECT_FALSE(wire(1).caps(0).away);  // nor does this one name any.
}

TEST_F(ShmAwayTest, StaysWhereItLies) {
  make(2);
  for (const bool early : {false, true}) {
    for (const std::uint64_t bytes : {std::uint64_t{1}, kAwayBytes}) {
      Message m(0, 1, FlowId(1, 0, bytes + early), bytes, 5);
      m.received.takes_away = true;
      const auto receive = [&] { return m.receive(wire(1)); };
      if (!early) {
        EXPECT_EQ(receive(), Posted::kPending);
      }
      send(m);
      EXPECT_EQ(m.sent.posted, Posted::kPending);
      progress();
      if (early) {
        EXPECT_EQ(receive(), Posted::kDone);
      }
      ASSERT_TRUE(m.received.complete());
      EXPECT_TRUE(m.received.is_away);
      EXPECT_EQ(m.received.view, m.source.data());
      progress();
      EXPECT_FALSE(m.sent.complete());  // It is still read.
      wire(1).release(m.received);
      EXPECT_EQ(away(1).open_now, 0);
      progress();
      EXPECT_TRUE(m.sent.complete());
    }
  }
  EXPECT_EQ(world_->counters(1).device_shared_bytes.value(), 2 * (kAwayBytes + 1));
  EXPECT_EQ(world_->counters(0).copy_in_bytes.value(), 0U);
}

// Who wants bytes, cannot open the place, or has got no name of it.
TEST_F(ShmAwayTest, ComesAsBytesToOthers) {
  make(2);
  std::uint64_t sequence = 0;
  for (const int why : {0, 1, 2}) {
    for (const bool view : {false, true}) {
      for (const bool synchronous : {false, true}) {
        SCOPED_TRACE(testing::Message() << why << view << synchronous);
        ++sequence;
        Message m(0, 1, FlowId(1, 0, sequence), kAwayBytes, sequence);
        m.in_place = view;
        m.received.takes_away = why > 0 && !view;
        away(1).opens = why != 1;
        away(0).gives_names = why != 2;
        away(0).retries = 2;
        EXPECT_EQ(m.receive(wire(1)), Posted::kPending);
        Send request = away_send(m);
        request.synchronous = synchronous;
        m.sent.posted = wire(0).send(request, m.sent);
        progress();
        EXPECT_FALSE(m.received.complete());
        ASSERT_EQ(away(0).fetches.size(), 1U);
        EXPECT_FALSE(wire(0).quiet());
        away(0).end_fetches();
        progress();
        m.check();
        EXPECT_FALSE(m.received.is_away);
        EXPECT_TRUE(m.sent.complete());
        wire(1).release(m.received);
        EXPECT_TRUE(wire(0).quiet() && wire(1).quiet());
      }
    }
  }
}

// One publication: some read it where it lies, one wants bytes.
TEST_F(ShmAwayTest, ReadersOfAPublicationMayDiffer) {
  make(4);
  const std::vector<Rank> readers = {1, 2, 3};
  const auto group = wire(0).open_group(readers);
  Messages all;
  for (const Rank r : readers) {
    all.push_back(std::make_unique<Message>(0, r, FlowId(1, 0, 1), kAwayBytes, 3));
    all.back()->received.takes_away = r != 2;
    (void)all.back()->receive(wire(r));
  }
  std::vector<std::byte> source = all[0]->source;
  Send request = away_send(*all[0]);
  request.data = source.data();
  SendProbe sent;
  sent.posted = wire(0).publish(request, *group, sent);
  progress();
  away(0).end_fetches();
  progress();
  EXPECT_EQ(sent.fired, 0);
  all[1]->check();
  for (const std::size_t i : {0U, 2U}) {
    EXPECT_EQ(all[i]->received.view, source.data());
    wire(static_cast<int>(i) + 1).release(all[i]->received);
  }
  progress();
  EXPECT_EQ(sent.fired, 1);
}

TEST_F(ShmAwayTest, WhatIsTakenBackIsNotReadAnyMore) {
  make(2);
  for (const bool fetching : {false, true}) {
    Message m(0, 1, FlowId(1, 0, 1 + fetching), kAwayBytes, 5);
    EXPECT_EQ(m.receive(wire(1)), Posted::kPending);
    away(0).retries = fetching ? 0 : 1'000;
    send(m);
    progress();
    EXPECT_EQ(away(0).fetches.size(), fetching ? 1U : 0U);
    wire(0).cancel(m.sent);
    EXPECT_TRUE(away(0).fetches.empty());
    progress();
    EXPECT_EQ(m.sent.fired, 0);
    ASSERT_EQ(m.received.fired, 1);
    EXPECT_EQ(m.received.status, Status(ESP_ERR_SYSTEM, 0, ECANCELED));
  }
}

TEST_F(ShmAwayTest, WhatIsTakenBackIsNotOpenedAnyMore) {
  make(2);
  Message m(0, 1, FlowId(1, 0, 1), kAwayBytes, 5);
  m.received.takes_away = true;
  send(m);
  wire(0).cancel(m.sent);
  (void)m.receive(wire(1));
  progress();
  ASSERT_TRUE(m.received.complete());
  EXPECT_EQ(m.received.status, Status(ESP_ERR_SYSTEM, 0, ECANCELED));
  EXPECT_EQ(away(1).open_now, 0);
}

// Its owner may free it as soon as cancel() has returned.
TEST_F(ShmAwayTest, WhoTakesBackWaitsForWhoReads) {
  make(2);
  Message m(0, 1, FlowId(1, 0, 1), kAwayBytes, 5);
  m.received.takes_away = true;
  EXPECT_EQ(m.receive(wire(1)), Posted::kPending);
  send(m);
  progress();
  ASSERT_TRUE(m.received.is_away);
  std::atomic<bool> released{false};
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    released.store(true);
    wire(1).release(m.received);
  });
  wire(0).cancel(m.sent);
  EXPECT_TRUE(released.load());
  reader.join();
}

// A reader that does not look is waited for once, and one that could not open the place not at all.
TEST_F(ShmAwayTest, WhoTakesBackManyWaitsOnce) {
  make(2);
  away(1).opens = false;
  Messages all;
  for (std::uint32_t i = 0; i < 12; ++i) {
    all.push_back(std::make_unique<Message>(0, 1, FlowId(1, 0, i), kAwayBytes, i));
    all.back()->received.takes_away = true;
    (void)all.back()->receive(wire(1));
    if (i == 8) {
      progress();
      away(1).opens = true;
    }
    send(*all.back());
  }
  progress();
  const auto begin = std::chrono::steady_clock::now();
  for (const auto& m : all) wire(0).cancel(m->sent);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(6));
  progress();
  for (const auto& m : all) {
    EXPECT_TRUE(m->received.complete());
    wire(1).release(m->received);
  }
}

// Whatever lies there unexpected, and keeps its tickets.
TEST_F(ShmAwayTest, WhatNobodyAsksForHoldsNothingUp) {
  make(2);
  Messages early, others;
  const auto add = [](Messages& all, std::uint64_t flow, std::uint32_t at, std::uint32_t total) {
    all.push_back(std::make_unique<Message>(0, 1, FlowId(1, 0, flow), 1000, flow + at));
    all.back()->ordinal = at;
    all.back()->total = total;
    all.back()->received.takes_away = true;
  };
  for (std::uint32_t i = 0; i < kEagerSegments; ++i) add(early, 1, i, kEagerSegments);
  for (std::uint32_t i = 0; i < 600; ++i) add(others, 2, i, 600);
  for (auto& m : early) {
    Send request = away_send(*m);
    request.synchronous = m->ordinal % 3 == 0;
    m->sent.posted = wire(0).send(request, m->sent);
    ASSERT_EQ(m->sent.posted, Posted::kPending);
  }
  progress();
  constexpr std::size_t kWindow = 32;
  std::size_t sent = 0, posted = 0;
  for (std::size_t taken = 0, turn = 0; taken < others.size(); ++turn) {
    ASSERT_LT(turn, 200'000U) << sent << " sent, " << taken << " taken";
    for (; posted < std::min(taken + kWindow, others.size()); ++posted) {
      (void)others[posted]->receive(wire(1), kWindow);
    }
    Message& next = *others[taken];
    if (sent < others.size()) {
      send(*others[sent]);
      if (others[sent]->sent.posted != Posted::kRetry) ++sent;
    }
    progress(1);
    if (turn % 50 == 0) {
      wire(0).idle();
      wire(1).idle();
    }
    away(0).end_fetches();
    if (!next.received.complete()) continue;
    EXPECT_TRUE(next.received.is_away);
    EXPECT_EQ(next.received.view, next.source.data());
    wire(1).release(next.received);
    ++taken;
  }
  for (auto& m : early) {
    (void)m->receive(wire(1), 32);
    progress();
    m->check();
    EXPECT_FALSE(m->received.is_away);
    wire(1).release(m->received);
    progress();
    EXPECT_TRUE(m->sent.complete()) << m->ordinal;
  }
  // Declined, and their bytes out of the way.
  EXPECT_EQ(world_->counters(1).evacuations.value(), 2 * kEagerSegments);
  EXPECT_TRUE(wire(0).quiet() && wire(1).quiet());
}

TEST_F(ShmAwayTest, AFetchThatFailsFailsBoth) {
  make(2);
  Message m(0, 1, FlowId(1, 0, 1), kAwayBytes, 5);
  EXPECT_EQ(m.receive(wire(1)), Posted::kPending);
  send(m);
  progress();
  away(0).end_fetches(Status(ESP_ERR_DEVICE, 0));
  progress();
  ASSERT_EQ(m.sent.fired, 1);
  EXPECT_EQ(m.sent.status.code(), ESP_ERR_DEVICE);
  ASSERT_EQ(m.received.fired, 1);
  EXPECT_EQ(m.received.status, Status(ESP_ERR_DEVICE, 0));
}

TEST_F(ShmAwayTest, AWrongLengthIsAMismatch) {
  make(2);
  Message m(0, 1, FlowId(1, 0, 1), kAwayBytes, 5);
  m.received.takes_away = true;
  send(m);
  m.received.dst = m.target.data();
  m.received.bytes = kAwayBytes - 1;
  m.received.posted = wire(1).recv({0, m.flow, 0, 1, 0}, 16, m.received);
  progress();
  ASSERT_TRUE(m.received.complete());
  EXPECT_EQ(m.received.status.code(), ESP_ERR_MISMATCH);
  progress();
  EXPECT_TRUE(m.sent.complete());
}

}  // namespace
}  // namespace espalier::test
