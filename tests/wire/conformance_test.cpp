// The contract of core/wire.hpp, one case at a time. Larger ones: conformance_large_test.cpp; ends
// half-way: conformance_half_way_test.cpp.
#include "conformance.hpp"

#include <algorithm>

namespace espalier::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Of, WireContract, ::testing::ValuesIn(all_worlds()), name_of_world);

constexpr std::uint64_t kSizes[] = {0, 1, 87, 88, 89, 1024, 4096, 65536, 512 << 10};

TEST_P(WireContract, PostedThenArrivesInEverySize) {
  World& world = make(2);
  for (const std::uint64_t bytes : kSizes) {
    Message m(0, 1, FlowId(1, 0, bytes), bytes, bytes + 1);
    ASSERT_EQ(m.receive(world.wire(1)), Posted::kPending);
    ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
    finish(world, m);
    EXPECT_EQ(m.received.fired, 1);
  }
}

TEST_P(WireContract, UnexpectedThenPostedInEverySize) {
  World& world = make(2);
  for (const std::uint64_t bytes : kSizes) {
    Message m(0, 1, FlowId(1, 0, bytes), bytes, bytes + 2);
    ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
    settle(world);
    world.wire(1).idle();
    (void)m.receive(world.wire(1));
    EXPECT_EQ(m.received.fired, 0) << "a completion fired inside recv";
    finish(world, m);
  }
}

TEST_P(WireContract, AtOnceOrNotAtAll) {
  World& world = make(2);
  for (const std::uint64_t bytes : kSizes) {
    Message m(0, 1, FlowId(6, 0, bytes), bytes, bytes + 4);
    m.at_once = true;
    const Posted posted = m.send(world.wire(0));
    ASSERT_NE(posted, Posted::kPending) << bytes;
    if (posted == Posted::kRetry) {
      m.at_once = false;
      ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
    }
    // What has come may be taken without a post.
    for (int i = 0; i < 20; ++i) (void)world.wire(1).progress();
    m.received.dst = m.target.data();
    m.received.bytes = bytes;
    m.received.posted = world.wire(1).take({0, m.flow, 0, 1, 0}, m.received);
    if (m.received.posted != Posted::kDone) (void)m.receive(world.wire(1));
    finish(world, m);
  }
}

TEST_P(WireContract, ViewsOfEverySize) {
  World& world = make(2);
  Messages all;
  for (const std::uint64_t bytes : kSizes) {
    if (bytes == 0) continue;
    all.push_back(std::make_unique<Message>(0, 1, FlowId(2, 0, bytes), bytes, bytes + 3));
    Message& m = *all.back();
    m.in_place = true;
    (void)m.receive(world.wire(1));
    ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
  }
  const auto complete = [&] { return received(all); };
  ASSERT_TRUE(step_until(world, complete));
  // Another message passes while all views are held.
  Message other(0, 1, FlowId(3, 0, 0), 4096, 77);
  (void)other.receive(world.wire(1));
  ASSERT_NE(other.send(world.wire(0)), Posted::kRetry);
  ASSERT_TRUE(step_until(world, [&] { return other.received.complete(); }));
  other.check();
  for (auto& m : all) m->check();
  // Released in another order than they came.
  std::reverse(all.begin(), all.end());
  std::swap(all.front(), all[all.size() / 2]);
  for (auto& m : all) world.wire(1).release(m->received);
  const auto sent = [&] {
    return other.sent.complete() &&
           std::all_of(all.begin(), all.end(), [](auto& m) { return m->sent.complete(); });
  };
  EXPECT_TRUE(step_until(world, sent));
}

TEST_P(WireContract, AnUnenteredFlowSendsOnlyTheEagerSegments) {
  World& world = make(2);
  for (const std::uint32_t window : {1U, 2U, 3U, 5U, 16U, 33U, 64U}) {
    auto flow = make_flow(0, 1, FlowId(4, 1, window), 200, 256);
    std::size_t sent = 0;
    const auto send_more = [&] {
      while (sent < flow.size() && flow[sent]->send(world.wire(0)) != Posted::kRetry) ++sent;
    };
    for (int i = 0; i < 20; ++i) {
      send_more();
      settle(world);
      world.wire(1).idle();
    }
    ASSERT_EQ(sent, kEagerSegments) << "window " << window;
    // Receives are posted in a window that slides over the flow.
    std::size_t posted = 0, complete = 0;
    const bool ended = step_until(world, [&] {
      while (complete < posted && flow[complete]->received.complete()) ++complete;
      while (posted < flow.size() && posted < complete + window) {
        (void)flow[posted++]->receive(world.wire(1), window);
      }
      send_more();
      EXPECT_LE(sent, std::max<std::size_t>(kEagerSegments, posted));
      return complete == flow.size() && flow.back()->sent.complete();
    });
    ASSERT_TRUE(ended) << "window " << window << ": " << sent << " sent, " << posted << " posted";
    settle(world);
    for (auto& m : flow) m->check();
  }
}

