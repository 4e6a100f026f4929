// Reliable delivery over simulated datagrams: every byte, each frame once and in order, under every
// fault, singly and mixed; everything ends within a bound.
#include <gtest/gtest.h>

#include <cerrno>

#include "link_net.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t kHealNs = 3'000'000;
// After the end of all faults: several of the longest time-outs, which are 1 ms.
constexpr std::uint64_t kEndNs = kHealNs + 20'000'000;

struct Outcome {
  bool complete = false;
  std::uint64_t unseed = 0;
};

// A whole life: traffic, then goodbye.
Outcome live(const LinkNetOptions& options, std::uint64_t end_ns = kEndNs) {
  LinkNet net(options);
  Outcome outcome;
  outcome.complete = net.run_until(end_ns);
  EXPECT_EQ(net.failure(), "") << "seed " << options.seed;
  EXPECT_TRUE(outcome.complete) << "seed " << options.seed << ", faults " << options.faults;
  if (!outcome.complete) return outcome;
  net.say_goodbye();
  const std::uint64_t late = net.world().now_ns() + 20'000'000;
  while (!net.drained() && net.world().now_ns() < late && net.world().step()) {
  }
  EXPECT_TRUE(net.drained()) << "seed " << options.seed;
  EXPECT_EQ(net.leftovers(), "") << "seed " << options.seed;
  EXPECT_EQ(net.failure(), "");
  outcome.unseed = net.world().unseed();
  return outcome;
}

struct Case {
  const char* name;
  const char* faults;
  std::uint64_t seeds;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.faults;
}

class LinkUnder : public ::testing::TestWithParam<Case> {};

#ifdef ESPALIER_SANITIZED
constexpr std::uint64_t kPart = 4;  // of the seeds: each takes many times as long
#else
constexpr std::uint64_t kPart = 1;
#endif

