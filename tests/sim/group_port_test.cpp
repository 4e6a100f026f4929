// Simulated multicast: what a packet to a group costs, whom it reaches, and each fault that may
// meet it, of one member and of all behind a link.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "core/clock.hpp"
#include "net/sim/sim_group_port.hpp"
#include "tests/harness/sim_bed.hpp"

namespace espalier::test {
namespace {

using multicast::GroupAddress;
using multicast::Joined;
using sim::SimGroupPort;

constexpr GroupAddress kGroup = {.key = 1};

// Keeps what arrives, with its time, and gives the packets back at once.
struct GroupInbox final : rdma::DatagramSink {
  void arrived(rdma::Packet& packet) noexcept override {
    ++count;
    last_ns = world->now_ns();
    if (keeps_bytes) all.emplace_back(reinterpret_cast<const char*>(packet.data), packet.bytes);
    if (gives) port->give(packet);
  }
  sim::World* world = nullptr;
  SimGroupPort* port = nullptr;
  bool keeps_bytes = true, gives = true;
  std::uint64_t count = 0;
  std::uint64_t last_ns = 0;
  std::vector<std::string> all;
};

// All ranks of a world are in one group.
struct Members {
  explicit Members(std::uint32_t ranks, const std::string& faults = {},
                   sim::Machine machine = device_machine(),
                   const sim::GroupPortOptions& options = {}, std::uint64_t seed = 1)
      : bed(ranks, faults, seed, std::move(machine)), net(world), inboxes(ranks) {
    world.set_turn(on_turn, this);
    for (std::uint32_t r = 0; r < ranks; ++r) add(static_cast<Rank>(r), options);
    world.run();
    turns = 0;
  }
  void add(Rank rank, const sim::GroupPortOptions& options) {
    const auto r = static_cast<std::size_t>(rank);
    ports.resize(std::max(ports.size(), r + 1));
    ports[r] = std::make_unique<SimGroupPort>(net, rank, kGroup, options);
    inboxes[r].world = &world;
    inboxes[r].port = ports[r].get();
  }
  static void on_turn(void* self, Rank rank) {
    auto& members = *static_cast<Members*>(self);
    const auto r = static_cast<std::size_t>(rank);
    ++members.turns;
    if (r >= members.ports.size() || members.ports[r] == nullptr) return;
    while (members.ports[r]->poll(members.inboxes[r], 16) > 0) {
    }
  }
  bool send(Rank from, const std::string& text) {
    SimGroupPort& port = *ports[static_cast<std::size_t>(from)];
    rdma::Packet* packet = port.take();
    if (packet == nullptr) return false;
    std::memcpy(packet->data, text.data(), text.size());
    packet->bytes = static_cast<std::uint32_t>(text.size());
    const bool sent = port.send(*packet, false);
    port.give(*packet);
    return sent;
  }
  // One at a time, so that a full queue is no reason; without a text the packet's number.
  void send_many(int count, const std::string& text = {}) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(send(0, text.empty() ? std::to_string(i) : text));
      world.run(world.now_ns() + 100'000);
      (void)ports[0]->poll(inboxes[0], 16);
    }
    world.run();
  }
  const sim::GroupCounts& counts() const { return net.counts(); }