TEST_P(WireContract, FlowsDoNotWaitForEachOther) {
  World& world = make(3);
  // Flow A is full of segments that nobody takes; B passes it, from the same and another sender.
  auto stuck = make_flow(0, 2, FlowId(5, 0, 1), 64, 4096);
  for (auto& m : stuck) {
    if (m->send(world.wire(0)) == Posted::kRetry) break;
  }
  for (const Rank from : {0, 1}) {
    auto flow = make_flow(from, 2, FlowId(5, 0, 2), 64, 4096);
    std::size_t sent = 0;
    for (auto& m : flow) (void)m->receive(world.wire(2), 64);
    ASSERT_TRUE(step_until(world,
                           [&] {
                             while (sent < 64 &&
                                    flow[sent]->send(world.wire(from)) != Posted::kRetry)
                               ++sent;
                             return complete(flow);
                           }))
        << "from " << from;
    for (auto& m : flow) m->check();
  }
}

TEST_P(WireContract, KeysThatDifferInOnePartAreDifferentFlows) {
  World& world = make(3);
  Messages all;
  for (const Rank from : {0, 1}) {
    for (std::uint32_t team : {1U, 2U}) {
      for (std::uint32_t channel : {0U, 1U, 255U}) {
        for (std::uint64_t sequence : {0U, 1U}) {
          all.push_back(std::make_unique<Message>(from, 2, FlowId(team, channel, sequence), 200,
                                                  all.size() + 1));
        }
      }
    }
  }
  for (std::size_t i = 0; i < all.size(); i += 2) (void)all[i]->receive(world.wire(2));
  for (auto& m : all) ASSERT_NE(m->send(world.wire(m->from)), Posted::kRetry);
  settle(world);
  for (std::size_t i = 1; i < all.size(); i += 2) (void)all[i]->receive(world.wire(2));
  ASSERT_TRUE(step_until(world, [&] { return received(all); }));
  for (auto& m : all) m->check();
}

TEST_P(WireContract, TakeLooksAndPostsNothing) {
  World& world = make(2);
  for (const std::uint64_t bytes : kSizes) {
    for (const bool drained : {false, true}) {
      Message m(0, 1, FlowId(16, drained, bytes), bytes, bytes + 4);
      Message other(0, 1, FlowId(17, drained, bytes), bytes, bytes + 5);
      m.received.dst = m.target.data();
      m.received.bytes = bytes;
      const SegmentId id{0, m.flow, 0, 1, 0};
      if (world.wire(1).take(id, m.received) != Posted::kRetry) FAIL() << "nothing was sent";
      ASSERT_NE(other.send(world.wire(0)), Posted::kRetry);
      ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
      if (drained) settle(world);
      (void)other.receive(world.wire(1));
      for (int i = 0; i < 100 && m.received.posted != Posted::kDone; ++i) {
        m.received.posted = world.wire(1).take(id, m.received);
        if (m.received.posted != Posted::kDone) (void)world.wire(1).progress();
      }
      if (m.received.posted != Posted::kDone) (void)m.receive(world.wire(1));
      ASSERT_TRUE(step_until(world, [&] {
        return m.received.complete() && other.received.complete() && m.sent.complete() &&
               other.sent.complete();
      }));
      m.check();
      other.check();
    }
  }
}

TEST_P(WireContract, APublicationReachesEveryReader) {
  World& world = make(5);
  const std::vector<Rank> readers = {1, 2, 3, 4};
  const auto group = world.wire(0).open_group(readers);
  for (const std::uint64_t bytes : kSizes) {
    Messages copies;
    for (const Rank r : readers) {
      copies.push_back(std::make_unique<Message>(0, r, FlowId(6, 0, bytes), bytes, bytes + 9));
      if (r % 2 == 1) (void)copies.back()->receive(world.wire(r));
    }
    Message& source = *copies.front();
    Send send;
    send.segment = {kNoRank, source.flow, 0, 1, 0};
    send.data = source.source.data();
    send.bytes = send.flow_bytes = bytes;
    SendProbe op;
    op.posted = world.wire(0).publish(send, *group, op);
    ASSERT_NE(op.posted, Posted::kRetry);
    settle(world);
    // Two readers have not read. Wires that hold the bytes by now may say so.
    if (op.complete()) fill(source.source.data(), bytes, 0);
    for (auto& m : copies) {
      if (m->to % 2 == 0) (void)m->receive(world.wire(m->to));
    }
    ASSERT_TRUE(step_until(world, [&] { return op.complete() && received(copies); }));
    for (auto& m : copies) m->check();
  }
}

