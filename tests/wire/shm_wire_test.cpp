// What only the shared-memory wire has: an arena, tickets and rings that can be full, memory that
// is given back under pressure, and the paths a segment can take.
#include <sys/mman.h>

#include <algorithm>

#include "tests/harness/shm_world.hpp"
#include "tests/harness/traffic.hpp"

namespace espalier::test {
namespace {

ShmWorldOptions small_arena() {
  ShmWorldOptions options;
  options.arena_bytes = 64 << 10;
  return options;
}

// Sends as many messages of one size as fit; each is a flow of its own.
Messages send_until_retry(ShmWorld& world, Rank from, Rank to, std::uint64_t bytes,
                          std::uint32_t team, std::size_t at_most = 1000) {
  Messages sent;
  while (sent.size() < at_most) {
    auto m = std::make_unique<Message>(from, to, FlowId(team, 0, sent.size()), bytes,
                                       team * 1000 + sent.size());
    if (m->send(world.wire(from)) == Posted::kRetry) break;
    sent.push_back(std::move(m));
  }
  return sent;
}

void receive_all(ShmWorld& world, Messages& messages) {
  for (auto& m : messages) (void)m->receive(world.wire(m->to));
  settle(world);
  for (auto& m : messages) m->check();
}

TEST(ShmWire, AFullRingRefusesAndRecovers) {
  ShmWorld world(2, {});
  for (int round = 0; round < 3; ++round) {
    auto sent = send_until_retry(world, 0, 1, 8, 1);
    EXPECT_EQ(sent.size(), shm::kRingCells - 8) << "all cells but those kept for answers";
    EXPECT_GT(world.counters(0).retries.value(), 0U);
    receive_all(world, sent);
  }
}

// A page for each pair of ranks would be 4 GiB on the largest node.
TEST(ShmWire, RingsThatNobodyHasUsedCostNoMemory) {
  constexpr Rank kRanks = 100;
  ShmWorld world(kRanks, small_arena());
  Message unexpected(70, 3, FlowId(1, 0, 0), 8, 1);
  ASSERT_NE(unexpected.send(world.wire(70)), Posted::kRetry);
  const std::uint64_t before = world.held_bytes();
  for (Rank r = 0; r < kRanks; ++r) {
    world.wire(r).idle();
    for (int i = 0; i < 2 * kRanks; ++i) (void)world.wire(r).progress();
  }
  EXPECT_LE(world.held_bytes(), before + 4096) << "the page where a receiver frees cells";
  EXPECT_EQ(world.counters(3).unexpected.value(), 1U) << "found all the same";
  (void)unexpected.receive(world.wire(3));
  settle(world);
  unexpected.check();
}

TEST(ShmWire, AFullArenaRefusesAndRecovers) {
  ShmWorld world(2, small_arena());
  for (int round = 0; round < 10; ++round) {
    // Sizes that do not divide the arena, so that its end moves around.
    auto sent = send_until_retry(world, 0, 1, 8000 + 64 * static_cast<std::uint64_t>(round), 1);
    EXPECT_GE(sent.size(), 7U);
    EXPECT_LE(sent.size(), 8U);
    receive_all(world, sent);
  }
}

TEST(ShmWire, TicketsRunOutAndCanBeTakenBack) {
  ShmWorld world(2, {});
  // Views of small segments: each keeps a ticket, none fills the arena.
  Messages held;
  for (std::uint64_t i = 0; i < shm::kTickets; ++i) {
    held.push_back(std::make_unique<Message>(0, 1, FlowId(1, 0, i), 100, i));
    held.back()->in_place = true;
    (void)held.back()->receive(world.wire(1));
    ASSERT_NE(held.back()->send(world.wire(0)), Posted::kRetry) << i;
    (void)world.wire(1).progress();
  }
  Message one_more(0, 1, FlowId(2, 0, 0), 100, 5);
  ASSERT_EQ(one_more.send(world.wire(0)), Posted::kRetry);
  world.wire(1).idle();  // The reader moves its views out and acknowledges.
  EXPECT_EQ(world.counters(1).evacuations.value(), shm::kTickets);
  ASSERT_EQ(one_more.send(world.wire(0)), Posted::kDone);
  (void)one_more.receive(world.wire(1));
  settle(world);
  one_more.check();
  for (auto& m : held) m->check();
  for (auto& m : held) world.wire(1).release(m->received);
}

// Two operations share two arenas: each rank's arena is full of segments of the one operation that
// the other rank does not want yet, and each waits for a segment of the other operation.
TEST(ShmWire, TwoOperationsCannotBlockEachOtherThroughTheArenas) {
  ShmWorld world(2, small_arena());
  auto early_a = send_until_retry(world, 0, 1, 8000, 1);
  auto early_b = send_until_retry(world, 1, 0, 8000, 2);
  Message wanted_a(0, 1, FlowId(3, 0, 0), 8000, 1), wanted_b(1, 0, FlowId(4, 0, 0), 8000, 2);
  (void)wanted_a.receive(world.wire(1));
  (void)wanted_b.receive(world.wire(0));
  // By progress() alone: a caller that polls never goes idle.
  bool sent_a = false, sent_b = false;
  for (int i = 0; i < 20000 && !(sent_a && sent_b); ++i) {
    sent_a = sent_a || wanted_a.send(world.wire(0)) != Posted::kRetry;
    sent_b = sent_b || wanted_b.send(world.wire(1)) != Posted::kRetry;
    (void)step(world);
  }
  ASSERT_TRUE(sent_a && sent_b);
  settle(world);
  wanted_a.check();
  wanted_b.check();
  EXPECT_GT(world.counters(0).evacuations.value() + world.counters(1).evacuations.value(), 0U);
  receive_all(world, early_a);
  receive_all(world, early_b);
}

TEST(ShmWire, HeldViewsAreMovedOutUnderPressure) {
  ShmWorld world(2, small_arena());
  auto held = make_flow(0, 1, FlowId(1, 0, 0), 8, 8000);
  for (auto& m : held) {
    m->in_place = true;
    (void)m->receive(world.wire(1));
    ASSERT_NE(m->send(world.wire(0)), Posted::kRetry);
  }
  settle(world);
  world.wire(1).idle();
  EXPECT_EQ(world.counters(1).evacuations.value(), 0U) << "nobody is in need";
  Message next(0, 1, FlowId(2, 0, 0), 8000, 3);
  ASSERT_EQ(next.send(world.wire(0)), Posted::kRetry);
  world.wire(1).idle();
  EXPECT_EQ(world.counters(1).evacuations.value(), 8U);
  for (auto& m : held) m->check();
  ASSERT_EQ(next.send(world.wire(0)), Posted::kDone);
  for (auto& m : held) world.wire(1).release(m->received);
}

// It waits for its receive, and holds up nobody else until then: neither by its place in the arena
// nor by its ticket.
TEST(ShmWire, ASynchronousSegmentIsMovedOutUnderPressure) {
  ShmWorld world(2, small_arena());
  Message synchronous(0, 1, FlowId(1, 0, 0), 8000, 1);
  ASSERT_EQ(synchronous.send(world.wire(0), true), Posted::kPending);
  for (std::uint64_t i = 0; i < std::uint64_t{2} * shm::kTickets; ++i) {
    Message other(0, 1, FlowId(2, 0, i), 8000, i);
    if (other.send(world.wire(0)) == Posted::kRetry) {
      world.wire(1).idle();
      ASSERT_NE(other.send(world.wire(0)), Posted::kRetry) << i;
    }
    (void)other.receive(world.wire(1));
    settle(world);
    other.check();
  }
  EXPECT_EQ(synchronous.sent.fired, 0);
  EXPECT_EQ(world.counters(1).evacuations.value(), 1U);
  (void)synchronous.receive(world.wire(1));
  settle(world);
  EXPECT_EQ(synchronous.sent.fired, 1);
  synchronous.check();
}

TEST(ShmWire, GrantsWaitForAFreeCellAndKeepTheirOrder) {
  ShmWorld world(2, {});
  // Rank 1's ring towards rank 0 is full, except for the cells kept for grants; so many windows
  // open at once that those do not suffice either.
  auto blockers = send_until_retry(world, 1, 0, 8, 9);
  std::vector<Messages> flows;
  for (std::uint64_t f = 0; f < 12; ++f) {
    flows.push_back(make_flow(0, 1, FlowId(1, 0, f), 40, 128));
    for (auto& m : flows.back()) (void)m->receive(world.wire(1), 64);
  }
  std::vector<std::size_t> sent(flows.size(), 0);
  // By progress() alone: housekeeping would hide a grant that is forgotten.
  const auto advance = [&] {
    bool all = true;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      auto& flow = flows[f];
      while (sent[f] < flow.size() && flow[sent[f]]->send(world.wire(0)) != Posted::kRetry)
        ++sent[f];
      all = all && flow.back()->received.complete();
    }
    return all;
  };
  bool ended = false;
  for (int i = 0; i < 1000 && !(ended = advance()); ++i) (void)step(world);
  ASSERT_TRUE(ended);
  settle(world);
  for (auto& flow : flows) {
    for (auto& m : flow) m->check();
  }
  receive_all(world, blockers);
}

// The engine sends the segments of a window in whatever order they become possible: the last one of
// the flow may be the first that needs the grant.
TEST(ShmWire, GrantedSegmentsMayBeSentInAnyOrder) {
  ShmWorldOptions options;
  options.wire.pull.threshold = 0;
  options.wire.quantum_bytes = 4096;
  ShmWorld world(2, options);
  for (std::uint64_t round = 0; round < 3; ++round) {
    auto flow = make_flow(0, 1, FlowId(1, 0, round), 40, 10'000);
    for (auto& m : flow) ASSERT_EQ(m->receive(world.wire(1), 64), Posted::kPending);
    settle(world);  // The grants arrive.
    std::size_t left = flow.size();
    ASSERT_TRUE(step_until(world,
                           [&] {
                             while (left > 0 &&
                                    flow[left - 1]->send(world.wire(0)) != Posted::kRetry)
                               --left;
                             return left == 0;
                           }))
        << left << " segments were never let go";
    settle(world);
    for (auto& m : flow) {
      m->check();
      EXPECT_EQ(m->sent.fired, 1);
    }
  }
}

// Segments in private memory that nobody has asked for hold tickets as those in the arena do.
TEST(ShmWire, TicketsOfUnexpectedPulledSegmentsAreGivenBackUnderPressure) {
  ShmWorldOptions options;
  options.wire.pull.threshold = 0;
  ShmWorld world(2, options);
  Messages early;
  for (std::uint64_t i = 0; i < shm::kTickets; ++i) {
    early.push_back(std::make_unique<Message>(0, 1, FlowId(1, 0, i), 100, i));
    ASSERT_EQ(early.back()->send(world.wire(0)), Posted::kPending) << i;
    (void)world.wire(1).progress();
  }
  Message wanted(0, 1, FlowId(2, 0, 0), 100, 5);
  (void)wanted.receive(world.wire(1));
  ASSERT_EQ(wanted.send(world.wire(0)), Posted::kRetry);
  ASSERT_TRUE(step_until(world, [&] { return wanted.send(world.wire(0)) != Posted::kRetry; }));
  settle(world);
  wanted.check();
  for (auto& m : early) EXPECT_EQ(m->sent.fired, 1) << "moved out: the sender has its buffer back";
  // The copies are what is received, not the senders' buffers, which are free to change.
  for (auto& m : early) std::fill(m->source.begin(), m->source.end(), std::byte{0});
  receive_all(world, early);
}

// The sender has taken a segment back and its memory is gone; nobody may ever receive it.
TEST(ShmWire, PulledSegmentsWhoseMemoryIsGoneKeepNoTickets) {
  ShmWorldOptions options;
  options.wire.pull.threshold = 0;
  ShmWorld world(2, options);
  constexpr std::uint64_t kBytes = 100'000;
  void* memory = ::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  SendOp gone([](Completion&, Status) noexcept { ADD_FAILURE() << "it was taken back"; });
  const Send lost = {.segment = {.peer = 1, .flow = FlowId(1, 0, 0)},
                     .data = memory,
                     .bytes = kBytes,
                     .flow_bytes = kBytes};
  ASSERT_EQ(world.wire(0).send(lost, gone), Posted::kPending);
  world.wire(1).idle();
  world.wire(0).cancel(gone);
  ::munmap(memory, kBytes);
  for (std::uint64_t i = 0; i < std::uint64_t{2} * shm::kTickets; ++i) {
    Message next(0, 1, FlowId(2, 0, i), 100, i);
    (void)next.receive(world.wire(1));
    ASSERT_TRUE(step_until(world, [&] { return next.send(world.wire(0)) != Posted::kRetry; })) << i;
    settle(world);
    next.check();
  }
  // Who asks for it after all is told.
  Message late(0, 1, FlowId(1, 0, 0), kBytes, 0);
  EXPECT_EQ(late.receive(world.wire(1)), Posted::kDone);
  EXPECT_EQ(late.received.status.code(), ESP_ERR_SYSTEM);
  EXPECT_EQ(late.received.status.rank(), 0);
}

// A team that this rank has freed: what came for it, and comes yet, holds nothing of its sender's.
TEST(ShmWire, SegmentsOfForgottenTeamsAreLetGo) {
  ShmWorld world(2, small_arena());
  const auto look = [&] {  // One ring a turn, where nothing is expected.
    for (int turn = 0; turn < world.size(); ++turn) (void)world.wire(1).progress();
  };
  auto early = send_until_retry(world, 0, 1, 8000, 5);
  look();
  world.wire(1).forget_team(5);
  EXPECT_EQ(world.counters(1).evacuations.value(), 0U);
  auto again = send_until_retry(world, 0, 1, 8000, 6);
  EXPECT_EQ(again.size(), early.size());
  receive_all(world, again);
  for (std::uint64_t i = 0; i < 100; ++i) {
    Message late(0, 1, FlowId(5, 1, i), 8000, i);
    ASSERT_NE(late.send(world.wire(0)), Posted::kRetry) << i;
    look();
  }
  again = send_until_retry(world, 0, 1, 8000, 7);
  EXPECT_EQ(again.size(), early.size());
  receive_all(world, again);
}

// One that is gone has not read what was sent to it. The arena is there for the others.
TEST(ShmWire, WhoIsGoneKeepsNothingOfTheArena) {
  struct : Liveness {
    bool is_dead(Rank rank) noexcept override { return rank == 1 && dead; }
    bool is_stopped(Rank) noexcept override { return false; }
    bool is_leaving(Rank) noexcept override { return false; }
    bool has_left(Rank rank) noexcept override { return rank == 1 && left; }
    bool dead = false, left = false;
  } liveness;
  for (bool* gone : {&liveness.dead, &liveness.left}) {
    liveness.dead = liveness.left = false;
    ShmWorldOptions options = small_arena();
    options.wire.liveness = &liveness;
    ShmWorld world(3, options);
    const auto unread = send_until_retry(world, 0, 1, 8000, 1);
    ASSERT_GE(unread.size(), 7U);
    Message to_another(0, 2, FlowId(2, 0, 0), 8000, 5);
    world.wire(0).idle();
    ASSERT_EQ(to_another.send(world.wire(0)), Posted::kRetry) << "it may read yet";
    *gone = true;
    world.wire(0).idle();
    auto after = send_until_retry(world, 0, 2, 8000, 3);
    EXPECT_EQ(after.size(), unread.size());
    receive_all(world, after);
  }
}

TEST(ShmWire, ManySynchronousSegmentsHoldUpNothing) {
  ShmWorld world(2, {});
  constexpr std::size_t kMany = 3 * shm::kTickets;
  Messages all;
  for (std::uint64_t i = 0; i < kMany; ++i) {
    all.push_back(std::make_unique<Message>(0, 1, FlowId(1, 0, i), i % 2 == 0 ? 8 : 100, i));
    ASSERT_TRUE(step_until(world, [&] {
      return all[i]->send(world.wire(0), true) != Posted::kRetry;
    })) << i;
    if (i % 64 == 0) world.wire(1).idle();
  }
  settle(world);
  Message other(0, 1, FlowId(2, 0, 0), 4096, 1);
  ASSERT_NE(other.send(world.wire(0)), Posted::kRetry);
  (void)other.receive(world.wire(1));
  settle(world);
  other.check();
  for (auto& m : all) {
    EXPECT_EQ(m->sent.fired, 0) << "complete before it was received";
    (void)m->receive(world.wire(1));
    finish(world, *m);
  }
}

// As many answers as the ring has no cells for wait, and come.
TEST(ShmWire, SendersOfSynchronousSegmentsLearnOfThemThroughAFullRing) {
  ShmWorld world(2, {});
  auto back = send_until_retry(world, 1, 0, 8, 1);  // nobody takes them out
  Messages all;
  for (std::uint64_t i = 0; i < 40; ++i) {
    all.push_back(std::make_unique<Message>(0, 1, FlowId(2, 0, i), 8, i));
    (void)all.back()->receive(world.wire(1));
    ASSERT_EQ(all.back()->send(world.wire(0), true), Posted::kPending);
  }
  while (!all.back()->received.complete()) (void)world.wire(1).progress();
  for (auto& m : all) EXPECT_EQ(m->sent.fired, 0);
  // By progress() alone: housekeeping would hide an answer that is forgotten.
  for (int i = 0; i < 1000; ++i) (void)step(world);
  for (auto& m : all) ASSERT_TRUE(m->sent.complete());
  for (auto& m : all) m->check();
  receive_all(world, back);
}

TEST(ShmWire, EachSegmentTakesThePathItShould) {
  ShmWorldOptions options;
  options.wire.pull.threshold = 1 << 20;
  ShmWorld world(2, options);
  const Counters& c = world.counters(0);
  const auto pass = [&](std::uint64_t bytes, std::uint64_t flow_bytes, const std::byte* data) {
    Message m(0, 1, FlowId(1, 0, c.segments_sent.value()), bytes, 1);
    Send send;
    send.segment = {1, m.flow, 0, 1, 0};
    send.data = data != nullptr ? data : m.source.data();
    send.bytes = bytes;
    send.flow_bytes = flow_bytes;
    m.sent.posted = world.wire(0).send(send, m.sent);
    ASSERT_NE(m.sent.posted, Posted::kRetry);
    (void)m.receive(world.wire(1));
    settle(world);
    ASSERT_TRUE(m.complete());
  };
  const std::byte* shared = world.shared(0, 1 << 20);
  pass(88, 88, nullptr);
  EXPECT_EQ(c.inline_sends.value(), 1U);
  pass(4096, 4096, nullptr);
  EXPECT_EQ(c.copy_in_bytes.value(), 4096U);
  pass(4096, 2 << 20, nullptr);
  EXPECT_EQ(world.counters(1).cma_bytes.value(), 4096U);
  EXPECT_EQ(world.counters(1).cma_calls.value(), 1U);
  pass(8192, 2 << 20, shared);
  EXPECT_EQ(c.direct_bytes.value(), 8192U);
  EXPECT_EQ(c.copy_in_bytes.value(), 4096U) << "neither of the last two was copied in";
}

// Both wait for their send before they let go of what they have received.
TEST(ShmWire, WhatLeavesIsNotReadWhereItLies) {
  ShmWorld world(2, ShmWorldOptions{});
  Message m(0, 1, FlowId(1, 0, 1), 8192, 3);
  m.in_place = true;
  Send send;
  send.segment = {1, m.flow, 0, 1, 0};
  send.data = world.shared(0, 8192);
  send.bytes = send.flow_bytes = 8192;
  send.leaves = true;
  std::memcpy(const_cast<void*>(send.data), m.source.data(), 8192);
  EXPECT_EQ(world.wire(0).send(send, m.sent), Posted::kDone);
  (void)m.receive(world.wire(1));
  settle(world);
  m.check();
  EXPECT_EQ(world.counters(0).direct_bytes.value(), 0U);
  world.wire(1).release(m.received);
}

TEST(ShmWire, ABigPullGoesInQuantaAndOthersPassIt) {
  ShmWorldOptions options;
  options.wire.pull.threshold = 1 << 20;
  options.wire.quantum_bytes = 64 << 10;
  ShmWorld world(2, options);
  Message big(0, 1, FlowId(1, 0, 0), 2 << 20, 1), small(0, 1, FlowId(1, 0, 1), 64, 2);
  ASSERT_EQ(big.receive(world.wire(1)), Posted::kPending);
  (void)small.receive(world.wire(1));
  ASSERT_EQ(big.send(world.wire(0)), Posted::kPending);
  ASSERT_NE(small.send(world.wire(0)), Posted::kRetry);
  int looks = 0;
  while (!small.received.complete()) ASSERT_GT(world.wire(1).progress(), 0) << ++looks;
  EXPECT_FALSE(big.received.complete());
  EXPECT_LE(world.counters(1).cma_bytes.value(), 128U << 10);
  settle(world);
  big.check();
  EXPECT_EQ(world.counters(1).cma_calls.value(), 32U);
  EXPECT_EQ(big.sent.fired, 1);
}

TEST(ShmWire, ABigPullMayBeCanceledHalfWay) {
  ShmWorldOptions options;
  options.wire.pull.threshold = 0;
  options.wire.quantum_bytes = 64 << 10;
  ShmWorld world(2, options);
  for (const bool in_place : {false, true}) {
    Message big(0, 1, FlowId(1, 0, in_place), 2 << 20, 1);
    big.in_place = in_place;
    (void)big.receive(world.wire(1));
    ASSERT_EQ(big.send(world.wire(0)), Posted::kPending);
    for (int i = 0; i < 4; ++i) (void)world.wire(1).progress();
    world.wire(1).cancel(big.received);
    const auto copied = world.counters(1).cma_bytes.value();
    settle(world);
    EXPECT_EQ(world.counters(1).cma_bytes.value(), copied);
    EXPECT_EQ(big.received.fired, 0);
    EXPECT_EQ(big.sent.fired, 1) << "the sender has its buffer back";
  }
}

// Who takes is told whether to look again or to let progress() see to what is here.
TEST(ShmWire, OnlyWhatHasLeftItsBufferIsTaken) {
  ShmWorldOptions options;
  options.wire.pull.threshold = 4096;
  ShmWorld world(2, options);
  Message pulled(0, 1, FlowId(1, 0, 1), 8192, 1), copied(0, 1, FlowId(1, 0, 2), 2048, 2);
  const auto take = [&](Message& m) {
    m.received.dst = m.target.data();
    m.received.bytes = m.bytes;
    return m.received.posted = world.wire(1).take({0, m.flow, 0, 1, 0}, m.received);
  };
  EXPECT_EQ(take(pulled), Posted::kRetry) << "nothing is here";
  pulled.at_once = copied.at_once = true;
  EXPECT_EQ(pulled.send(world.wire(0)), Posted::kRetry);
  pulled.at_once = false;
  EXPECT_EQ(pulled.send(world.wire(0)), Posted::kPending);
  EXPECT_EQ(copied.send(world.wire(0)), Posted::kDone);
  EXPECT_EQ(take(copied), Posted::kPending) << "it is not the next";
  EXPECT_EQ(take(pulled), Posted::kPending) << "it stands at its sender";
  (void)pulled.receive(world.wire(1));
  settle(world);
  EXPECT_EQ(take(copied), Posted::kDone);
  copied.check();
  pulled.check();
}

}  // namespace
}  // namespace espalier::test