  SimBed bed;
  sim::World& world = bed.world;
  sim::GroupNet net;
  std::vector<GroupInbox> inboxes;
  std::vector<std::unique_ptr<SimGroupPort>> ports;
  int turns = 0;
};

// Two switches of three nodes of two cores, with a duplex card each.
sim::Machine switched_machine() {
  sim::Machine machine = cluster_machine();
  sim::Level inner = machine.levels[0];
  inner.name = "switch";
  inner.arity = 2;
  machine.levels.insert(machine.levels.begin() + 1, inner);
  machine.levels[2].arity = 3;
  return machine;
}

TEST(SimGroups, ReachAllMembersButTheSenderOnce) {
  Members members(5);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(members.send(1, "packet " + std::to_string(i)));
  members.world.run();
  for (std::size_t r = 0; r < 5; ++r) {
    ASSERT_EQ(members.inboxes[r].all.size(), r == 1 ? 0U : 50U);
    for (std::size_t i = 0; i < members.inboxes[r].all.size(); ++i) {
      EXPECT_EQ(members.inboxes[r].all[i], "packet " + std::to_string(i));
    }
  }
  EXPECT_EQ(members.counts().sent, 50U);
  EXPECT_EQ(members.counts().arrived, 200U);
  EXPECT_EQ(members.net.under_way(), 0U);
}

TEST(SimGroups, CostWhatADeviceTransferCostsToEach) {
  Members members(4);
  ASSERT_TRUE(members.send(0, std::string(1000, 'x')));
  members.world.run();
  // o + L + n G + o, as in SimPrices.ADeviceIsLogGp.
  for (std::size_t r = 1; r < 4; ++r) {
    EXPECT_EQ(members.inboxes[r].last_ns, 100U + 1000 + 500 + 200);
  }
}

// When the sender's card is free for the next packet, seen by the last member's second arrival.
TEST(SimGroups, TheSendersLaneIsChargedOnceForAnyNumberOfMembers) {
  for (const std::uint32_t ranks : {2U, 3U, 32U}) {
    sim::Machine machine = cluster_machine();
    machine.levels[2].arity = 1;  // one rank per node
    Members members(ranks, {}, machine);
    ASSERT_TRUE(members.send(0, std::string(1000, 'x')));
    ASSERT_TRUE(members.send(0, std::string(1000, 'y')));
    members.world.run();
    for (std::size_t r = 1; r < ranks; ++r) {
      EXPECT_EQ(members.inboxes[r].count, 2U);
      EXPECT_EQ(members.inboxes[r].last_ns, 100U + 500 + 1000 + 500 + 200) << ranks;
    }
  }
}

TEST(SimGroups, EachPacketCostsWhatTheMachineTakesForGroups) {
  for (const std::uint32_t ranks : {2U, 32U}) {
    sim::Machine machine = cluster_machine();
    machine.levels[2].arity = 1;  // one rank per node
    machine.multicast = {.packet_bytes = 4096, .setup_ns = 40, .growth_ns = 50};
    Members members(ranks, {}, machine);
    ASSERT_TRUE(members.send(0, std::string(1000, 'x')));
    ASSERT_TRUE(members.send(0, std::string(1000, 'y')));
    members.world.run();
    const auto extra =
        static_cast<std::uint64_t>(std::llround(40 + 50 * std::log(static_cast<double>(ranks))));
    EXPECT_EQ(members.inboxes[1].last_ns, 100U + 2 * (extra + 500) + 1000 + 200) << ranks;
  }
}

TEST(SimGroups, ACardTakesAPacketOnceForAllItsMembers) {
  Members members(6, {}, cluster_machine());  // ranks 2 n and 2 n + 1 share a card
  ASSERT_TRUE(members.send(0, std::string(1000, 'x')));
  ASSERT_TRUE(members.send(2, std::string(1000, 'y')));
  members.world.run();
  EXPECT_EQ(members.counts().copied, 6U);  // each: to the neighbour, and to two cards
  EXPECT_EQ(members.counts().arrived, 10U);
  // The card of 4 and 5 is taken by two packets, one after the other, not by four.
  EXPECT_EQ(members.inboxes[4].last_ns, 100U + 1000 + 500 + 500 + 200);
  EXPECT_EQ(members.inboxes[5].last_ns, 100U + 1000 + 500 + 500 + 200);
}

TEST(SimGroups, TwoGroupsDoNotMix) {
  Members members(3);
  constexpr GroupAddress kOther = {.key = 2};
  SimGroupPort from(members.net, 0, kOther), to(members.net, 1, kOther);
  GroupInbox other;
  other.world = &members.world;
  other.port = &to;
  rdma::Packet* packet = from.take();
  packet->bytes = 5;
  std::memcpy(packet->data, "other", 5);
  ASSERT_TRUE(from.send(*packet, false));
  from.give(*packet);
  ASSERT_TRUE(members.send(0, "first"));
  members.world.run();
  EXPECT_EQ(to.poll(other, 16), 1);
  EXPECT_EQ(other.all, std::vector<std::string>{"other"});
  EXPECT_EQ(members.inboxes[1].all, std::vector<std::string>{"first"});
  EXPECT_EQ(members.inboxes[2].all, std::vector<std::string>{"first"});
}

TEST(SimGroups, WhoHasNotJoinedGetsAndSendsNothing) {
  Members members(4);
  members.ports[3].reset();
  sim::GroupPortOptions late;
  late.join_ns = 1'000'000;
  members.add(3, late);
  EXPECT_EQ(members.ports[3]->joined(), Joined::kNotYet);
  EXPECT_FALSE(members.send(3, "too early"));
  ASSERT_TRUE(members.send(0, "before"));
  const int turns = members.turns;
  members.world.run();
  EXPECT_GT(members.turns, turns);  // it is told
  EXPECT_EQ(members.ports[3]->joined(), Joined::kYes);
  ASSERT_TRUE(members.send(0, "after"));
  members.world.run();
  EXPECT_EQ(members.inboxes[3].all, std::vector<std::string>{"after"});
  EXPECT_EQ(members.inboxes[1].all.size(), 2U);
  EXPECT_EQ(members.counts().dropped, 0U);
}

TEST(SimGroups, JoiningMayFailOrNeverEnd) {
  Members members(3);
  members.ports[1].reset();
  members.ports[2].reset();
  sim::GroupPortOptions fails, silent;
  fails.join_ns = 1000;
  fails.join_fails = true;
  silent.join_ns = kNever;
  members.add(1, fails);
  members.add(2, silent);
  EXPECT_TRUE(members.ports[1]->fault().ok());
  members.world.run();
  EXPECT_EQ(members.ports[1]->joined(), Joined::kFailed);
  EXPECT_FALSE(members.ports[1]->fault().ok());
  EXPECT_LT(members.ports[1]->poll(members.inboxes[1], 1), 0);
  EXPECT_EQ(members.ports[2]->joined(), Joined::kNotYet);
  EXPECT_FALSE(members.send(1, "x"));
  ASSERT_TRUE(members.send(0, "x"));
  members.world.run();
  EXPECT_EQ(members.inboxes[1].count + members.inboxes[2].count, 0U);
}

TEST(SimGroups, MembersAreHitByThemselvesAtTheSharesOfTheFaults) {
  Members members(5, "loss=0.1,duplicate=0.2");
  members.send_many(1000, "x");
  const sim::GroupCounts& counts = members.counts();
  EXPECT_EQ(counts.sent, 1000U);
  EXPECT_NEAR(static_cast<double>(counts.lost), 400, 80);
  EXPECT_NEAR(static_cast<double>(counts.repeated), 720, 110);
  EXPECT_EQ(counts.arrived, 4000 - counts.lost + counts.repeated);
  EXPECT_EQ(members.inboxes[0].count, 0U);
  for (std::size_t r = 1; r < 5; ++r) {
    EXPECT_NEAR(static_cast<double>(members.inboxes[r].count), 1080, 80) << r;
  }
  EXPECT_NE(members.inboxes[1].count, members.inboxes[2].count);
}

// Ranks 0 to 5 are behind one switch, 6 to 11 behind the other; two of them share a card.
TEST(SimGroups, ABranchLosesForAllBehindIt) {
  Members members(12, "branch-loss=0.2", switched_machine());
  constexpr int kPackets = 2000;
  members.send_many(kPackets);
  const auto share = [&](std::size_t r) {
    return static_cast<double>(members.inboxes[r].count) / kPackets;
  };
  EXPECT_EQ(share(1), 1);             // on the sender's card
  EXPECT_NEAR(share(2), 0.8, 0.04);   // one link: into the card
  EXPECT_NEAR(share(6), 0.64, 0.04);  // two: into the switch and into the card
  EXPECT_EQ(members.inboxes[2].all, members.inboxes[3].all);
  EXPECT_EQ(members.inboxes[6].all, members.inboxes[7].all);
  EXPECT_NE(members.inboxes[2].all, members.inboxes[4].all);
  EXPECT_NE(members.inboxes[6].all, members.inboxes[8].all);
  // What all three cards behind the other switch miss: mostly the switch's losses, 0.2 + 0.8 *
  // 0.2^3, and not 0.36^3 as if they were independent.
  std::size_t missed_by_all = 0;
  std::size_t at[3] = {};
  for (int i = 0; i < kPackets; ++i) {
    bool missed = true;
    for (std::size_t card = 0; card < 3; ++card) {
      const std::vector<std::string>& all = members.inboxes[6 + 2 * card].all;
      const bool here = at[card] < all.size() && all[at[card]] == std::to_string(i);
      at[card] += here;
      missed &= !here;
    }
    missed_by_all += missed;
  }
  EXPECT_NEAR(static_cast<double>(missed_by_all) / kPackets, 0.2064, 0.04);
  const sim::GroupCounts& counts = members.counts();
  EXPECT_EQ(counts.lost, 0U);
  EXPECT_EQ(counts.cut + counts.arrived, 11U * kPackets);
}

TEST(SimGroups, AreReordered) {
  Members members(3, "reorder=0.3");
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(members.send(0, std::string(1, static_cast<char>(i))));
  }
  members.world.run();
  for (const std::size_t r : {1U, 2U}) {
    const std::vector<std::string>& all = members.inboxes[r].all;
    ASSERT_EQ(all.size(), 100U);
    int inversions = 0;
    for (std::size_t i = 1; i < 100; ++i) inversions += all[i] < all[i - 1];
    EXPECT_GT(inversions, 5);
  }
  EXPECT_NE(members.inboxes[1].all, members.inboxes[2].all);
}

