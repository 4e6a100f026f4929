// The contract of core/wire.hpp for groups: publications to any number of readers, each of whom
// gets a segment once, whatever refuses, ends or dies meanwhile.
#include <algorithm>

#include "conformance.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t kGroupSizes[] = {0, 40, 89, 5000, 200'000};

std::vector<Rank> ranks_up_to(Rank last) {
  std::vector<Rank> ranks;
  for (Rank r = 1; r <= last; ++r) ranks.push_back(r);
  return ranks;
}

// Copies of one segment for readers; the first one's source is what is published.
struct Publication {
  Publication(const std::vector<Rank>& readers, FlowId flow, std::uint64_t bytes,
              std::uint32_t ordinal = 0, std::uint32_t total = 1) {
    for (const Rank r : readers) {
      copies.push_back(std::make_unique<Message>(0, r, flow, bytes, flow.key + ordinal));
      copies.back()->ordinal = ordinal;
      copies.back()->total = total;
    }
  }
  Posted post(World& world, const Group& group, bool synchronous = false) {
    const Message& first = *copies.front();
    Send send;
    send.segment = {kNoRank, first.flow, first.ordinal, first.total, 0};
    send.data = first.source.data();
    send.bytes = first.bytes;
    send.flow_bytes = first.bytes * first.total;
    send.synchronous = synchronous;
    send.transfer = transfer;
    return sent.posted = world.wire(0).publish(send, group, sent);
  }
  bool post_soon(World& world, const Group& group) {
    return step_until(world, [&] { return post(world, group) != Posted::kRetry; });
  }
  void receive(World& world, Message& copy) const {
    copy.transfer = transfer;
    (void)copy.receive(world.wire(copy.to), 32);
  }
  void receive(World& world) const {
    for (const auto& copy : copies) receive(world, *copy);
  }
  bool complete() const { return sent.complete() && received(copies); }
  void check() const {
    for (const auto& copy : copies) copy->check();
  }

  Messages copies;
  Transfer transfer;
  SendProbe sent;
};

TEST_P(WireContract, GroupsOfEverySizeServeManyPublications) {
  World& world = make(6);
  for (Rank last = 1; last <= 5; ++last) {
    const auto group = world.wire(0).open_group(ranks_up_to(last));
    EXPECT_EQ(std::vector<Rank>(group->readers().begin(), group->readers().end()),
              ranks_up_to(last));
    for (const std::uint64_t bytes : kGroupSizes) {
      Publication p(ranks_up_to(last), FlowId(30, static_cast<std::uint32_t>(last), bytes), bytes);
      for (auto& copy : p.copies) {
        if (copy->to % 2 == 0) p.receive(world, *copy);
      }
      ASSERT_TRUE(p.post_soon(world, *group));
      for (auto& copy : p.copies) {
        if (copy->to % 2 == 1) p.receive(world, *copy);
      }
      ASSERT_TRUE(step_until(world, [&] { return p.complete(); }));
      p.check();
    }
  }
}