TEST_P(WireContract, BuffersInSharedMemory) {
  World& world = make(2);
  for (const std::uint64_t bytes : {100U, 1024U, 65536U, 1U << 20}) {
    Message m(0, 1, FlowId(7, 0, bytes), bytes, bytes);
    std::byte* shared = world.shared(0, bytes);
    fill(shared, bytes, m.seed);
    Send send;
    send.segment = {1, m.flow, 0, 1, 0};
    send.data = shared;
    send.bytes = send.flow_bytes = bytes;
    m.sent.posted = world.wire(0).send(send, m.sent);
    ASSERT_NE(m.sent.posted, Posted::kRetry);
    if (m.sent.posted == Posted::kDone) fill(shared, bytes, 0);  // It is ours again.
    (void)m.receive(world.wire(1));
    finish(world, m);
  }
}

TEST_P(WireContract, DoneMeansThatTheBufferIsFree) {
  World& world = make(2);
  for (const std::uint64_t bytes : kSizes) {
    Message m(0, 1, FlowId(8, 0, bytes), bytes, bytes + 5);
    const Posted posted = m.send(world.wire(0));
    ASSERT_NE(posted, Posted::kRetry);
    if (posted == Posted::kDone) std::fill(m.source.begin(), m.source.end(), std::byte{0});
    settle(world);
    (void)m.receive(world.wire(1));
    finish(world, m);
  }
}

TEST_P(WireContract, ASynchronousSendEndsWithItsReceive) {
  World& world = make(2);
  for (const std::uint64_t bytes : kSizes) {
    Message m(0, 1, FlowId(9, 0, bytes), bytes, bytes + 6);
    ASSERT_EQ(m.send(world.wire(0), true), Posted::kPending);
    for (int i = 0; i < 50; ++i) {
      (void)step(world);
      world.wire(1).idle();
    }
    ASSERT_EQ(m.sent.fired, 0) << bytes << " bytes: ended before the receive was posted";
    (void)m.receive(world.wire(1));
    ASSERT_TRUE(step_until(world, [&] { return m.received.complete() && m.sent.fired == 1; }));
    m.check();
  }
}

TEST_P(WireContract, AnotherLengthOrSignatureIsAMismatchAndNothingIsWritten) {
  World& world = make(2);
  int number = 0;
  for (const std::uint64_t bytes : {8U, 300U, 65536U}) {
    for (const bool early : {false, true}) {
      for (const bool length : {false, true}) {
        for (const bool in_place : {false, true}) {
          Message m(0, 1, FlowId(10, 0, static_cast<std::uint64_t>(++number)), bytes, 1);
          m.in_place = in_place;
          if (early) {
            ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
          }
          if (early) settle(world);
          const std::uint64_t right = m.bytes;
          if (length) m.bytes -= 1;
          if (!length) m.signature = 1;
          (void)m.receive(world.wire(1));
          m.bytes = right;
          m.signature = 0;
          if (!early) {
            ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
          }
          ASSERT_TRUE(step_until(world, [&] { return m.complete(); }));
          EXPECT_EQ(m.received.status.code(), ESP_ERR_MISMATCH);
          EXPECT_EQ(m.received.status.rank(), 0);
          const auto untouched = [](std::byte b) { return b == std::byte{0}; };
          EXPECT_TRUE(std::all_of(m.target.begin(), m.target.end() - 1, untouched));
        }
      }
    }
  }
}

TEST_P(WireContract, ACanceledReceiveNeverFires) {
  World& world = make(2);
  for (const std::uint64_t bytes : kSizes) {
    Message m(0, 1, FlowId(11, 0, bytes), bytes, 4);
    ASSERT_EQ(m.receive(world.wire(1)), Posted::kPending);
    world.wire(1).cancel(m.received);
    ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
    settle(world);
    EXPECT_EQ(m.received.fired, 0);
    // The segment is still there for a receive posted later.
    Message again(0, 1, m.flow, bytes, 4);
    (void)again.receive(world.wire(1));
    ASSERT_TRUE(step_until(world, [&] { return again.received.complete() && m.sent.complete(); }));
    again.check();
    world.wire(1).cancel(again.received);  // No effect: it has completed.
    EXPECT_LE(again.received.fired, 1);
  }
}