TEST(SimGroups, AreDamagedForOneMemberAndNotTheOther) {
  Members members(3, "corrupt=0.5");
  const std::string text(200, 'x');
  members.send_many(200, text);
  int one_alone = 0;
  std::size_t damaged = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    const bool first = members.inboxes[1].all[i] != text;
    const bool second = members.inboxes[2].all[i] != text;
    damaged += first + second;
    one_alone += first != second;
  }
  EXPECT_LE(damaged, members.counts().damaged);
  EXPECT_GT(damaged, 140U);
  EXPECT_GT(one_alone, 60);
}

TEST(SimGroups, APartitionCutsOneMemberOff) {
  Members members(3);
  members.world.part(0, 1, 1'000'000);
  ASSERT_TRUE(members.send(0, "x"));
  members.world.run();
  EXPECT_EQ(members.inboxes[1].count, 0U);
  EXPECT_EQ(members.inboxes[2].count, 1U);
  EXPECT_EQ(members.counts().parted, 1U);
}

TEST(SimGroups, ATestSaysWhatIsLost) {
  Members members(3);
  members.net.lose_next(2, 2);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(members.send(0, std::to_string(i)));
  members.world.run();
  EXPECT_EQ(members.inboxes[1].count, 4U);
  EXPECT_EQ(members.inboxes[2].all, (std::vector<std::string>{"2", "3"}));
  EXPECT_EQ(members.counts().lost, 2U);
}

