// What goes over living connections: sizes, cancelled operations, control messages, and what it
// costs in system calls, copies and allocations.
#include "tests/harness/traffic.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "tests/support/allocations.hpp"
#include "tests/tcp/connections.hpp"

namespace espalier::test {
namespace {

TEST(TcpTraffic, SixtyFourMebibytesInOneSegment) {
  TcpWorld world(2, loopback());
  constexpr std::uint64_t kBytes = net::kSegmentBytesMax;
  Message posted(0, 1, FlowId(1, 0, 0), kBytes, 1);
  carry(world, posted);
  EXPECT_EQ(world.counters(1).copy_out_bytes.value(), 0U) << "it goes to where it is wanted";
  Message early(0, 1, FlowId(1, 0, 1), kBytes, 2);
  early.in_place = true;
  ASSERT_NE(early.send(world.wire(0)), Posted::kRetry);
  settle(world);
  (void)early.receive(world.wire(1));
  finish(world, early);
  world.wire(1).release(early.received);
  EXPECT_EQ(world.frames(1).held_bytes(), 0U);
}

// What a blocking call relies on: its rank may compute from then on.
TEST(TcpTraffic, FlushLeavesNothingForTheNextProgress) {
  TcpWorld world(2, loopback());
  Message meeting(0, 1, FlowId(3, 0, 0), 8, 1);
  carry(world, meeting);
  for (const std::uint32_t bytes : {8U, 4096U}) {
    Message first(0, 1, FlowId(3, bytes, 1), bytes, 2), second(0, 1, FlowId(3, bytes, 2), bytes, 3);
    (void)first.receive(world.wire(1));
    (void)second.receive(world.wire(1));
    (void)world.wire(0).progress();
    ASSERT_NE(first.send(world.wire(0)), Posted::kRetry);
    ASSERT_NE(second.send(world.wire(0)), Posted::kRetry);
    const auto rank_1_looks = [&](const Message& m) {
      for (int i = 0; i < 200 && !m.received.complete(); ++i) {
        if (world.wire(1).progress() == 0) ::usleep(100);
      }
      return m.received.complete();
    };
    EXPECT_TRUE(rank_1_looks(first)) << "the first of a round goes at once";
    EXPECT_FALSE(rank_1_looks(second)) << "others are gathered";
    EXPECT_TRUE(world.wire(0).flush());
    EXPECT_TRUE(rank_1_looks(second));
    ASSERT_TRUE(step_until(world, [&] { return first.sent.complete() && second.sent.complete(); }));
  }
}

// To a rank that it has not met the caller has to stay until they have.
TEST(TcpTraffic, FlushTellsOfFramesThatWaitForAConnection) {
  TcpWorld world(2, loopback());
  Message m(0, 1, FlowId(3, 0, 0), 8, 1);
  (void)m.receive(world.wire(1));
  ASSERT_EQ(m.send(world.wire(0)), Posted::kDone);
  EXPECT_FALSE(world.wire(0).flush());
  (void)world.wire(0).progress();
  EXPECT_FALSE(world.wire(0).flush()) << "the other has not looked";
  ASSERT_TRUE(step_until(world, [&] { return world.wire(0).flush(); }));
  // Rank 0 computes from here on.
  for (int i = 0; i < 200 && !m.received.complete(); ++i) {
    if (world.wire(1).progress() == 0) ::usleep(100);
  }
  EXPECT_TRUE(m.received.complete());
}

// A receive is cancelled while its payload arrives in the user's memory (or for a view): nothing
// more is written there, and the segment is whole for the next receive.
// A user's error, which is told at once: nobody waits for a peer that has done nothing wrong.
TEST(TcpTraffic, MemoryThatCannotBeReadEndsTheSend) {
  TcpWorld world(2, loopback());
  Message first(0, 1, FlowId(5, 1, 0), 100, 1);
  carry(world, first);
  constexpr std::uint64_t kBytes = 1 << 20;
  void* memory = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Send request;
  request.segment = {1, FlowId(5, 0, 0), 0, 1, 0};
  request.data = memory;
  request.bytes = request.flow_bytes = kBytes;
  SendProbe sent;
  sent.posted = world.wire(0).send(request, sent);
  ASSERT_TRUE(step_until(world, [&] { return !world.frames(0).state(1).ok(); }));
  ASSERT_TRUE(step_until(world, [&] { return sent.complete(); }));
  EXPECT_EQ(world.frames(0).state(1).code(), ESP_ERR_NETWORK);
  EXPECT_EQ(world.tcp(0).describe(1),
            "lost: write: Bad address (the memory of a send cannot be read)");
  EXPECT_TRUE(step_until(world, [&] { return !world.frames(1).state(0).ok(); }));
  ::munmap(memory, kBytes);
}

TEST(TcpTraffic, AReceiveCancelledHalfWay) {
  for (const bool in_place : {false, true}) {
    for (const bool claimed : {false, true}) {
      RelayWorld world(2, loopback(), {});
      Message m(0, 1, FlowId(2, 0, 0), 4 << 20, 7), again(0, 1, FlowId(2, 0, 0), 4 << 20, 7);
      m.in_place = in_place;
      if (!claimed) (void)m.receive(world.wire(1));
      ASSERT_EQ(m.send(world.wire(0)), Posted::kPending);
      while (world.relay(0, 1).passed_bytes() < (1 << 20)) (void)step(world);
      if (claimed) {
        ASSERT_EQ(m.receive(world.wire(1)), Posted::kPending);
      }
      ASSERT_EQ(m.received.fired, 0);
      world.wire(1).cancel(m.received);
      std::fill(m.target.begin(), m.target.end(), std::byte{0x11});
      (void)again.receive(world.wire(1));
      ASSERT_TRUE(step_until(world, [&] { return again.received.complete(); }));
      again.check();
      EXPECT_EQ(m.received.fired, 0);
      EXPECT_TRUE(std::all_of(m.target.begin(), m.target.end(),
                              [](std::byte b) { return b == std::byte{0x11}; }));
      EXPECT_EQ(world.frames(1).held_bytes(), 0U);
    }
  }
}

// A send is cancelled while it waits behind others: its buffer is the user's again, and the peer
// gets the bytes that were in it.
TEST(TcpTraffic, ASendCancelledInTheQueue) {
  TcpWorld world(2, loopback());
  Message first(0, 1, FlowId(3, 0, 0), 16 << 20, 1), second(0, 1, FlowId(3, 0, 1), 100'000, 2);
  (void)first.receive(world.wire(1));
  (void)second.receive(world.wire(1));
  ASSERT_EQ(first.send(world.wire(0)), Posted::kPending);
  ASSERT_EQ(second.send(world.wire(0)), Posted::kPending);
  world.wire(0).cancel(second.sent);
  std::fill(second.source.begin(), second.source.end(), std::byte{0});
  ASSERT_TRUE(step_until(world, [&] {
    return first.received.complete() && second.received.complete() && first.sent.complete();
  }));
  first.check();
  second.check();
  EXPECT_EQ(second.sent.fired, 0);
}

// The first frame of a publication found room, others did not: they follow. Some are cancelled
// meanwhile.
TEST(TcpTraffic, APublicationThatFoundRoomForSomeReaders) {
  TcpWorld world(5, loopback(), 0.5);
  const std::vector<Rank> readers = {1, 2, 3, 4};
  const auto group = world.wire(0).open_group(readers);
  int cancelled = 0;
  for (std::uint64_t round = 0; round < 100; ++round) {
    const std::uint64_t bytes = round % 3 == 0 ? 50'000 : 100;
    Messages copies;
    for (const Rank r : readers) {
      copies.push_back(std::make_unique<Message>(0, r, FlowId(7, 0, round), bytes, round));
      (void)copies.back()->receive(world.wire(r));
    }
    Send send;
    send.segment = {kNoRank, copies[0]->flow, 0, 1, 0};
    send.data = copies[0]->source.data();
    send.bytes = send.flow_bytes = bytes;
    send.synchronous = round % 5 == 0;
    SendProbe op;
    for (int tries = 0; tries < 1000 && op.posted == Posted::kRetry; ++tries) {
      op.posted = world.wire(0).publish(send, *group, op);
      if (op.posted == Posted::kRetry) (void)step(world);
    }
    ASSERT_NE(op.posted, Posted::kRetry);
    const bool cancel = round % 11 == 0 && op.posted == Posted::kPending;
    if (cancel) {
      world.wire(0).cancel(op);
      std::fill(copies[0]->source.begin(), copies[0]->source.end(), std::byte{0});
      ++cancelled;
      // Who was not reached yet is not reached any more.
      settle(world);
      for (auto& m : copies) world.wire(m->to).cancel(m->received);
      for (auto& m : copies) {
        if (m->received.complete()) m->check();
      }
      EXPECT_EQ(op.fired, 0);
      continue;
    }
    ASSERT_TRUE(step_until(world, [&] { return op.complete() && received(copies); }));
    EXPECT_LE(op.fired, 1);
    for (auto& m : copies) m->check();
  }
  EXPECT_GT(cancelled, 3);
}

TEST(TcpTraffic, PostsAreGatheredIntoFewSystemCalls) {
  TcpWorld world(2, loopback());
  Message m(0, 1, FlowId(5, 0, 0), 64, 1);
  carry(world, m);
  settle(world);
  // 200 small frames in one go.
  auto flow = make_flow(0, 1, FlowId(5, 0, 1), 200, 64);
  for (auto& each : flow) (void)each->receive(world.wire(1), 200);
  settle(world);
  const std::uint64_t before = world.counters(0).socket_calls.value();
  for (auto& each : flow) ASSERT_NE(each->send(world.wire(0)), Posted::kRetry);
  (void)world.wire(0).progress();
  EXPECT_LE(world.counters(0).socket_calls.value() - before, 1U + 7U + 1U);  // 32 frames a call
  const std::uint64_t reading = world.counters(1).socket_calls.value();
  ASSERT_TRUE(step_until(world, [&] { return flow.back()->received.complete(); }));
  EXPECT_LE(world.counters(1).socket_calls.value() - reading, 100U);
  for (auto& each : flow) each->check();
}

// Sends `count` messages from 0 to 1 and back, each when the other has come.
void throw_to_and_fro(World& world, std::uint64_t count, std::uint64_t sequence) {
  for (std::uint64_t k = 0; k < count; ++k) {
    const auto from = static_cast<Rank>(k % 2);
    Message ball(from, 1 - from, FlowId(4, 0, sequence + k), 8, k);
    carry(world, ball);
  }
}

// Of a peer that alone is heard, and answered, a message costs little more than the read.
TEST(TcpTraffic, WhoIsHeardAloneIsReadAtOnce) {
  TcpWorld world(3, loopback());
  throw_to_and_fro(world, 40, 0);
  // Others are heard nevertheless.
  Message other(2, 1, FlowId(4, 1, 0), 8, 1);
  carry(world, other);
  throw_to_and_fro(world, 40, 100);
  const auto calls = [&] { return world.counters(1).socket_calls.value(); };
  std::uint64_t at_once = 0, spent = 0;  // found by the first look
  for (std::uint64_t k = 0; k < 100; ++k) {
    Message ball(0, 1, FlowId(4, 2, k), 8, k), back(1, 0, FlowId(4, 2, k), 8, k);
    (void)ball.receive(world.wire(1));
    ASSERT_NE(ball.send(world.wire(0)), Posted::kRetry);
    ASSERT_TRUE(world.wire(0).flush());
    const std::uint64_t before = calls();
    (void)world.wire(1).progress();
    if (ball.received.complete()) {
      ++at_once;
      spent += calls() - before;
    }
    ASSERT_TRUE(step_until(world, [&] { return ball.received.complete(); }));
    ball.check();
    ASSERT_NO_FATAL_FAILURE(carry(world, back));
    for (std::uint64_t i = 0; i < k % 4; ++i) (void)world.wire(1).progress();
  }
  EXPECT_GT(at_once, 0U);
  EXPECT_LT(spent, 2 * at_once) << "asking first would be two calls each";
}

bool arrives(TcpWorld& world, const Message& m) {
  for (int i = 0; i < 50 && !m.received.complete(); ++i) {
    (void)world.wire(0).progress();
    if (world.wire(1).progress() == 0) ::usleep(1000);
  }
  return m.received.complete();
}

// Frames from rank 0 to rank 1, which sends nothing. Which of them does not arrive: rank 1 does not
// look any more; -1: all do.
int stream(TcpWorld& world, Message& m) {
  for (int k = 0; k < 30; ++k) {
    m.flow = FlowId(5, 0, static_cast<std::uint64_t>(k));
    m.sent.fired = m.received.fired = 0;
    (void)m.receive(world.wire(1));
    EXPECT_NE(m.send(world.wire(0)), Posted::kRetry);
    // The first makes the connection, for which both have to look.
    if (k == 0 && !step_until(world, [&] { return m.received.complete(); })) return k;
    if (!arrives(world, m)) return k;
  }
  return -1;
}

net::TcpOptions looks_at_streams_after(std::uint64_t seconds) {
  net::TcpOptions options = loopback();
  options.stream_look_ns = seconds * kNanosecondsPerSecond;
  return options;
}

TEST(TcpTraffic, LooksAtAStreamKeepTheirDistance) {
  TcpWorld world(2, looks_at_streams_after(3600));
  Message m(0, 1, FlowId(5, 0, 0), 8, 2), answer(1, 0, FlowId(5, 2, 0), 8, 3);
  EXPECT_GE(stream(world, m), static_cast<int>(net::LookPace::kStreamFrom));
  const std::uint64_t calls = world.counters(1).socket_calls.value();
  EXPECT_FALSE(arrives(world, m));
  EXPECT_EQ(world.counters(1).socket_calls.value(), calls) << "not even a look";
  EXPECT_GT(world.tcp(1).deadline_ns(), 0U) << "progress() is due then";
  ASSERT_NE(answer.send(world.wire(1)), Posted::kRetry);
  EXPECT_TRUE(arrives(world, m)) << "it waits for a reply now";
}

TEST(TcpTraffic, WhoWantsToSleepLooksAtAStreamFirst) {
  TcpWorld world(2, looks_at_streams_after(3600));
  Message m(0, 1, FlowId(5, 0, 0), 8, 2);
  ASSERT_GE(stream(world, m), 0);
  EXPECT_FALSE(world.tcp(1).arm());
  EXPECT_TRUE(arrives(world, m));
}

TEST(TcpTraffic, LargeFramesAndAnsweredOnesAreNoStream) {
  TcpWorld world(2, looks_at_streams_after(3600));
  Message large(0, 1, FlowId(5, 0, 0), 40'000, 2);
  EXPECT_EQ(stream(world, large), -1);
  throw_to_and_fro(world, 40, 0);
  TcpWorld other(2, looks_at_streams_after(0));
  Message small(0, 1, FlowId(5, 0, 0), 8, 2);
  EXPECT_EQ(stream(other, small), -1) << "no distance";
}

// Who answers is not kept waiting by who streams.
TEST(TcpTraffic, WhoIsHeardBesidesAStreamEndsIt) {
  TcpWorld world(3, looks_at_streams_after(3600));
  for (std::uint64_t k = 0; k < 40; ++k) {
    Message part(0, 1, FlowId(5, 0, k), 8, k);
    carry(world, part);
    if (k % 4 != 0) continue;
    Message request(1, 2, FlowId(5, 1, k), 8, k), reply(2, 1, FlowId(5, 2, k), 8, k);
    carry(world, request);
    carry(world, reply);
  }
}

// What a look at all would have told is not held against those whom nobody looked at.
TEST(TcpTraffic, WhoIsMetWhileOneIsHeardIsNotTakenForSilent) {
  net::TcpOptions options = loopback();
  options.connect_ns = 20'000'000;
  for (std::uint64_t phase = 0; phase < 4; ++phase) {
    TcpWorld world(3, options);
    throw_to_and_fro(world, 40, 0);
    for (std::uint64_t k = 0; k < phase; ++k) (void)world.wire(0).progress();
    Message first(0, 2, FlowId(4, 1, 0), 8, 1);
    (void)first.receive(world.wire(2));
    ASSERT_NE(first.send(world.wire(0)), Posted::kRetry);
    ::usleep(30'000);  // Rank 0 computes.
    ASSERT_TRUE(step_until(
        world, [&] { return first.received.complete() || !world.frames(0).state(2).ok(); }));
    ASSERT_TRUE(world.frames(0).state(2).ok());
    first.check();
  }
}

TEST(TcpTraffic, SteadyTrafficAllocatesNothing) {
  TcpWorld world(2, loopback());
  Message small(0, 1, FlowId(6, 0, 0), 200, 1), large(1, 0, FlowId(6, 1, 0), 100'000, 2),
      view(0, 1, FlowId(6, 2, 0), 5000, 3);
  view.in_place = true;
  std::uint64_t allocated = 0;
  for (std::uint64_t round = 0; round < 300; ++round) {
    if (round == 100) allocated = allocations();
    for (Message* m : {&small, &large, &view}) {
      m->flow = FlowId(6, m->flow.key >> 30 & 3, round);
      m->sent.fired = m->received.fired = 0;
      if (round % 2 == 0) (void)m->receive(world.wire(m->to));
      ASSERT_NE(m->send(world.wire(m->from), round % 5 == 0), Posted::kRetry);
    }
    for (int i = 0; i < 10; ++i) {
      for (const Rank r : {0, 1}) (void)world.wire(r).progress();
    }
    for (Message* m : {&small, &large, &view}) {
      if (round % 2 == 1) (void)m->receive(world.wire(m->to));
      for (int i = 0; i < 100'000 && !m->complete(); ++i) {
        for (const Rank r : {0, 1}) (void)world.wire(r).progress();
      }
      ASSERT_TRUE(m->complete());
      world.wire(m->to).release(m->received);
    }
  }
  EXPECT_EQ(allocations(), allocated);
}

// ---- control messages ----

class Inbox final : public net::ControlHandler {
 public:
  void control(Rank from, std::span<const std::byte> message) noexcept override {
    texts.emplace_back(reinterpret_cast<const char*>(message.data()), message.size());
    senders.push_back(from);
  }
  void lost(Rank peer, const Status& why) noexcept override {
    lost_peers.push_back(peer);
    reason = why;
  }
  std::vector<std::string> texts;
  std::vector<Rank> senders, lost_peers;
  Status reason;
};

// A pair of wires with handlers, on the links of a world that is not used otherwise.
struct ControlPair {
  ControlPair() : world(2, loopback()) {
    for (const Rank r : {0, 1}) {
      wires.push_back(std::make_unique<net::FrameWire>(world.link(r), net::FrameWireOptions{},
                                                       counters[r], &inboxes[r]));
    }
  }
  int step() {
    const int events = wires[0]->progress() + (wires[1] != nullptr ? wires[1]->progress() : 0);
    if (events == 0) world.rest();
    return events;
  }
  TcpWorld world;
  Counters counters[2];
  Inbox inboxes[2];
  std::vector<std::unique_ptr<net::FrameWire>> wires;
};

TEST(TcpControl, MessagesComeInOrderAndWhole) {
  ControlPair pair;
  std::vector<std::string> sent;
  bool waited = false;
  for (int n = 0; n < 2000; ++n) {
    sent.push_back(std::to_string(n) + std::string(static_cast<std::size_t>(n * 7 % 1000), 'x'));
    if (n == 5) sent.back().clear();
    if (n == 6) sent.back().assign(net::kControlBytes, 'y');
    const auto bytes = std::as_bytes(std::span(sent.back()));
    waited = waited || !pair.wires[0]->takes_control(1);
    pair.wires[0]->send_control(1, bytes);
  }
  for (int i = 0; i < 100'000 && pair.inboxes[1].texts.size() < sent.size(); ++i) {
    (void)pair.step();
  }
  EXPECT_TRUE(waited) << "the link takes so many and no more";
  EXPECT_EQ(pair.inboxes[1].texts, sent);
  EXPECT_TRUE(pair.wires[0]->takes_control(1));
  EXPECT_TRUE(pair.wires[0]->all_posted());
  pair.world.close(1);
}

TEST(TcpControl, TheHandlerIsToldOfALossOnce) {
  ControlPair pair;
  pair.wires[0]->send_control(1, {});
  for (int i = 0; i < 10'000 && pair.inboxes[1].texts.empty(); ++i) (void)pair.step();
  pair.wires[1].reset();
  pair.world.close(1);
  for (int i = 0; i < 1000 && pair.inboxes[0].lost_peers.empty(); ++i) (void)pair.step();
  for (int i = 0; i < 50; ++i) (void)pair.step();
  EXPECT_EQ(pair.inboxes[0].lost_peers, std::vector<Rank>{1});
  EXPECT_EQ(pair.inboxes[0].reason.code(), ESP_ERR_PEER_DIED);
  pair.wires[0]->send_control(1, {});
  EXPECT_TRUE(pair.wires[0]->all_posted()) << "goes nowhere";
}

}  // namespace
}  // namespace espalier::test
