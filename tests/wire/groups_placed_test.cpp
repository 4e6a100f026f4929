// Large segments of teams' groups by lanes (net/groups/lanes.hpp), on simulated ports: what is
// copied, what the network or a member lacks, and how they end.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/prng.hpp"
#include "tests/wire/lane_world.hpp"

namespace espalier::test {
namespace {

using All = std::vector<std::unique_ptr<ToAll>>;

void finish(World& world, const All& all) {
  const auto done = [&] { return std::ranges::all_of(all, [](auto& m) { return m->complete(); }); };
  ASSERT_TRUE(step_until(world, done));
  for (auto& m : all) m->check();
}

TEST(GroupsPlaced, SegmentsAreNotCopied) {
  LaneWorld world(5);
  world.open_lane(2);
  EXPECT_EQ(world.placed(), 0u);
  std::uint64_t number = 0;
  for (const std::uint64_t bytes :
       {16 * kLanePacket + 1500U, 100 * kLanePacket, 512 * kLanePacket}) {
    const std::uint64_t before = world.copied(), placed = world.placed();
    const std::uint64_t registered = world.sum(&Counters::registrations);
    ToAll(world, 2, FlowId(kTeam, 0, ++number), bytes).carry();
    settle(world);
    EXPECT_EQ(world.placed() - placed, 4u);
    EXPECT_EQ(world.sum(&Counters::registrations) - registered, 5u);
    // The tail, and what is said.
    EXPECT_LT(world.copied() - before, 5 * (bytes % kLanePacket + 500)) << bytes;
  }
  // What does not fit the places goes by packets, and so does what is small.
  const std::uint64_t placed = world.placed();
  for (const std::uint64_t bytes : {16U * 1024 - 1, 512 * kLanePacket + kLanePacket}) {
    ToAll(world, 2, FlowId(kTeam, 0, ++number), bytes).carry();
  }
  EXPECT_EQ(world.placed(), placed);
}

TEST(GroupsPlaced, AnEarlySegmentWaitsInThePool) {
  LaneWorld world(4);
  world.open_lane(0);
  ToAll m(world, 0, FlowId(kTeam, 0, 1), 90'000), next(world, 0, FlowId(kTeam, 0, 2), 50'000);
  for (auto& copy : m.copies) {
    if (copy->to != 2) (void)copy->receive(world.wire(copy->to));
  }
  m.post();
  settle(world);
  EXPECT_TRUE(m.sent.complete());
  EXPECT_EQ(world.placed(), 2u);
  next.carry();
  for (auto& copy : m.copies) {
    if (copy->to == 2) (void)copy->receive(world.wire(2));
  }
  ASSERT_TRUE(step_until(world, [&] { return m.complete(); }));
  m.check();
}

// Several sources at once, small ones between, whatever the network does.
TEST(GroupsPlaced, ManySourcesThroughAFaultyNetwork) {
  LaneWorld world(6, with_lanes("loss=0.02,duplicate=0.05,reorder=0.1,corrupt=0.02"));
  for (Rank source = 0; source < 4; ++source) world.open_lane(source);
  Prng prng(1);
  All all;
  for (Rank source = 0; source < 4; ++source) {
    for (std::uint32_t i = 0; i < 12; ++i) {
      const std::uint64_t bytes = prng.below(2) == 0 ? prng.below(9000) : prng.below(200'000);
      all.push_back(std::make_unique<ToAll>(
          world, source, FlowId(kTeam, 0, static_cast<std::uint64_t>(source)), bytes, i, 12));
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 3 != 0) all[i]->receive();
  }
  for (auto& m : all) m->post();
  for (std::size_t i = 0; i < all.size(); i += 3) all[i]->receive();
  finish(world, all);
  EXPECT_GT(world.placed(), 0u);
}

// Those who cannot get theirs by repairs, the others without a copy.
TEST(GroupsPlaced, SomeCannotRegisterOrHaveNoLane) {
  RdmaWorldOptions options = with_lanes("loss=0.01");
  options.registers_nothing = {1};
  options.without_lanes = {3};
  LaneWorld world(5, options);
  for (const Rank source : {0, 1, 3}) world.open_lane(source);
  std::uint64_t number = 0;
  for (const Rank source : {0, 1, 3, 0}) {
    const std::uint64_t before = world.placed();
    ToAll(world, source, FlowId(kTeam, 0, ++number), 150'000).carry();
    EXPECT_EQ(world.placed() - before, source == 0 ? 2u : 0u);
  }
}

TEST(GroupsPlaced, NoMoreLanesThanAllowed) {
  RdmaWorldOptions options = with_lanes();
  options.lanes_max = 2;
  LaneWorld world(4, options);
  for (const Rank source : {0, 1, 2, 3}) world.open_lane(source);
  for (const Rank source : {0, 1, 2, 3}) {
    const std::uint64_t before = world.placed();
    ToAll(world, source, FlowId(kTeam, 0, 1), 150'000).carry();
    // 2 and 3 have ports for the lanes of 0 and 1.
    EXPECT_EQ(world.placed() - before, source < 2 ? 3u : 0u) << source;
  }
}

// What has been begun arrives whole, what waits not at all; user's memory is left alone.
TEST(GroupsPlaced, SendsAndReceivesAreCanceledHalfWay) {
  for (int moment = 0; moment < 80; moment += 1 + moment / 8) {
    SCOPED_TRACE(moment);
    LaneWorld world(4, with_lanes("loss=0.02"));
    world.open_lane(0);
    All all;
    for (std::uint64_t i = 0; i < 5; ++i) {
      all.push_back(std::make_unique<ToAll>(world, 0, FlowId(kTeam, 0, i + 1), 200'000 + i));
    }
    for (auto& m : all) {
      m->receive();
      m->post();
    }
    for (int i = 0; i < moment; ++i) (void)step(world);
    for (const std::size_t which : {0U, 1U, 4U}) {
      ToAll& m = *all[which];
      RecvProbe& receive = m.copies[1]->received;
      const bool had = receive.complete();
      world.wire(2).cancel(receive);
      if (!had) std::ranges::fill(m.copies[1]->target, std::byte{7});
      if (m.sent.complete()) continue;
      world.wire(0).cancel(m.sent);
      std::ranges::fill(m.copies[0]->source, std::byte{9});
    }
    for (const std::size_t which : {2U, 3U}) {
      ASSERT_TRUE(step_until(world, [&] { return all[which]->complete(); }));
      all[which]->check();
    }
    ToAll(world, 0, FlowId(kTeam, 0, 9), 1).carry();
    settle(world);
    for (const std::size_t which : {0U, 1U, 4U}) {
      const ToAll& m = *all[which];
      if (m.copies[0]->received.complete()) m.copies[0]->check();
      if (m.sent.fired == 1) {
        EXPECT_TRUE(m.copies[0]->received.complete());
      }
      if (!m.copies[1]->received.complete()) {
        EXPECT_TRUE(std::ranges::all_of(m.copies[1]->target,
                                        [](std::byte b) { return b == std::byte{7}; }));
      }
      for (auto& copy : m.copies) world.wire(copy->to).cancel(copy->received);
    }
  }
}

TEST(GroupsPlaced, AllLeaveTogether) {
  LaneWorld world(7, with_lanes("loss=0.05"));
  for (Rank r = 0; r < 3; ++r) world.open_lane(r);
  All all;
  for (Rank r = 0; r < 3; ++r) {
    all.push_back(std::make_unique<ToAll>(world, r, FlowId(kTeam, 0, 1), 150'000));
    all.back()->receive();
    all.back()->post();
  }
  for (Rank r = 0; r < 7; ++r) {
    const auto done = [&] {
      return std::ranges::all_of(all, [&](auto& m) {
        return m->sent.complete() && std::ranges::all_of(m->copies, [&](auto& copy) {
                 return copy->to != r || copy->received.complete();
               });
      });
    };
    ASSERT_TRUE(step_until(world, done));
    world.frames(r).forget_team(kTeam);
  }
  for (auto& m : all) m->check();
  ASSERT_TRUE(step_until(world, [&] {
    for (Rank r = 0; r < 7; ++r) {
      if (world.frames(r).groups()->find(kTeam) != nullptr) return false;
    }
    return true;
  }));
}

// A member dies while segments of two sources are under way, or a source does. Nothing hangs, and
// who has something has all of it.
void run_death(Rank dead, int moment) {
  LaneWorld world(5, with_lanes("loss=0.01"));
  for (Rank r = 0; r < 5; ++r) {
    for (Rank to = 0; to < 5; ++to) {
      if (to == r) continue;
      Message hello(r, to, FlowId(99, 0, static_cast<std::uint64_t>(8 * r + to)), 8, 1);
      carry(world, hello);
    }
  }
  for (const Rank source : {1, 2}) world.open_lane(source);
  All all;
  for (const Rank source : {1, 2}) {
    for (std::uint64_t i = 1; i < 4; ++i) {
      all.push_back(std::make_unique<ToAll>(world, source, FlowId(kTeam, 0, i), 150'000));
      if (i != 2) all.back()->receive();
      all.back()->post();
    }
  }
  for (int i = 0; i < moment; ++i) (void)step(world);
  world.close(dead);
  const auto look = [&] {
    for (Rank r = 0; r < 5; ++r) {
      if (r != dead) (void)world.wire(r).progress();
    }
  };
  for (Rank r = 0; r < 5; ++r) {
    if (r != dead) world.link(r).lose(dead, error(ESP_ERR_PEER_DIED, "told so", dead));
    for (int i = 0; i < 5; ++i) look();
  }
  for (auto& m : all) {
    for (auto& copy : m->copies) {
      if (copy->to == dead || copy->received.posted != Posted::kRetry) continue;
      (void)copy->receive(world.wire(copy->to));
    }
  }
  const auto over = [&] {
    return std::ranges::all_of(all, [&](auto& m) {
      const Rank source = m->copies.front()->from;
      return (source == dead || m->sent.complete()) &&
             std::ranges::all_of(m->copies, [&](auto& copy) {
               return copy->to == dead || copy->received.complete();
             });
    });
  };
  for (int i = 0; i < 50'000 && !over(); ++i) look();
  ASSERT_TRUE(over());
  for (auto& m : all) {
    for (auto& copy : m->copies) {
      if (copy->to == dead) continue;
      if (copy->received.status.ok()) {
        copy->check();
      } else {
        EXPECT_EQ(copy->from, dead);
      }
    }
  }
  for (Rank r = 0; r < 5; ++r) {
    if (r != dead) world.frames(r).groups()->forget_all();
  }
  for (int i = 0; i < 1000; ++i) look();
  for (Rank r = 0; r < 5; ++r) {
    EXPECT_TRUE(r == dead || world.frames(r).groups()->all_left());
  }
}

TEST(GroupsPlaced, AMemberDies) {
  for (const Rank dead : {0, 1, 3}) {
    for (int moment = 0; moment < 60; moment += 1 + moment / 3) {
      SCOPED_TRACE(testing::Message() << dead << " at " << moment);
      run_death(dead, moment);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// They are for packets alone.
TEST(GroupsPlaced, AFrameOfLanesByALinkIsAnError) {
  LaneWorld world(3);
  Message hello(0, 1, FlowId(99, 0, 1), 8, 1);
  carry(world, hello);
  net::FrameHeader header;
  header.kind = net::FrameKind::kPlaced;
  Completion unused;
  ASSERT_EQ(world.link(0).post(1, header, nullptr, unused), Posted::kDone);
  ASSERT_TRUE(step_until(world, [&] { return !world.frames(1).state(0).ok(); }));
  EXPECT_EQ(world.frames(1).state(0).code(), ESP_ERR_NETWORK);
}

// Any mix of sizes, sources, faults, members that lack something, receives that come late.
void run_placed_by_seed(std::uint64_t seed) {
  Prng prng(seed);
  const char* const faults[] = {"",
                                "loss=0.03",
                                "loss=0.1,reorder=0.2",
                                "duplicate=0.1,loss=0.02",
                                "corrupt=0.05,reorder=0.1",
                                "branch-loss=0.05"};
  const int ranks = 3 + static_cast<int>(prng.below(5));
  RdmaWorldOptions options = with_lanes(faults[prng.below(std::size(faults))]);
  options.groups->receive_packets = 64 << prng.below(4);
  options.lanes->group.receive_packets = 64 << prng.below(5);
  options.lanes->places = 64 << prng.below(4);
  options.lanes_max = 1 + static_cast<std::uint32_t>(prng.below(5));
  for (Rank r = 0; r < ranks; ++r) {
    if (prng.below(6) == 0) options.registers_nothing.push_back(r);
    if (prng.below(6) == 0) options.without_lanes.push_back(r);
  }
  LaneWorld world(ranks, options);
  All all;
  for (std::uint64_t number = 1; number <= 30; ++number) {
    const auto source = static_cast<Rank>(prng.below(3));
    all.push_back(
        std::make_unique<ToAll>(world, source, FlowId(kTeam, 0, number),
                                prng.below(2) == 0 ? prng.below(3000) : prng.below(120'000)));
    if (prng.below(3) != 0) all.back()->receive();
    all.back()->post();
    for (std::uint64_t i = prng.below(60); i > 0; --i) (void)step(world);
    if (prng.below(4) == 0) world.pass(50'000);
  }
  for (auto& m : all) {
    if (m->copies.front()->received.posted == Posted::kRetry) m->receive();
  }
  finish(world, all);
  for (Rank r = 0; r < ranks; ++r) world.frames((r + ranks / 2) % ranks).forget_team(kTeam);
  ASSERT_TRUE(step_until(world, [&] {
    for (Rank r = 0; r < ranks; ++r) {
      if (!world.frames(r).groups()->all_left()) return false;
    }
    return true;
  }));
}

TEST(GroupsPlaced, AnythingBySeed) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    run_placed_by_seed(seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace espalier::test