TEST(SimGroups, WhatFindsNoPacketIsDropped) {
  sim::GroupPortOptions options;
  options.receive_packets = 3;
  Members members(3, {}, device_machine(), options);
  members.inboxes[1].gives = false;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(members.send(0, "x"));
  members.world.run();
  EXPECT_EQ(members.inboxes[1].count, 3U);
  EXPECT_EQ(members.inboxes[2].count, 5U);
  EXPECT_EQ(members.counts().dropped, 2U);
  EXPECT_EQ(members.ports[1]->held(), 3U);
}

TEST(SimGroups, NobodyIsAtACrashedRank) {
  Members members(3);
  members.world.crash(1);
  ASSERT_TRUE(members.send(0, "x"));
  members.world.run();
  EXPECT_EQ(members.inboxes[1].count, 0U);
  EXPECT_EQ(members.inboxes[2].count, 1U);
  EXPECT_EQ(members.counts().dropped, 1U);
}

TEST(SimGroups, AFullSendQueueRefusesAndTellsOfRoom) {
  sim::GroupPortOptions options;
  options.send_depth = 2;
  Members members(2, {}, device_machine(), options);
  EXPECT_TRUE(members.send(0, "x"));
  EXPECT_TRUE(members.send(0, "x"));
  EXPECT_FALSE(members.send(0, "x"));
  members.world.run();
  EXPECT_TRUE(members.send(0, "x"));
  members.world.run();
  EXPECT_EQ(members.inboxes[1].count, 3U);
}