TEST_P(WireContract, OneOfTwoEqualGroupsIsClosed) {
  World& world = make(4);
  const std::vector<Rank> readers = {3, 1, 2};
  auto first = world.wire(0).open_group(readers);
  const auto second = world.wire(0).open_group(readers);
  for (std::uint64_t round = 0; round < 6; ++round) {
    if (round == 3) first.reset();
    Publication p(readers, FlowId(31, 0, round), 70'000);
    ASSERT_TRUE(p.post_soon(world, round < 3 && round % 2 == 0 ? *first : *second));
    p.receive(world);
    ASSERT_TRUE(step_until(world, [&] { return p.complete(); }));
    p.check();
  }
}

// One of three grants nothing beyond the eager segments for a while.
TEST_P(WireContract, WhatOneReaderHasNotGrantedIsSentToEachOnce) {
  World& world = make(4);
  const std::vector<Rank> readers = {1, 2, 3};
  const auto group = world.wire(0).open_group(readers);
  constexpr std::uint32_t kSegments = kEagerSegments + 8;
  std::vector<std::unique_ptr<Publication>> flow;
  for (std::uint32_t i = 0; i < kSegments; ++i) {
    flow.push_back(std::make_unique<Publication>(readers, FlowId(32, 0, 0), 3000, i, kSegments));
    for (auto& copy : flow.back()->copies) {
      if (copy->to != 2) flow.back()->receive(world, *copy);
    }
  }
  std::size_t sent = 0;
  const auto send_more = [&] {
    while (sent < kSegments && flow[sent]->post(world, *group) != Posted::kRetry) ++sent;
  };
  for (int i = 0; i < 200; ++i) {
    send_more();
    (void)step(world);
  }
  ASSERT_EQ(sent, kEagerSegments);
  for (const auto& p : flow) p->receive(world, *p->copies[1]);
  ASSERT_TRUE(step_until(world, [&] {
    send_more();
    return std::all_of(flow.begin(), flow.end(), [](auto& p) { return p->complete(); });
  }));
  settle(world);
  for (const auto& p : flow) {
    p->check();
    for (const auto& copy : p->copies) EXPECT_LE(copy->received.fired, 1);
  }
}

// Nobody is told twice, and nobody waits for ever, after any number of looks.
TEST_P(WireContract, APublicationCanceledAtAnyMoment) {
  World& world = make(4);
  const std::vector<Rank> readers = {1, 2, 3};
  const auto group = world.wire(0).open_group(readers);
  bool over = false;
  for (int moment = 0; !over; moment += 1 + moment / 4) {
    SCOPED_TRACE("after " + std::to_string(moment) + " looks");
    Publication p(readers, FlowId(33, 0, static_cast<std::uint64_t>(moment)), 100'000);
    p.receive(world);
    ASSERT_TRUE(step_until(world, [&] { return p.post(world, *group, true) != Posted::kRetry; }));
    for (int i = 0; i < moment; ++i) (void)step(world);
    over = p.sent.complete();
    if (!over) world.wire(0).cancel(p.sent);
    const auto all = [&] { return received(p.copies); };
    if (world.gives_buffers_back()) {
      settle(world);
      for (auto& copy : p.copies) world.wire(copy->to).cancel(copy->received);
    } else {
      ASSERT_TRUE(step_until(world, all));
    }
    for (auto& copy : p.copies) {
      if (copy->received.complete()) check_taken_back(world, *copy);
    }
    settle(world);
    EXPECT_EQ(p.sent.fired, over ? 1 : 0);
    ASSERT_LE(moment, 1'000'000);
  }
}

// A reader is taken down: the others get what they read, and the publication ends by itself, or can
// be taken back.
TEST_P(WireContract, AReaderIsGone) {
  if (GetParam().faulty)
    GTEST_SKIP() << "where links fail, too, any end of the publication would have to pass";
  World& world = make(4);
  const std::vector<Rank> readers = {1, 2, 3};
  const auto group = world.wire(0).open_group(readers);
  Publication before(readers, FlowId(34, 0, 0), 5000);
  before.receive(world);
  ASSERT_TRUE(before.post_soon(world, *group));
  ASSERT_TRUE(step_until(world, [&] { return before.complete(); }));
  world.close(2);
  Publication p(readers, FlowId(34, 0, 1), 5000);
  p.receive(world, *p.copies[0]);
  p.receive(world, *p.copies[2]);
  const auto look = [&] {
    int events = 0;
    for (const Rank r : {0, 1, 3}) events += world.wire(r).progress();
    if (events == 0) world.rest();
  };
  for (int i = 0; i < 5000 && p.sent.posted == Posted::kRetry; ++i) {
    (void)p.post(world, *group);
    look();
  }
  ASSERT_NE(p.sent.posted, Posted::kRetry);
  for (int i = 0; i < 5000; ++i) look();
  if (!p.sent.complete()) world.wire(0).cancel(p.sent);
  const int fired = p.sent.fired;
  for (int i = 0; i < 100; ++i) look();
  EXPECT_EQ(p.sent.fired, fired);
  for (const std::size_t reader : {std::size_t{0}, std::size_t{2}}) {
    Message& copy = *p.copies[reader];
    ASSERT_TRUE(copy.received.complete());
    check_taken_back(world, copy);
  }
  for (const Rank r : {0, 1, 3}) world.close(r);
}

// What a wire cannot do as asked it does in its own way.
TEST_P(WireContract, EveryTransferCarriesEverything) {
  World& world = make(5);
  const std::vector<Rank> readers = {1, 2, 3, 4};
  const auto group = world.wire(0).open_group(readers);
  std::uint64_t number = 0;
  for (const Path path : {Path::kAny, Path::kCopy, Path::kPull, Path::kPush}) {
    constexpr std::uint16_t kBounds[] = {0, 1, 3, 9};
    for (const std::uint16_t bound : kBounds) {
      for (const std::uint32_t quantum : {0U, 10'000U}) {
        for (const std::uint64_t bytes : {40U, 5000U, 100'000U}) {
          Publication p(readers, FlowId(35, 0, ++number), bytes);
          p.transfer = {path, bound, quantum};
          for (auto& copy : p.copies) {
            copy->in_place = copy->to == 3;
            if (copy->to != 4) p.receive(world, *copy);
          }
          ASSERT_TRUE(p.post_soon(world, *group));
          if (number % 2 == 0) (void)step(world);
          p.receive(world, *p.copies[3]);
          ASSERT_TRUE(step_until(world, [&] { return received(p.copies); }));
          p.check();
          world.wire(3).release(p.copies[2]->received);
          ASSERT_TRUE(step_until(world, [&] { return p.sent.complete(); }));
        }
      }
    }
  }
}

}  // namespace
}  // namespace espalier::test
