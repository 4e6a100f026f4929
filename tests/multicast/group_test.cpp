// Groups over the played network, one rule at a time; the swarm has them all at once.
#include "net/multicast/group.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "tests/multicast/network.hpp"

namespace espalier::multicast::played {
namespace {

constexpr std::uint32_t kDepth = 36, kWindow = 11;

struct Receiver final : GroupSink {
  void deliver(Rank source, std::uint64_t tag, std::span<const std::byte> payload) override {
    EXPECT_EQ(tag, static_cast<std::uint64_t>(delivered[source]++));
    EXPECT_EQ(payload.size(), tag % 100);
  }
  void source_ended(Rank source, std::uint32_t packets) override { ended[source] = packets; }
  std::map<Rank, int> delivered;
  std::map<Rank, std::uint32_t> ended;
};

struct Played {
  explicit Played(std::uint32_t members, const Faults& faults = {}, std::uint32_t degree = 4)
      : net(network(members, faults), 1),
        ranks(members),
        receivers(members),
        sent(members),
        stopped(members) {
    std::iota(ranks.begin(), ranks.end(), 0);
    GroupOptions options;
    options.epoch = 1;
    options.group = 7;
    options.ranks = members;
    options.degree = degree;
    options.loss = {64, 100, 2};
    for (std::uint32_t i = 0; i < members; ++i) {
      options.rank = static_cast<Rank>(i);
      groups.push_back(
          std::make_unique<Group>(ranks, net.port(i), net.mail(i), net, receivers[i], options));
      net.connect(i, *groups[i]);
    }
  }
  static NetworkOptions network(std::uint32_t members, const Faults& faults) {
    NetworkOptions options;
    options.members = members;
    options.receive_depth = kDepth;
    options.faults = faults;
    return options;
  }
  // As many as there is room for; returns how many.
  std::uint32_t publish(std::uint32_t member, std::uint32_t most) {
    std::uint32_t done = 0;
    for (; done < most && !groups[member]->room().empty(); ++done) {
      groups[member]->publish(sent[member] % 100, sent[member]);
      ++sent[member];
    }
    return done;
  }
  void run(std::uint64_t for_ns) {
    for (const std::uint64_t end = net.now_ns() + for_ns; net.now_ns() < end;) {
      const std::uint64_t until = net.now_ns() + 500;
      while (net.next_ns() <= until) (void)net.step();
      net.move_to(until);
      for (std::uint32_t i = 0; i < groups.size(); ++i) {
        if (!net.alive(i) || stopped[i]) continue;
        net.deliver_mail(i);
        EXPECT_GE(groups[i]->progress(), 0);
      }
    }
    EXPECT_EQ(net.failure(), "");
  }
  void bury(std::uint32_t member) {
    net.kill(member);
    for (std::uint32_t i = 0; i < groups.size(); ++i) {
      if (net.alive(i)) net.tell(i, member);
    }
  }
  const GroupCounts& counts(std::uint32_t member) const { return groups[member]->counts(); }