TEST(SimGroups, BytesAreReadWhenTheyLeave) {
  Members members(2);
  SimGroupPort& port = *members.ports[0];
  rdma::Packet* packet = port.take();
  packet->bytes = 4;
  std::memcpy(packet->data, "soon", 4);
  ASSERT_TRUE(port.send(*packet, false));
  EXPECT_EQ(packet->in_flight, 1U);
  std::memcpy(packet->data, "late", 4);
  members.world.run();
  EXPECT_EQ(members.inboxes[1].all.at(0), "late");
  (void)port.poll(members.inboxes[0], 1);
  EXPECT_EQ(packet->in_flight, 0U);
  port.give(*packet);
}

TEST(SimGroups, PortsMayGoWhilePacketsAreUnderWay) {
  Members members(3);
  ASSERT_TRUE(members.send(0, "never left"));
  members.ports[0].reset();
  ASSERT_TRUE(members.send(1, "sent"));
  members.ports[2].reset();
  members.world.run();
  EXPECT_EQ(members.inboxes[1].count, 0U);
  EXPECT_EQ(members.inboxes[2].count, 0U);
  EXPECT_EQ(members.net.under_way(), 0U);
}

TEST(SimGroups, RefusalsComeAndGo) {
  Members members(2, "retry=0.5,no-memory=0.5");
  int sent = 0;
  for (int i = 0; i < 100; ++i) sent += members.send(0, "x");
  EXPECT_GT(sent, 5);
  EXPECT_LT(sent, 60);
  members.world.run();
}

TEST(SimGroups, EqualSeedsMakeEqualRuns) {
  const auto run = [](std::uint64_t seed) {
    Members members(12,
                    "loss=0.1,duplicate=0.1,reorder=0.2,corrupt=0.1,branch-loss=0.1,delay=0.2:3us",
                    switched_machine(), {}, seed);
    for (int i = 0; i < 100; ++i) (void)members.send(i % 3, std::string(50, 'x'));
    members.world.run();
    return members.world.unseed();
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(SimGroups, ThousandsOfMembers) {
  constexpr std::uint32_t kRanks = 4096;
  sim::Machine machine = switched_machine();
  machine.levels[1].arity = 64;
  machine.levels[2].arity = 32;
  sim::GroupPortOptions options;
  options.send_packets = 8;
  options.receive_packets = 16;
  Members members(kRanks, "loss=0.001", machine, options);
  for (GroupInbox& inbox : members.inboxes) inbox.keeps_bytes = false;
  members.send_many(20, std::string(4096, 'x'));
  const sim::GroupCounts& counts = members.counts();
  EXPECT_EQ(counts.copied, 20U * (kRanks / 2));
  EXPECT_EQ(counts.arrived + counts.lost, 20U * (kRanks - 1));
  EXPECT_NEAR(static_cast<double>(counts.lost), 82, 40);
}

}  // namespace
}  // namespace espalier::test
