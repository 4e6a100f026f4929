// Reliable delivery over simulated datagrams: every byte, each frame once and in order, under every
// fault, singly and mixed; everything ends within a bound.
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/harness/link_job.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t kHealNs = 3'000'000;
// After the end of all faults: several of the longest time-outs, which are 1 ms.
constexpr std::uint64_t kEndNs = kHealNs + 20'000'000;

// A whole life: traffic, then goodbyes. Returns the hash over all that happened.
std::uint64_t live(LinkJobOptions options, std::uint64_t end_ns = kEndNs) {
  options.limit_ns = end_ns + 20'000'000;
  LinkJob job(options);
  EXPECT_EQ(job.run(), "") << "seed " << options.seed << ", faults " << options.faults;
  EXPECT_LT(job.last_arrival_ns(), end_ns) << "seed " << options.seed;
  return job.world().unseed();
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
    LinkJobOptions options = datagram_job(seed);
    options.ranks = 2 + static_cast<std::uint32_t>(seed % 3);
    options.faults =
        GetParam().faults + std::string(*GetParam().faults != 0 ? "," : "") + "heal=3ms";
    options.frames = 30;
    options.ports.packet_bytes = seed % 2 == 0 ? 256 : 1024;
    if (seed % 3 == 1) options.ports.receive_packets = 24;  // little permission
    options.bytes_max = seed % 5 == 0 ? 30'000 : 1500;
    options.datagrams.first.value = seed % 4 == 0 ? 0xfffffff0U : 0;  // numbers wrap
    options.whims = seed % 3 == 0 ? 0.2 : 0;
    options.replies = seed % 2 == 1 ? 0.2 : 0;
    const std::uint64_t unseed = live(options);
    if (HasFailure()) return;
    if (seed % (20 / kPart) == 0) {
      EXPECT_EQ(live(options), unseed);
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
  LinkJobOptions options = datagram_job();
  options.faults = "loss=0.6";
  options.frames = 20;
  options.datagrams.give_up_ns = 2'000'000'000;
  for (options.seed = 1; options.seed <= 20; ++options.seed) (void)live(options, 2'000'000'000);
}

TEST(SimLink, WithoutFaultsNothingIsSentTwice) {
  LinkJobOptions options = datagram_job();
  options.frames = 200;
  LinkJob job(options);
  ASSERT_TRUE(job.run_until(100'000'000));
  for (const Rank r : {0, 1}) {
    const rdma::DatagramLinkCounts& counts = job.datagrams(r).counts();
    EXPECT_EQ(counts.data_again, 0U);
    EXPECT_EQ(counts.useless, 0U);
    EXPECT_EQ(counts.held, 0U);
    EXPECT_EQ(counts.time_outs, 0U);
  }
  EXPECT_EQ(job.datagram_net().counts().dropped, 0U);
}

TEST(SimLink, SmallFramesShareAPacket) {
  LinkJobOptions options = datagram_job();
  options.frames = 400;
  options.bytes_max = 60;
  options.calm = 0;
  LinkJob job(options);
  ASSERT_TRUE(job.run_until(1'000'000'000));
  const auto& counts = job.datagrams(0).counts();
  EXPECT_LT(counts.data_sent, 100U);
}

// A rank with few receive packets tells its peers so, and none of theirs is dropped.
TEST(SimLink, TheReceiverIsNeverOverrun) {
  LinkJobOptions options = datagram_job();
  options.ranks = 5;
  options.frames = 60;
  options.bytes_max = 20'000;
  options.ports.packet_bytes = 512;
  options.ports.receive_packets = 64;
  for (options.seed = 1; options.seed <= 10; ++options.seed) {
    LinkJob job(options);
    ASSERT_TRUE(job.run_until(1'000'000'000));
    EXPECT_EQ(job.datagram_net().counts().dropped, 0U);
    EXPECT_LE(job.datagrams(0).promised(), 32U);
  }
}

// Too many peers for the packets: some are dropped, all arrives.
TEST(SimLink, MoreSendersThanPackets) {
  LinkJobOptions options = datagram_job();
  options.ranks = 12;
  options.frames = 10;
  options.ports.receive_packets = 8;
  options.ports.send_packets = 24;
  options.ports.send_depth = 4;
  options.ports.completion_depth = 12;
  for (options.seed = 1; options.seed <= 5; ++options.seed) (void)live(options, 1'000'000'000);
}

TEST(SimLink, APeerBehindAPartitionThatStaysIsLostToBoth) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    LinkJobOptions options = datagram_job(seed);
    options.ranks = 3;
    LinkJob job(options);
    job.world().part(0, 1, kNever);
    // Silence, the questions, and the time-outs in between.
    (void)job.run_until(100'000'000);
    const std::uint64_t bound = options.datagrams.keepalive_ns + 2 * options.datagrams.give_up_ns;
    EXPECT_EQ(job.failure(), "");
    ASSERT_TRUE(job.lost(0, 1)) << "seed " << seed;
    ASSERT_TRUE(job.lost(1, 0)) << "seed " << seed;
    EXPECT_EQ(job.why(0, 1), Status(ESP_ERR_PEER_DIED, 1));
    EXPECT_EQ(job.why(1, 0), Status(ESP_ERR_PEER_DIED, 0));
    EXPECT_EQ(job.losses(2), 0U);
    EXPECT_TRUE(job.complete());
    EXPECT_LT(job.world().now_ns(), bound);
    EXPECT_EQ(job.leftovers(), "");
  }
}

TEST(SimLink, ACrashIsNoticedByThoseWhoWaitAndThoseWhoSend) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    LinkJobOptions options = datagram_job(seed);
    options.ranks = 4;
    options.faults = "loss=0.05,crash=1,heal=3ms";
    LinkJob job(options);
    Rank dead = kNoRank;
    for (Rank r = 0; r < 4; ++r) {
      for (Rank p = 0; p < 4; ++p) {
        if (p != r) job.datagrams(r).reach(p);
      }
    }
    job.world().run(kHealNs);  // somebody has crashed by then
    EXPECT_TRUE(job.run_until(100'000'000)) << "seed " << seed;
    for (Rank r = 0; r < 4; ++r) {
      if (job.world().crashed(r)) dead = r;
    }
    ASSERT_NE(dead, kNoRank);
    for (Rank r = 0; r < 4; ++r) {
      if (r == dead) continue;
      EXPECT_EQ(job.losses(r), 1U) << "seed " << seed;
      EXPECT_EQ(job.why(r, dead), Status(ESP_ERR_PEER_DIED, dead));
    }
    EXPECT_EQ(job.leftovers(), "") << "seed " << seed;
  }
}

TEST(SimLink, SilentPeersAreKeptWhenTheyAnswer) {
  LinkJobOptions options = datagram_job();
  options.frames = 1;
  LinkJob job(options);
  job.datagrams(0).reach(1);
  job.world().schedule_turn(0, 1000);
  job.world().run(200'000'000);
  EXPECT_EQ(job.losses(0), 0U);
  EXPECT_EQ(job.losses(1), 0U);
  EXPECT_GT(job.datagrams(0).counts().probes_sent + job.datagrams(1).counts().probes_sent, 20U);
}

// A job that is stopped in the middle of its traffic for longer than silence may last. Each rank
// goes on a little later than the one before.
TEST(SimLink, TimeInWhichNobodyRanIsNoSilence) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    LinkJobOptions options = datagram_job(seed);
    options.ranks = 3;
    options.stop_ns = 10'000 + 1'000 * seed;
    options.stopped_ns = 3'600'000'000'000;
    options.apart_ns = options.datagrams.give_up_ns / 4;
    options.attended_ns = options.datagrams.keepalive_ns + 1'000'000;
    LinkJob job(options);
    EXPECT_TRUE(job.run_until(options.stopped_ns + 200'000'000)) << "seed " << seed;
    EXPECT_GT(job.world().now_ns(), options.stopped_ns) << "it was under way";
    for (Rank r = 0; r < 3; ++r) EXPECT_EQ(job.losses(r), 0U) << "seed " << seed;
  }
}

// Silence means little of a rank that may compute, and much of one that was about to end.
TEST(SimLink, WhoHasSaidGoodbyeIsNotWaitedForLong) {
  LinkJobOptions options = datagram_job();
  options.frames = 5;
  options.datagrams.give_up_ns = 3'600'000'000'000;
  LinkJob job(options);
  ASSERT_TRUE(job.run_until(100'000'000));
  job.datagrams(1).say_goodbye(0);
  job.world().schedule_turn(1, job.world().now_ns());
  job.world().run(200'000'000);
  job.world().part(0, 1, kNever);
  job.world().part(1, 0, kNever);
  job.datagrams(0).reach(1);
  job.world().schedule_turn(0, job.world().now_ns());
  job.world().run(30'000'000'000);
  ASSERT_TRUE(job.lost(0, 1));
  EXPECT_EQ(job.why(0, 1), Status(ESP_ERR_PEER_DIED, 1));
  EXPECT_EQ(job.losses(1), 0U) << "the other has said no goodbye";
}

// What finds no path now finds one later; what is posted meanwhile waits.
TEST(SimLink, APathThatIsNotThereIsLookedForAgain) {
  for (const std::uint32_t times : {1U, 2U, 7U}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      LinkJobOptions options = datagram_job(seed);
      options.ranks = 3;
      options.datagrams.give_up_ns = 1'000'000'000;
      options.limit_ns = 2'000'000'000;
      options.whims = options.replies = seed % 2 == 0 ? 0.2 : 0;
      LinkJob job(options);
      job.datagram_net().refuse_paths(0, times);
      if (seed % 3 == 0) job.datagram_net().refuse_paths(1, times);
      EXPECT_EQ(job.run(), "") << times << ", seed " << seed;
      EXPECT_EQ(job.datagrams(0).counts().no_path, times);
      EXPECT_EQ(job.losses(0) + job.losses(1), 0U);
    }
  }
}

TEST(SimLink, APathThatIsNeverThereIsTheEndWithItsReason) {
  LinkJobOptions options = datagram_job();
  options.datagrams.give_up_ns = 500'000'000;
  LinkJob job(options);
  job.datagram_net().refuse_paths(0, 1000);
  job.world().part(1, 0, kNever);  // The other gives up, too, and says so.
  (void)job.run_until(5'000'000'000);
  ASSERT_TRUE(job.lost(0, 1));
  EXPECT_EQ(job.why(0, 1), Status(ESP_ERR_NETWORK, 1, EAGAIN));
  EXPECT_EQ(job.datagrams(0).describe(1),
            "datagrams, lost: no path: the simulated port finds no path now");
  EXPECT_GE(job.world().now_ns(), options.datagrams.give_up_ns);
  EXPECT_LE(job.datagrams(0).counts().no_path, 20U) << "ever more seldom";
  EXPECT_EQ(job.failure(), "");
  EXPECT_EQ(job.leftovers(), "");
}

// Looking for a path to a dead host may take a second: who is told that a rank is dead does not.
// One that lives all the same is told that it was given up, when it speaks.
TEST(SimLink, WhoIsLostBeforeItWasMetIsNotLookedFor) {
  for (const std::uint32_t refusals : {1000U, 0U}) {
    LinkJobOptions options = datagram_job();
    options.frames = 0;
    LinkJob job(options);
    job.datagram_net().refuse_paths(0, refusals);
    job.datagrams(0).lose(1, error(ESP_ERR_PEER_DIED, "it is said to be dead", 1));
    (void)job.run_until(1'000'000);
    ASSERT_TRUE(job.lost(0, 1));
    EXPECT_EQ(job.why(0, 1), Status(ESP_ERR_PEER_DIED, 1));
    EXPECT_EQ(job.datagrams(0).describe(1), "datagrams, lost: it is said to be dead");
    EXPECT_EQ(job.datagrams(0).counts().no_path, 0U);
    EXPECT_EQ(job.datagram_net().counts().sent, 0U);
    EXPECT_TRUE(job.datagrams(0).drained());

    job.datagrams(1).reach(0);
    const std::byte letter[8] = {};
    job.datagrams(1).post(0, letter);
    job.world().schedule_turn(1, job.world().now_ns());
    job.world().run(job.world().now_ns() + 100'000'000);
    EXPECT_TRUE(job.lost(1, 0));
    const bool told = job.why(1, 0) == Status(ESP_ERR_PEER_DIED, 0);
    EXPECT_TRUE(told);
    EXPECT_EQ(job.datagrams(1).describe(0),
              refusals == 0 ? "datagrams, lost: it has given this rank up, or has gone"
                            : "datagrams, lost: it has answered nothing for 0.02 s "
                              "(RDMA_SILENCE)");
    EXPECT_LE(job.datagrams(0).counts().no_path, 1U) << "one look, however often it speaks";
    EXPECT_EQ(job.failure(), "");
  }
}

TEST(SimLink, ABrokenPortLosesEverybody) {
  LinkJobOptions options = datagram_job();
  options.ranks = 3;
  options.ports.completion_depth = 6;
  options.ports.send_packets = 64;
  options.frames = 200;
  LinkJob job(options);
  (void)job.run_until(200'000'000);
  EXPECT_EQ(job.failure(), "");
  bool broken = false;
  for (Rank r = 0; r < 3; ++r) {
    if (job.datagram_port(r).fault().ok()) continue;
    broken = true;
    EXPECT_FALSE(job.datagram_port(r).arm());
    EXPECT_TRUE(job.datagrams(r).arm()) << "it may sleep, while it goes on with others elsewhere";
    EXPECT_EQ(job.datagrams(r).deadline_ns(), 0U);
    EXPECT_EQ(job.losses(r), 2U);
    for (Rank peer = 0; peer < 3; ++peer) {
      if (peer == r) continue;
      EXPECT_EQ(job.why(r, peer).rank(), peer);
      EXPECT_EQ(job.datagrams(r).describe(peer), "datagrams, lost: the adapter has failed");
    }
  }
  EXPECT_TRUE(broken);
  EXPECT_TRUE(job.complete());
}

}  // namespace
}  // namespace espalier::test
