// Groups of the network over FrameWires (net/groups), on simulated ports of datagrams and of
// groups: before all have joined, after, with losses, and when they end.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/prng.hpp"
#include "tests/wire/group_world.hpp"

namespace espalier::test {
namespace {

TEST(Groups, OneSendServesAllOfThem) {
  GroupWorld world(9);
  world.open();
  std::uint64_t number = 0;
  for (const std::uint64_t bytes : {0U, 1U, 89U, 996U, 997U, 5000U, 300'000U}) {
    const std::uint64_t before = world.packets(3);
    ToAll m(world, 3, FlowId(kTeam, 0, ++number), bytes);
    m.carry();
    const std::uint64_t payload = 1024 - multicast::kHeaderBytes;
    EXPECT_EQ(world.packets(3) - before, (net::kFrameHeaderBytes + bytes + payload - 1) / payload)
        << bytes;
  }
  EXPECT_EQ(world.relays(), 0u);
  settle(world);
  EXPECT_EQ(world.group_net().counts().dropped, 0u);
  EXPECT_EQ(world.sum(&Counters::group_losses) + world.sum(&Counters::group_repairs), 0u);
}

TEST(Groups, BeforeAllHaveJoinedFramesArePassedOn) {
  for (const int ranks : {2, 5, 6, 22}) {
    RdmaWorldOptions options = with_groups({}, kNever);  // The network never answers.
    GroupWorld world(ranks, options);
    world.join_all();
    for (const Rank source : {0, ranks / 2, ranks - 1}) {
      for (const std::uint64_t bytes : {0U, 40U, 70'000U}) {
        ToAll(world, source, FlowId(kTeam, static_cast<std::uint32_t>(source), bytes), bytes)
            .carry();
      }
    }
    EXPECT_EQ(world.relays(), 9u * (static_cast<std::uint64_t>(ranks) - 1));
    EXPECT_FALSE(world.all_open());
    EXPECT_EQ(world.group(0).describe(), "messages: not all have joined yet");
  }
}

TEST(Groups, WhoJoinsLateMissesNothing) {
  GroupWorld world(7);
  for (const Rank r : {0, 2, 3, 4, 6}) world.join(r);  // 1 is above 5 in the tree of 0.
  ToAll first(world, 0, FlowId(kTeam, 0, 1), 3000), second(world, 0, FlowId(kTeam, 0, 2), 0);
  first.post();
  second.post();
  for (int i = 0; i < 500; ++i) (void)step(world);
  EXPECT_FALSE(world.group(0).is_open());
  for (ToAll* m : {&first, &second}) {
    for (auto& copy : m->copies) {
      if (copy->to != 1 && copy->to != 5) (void)copy->receive(world.wire(copy->to));
    }
  }
  world.join(5);
  for (int i = 0; i < 500; ++i) (void)step(world);
  world.join(1);
  for (ToAll* m : {&first, &second}) {
    for (auto& copy : m->copies) {
      if (copy->to == 1 || copy->to == 5) (void)copy->receive(world.wire(copy->to));
    }
  }
  ASSERT_TRUE(step_until(world, [&] { return first.complete() && second.complete(); }));
  first.check();
  second.check();
  world.pass(100'000);
  ASSERT_TRUE(step_until(world, [&] { return world.all_open(); }));
  const std::uint64_t before = world.relays();
  ToAll(world, 5, FlowId(kTeam, 0, 3), 3000).carry();
  EXPECT_EQ(world.relays(), before);
}

// Several sources, several flows of each, whatever the network does to packets.
TEST(Groups, FlowsOfManySourcesThroughAFaultyNetwork) {
  GroupWorld world(6, with_groups("loss=0.05,duplicate=0.05,reorder=0.1,corrupt=0.02"));
  world.open();
  Prng prng(1);
  std::vector<std::unique_ptr<ToAll>> all;
  for (Rank source = 0; source < 4; ++source) {
    for (std::uint32_t flow = 0; flow < 3; ++flow) {
      for (std::uint32_t i = 0; i < 12; ++i) {
        all.push_back(std::make_unique<ToAll>(
            world, source, FlowId(kTeam, flow, static_cast<std::uint64_t>(source)),
            prng.below(9000), i, 12));
      }
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 3 != 0) all[i]->receive();
  }
  for (auto& m : all) m->post();
  for (std::size_t i = 0; i < all.size(); i += 3) all[i]->receive();
  const auto done = [&] { return std::ranges::all_of(all, [](auto& m) { return m->complete(); }); };
  ASSERT_TRUE(step_until(world, done));
  for (auto& m : all) m->check();
  EXPECT_GT(world.group_net().counts().lost, 0u);
  // One that is repeated may serve several.
  EXPECT_GT(world.sum(&Counters::group_losses), 0u);
  EXPECT_GT(world.sum(&Counters::group_repairs), 0u);
}

// Its window is shut, and nobody but that one can open it.
TEST(Groups, WhoHoldsThemUpIsNamed) {
  GroupWorld world(4);
  world.open();
  constexpr Rank kLate = 2;
  ToAll m(world, 0, FlowId(kTeam, 0, 1), 1'000'000);
  m.receive();
  const std::vector<Rank> readers = {1, 2, 3};
  const auto group = world.wire(0).open_group(readers);
  EXPECT_EQ(group->late(), kNoRank);
  const auto live = [&] {
    for (int i = 0; i < 3000; ++i) {
      for (const Rank r : {0, 1, 3}) (void)world.wire(r).progress();
    }
  };
  ASSERT_EQ(m.post(*group), Posted::kPending);
  live();
  world.pass(200'000'000);
  live();
  EXPECT_EQ(group->late(), kLate);
  EXPECT_EQ(world.group(0).describe(), "multicast to 3 others, held up by rank 2");
  EXPECT_EQ(world.group(1).late(), kNoRank);
  ASSERT_TRUE(step_until(world, [&] { return m.complete(); }));
  m.check();
  EXPECT_EQ(group->late(), kNoRank);
  EXPECT_EQ(world.group(0).describe(), "multicast to 3 others");
}

TEST(Groups, WhatIsNotGrantedWaits) {
  GroupWorld world(4);
  world.open();
  constexpr std::uint32_t kSegments = kEagerSegments + 20;
  std::vector<std::unique_ptr<ToAll>> flow;
  for (std::uint32_t i = 0; i < kSegments; ++i) {
    flow.push_back(std::make_unique<ToAll>(world, 1, FlowId(kTeam, 0, 1), 2500, i, kSegments));
    for (auto& copy : flow.back()->copies) {
      if (copy->to != 2) (void)copy->receive(world.wire(copy->to), 32);
    }
  }
  const std::vector<Rank> readers = {0, 2, 3};
  const auto group = world.wire(1).open_group(readers);
  std::size_t sent = 0;
  const auto send_more = [&] {
    while (sent < kSegments && flow[sent]->post(*group) != Posted::kRetry) ++sent;
  };
  for (int i = 0; i < 300; ++i) {
    send_more();
    (void)step(world);
  }
  EXPECT_EQ(sent, kEagerSegments);
  for (auto& m : flow) {
    for (auto& copy : m->copies) {
      if (copy->to == 2) (void)copy->receive(world.wire(2), 32);
    }
  }
  ASSERT_TRUE(step_until(world, [&] {
    send_more();
    return std::ranges::all_of(flow, [](auto& m) { return m->complete(); });
  }));
  for (auto& m : flow) m->check();
}

// What has been begun arrives whole, the rest not at all; later frames are not hurt.
TEST(Groups, SendsAndReceivesAreCanceledHalfWay) {
  for (int moment = 0; moment < 60; moment += 1 + moment / 6) {
    SCOPED_TRACE(moment);
    GroupWorld world(4, with_groups("loss=0.02"));
    world.open();
    ToAll canceled(world, 0, FlowId(kTeam, 0, 1), 400'000), other(world, 0, FlowId(kTeam, 0, 2), 1);
    canceled.receive();
    canceled.post();
    for (int i = 0; i < moment; ++i) (void)step(world);
    world.wire(2).cancel(canceled.copies[1]->received);
    std::ranges::fill(canceled.copies[1]->target, std::byte{7});
    const bool over = canceled.sent.complete();
    if (!over) {
      world.wire(0).cancel(canceled.sent);
      std::ranges::fill(canceled.copies[0]->source, std::byte{9});
    }
    other.carry();
    settle(world);
    if (over || canceled.copies[0]->received.complete()) {
      ASSERT_TRUE(step_until(world, [&] { return canceled.copies[0]->received.complete(); }));
      canceled.copies[0]->check();
    }
    if (!canceled.copies[1]->received.complete()) {
      EXPECT_TRUE(std::ranges::all_of(canceled.copies[1]->target,
                                      [](std::byte b) { return b == std::byte{7}; }));
    }
    for (auto& copy : canceled.copies) world.wire(copy->to).cancel(copy->received);
    EXPECT_EQ(canceled.sent.fired, over && canceled.sent.posted == Posted::kPending ? 1 : 0);
  }
}

TEST(Groups, TheLeastUsedGivesWay) {
  RdmaWorldOptions options = with_groups();
  options.groups_max = 2;
  GroupWorld world(5, options);
  world.open(1);
  world.open(2);
  ToAll(world, 0, FlowId(1, 0, 1), 5000).carry();
  ToAll(world, 4, FlowId(2, 0, 1), 5000).carry();
  for (Rank r = 0; r < 5; ++r) ToAll(world, r, FlowId(1, 0, 2), 500).carry();
  world.join_all(3);
  settle(world);
  world.pass(100'000);
  ASSERT_TRUE(step_until(world, [&] { return world.all_open(3); }));
  EXPECT_TRUE(world.all_open(1));
  for (Rank r = 0; r < 5; ++r) {
    EXPECT_FALSE(world.group(r, 2).has_port());
    EXPECT_NE(world.group(r, 2).describe().find("it gave way to another team's"), std::string::npos)
        << world.group(r, 2).describe();
    ToAll(world, r, FlowId(2, 0, 3), 5000).carry();
    ToAll(world, r, FlowId(3, 0, 3), 5000).carry();
  }
}

TEST(Groups, ANetworkThatLosesTooMuchIsNotUsed) {
  GroupWorld world(4, with_groups("loss=0.3"));
  world.open();
  std::uint64_t number = 0;
  for (; number < 200 && world.group(2).is_open(); ++number) {
    ToAll(world, 2, FlowId(kTeam, 0, number), 100'000).carry();
  }
  EXPECT_LT(number, 200u);
  ASSERT_TRUE(step_until(world, [&] {
    return !world.group(0).has_port() && !world.group(1).has_port() && !world.group(3).has_port();
  }));
  EXPECT_NE(world.group(0).describe().find("of 1000 packets were lost on the way to rank"),
            std::string::npos)
      << world.group(0).describe();
  const std::uint64_t before = world.packets(2);
  ToAll(world, 2, FlowId(kTeam, 0, ++number), 100'000).carry();
  EXPECT_EQ(world.packets(2), before);
}

TEST(Groups, WhereAMemberCannotJoinNobodyUsesIt) {
  RdmaWorldOptions options = with_groups();
  options.groups->join_fails = true;
  GroupWorld world(6, options);
  world.join_all();
  world.pass(100'000);
  ASSERT_TRUE(step_until(world, [&] {
    for (Rank r = 0; r < 6; ++r) {
      if (world.group(r).has_port()) return false;
    }
    return true;
  }));
  EXPECT_NE(world.group(5).describe().find("could not join"), std::string::npos);
  ToAll(world, 5, FlowId(kTeam, 0, 1), 1000).carry();
}

// Whoever frees its team first waits for the others, who may miss packets yet.
TEST(Groups, AllLeaveTogether) {
  GroupWorld world(7, with_groups("loss=0.1"));
  world.open();
  std::vector<std::unique_ptr<ToAll>> all;
  for (Rank r = 0; r < 3; ++r) {
    all.push_back(std::make_unique<ToAll>(world, r, FlowId(kTeam, 0, 1), 50'000));
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
  for (Rank r = 0; r < 7; ++r) EXPECT_TRUE(world.frames(r).groups()->all_left());
}

// One of them called something else, and never joined.
TEST(Groups, OfTeamsThatHaveFailedNobodyWaits) {
  GroupWorld world(5);
  for (Rank r = 0; r < 4; ++r) world.join(r);
  settle(world);
  for (Rank r = 0; r < 5; ++r) {
    world.frames(r).groups()->forget_all();
    settle(world);
    EXPECT_EQ(world.frames(r).groups()->all_left(), r == 4);
    world.frames(r).groups()->abandon(kTeam);
    EXPECT_TRUE(world.frames(r).groups()->all_left());
  }
}

// Members that join when they like, and publish before and after; several teams and sources; any
// faults; teams that are freed in any order.
void run_by_seed(std::uint64_t seed) {
  Prng prng(seed);
  const char* const faults[] = {"",
                                "loss=0.03",
                                "loss=0.1,reorder=0.2",
                                "duplicate=0.1,loss=0.02",
                                "corrupt=0.05,reorder=0.1",
                                "branch-loss=0.05"};
  const int ranks = 3 + static_cast<int>(prng.below(6));
  RdmaWorldOptions options =
      with_groups(faults[prng.below(std::size(faults))], prng.below(2) * 30'000);
  options.groups_max = 1 + static_cast<std::uint32_t>(prng.below(3));
  options.groups->receive_packets = 64 << prng.below(4);
  GroupWorld world(ranks, options);
  constexpr std::uint32_t kTeams = 3;
  std::vector<std::pair<Rank, std::uint32_t>> joins;
  for (std::uint32_t team = 1; team <= kTeams; ++team) {
    for (Rank r = 0; r < ranks; ++r) joins.emplace_back(r, team);
  }
  for (std::size_t i = joins.size(); i > 1; --i) std::swap(joins[i - 1], joins[prng.below(i)]);
  std::vector<std::unique_ptr<ToAll>> all;
  for (std::uint64_t number = 0; !joins.empty() || number < 12; ++number) {
    if (!joins.empty()) {
      const auto [rank, team] = joins.back();
      joins.pop_back();
      world.join(rank, team);
      for (std::uint32_t k = 0; k < 2; ++k) {
        const FlowId flow(team, k, static_cast<std::uint64_t>(rank));
        all.push_back(std::make_unique<ToAll>(world, rank, flow, prng.below(20'000)));
        all.back()->post();
      }
    }
    for (std::uint64_t i = prng.below(40); i > 0; --i) (void)step(world);
    if (prng.below(4) == 0) world.pass(50'000);
  }
  for (auto& m : all) m->receive();
  const auto done = [&] { return std::ranges::all_of(all, [](auto& m) { return m->complete(); }); };
  ASSERT_TRUE(step_until(world, done));
  for (auto& m : all) m->check();
  for (std::uint32_t team = 1; team <= kTeams; ++team) {
    for (Rank r = 0; r < ranks; ++r) {
      world.frames((r + ranks / 2) % ranks).forget_team(team);
      for (std::uint64_t i = prng.below(10); i > 0; --i) (void)step(world);
    }
  }
  ASSERT_TRUE(step_until(world, [&] {
    for (Rank r = 0; r < ranks; ++r) {
      if (!world.frames(r).groups()->all_left()) return false;
    }
    return true;
  }));
}

TEST(Groups, AnythingBySeed) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    run_by_seed(seed);
    if (HasFatalFailure()) return;
  }
}

TEST(Groups, AMemberDies) {
  for (const Rank dead : {0, 2, 4}) {
    SCOPED_TRACE(dead);
    GroupWorld world(5);
    world.open();
    for (Rank r = 0; r < 5; ++r) {
      if (r == 1) continue;
      Message hello(1, r, FlowId(99, 0, static_cast<std::uint64_t>(r)), 8, 1);
      carry(world, hello);
    }
    world.close(dead);
    ToAll m(world, 1, FlowId(kTeam, 0, 1), 300'000);
    for (auto& copy : m.copies) {
      if (copy->to != dead) (void)copy->receive(world.wire(copy->to));
    }
    for (Rank r = 0; r < 5; ++r) {
      if (r != dead) world.link(r).lose(dead, error(ESP_ERR_PEER_DIED, "told so", dead));
    }
    const auto look = [&] {
      for (Rank r = 0; r < 5; ++r) {
        if (r != dead) (void)world.wire(r).progress();
      }
    };
    std::vector<Rank> readers;
    for (auto& copy : m.copies) readers.push_back(copy->to);
    const auto group = world.wire(1).open_group(readers);
    for (int i = 0; i < 100; ++i) look();
    ASSERT_EQ(m.post(*group), Posted::kPending);
    for (int i = 0; i < 20'000 && m.sent.fired == 0; ++i) look();
    EXPECT_EQ(m.sent.fired, 1);
    EXPECT_EQ(m.sent.status.code(), ESP_ERR_PEER_DIED);
    EXPECT_EQ(m.sent.status.rank(), dead);
    for (auto& copy : m.copies) {
      if (copy->to != dead) world.wire(copy->to).cancel(copy->received);
    }
    for (Rank r = 0; r < 5; ++r) {
      if (r != dead) world.frames(r).groups()->forget_all();
    }
    for (int i = 0; i < 1000; ++i) look();
    for (Rank r = 0; r < 5; ++r) {
      EXPECT_TRUE(r == dead || world.frames(r).groups()->all_left());
    }
  }
}

}  // namespace
}  // namespace espalier::test
