// Puts and gets by adapters: the target does nothing for them, a break neither loses one nor does
// one again that is complete, and what ends badly ends with a status and leaves memory alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "access_parties.hpp"
#include "tests/harness/rdma_world.hpp"

namespace espalier::test {
namespace {

using net::RemoteKind;

constexpr std::uint64_t kDirectBytes = 3 << 20;

// Over simulated adapters.
struct SimReach : Reach {
  explicit SimReach(const std::string& faults = {})
      : Reach({"", worlds_of<RdmaWorld>(options(faults))}, kDirectBytes) {}
  static RdmaWorldOptions options(const std::string& faults) {
    RdmaWorldOptions options;
    options.faults = faults;
    return options;
  }
  RdmaWorld& links() { return static_cast<RdmaWorld&>(*made); }
  std::byte* registered(Rank rank, std::uint64_t bytes) { return links().shared(rank, bytes); }
};

// More puts than the target has packets for: the rest wait for it, in their order with nothing.
TEST(DirectAccess, PutsBeyondTheWindowWaitForTheTarget) {
  SimReach two;
  constexpr std::uint64_t kPuts = 700;
  std::deque<Probe> puts(kPuts), gets(kPuts);
  std::vector<std::byte> bytes(kPuts, std::byte{7}), back(kPuts);
  const auto ended = [](const std::deque<Probe>& ops) {
    return static_cast<std::uint64_t>(
        std::count_if(ops.begin(), ops.end(), [](const Probe& op) { return op.fired == 1; }));
  };
  for (std::uint64_t i = 0; i < kPuts; ++i) {
    two.start(puts[i], RemoteKind::kPut, &bytes[i], 1, 5 * i);
  }
  EXPECT_FALSE(two.alone_until([&] { return ended(puts) == kPuts; }));
  EXPECT_GE(ended(puts), 8U);
  EXPECT_LT(ended(puts), 128U);
  ASSERT_TRUE(two.until([&] { return ended(puts) == kPuts; }));
  for (std::uint64_t i = 0; i < kPuts; ++i) {
    ASSERT_EQ(two.memory()[5 * i], std::byte{7});
    two.start(gets[i], RemoteKind::kGet, &back[i], 1, 5 * i);
  }
  ASSERT_TRUE(two.alone_until([&] { return ended(gets) == kPuts; })) << "reads take no packet";
  EXPECT_EQ(back, bytes);
  EXPECT_EQ(two.statistics(0).puts, kPuts);
}

// The target has been told of a put, and has written something else there since, when the
// connection breaks before the origin knows.
TEST(DirectAccess, WhatIsThereIsNotPutAgain) {
  int found = 0;
  for (int steps = 0; steps < 60; ++steps) {
    SimReach two;
    std::byte* mine = two.registered(0, 64);
    fill(mine, 64, 1);
    Probe put;
    two.start(put, RemoteKind::kPut, mine, 64, 0);
    two.links().pass(static_cast<std::uint64_t>(steps) * 100);
    (void)two.world().frames(1).progress();
    const bool told = two.statistics(1).puts_taken == 1;
    if (told) fill(two.memory(), 64, 2);
    two.links().connection_net().break_path(0, 1);
    ASSERT_TRUE(two.until([&] { return put.fired == 1; }));
    EXPECT_TRUE(put.status.ok());
    EXPECT_TRUE(holds(two.memory(), 64, told ? 2 : 1));
    EXPECT_EQ(two.statistics(1).puts_taken, 1U);
    found += told ? 1 : 0;
  }
  EXPECT_GT(found, 0);
}

// Random puts and gets while connections break. What is complete is overwritten by the target at
// once, and must stay so.
TEST(DirectAccess, BreaksLoseNothingAndRepeatNothing) {
  constexpr int kSlots = 24, kRounds = 40;
  constexpr std::uint64_t kSlot = kDirectBytes / kSlots;
  struct Slot {
    std::byte* local;
    Probe op;
    std::uint64_t bytes = 0, seed = 0;
    int rounds = 0;
  };
  SimReach two("break=400,rnr=0.01,echo=0.01,heal=60ms");
  Prng prng(5);
  std::vector<std::byte> private_bytes(kDirectBytes);
  std::byte* mine = two.registered(0, kDirectBytes);
  std::deque<Slot> slots;
  const auto next = [&](Slot& slot, std::uint64_t offset) {
    const bool gets = slot.op.fired == 1 && slot.op.kind == RemoteKind::kPut;
    slot.op.fired = 0;
    if (!gets) {
      slot.bytes = 1 + prng.below(prng.chance(0.7) ? 300 : kSlot);
      fill(slot.local, slot.bytes, slot.seed = prng.next());
    }
    two.start(slot.op, gets ? RemoteKind::kGet : RemoteKind::kPut, slot.local, slot.bytes, offset);
  };
  for (int i = 0; i < kSlots; ++i) {
    slots.emplace_back().local = (i % 2 == 0 ? mine : private_bytes.data()) + i * kSlot;
    next(slots.back(), i * kSlot);
  }
  int open = kSlots;
  ASSERT_TRUE(two.until([&] {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      Slot& slot = slots[i];
      if (slot.op.fired == 0 || slot.rounds == kRounds) continue;
      EXPECT_TRUE(slot.op.status.ok());
      std::byte* there = two.memory() + i * kSlot;
      if (slot.op.kind == RemoteKind::kPut) {
        EXPECT_TRUE(holds(there, slot.bytes, slot.seed));
        fill(there, slot.bytes, slot.seed = prng.next());
      } else {
        EXPECT_TRUE(holds(slot.local, slot.bytes, slot.seed));
        EXPECT_TRUE(holds(there, slot.bytes, slot.seed)) << "a put that was complete";
      }
      if (++slot.rounds < kRounds) {
        next(slot, i * kSlot);
      } else {
        --open;
      }
    }
    return open == 0;
  }));
  EXPECT_GT(two.statistics(0).rebuilds, 5U);
  EXPECT_EQ(two.statistics(0).puts + two.statistics(0).gets, std::uint64_t{kSlots} * kRounds);
  EXPECT_EQ(two.statistics(0).turned_away, 0U);
}

// At any moment: it does not fire, its memory is left alone, and those after it go on.
TEST(DirectAccess, TakenBackIsNotTouched) {
  for (int steps = 0; steps < 40; steps += 2) {
    for (const bool is_registered : {true, false}) {
      SCOPED_TRACE(steps);
      SimReach two;
      std::vector<std::byte> private_bytes(kDirectBytes);
      std::byte* mine = is_registered ? two.registered(0, kDirectBytes) : private_bytes.data();
      constexpr std::uint64_t kEach = 300'000;
      fill(two.memory(), kEach, 4);
      Probe get, put, after;
      std::byte last{};
      two.start(get, RemoteKind::kGet, mine, kEach, 0);
      two.start(put, RemoteKind::kPut, mine + kEach, kEach, kEach);
      two.start(after, RemoteKind::kGet, &last, 1, kEach - 1);
      for (int i = 0; i < steps; ++i) (void)two.step();
      const int got = get.fired, had = put.fired;
      if (got == 0) two.access(0).cancel(get);
      if (had == 0) two.access(0).cancel(put);
      fill(mine, 2 * kEach, 9);
      ASSERT_TRUE(two.until([&] { return after.fired == 1; }));
      EXPECT_TRUE(after.status.ok());
      EXPECT_EQ(last, two.memory()[kEach - 1]);
      for (int i = 0; i < 200; ++i) (void)two.step();
      EXPECT_TRUE(holds(mine, 2 * kEach, 9));
      EXPECT_EQ(get.fired, got);
      EXPECT_EQ(put.fired, had);
    }
  }
}

// The target is gone in the middle: everything ends once and names it.
TEST(DirectAccess, LostTargetsAreNamed) {
  int ended_badly = 0;
  for (int steps = 0; steps < 30; ++steps) {
    SCOPED_TRACE(steps);
    SimReach two;
    std::byte* mine = two.registered(0, kDirectBytes);
    std::deque<Probe> ops(6);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      two.start(ops[i], i % 2 == 0 ? RemoteKind::kPut : RemoteKind::kGet, mine + i * 400'000,
                i < 2 ? 8 : 400'000, i * 400'000);
    }
    for (int i = 0; i < steps; ++i) (void)two.step();
    two.at(1).access.reset();
    two.world().close(1);
    ASSERT_TRUE(two.until([&] { return ended(ops); }));
    for (const Probe& op : ops) {
      EXPECT_EQ(op.fired, 1);
      EXPECT_TRUE(op.status.ok() || op.status.rank() == 1);
      ended_badly += op.status.ok() ? 0 : 1;
    }
  }
  EXPECT_GT(ended_badly, 10);
}