TEST_P(LinkUnder, DeliversEveryByteOnceAndInOrder) {
  const std::uint64_t seeds = GetParam().seeds / kPart;
  ASSERT_GE(seeds, 10U);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    LinkNetOptions options;
    options.seed = seed;
    options.ranks = 2 + static_cast<std::uint32_t>(seed % 3);
    options.faults =
        GetParam().faults + std::string(*GetParam().faults != 0 ? "," : "") + "heal=3ms";
    options.frames = 30;
    options.port.packet_bytes = seed % 2 == 0 ? 256 : 1024;
    if (seed % 3 == 1) options.port.receive_packets = 24;  // little permission
    options.bytes_max = seed % 5 == 0 ? 30'000 : 1500;
    options.first_sequence = seed % 4 == 0 ? 0xfffffff0U : 0;  // numbers wrap
    options.withdraws = seed % 3 == 0;
    options.replies = seed % 2 == 1;
    const Outcome outcome = live(options);
    if (!outcome.complete || HasFailure()) return;
    if (seed % (20 / kPart) == 0) {
      EXPECT_EQ(live(options).unseed, outcome.unseed);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    SimLink, LinkUnder,
    ::testing::Values(
        Case{"NoFault", "", 40}, Case{"Loss", "loss=0.2", 200},
        Case{"Duplicates", "duplicate=0.4", 200}, Case{"Reordering", "reorder=0.4", 200},
        Case{"Corruption", "corrupt=0.2", 200}, Case{"HeavyTail", "delay=0.2:5us", 200},
        Case{"Clogs", "clog=5", 200}, Case{"Partitions", "partition=4", 200},
        Case{"SlowRanks", "slow=1", 40}, Case{"Refusals", "retry=0.3,no-memory=0.3", 200},
        Case{"Everything",
             "loss=0.1,duplicate=0.1,reorder=0.2,corrupt=0.05,delay=0.05:3us,clog=2,partition=2,"
             "retry=0.1,no-memory=0.1,slow=1",
             800}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(SimLink, LossOfMostPacketsOnlyCostsTime) {
  LinkNetOptions options;
  options.faults = "loss=0.6";
  options.frames = 20;
  options.give_up_ns = 2'000'000'000;
  for (options.seed = 1; options.seed <= 20; ++options.seed) (void)live(options, 2'000'000'000);
}

TEST(SimLink, WithoutFaultsNothingIsSentTwice) {
  LinkNetOptions options;
  options.frames = 200;
  LinkNet net(options);
  ASSERT_TRUE(net.run_until(100'000'000));
  for (const Rank r : {0, 1}) {
    const rdma::DatagramLinkCounts& counts = net.link(r).counts();
    EXPECT_EQ(counts.data_again, 0U);
    EXPECT_EQ(counts.useless, 0U);
    EXPECT_EQ(counts.held, 0U);
    EXPECT_EQ(counts.time_outs, 0U);
  }
  EXPECT_EQ(net.net().counts().dropped, 0U);
}

TEST(SimLink, SmallFramesShareAPacket) {
  LinkNetOptions options;
  options.frames = 400;
  options.bytes_max = 60;
  LinkNet net(options);
  ASSERT_TRUE(net.run_until(1'000'000'000));
  const auto& counts = net.link(0).counts();
  EXPECT_LT(counts.data_sent, 700U);
}

// A rank with few receive packets tells its peers so, and none of theirs is dropped.
TEST(SimLink, TheReceiverIsNeverOverrun) {
  LinkNetOptions options;
  options.ranks = 5;
  options.frames = 60;
  options.bytes_max = 20'000;
  options.port.packet_bytes = 512;
  options.port.receive_packets = 64;
  for (options.seed = 1; options.seed <= 10; ++options.seed) {
    LinkNet net(options);
    ASSERT_TRUE(net.run_until(1'000'000'000));
    EXPECT_EQ(net.net().counts().dropped, 0U);
    EXPECT_LE(net.link(0).promised(), 32U);
  }
}

// Too many peers for the packets: some are dropped, all arrives.
TEST(SimLink, MoreSendersThanPackets) {
  LinkNetOptions options;
  options.ranks = 12;
  options.frames = 10;
  options.port.receive_packets = 8;
  options.port.send_packets = 24;
  options.port.send_depth = 4;
  options.port.completion_depth = 12;
  for (options.seed = 1; options.seed <= 5; ++options.seed) (void)live(options, 1'000'000'000);
}

TEST(SimLink, APeerBehindAPartitionThatStaysIsLostToBoth) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    LinkNetOptions options;
    options.seed = seed;
    options.ranks = 3;
    LinkNet net(options);
    net.world().part(0, 1, kNever);
    // Silence, the questions, and the time-outs in between.
    (void)net.run_until(100'000'000);
    const std::uint64_t bound = options.keepalive_ns + 2 * options.give_up_ns;
    EXPECT_EQ(net.failure(), "");
    ASSERT_EQ(net.lost(0).count(1), 1U) << "seed " << seed;
    ASSERT_EQ(net.lost(1).count(0), 1U) << "seed " << seed;
    EXPECT_EQ(net.lost(0).at(1), Status(ESP_ERR_PEER_DIED, 1));
    EXPECT_EQ(net.lost(1).at(0), Status(ESP_ERR_PEER_DIED, 0));
    EXPECT_EQ(net.lost(2).size(), 0U);
    EXPECT_TRUE(net.complete());
    EXPECT_LT(net.world().now_ns(), bound);
    EXPECT_EQ(net.leftovers(), "");
  }
}

TEST(SimLink, ACrashIsNoticedByThoseWhoWaitAndThoseWhoSend) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    LinkNetOptions options;
    options.seed = seed;
    options.ranks = 4;
    options.faults = "loss=0.05,crash=1,heal=3ms";
    LinkNet net(options);
    Rank dead = kNoRank;
    for (Rank r = 0; r < 4; ++r) {
      for (Rank p = 0; p < 4; ++p) {
        if (p != r) net.link(r).reach(p);
      }
    }
    net.world().run(kHealNs);  // somebody has crashed by then
    EXPECT_TRUE(net.run_until(100'000'000)) << "seed " << seed;
    for (Rank r = 0; r < 4; ++r) {
      if (net.world().crashed(r)) dead = r;
    }
    ASSERT_NE(dead, kNoRank);
    for (Rank r = 0; r < 4; ++r) {
      if (r == dead) continue;
      EXPECT_EQ(net.lost(r).size(), 1U) << "seed " << seed;
      EXPECT_EQ(net.lost(r).begin()->second, Status(ESP_ERR_PEER_DIED, dead));
    }
    EXPECT_EQ(net.leftovers(), "") << "seed " << seed;
  }
}

TEST(SimLink, SilentPeersAreKeptWhenTheyAnswer) {
  LinkNetOptions options;
  options.frames = 1;
  LinkNet net(options);
  net.link(0).reach(1);
  net.world().schedule_turn(0, 1000);
  net.world().run(200'000'000);
  EXPECT_TRUE(net.lost(0).empty());
  EXPECT_TRUE(net.lost(1).empty());
  EXPECT_GT(net.link(0).counts().probes_sent + net.link(1).counts().probes_sent, 20U);
}

// A job that is stopped in the middle of its traffic for longer than silence may last. Each rank
// goes on a little later than the one before.
TEST(SimLink, TimeInWhichNobodyRanIsNoSilence) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    LinkNetOptions options;
    options.seed = seed;
    options.ranks = 3;
    options.stop_ns = 10'000 + 1'000 * seed;
    options.stopped_ns = 3'600'000'000'000;
    options.apart_ns = options.give_up_ns / 4;
    options.attended_ns = options.keepalive_ns + 1'000'000;
    LinkNet net(options);
    EXPECT_TRUE(net.run_until(options.stopped_ns + 200'000'000)) << "seed " << seed;
    EXPECT_GT(net.world().now_ns(), options.stopped_ns) << "it was under way";
    for (Rank r = 0; r < 3; ++r) EXPECT_TRUE(net.lost(r).empty()) << "seed " << seed;
  }
}

// Silence means little of a rank that may compute, and much of one that was about to end.
TEST(SimLink, WhoHasSaidGoodbyeIsNotWaitedForLong) {
  LinkNetOptions options;
  options.frames = 5;
  options.give_up_ns = 3'600'000'000'000;
  LinkNet net(options);
  ASSERT_TRUE(net.run_until(100'000'000));
  net.link(1).say_goodbye(0);
  net.world().schedule_turn(1, net.world().now_ns());
  net.world().run(200'000'000);
  net.world().part(0, 1, kNever);
  net.world().part(1, 0, kNever);
  net.link(0).reach(1);
  net.world().schedule_turn(0, net.world().now_ns());
  net.world().run(30'000'000'000);
  ASSERT_EQ(net.lost(0).count(1), 1U);
  EXPECT_EQ(net.lost(0).at(1), Status(ESP_ERR_PEER_DIED, 1));
  EXPECT_TRUE(net.lost(1).empty()) << "the other has said no goodbye";
}

// What finds no path now finds one later; what is posted meanwhile waits.
TEST(SimLink, APathThatIsNotThereIsLookedForAgain) {
  for (const std::uint32_t times : {1U, 2U, 7U}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      LinkNetOptions options;
      options.seed = seed;
      options.ranks = 3;
      options.give_up_ns = 1'000'000'000;
      options.withdraws = options.replies = seed % 2 == 0;
      LinkNet net(options);
      net.net().refuse_paths(0, times);
      if (seed % 3 == 0) net.net().refuse_paths(1, times);
      EXPECT_TRUE(net.run_until(2'000'000'000)) << times << ", seed " << seed;
      EXPECT_EQ(net.failure(), "");
      EXPECT_EQ(net.link(0).counts().no_path, times);
      EXPECT_TRUE(net.lost(0).empty() && net.lost(1).empty());
      net.say_goodbye();
      while (!net.drained() && net.world().step()) {
      }
      EXPECT_EQ(net.leftovers(), "");
    }
  }
}

TEST(SimLink, APathThatIsNeverThereIsTheEndWithItsReason) {
  LinkNetOptions options;
  options.give_up_ns = 500'000'000;
  LinkNet net(options);
  net.net().refuse_paths(0, 1000);
  net.world().part(1, 0, kNever);  // The other gives up, too, and says so.
  (void)net.run_until(5'000'000'000);
  ASSERT_EQ(net.lost(0).count(1), 1U);
  EXPECT_EQ(net.lost(0).at(1), Status(ESP_ERR_NETWORK, 1, EAGAIN));
  EXPECT_EQ(net.link(0).describe(1),
            "datagrams, lost: no path: the simulated port finds no path now");
  EXPECT_GE(net.world().now_ns(), options.give_up_ns);
  EXPECT_LE(net.link(0).counts().no_path, 20U) << "ever more seldom";
  EXPECT_EQ(net.failure(), "");
  EXPECT_EQ(net.leftovers(), "");
}

// Looking for a path to a dead host may take a second: who is told that a rank is dead does not.
// One that lives all the same is told that it was given up, when it speaks.
TEST(SimLink, WhoIsLostBeforeItWasMetIsNotLookedFor) {
  for (const std::uint32_t refusals : {1000U, 0U}) {
    LinkNetOptions options;
    options.frames = 0;
    LinkNet net(options);
    net.net().refuse_paths(0, refusals);
    net.link(0).lose(1, error(ESP_ERR_PEER_DIED, "it is said to be dead", 1));
    (void)net.run_until(1'000'000);
    ASSERT_EQ(net.lost(0).count(1), 1U);
    EXPECT_EQ(net.lost(0).at(1), Status(ESP_ERR_PEER_DIED, 1));
    EXPECT_EQ(net.link(0).describe(1), "datagrams, lost: it is said to be dead");
    EXPECT_EQ(net.link(0).counts().no_path, 0U);
    EXPECT_EQ(net.net().counts().sent, 0U);
    EXPECT_TRUE(net.link(0).drained());

    net.link(1).reach(0);
    const std::byte letter[8] = {};
    net.link(1).post(0, letter);
    net.world().schedule_turn(1, net.world().now_ns());
    net.world().run(net.world().now_ns() + 100'000'000);
    EXPECT_EQ(net.lost(1).count(0), 1U);
    const bool told = net.lost(1).at(0) == Status(ESP_ERR_PEER_DIED, 0);
    EXPECT_TRUE(told);
    EXPECT_EQ(net.link(1).describe(0),
              refusals == 0 ? "datagrams, lost: it has given this rank up, or has gone"
                            : "datagrams, lost: it has answered nothing for 0.02 s "
                              "(RDMA_SILENCE)");
    EXPECT_LE(net.link(0).counts().no_path, 1U) << "one look, however often it speaks";
    EXPECT_EQ(net.failure(), "");
  }
}

TEST(SimLink, ABrokenPortLosesEverybody) {
  LinkNetOptions options;
  options.ranks = 3;
  options.port.completion_depth = 6;
  options.port.send_packets = 64;
  options.frames = 200;
  LinkNet net(options);
  (void)net.run_until(200'000'000);
  EXPECT_EQ(net.failure(), "");
  bool broken = false;
  for (Rank r = 0; r < 3; ++r) {
    if (net.port(r).fault().ok()) continue;
    broken = true;
    EXPECT_FALSE(net.port(r).arm());
    EXPECT_TRUE(net.link(r).arm()) << "it may sleep, while it goes on with others elsewhere";
    EXPECT_EQ(net.link(r).deadline_ns(), 0U);
    EXPECT_EQ(net.lost(r).size(), 2U);
    for (const auto& [peer, why] : net.lost(r)) {
      EXPECT_EQ(why.rank(), peer);
      EXPECT_EQ(net.link(r).describe(peer), "datagrams, lost: the adapter has failed");
    }
  }
  EXPECT_TRUE(broken);
  EXPECT_TRUE(net.complete());
}

}  // namespace
}  // namespace espalier::test