  PlayedNetwork net;
  std::vector<Rank> ranks;
  std::vector<Receiver> receivers;
  std::vector<std::unique_ptr<Group>> groups;
  std::vector<std::uint32_t> sent;
  std::vector<bool> stopped;
};

TEST(MulticastGroup, DeliversToAllOthersAndGivesItsPacketsBack) {
  Played p(5);
  EXPECT_EQ(p.groups[0]->window(), kWindow);
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(p.publish(2, 5), 5U);
    p.run(100'000);
  }
  p.run(1'000'000);
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(p.receivers[i].delivered[2], i == 2 ? 0 : 100);
    EXPECT_TRUE(p.groups[i]->drained());
    EXPECT_EQ(p.groups[i]->deadline_ns(), kNever);
    EXPECT_EQ(p.net.held(i), 0U) << "all is known to be everywhere";
    EXPECT_EQ(p.counts(i).nacks_sent, 0U);
  }
  EXPECT_EQ(p.counts(2).packets_sent, 100U);
  EXPECT_EQ(p.counts(2).packets_again, 0U);
}

TEST(MulticastGroup, RefusesWhileTheWindowIsShutAndSaysWhoHoldsIt) {
  Played p(9, {}, 2);
  p.stopped[6] = true;
  EXPECT_EQ(p.groups[0]->late().rank, kNoRank);
  EXPECT_EQ(p.publish(0, 100), kWindow);
  const std::uint64_t shut_ns = p.net.now_ns();
  p.run(2'000'000);
  EXPECT_EQ(p.publish(0, 100), 0U);
  EXPECT_FALSE(p.groups[0]->drained());
  EXPECT_EQ(p.groups[0]->late().rank, 6);
  EXPECT_EQ(p.groups[0]->late().since_ns, shut_ns);
  p.stopped[6] = false;
  p.run(2'000'000);
  EXPECT_EQ(p.publish(0, 1), 1U);
  p.run(2'000'000);
  EXPECT_EQ(p.receivers[6].delivered[0], static_cast<int>(kWindow) + 1);
}

TEST(MulticastGroup, RepairsByMailWhatOneHasLost) {
  Played p(6);
  p.net.lose_one(3);
  EXPECT_EQ(p.publish(0, 3), 3U);
  p.run(200'000);
  EXPECT_EQ(p.receivers[3].delivered[0], 3);
  EXPECT_EQ(p.counts(3).nacks_sent, 1U);
  EXPECT_EQ(p.counts(3).repairs_received, 1U);
  EXPECT_EQ(p.groups[3]->repair_ns().count(), 1U);
  EXPECT_EQ(p.counts(0).repairs_sent, 1U);
  EXPECT_EQ(p.counts(0).packets_again, 0U);
}

// In a chain the packet passes through who has lost it, too, and one question goes up.
TEST(MulticastGroup, MergesQuestionsAndPassesRepairsOn) {
  Played p(4, {}, 1);
  for (std::uint32_t i = 1; i < 4; ++i) p.net.darken(i, p.net.now_ns() + 1);
  EXPECT_EQ(p.publish(0, 1), 1U);
  p.run(1'000);
  EXPECT_EQ(p.publish(0, 1), 1U);
  p.run(400'000);
  for (std::uint32_t i = 1; i < 4; ++i) {
    EXPECT_EQ(p.receivers[i].delivered[0], 2);
    EXPECT_EQ(p.counts(i).nacks_sent, 1U);
    EXPECT_EQ(p.counts(i - 1).repairs_sent, 1U);
  }
  EXPECT_EQ(p.counts(1).nacks_merged + p.counts(2).nacks_merged, 2U);
}

TEST(MulticastGroup, SendsToAllOnceMoreWhatManyHaveLost) {
  Played p(9, {}, 8);
  for (std::uint32_t i = 1; i < 9; ++i) p.net.darken(i, p.net.now_ns() + 1);
  EXPECT_EQ(p.publish(0, 1), 1U);
  p.run(1'000);
  EXPECT_EQ(p.publish(0, 1), 1U);
  p.run(400'000);
  for (std::uint32_t i = 1; i < 9; ++i) EXPECT_EQ(p.receivers[i].delivered[0], 2);
  EXPECT_EQ(p.counts(0).packets_again, 1U);
  EXPECT_EQ(p.counts(0).repairs_sent, 0U);
}

TEST(MulticastGroup, ProbesFindWhatIsLostAtTheEnd) {
  Played p(3);
  p.net.lose_one(1);
  EXPECT_EQ(p.publish(0, 1), 1U);
  p.run(150'000);
  EXPECT_EQ(p.receivers[1].delivered[0], 0) << "nothing has told of it";
  p.run(500'000);
  EXPECT_EQ(p.receivers[1].delivered[0], 1);
  EXPECT_GE(p.counts(0).probes_sent, 1U);
}

// Probes by mail and repairs by mail are enough.
TEST(MulticastGroup, GetsThroughWhereNoPacketDoes) {
  Faults faults;
  faults.loss = 1;
  Played p(7, faults, 2);
  EXPECT_EQ(p.publish(0, 5), 5U);
  p.run(10'000'000);
  for (std::uint32_t i = 1; i < 7; ++i) EXPECT_EQ(p.receivers[i].delivered[0], 5);
  EXPECT_TRUE(p.groups[0]->drained());
  EXPECT_GT(p.counts(0).mail_probes_sent, 0U);
}

TEST(MulticastGroup, FallsBackForGoodWhereTooMuchIsLost) {
  Faults faults;
  faults.loss = 0.3;
  Played p(4, faults);
  while (p.sent[0] < 400 && p.net.now_ns() < 1'000'000'000) {
    (void)p.publish(0, 8);
    p.run(100'000);
  }
  p.run(10'000'000);
  EXPECT_TRUE(p.groups[0]->falls_back());
  EXPECT_GE(p.groups[0]->loss().packets, 64U);
  EXPECT_GT(p.groups[0]->loss().missed * 10, p.groups[0]->loss().packets);
  EXPECT_NE(p.groups[0]->loss().worst, kNoRank);
  EXPECT_FALSE(p.groups[1]->falls_back()) << "it has sent nothing";
  EXPECT_EQ(p.receivers[3].delivered[0], 400);
}

TEST(MulticastGroup, ADeadMemberIsNotWaitedForAndItsChildrenAreNot) {
  Played p(8, {}, 1);
  p.stopped[3] = true;
  EXPECT_EQ(p.publish(0, 100), kWindow);
  p.run(1'000'000);
  EXPECT_EQ(p.publish(0, 1), 0U);
  p.bury(3);
  p.run(1'000'000);
  EXPECT_TRUE(p.groups[0]->drained());
  p.net.lose_one(4);
  EXPECT_EQ(p.publish(0, 2), 2U);
  p.run(1'000'000);
  EXPECT_EQ(p.receivers[4].delivered[0], static_cast<int>(kWindow) + 2);
  EXPECT_EQ(p.counts(2).repairs_sent, 1U) << "the grandparent";
}

TEST(MulticastGroup, SurvivorsGetWhatAnyOfThemHoldsOfADeadSource) {
  Played p(6, {}, 2);
  for (std::uint32_t i = 1; i < 6; ++i) {
    if (i != 5) p.net.darken(i, p.net.now_ns() + 100);
  }
  EXPECT_EQ(p.publish(0, 4), 4U);  // Rank 5 alone gets them.
  p.run(4'000);
  p.bury(0);
  p.run(1'000'000);
  for (std::uint32_t i = 1; i < 6; ++i) {
    EXPECT_EQ(p.receivers[i].delivered[0], 4);
    EXPECT_EQ(p.receivers[i].ended.at(0), 4U);
    EXPECT_TRUE(p.groups[i]->drained());
    EXPECT_EQ(p.net.held(i), 0U);
  }
}

TEST(MulticastGroup, WhatNobodyHoldsEndsThePacketsOfADeadSource) {
  Played p(4);
  for (std::uint32_t i = 1; i < 4; ++i) {
    p.net.lose_one(i);
    EXPECT_EQ(p.publish(0, 1), 1U);
  }
  for (std::uint32_t i = 1; i < 4; ++i) p.net.darken(i, p.net.now_ns() + 100);
  EXPECT_EQ(p.publish(0, 1), 1U);  // Nobody has this one.
  p.run(200);
  EXPECT_EQ(p.publish(0, 1), 1U);
  p.run(3'000);
  p.bury(0);
  p.run(1'000'000);
  for (std::uint32_t i = 1; i < 4; ++i) {
    EXPECT_EQ(p.receivers[i].delivered[0], 3);
    EXPECT_EQ(p.receivers[i].ended.at(0), 3U);
  }
}

TEST(MulticastGroup, WhoIsAloneIsDone) {
  Played p(3);
  EXPECT_EQ(p.publish(1, 2), 2U);
  p.bury(0);
  p.bury(2);
  p.run(1'000'000);
  EXPECT_TRUE(p.groups[1]->drained());
  EXPECT_EQ(p.publish(1, 50), 50U);
  EXPECT_TRUE(p.groups[1]->drained());
}

}  // namespace
}  // namespace espalier::multicast::played