// The connection breaks when the origin has said goodbye: the put is made again, and the goodbye
// does not come before it.
TEST(DirectAccess, AGoodbyeDoesNotOvertakeAPut) {
  for (int steps = 0; steps < 40; ++steps) {
    SCOPED_TRACE(steps);
    SimReach two;
    std::byte* mine = two.registered(0, kDirectBytes);
    fill(mine, kDirectBytes, 8);
    Probe put;
    two.start(put, RemoteKind::kPut, mine, 300'000, 0);
    two.links().rdma(0).say_goodbye(1);
    for (int i = 0; i < steps; ++i) (void)two.step();
    two.links().connection_net().break_path(0, 1);
    ASSERT_TRUE(two.until([&] { return put.fired > 0; }));
    EXPECT_TRUE(put.status.ok());
    EXPECT_TRUE(holds(two.memory(), 300'000, 8));
    ASSERT_TRUE(two.until([&] { return two.links().rdma(0).drained(); }));
    EXPECT_TRUE(two.links().frames(1).state(0).ok());
  }
}

// One word, one arbiter: adapters keep away from it.
TEST(DirectAccess, AtomicsAreTheProcessors) {
  SimReach two;
  std::uint64_t old = 9;
  Probe add;
  add.operands = {5, 0};
  two.start(add, RemoteKind::kFetchAdd, reinterpret_cast<std::byte*>(&old), 8, 16);
  EXPECT_FALSE(two.alone_until([&] { return add.fired == 1; }));
  ASSERT_TRUE(two.until([&] { return add.fired == 1; }));
  std::uint64_t word = 0;
  std::memcpy(&word, two.memory() + 16, sizeof word);
  EXPECT_EQ(old, 0U);
  EXPECT_EQ(word, 5U);
  EXPECT_EQ(two.statistics(0).gets, 0U);
}

// What is asked for before there is a connection, or where there is none, goes by frames.
TEST(DirectAccess, FramesDoItWhereThereIsNoConnection) {
  RdmaWorldOptions none;
  none.connections_max = 0;
  Parties parties({"", worlds_of<RdmaWorld>(none)}, 2, 1000);
  std::vector<std::byte> bytes(1000);
  fill(bytes.data(), bytes.size(), 3);
  Probe put;
  put.kind = RemoteKind::kPut;
  put.target = 1;
  put.region = parties.at(1).region;
  put.direct = parties.at(1).direct;
  put.memory = bytes.data();
  put.bytes = bytes.size();
  ASSERT_NE(put.direct.address, 0U);
  parties.access(0).start(put);
  ASSERT_TRUE(parties.until([&] { return put.fired == 1; }));
  EXPECT_TRUE(put.status.ok());
  EXPECT_TRUE(holds(parties.at(1).memory.data(), bytes.size(), 3));
  auto& links = static_cast<RdmaWorld&>(*parties.made);
  EXPECT_EQ(links.connections(0).statistics().puts, 0U);
}

}  // namespace
}  // namespace espalier::test