TEST_P(WireContract, ACanceledSendNeverFires) {
  World& world = make(3);
  const auto group = world.wire(0).open_group(std::vector<Rank>{1, 2});
  for (const std::uint64_t bytes : kSizes) {
    Message m(0, 1, FlowId(12, 0, bytes), bytes, 5);
    Send send;
    send.segment = {kNoRank, m.flow, 0, 1, 0};
    send.data = m.source.data();
    send.bytes = send.flow_bytes = bytes;
    send.synchronous = true;
    ASSERT_EQ(world.wire(0).publish(send, *group, m.sent), Posted::kPending);
    (void)m.receive(world.wire(1));
    ASSERT_TRUE(step_until(world, [&] { return m.received.complete(); }));
    settle(world);  // One of the two has acknowledged.
    world.wire(0).cancel(m.sent);
    Message second(0, 2, m.flow, bytes, 5);
    (void)second.receive(world.wire(2));
    ASSERT_TRUE(step_until(world, [&] { return second.received.complete(); }));
    settle(world);
    EXPECT_EQ(m.sent.fired, 0);
    check_taken_back(world, second);
  }
}

TEST_P(WireContract, CompletionsMayPost) {
  struct Relay : RecvProbe {
    Relay() { on_complete = on_relay; }
    static void on_relay(Completion& op, Status status) noexcept {
      auto& self = static_cast<Relay&>(op);
      RecvProbe::note(op, status);
      (void)self.next_message->receive(*self.receiver);
      (void)self.next_message->send(*self.sender);
    }
    Message* next_message = nullptr;
    Wire* sender = nullptr;
    Wire* receiver = nullptr;
  };
  World& world = make(2);
  for (const std::uint64_t bytes : kSizes) {
    Message first(0, 1, FlowId(13, 0, bytes), bytes, 1),
        second(1, 0, FlowId(13, 1, bytes), bytes, 2);
    Relay relay;
    relay.dst = first.target.data();
    relay.bytes = bytes;
    relay.next_message = &second;
    relay.sender = &world.wire(1);
    relay.receiver = &world.wire(0);
    ASSERT_EQ(world.wire(1).recv({0, first.flow, 0, 1, 0}, 1, relay), Posted::kPending);
    ASSERT_NE(first.send(world.wire(0)), Posted::kRetry);
    ASSERT_TRUE(step_until(world, [&] {
      return relay.fired == 1 && second.received.complete() && first.sent.complete() &&
             second.sent.complete();
    }));
    second.check();
  }
}

TEST_P(WireContract, ThousandsOfMessagesWrapAllCounters) {
  World& world = make(2);
  const std::uint64_t count = GetParam().messages;
  Message m(0, 1, FlowId(14, 0, 0), 96, 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    m.flow = FlowId(14, 0, i);
    std::memcpy(m.source.data(), &i, sizeof i);
    m.sent.fired = m.received.fired = 0;
    const bool early = i % 3 == 0;
    if (early) {
      ASSERT_NE(m.send(world.wire(0)), Posted::kRetry) << i;
    }
    if (early) (void)world.wire(1).progress();
    (void)m.receive(world.wire(1));
    if (!early) {
      ASSERT_NE(m.send(world.wire(0)), Posted::kRetry) << i;
    }
    for (int tries = 0; !m.complete(); ++tries) {
      ASSERT_LT(tries, 10000) << i;
      (void)step(world);
    }
    ASSERT_EQ(std::memcmp(m.target.data(), &i, sizeof i), 0) << i;
  }
}

TEST_P(WireContract, AWireMayEndWithTrafficUnderWay) {
  World& world = make(3);
  auto unexpected = make_flow(0, 1, FlowId(15, 0, 1), 16, 4096);
  auto posted = make_flow(0, 1, FlowId(15, 0, 2), 16, 4096);
  auto views = make_flow(0, 1, FlowId(15, 0, 3), 4, 4096);
  for (auto& m : unexpected) ASSERT_NE(m->send(world.wire(0)), Posted::kRetry);
  for (auto& m : posted) (void)m->receive(world.wire(1), 16);
  for (auto& m : views) {
    m->in_place = true;
    (void)m->receive(world.wire(1), 16);
    ASSERT_NE(m->send(world.wire(0)), Posted::kRetry);
  }
  settle(world);
  for (auto& m : posted) world.wire(1).cancel(m->received);
  for (auto& m : views) world.wire(1).release(m->received);
  world.close(1);
  // The others go on.
  Message m(0, 2, FlowId(15, 0, 4), 4096, 8);
  (void)m.receive(world.wire(2));
  ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
  for (int i = 0; i < 100 && !m.received.complete(); ++i) {
    if (world.wire(2).progress() + world.wire(0).progress() == 0) world.rest();
  }
  m.check();
  // Before the messages, which are theirs while they are under way.
  world.close(0);
  world.close(2);
}

}  // namespace
}  // namespace espalier::test
