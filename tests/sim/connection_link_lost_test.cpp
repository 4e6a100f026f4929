// ConnectionLink when a peer or the adapter is gone, or has no room: who lives is kept or waited
// for, and who is lost is lost with the reason.
#include <gtest/gtest.h>

#include "connection_job.hpp"
#include "sim_world.hpp"

namespace espalier::test {
namespace {

TEST(ConnectionLink, ADeadPeerIsLostInTime) {
  ConnectionJobOptions options = seeded(5);
  options.ranks = 3;
  options.faults = "crash=1,heal=100us";
  options.link.answer_ns = 10'000'000;
  options.link.keepalive_ns = 1'000'000;
  ConnectionJob job(options);
  EXPECT_EQ(job.run(), "");
  Rank dead = 0;
  while (!job.world().crashed(dead)) ++dead;
  for (Rank r = 0; r < 3; ++r) {
    if (r == dead) continue;
    EXPECT_EQ(job.lost(r, dead), 1U);
    EXPECT_EQ(job.why(r, dead), ESP_ERR_PEER_DIED);
  }
  EXPECT_LT(job.world().now_ns(), 30'000'000U);
}

// Without datagrams to fall back to.
TEST(ConnectionLink, APeerWithoutRoomForAConnectionIsLostWithTheReason) {
  ConnectionJobOptions options = seeded(9);
  options.ranks = 4;
  options.limits.connections = 2;
  ConnectionJob job(options);
  EXPECT_NE(job.run().find("no queue pair left"), std::string::npos);
  std::uint32_t losses = 0;
  for (Rank r = 0; r < 4; ++r) {
    for (Rank p = 0; p < 4; ++p) {
      losses += job.lost(r, p);
      if (job.lost(r, p) > 0) {
        EXPECT_EQ(job.why(r, p), ESP_ERR_NO_MEMORY);
      }
    }
    EXPECT_LE(job.link(r).statistics().open_max, 2U);
  }
  EXPECT_GE(losses, 4U);
}

struct Heard final : net::FrameSink {
  std::byte* begin(Rank, const net::FrameHeader&) noexcept override { return nullptr; }
  void end(Rank, const net::FrameHeader&, std::byte*) noexcept override {}
  void lost(Rank peer, const Status& why) noexcept override { told.emplace_back(peer, why); }
  std::vector<std::pair<Rank, Status>> told;
};

// Whom this rank has never met is not told to have too few queue pairs.
TEST(ConnectionLink, AfterAFailureEverybodyIsLostWithTheReason) {
  ConnectionJobOptions options = seeded(12);
  options.ranks = 3;
  options.frames = 0;
  ConnectionJob job(options);
  job.net().overrun(0);
  Completion nobody;
  Heard heard;
  (void)job.link(0).post(1, {}, nullptr, nobody);  // before the link has heard of it
  while (job.link(0).progress(heard) > 0) {
  }
  EXPECT_TRUE(job.link(0).arm());
  (void)job.link(0).post(2, {}, nullptr, nobody);
  EXPECT_FALSE(job.link(0).arm());
  while (job.link(0).progress(heard) > 0) {
  }
  EXPECT_TRUE(job.link(0).arm());
  ASSERT_EQ(heard.told.size(), 2U);
  for (const auto& [peer, why] : heard.told) {
    EXPECT_EQ(why.code(), ESP_ERR_NETWORK);
    EXPECT_EQ(job.link(0).describe(peer), "lost: the adapter has failed");
  }
}

struct Break final : sim::Happening {
  void happen() noexcept override { job->net().break_path(0, 1); }
  std::uint64_t mark() const noexcept override { return 1; }
  ConnectionJob* job = nullptr;
};

// Ends that take packets along make windows smaller, and no receiver runs dry.
TEST(ConnectionLink, PacketsThatAreLostArePromisedNoMore) {
  std::uint32_t lost = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ConnectionJobOptions options = seeded(seed);
    options.frames = 6000;
    options.bytes_max = 200;
    options.announced = 0;
    options.limits.receive_depth = 64;
    options.link.rebuilds_max = 1000;
    ConnectionJob job(options);
    Break breaks[50];
    for (std::uint64_t i = 0; i < std::size(breaks); ++i) {
      breaks[i].job = &job;
      job.world().schedule(breaks[i], 1, 30'000 + 20'000 * i);
    }
    for (const Rank r : {0, 1}) job.net().take_along(r, 50);
    ASSERT_EQ(job.run(), "") << seed;
    EXPECT_EQ(job.net().counts().not_ready, 0U) << seed;
    for (const Rank r : {0, 1}) lost += 64 - job.port(r).receive_depth();
  }
  EXPECT_GT(lost, 10U * 2 * 20);
}

// What an adapter cannot connect now it may connect later: at the asker, at the answerer, at both.
TEST(ConnectionLink, AConnectThatFailsIsTriedAgain) {
  for (const std::uint32_t here : {0U, 1U, 5U}) {
    for (const std::uint32_t there : {0U, 1U, 5U}) {
      ConnectionJobOptions options = seeded(13 + here + 10 * there);
      options.limit_ns = 20'000'000'000;
      ConnectionJob job(options);
      job.net().refuse_connects(0, here);
      job.net().refuse_connects(1, there);
      EXPECT_EQ(job.run(), "") << here << ", " << there;
      EXPECT_EQ(job.lost(0, 1) + job.lost(1, 0), 0U);
      EXPECT_LE(job.link(0).statistics().connections, 1U + there);
    }
  }
}

TEST(ConnectionLink, AConnectThatAlwaysFailsIsTheEndWithItsReason) {
  for (const Rank unable : {0, 1}) {
    ConnectionJobOptions options = seeded(14);
    options.limit_ns = 20'000'000'000;
    ConnectionJob job(options);
    job.net().refuse_connects(unable, 1000);
    const std::string story = job.run();
    EXPECT_NE(story.find("lost: no connection to rank " + std::to_string(1 - unable) +
                         ": the simulated adapter cannot connect now"),
              std::string::npos)
        << story;
    EXPECT_EQ(job.lost(unable, 1 - unable), 1U);
    EXPECT_EQ(job.why(unable, 1 - unable), ESP_ERR_NETWORK);
    EXPECT_EQ(job.link(unable).statistics().connections, 0U);
    EXPECT_GE(job.link(unable).statistics().letters, options.link.rebuilds_max);
  }
}

// A connection of 0 and 1 breaks, and rank 1 has none left for a while.
struct Crowd final : sim::Happening {
  void happen() noexcept override {
    job->net().crowd(1, until_ns);
    job->net().break_path(0, 1);
  }
  std::uint64_t mark() const noexcept override { return 1; }
  ConnectionJob* job = nullptr;
  std::uint64_t until_ns = 0;
};

TEST(ConnectionLink, ABrokenConnectionWaitsForRoom) {
  ConnectionJobOptions options = seeded(11);
  options.frames = 200;
  options.limit_ns = 10'000'000'000;
  for (const bool in_time : {true, false}) {
    options.link.no_room_ns = in_time ? 5'000'000'000 : 1'000'000'000;
    ConnectionJob job(options);
    Crowd crowd;
    crowd.job = &job;
    crowd.until_ns = 3'000'000'000;
    job.world().schedule(crowd, 1, 50'000);
    const std::string story = job.run();
    const auto& seen = job.link(0).statistics();
    EXPECT_GE(seen.no_room, 5U);
    EXPECT_LE(seen.no_room, 60U);
    if (in_time) {
      EXPECT_EQ(story, "");
      EXPECT_GT(job.world().now_ns(), crowd.until_ns);
    } else {
      EXPECT_NE(story.find("no queue pair left"), std::string::npos) << story;
      EXPECT_EQ(job.why(1, 0), ESP_ERR_NO_MEMORY);
      EXPECT_GE(job.world().now_ns(), options.link.no_room_ns);
    }
  }
}

// Of a peer that was never met nothing is made for that.
TEST(ConnectionLink, AStrangerCanBeLost) {
  ConnectionJobOptions options = seeded(10);
  options.ranks = 3;
  options.frames = 0;
  ConnectionJob job(options);
  job.link(0).lose(2, error(ESP_ERR_PEER_DIED, "the launcher says so", 2));
  job.link(0).lose(2, error(ESP_ERR_PEER_DIED, "again", 2));
  EXPECT_FALSE(job.link(0).arm());
  EXPECT_NE(job.run(), "");
  EXPECT_EQ(job.lost(0, 2), 1U);
  EXPECT_EQ(job.why(0, 2), ESP_ERR_PEER_DIED);
  EXPECT_EQ(job.link(0).describe(2), "lost");
  Completion nobody;
  EXPECT_EQ(job.link(0).post(2, {}, nullptr, nobody), Posted::kDone);
  EXPECT_EQ(job.link(0).describe(1), "not connected");
}

TEST(ConnectionLink, ConnectionsThatNeverHoldEnd) {
  ConnectionJobOptions options = seeded(6);
  options.faults = "rnr=1";
  options.link.answer_ns = 10'000'000;
  ConnectionJob job(options);
  EXPECT_NE(job.run().find("break: it had no packet posted"), std::string::npos);
  EXPECT_EQ(job.lost(0, 1), 1U);
  EXPECT_EQ(job.lost(1, 0), 1U);
  EXPECT_LT(job.world().now_ns(), 100'000'000U);
}

TEST(ConnectionLink, AFailedAdapterLosesAllPeers) {
  ConnectionJobOptions options = seeded(8);
  options.ranks = 3;
  options.frames = 500;
  options.faults = "overrun=1,heal=50us";
  options.link.answer_ns = 10'000'000;
  options.link.keepalive_ns = 1'000'000;
  ConnectionJob job(options);
  EXPECT_NE(job.run(), "");
  Rank failed = -1;
  for (Rank r = 0; r < 3; ++r) failed = job.port(r).fault().ok() ? failed : r;
  ASSERT_GE(failed, 0);
  EXPECT_FALSE(job.port(failed).arm());
  EXPECT_TRUE(job.link(failed).arm()) << "it may sleep, while it goes on with others elsewhere";
  for (Rank r = 0; r < 3; ++r) {
    if (r == failed) continue;
    EXPECT_EQ(job.lost(failed, r), 1U);
    EXPECT_EQ(job.why(failed, r), ESP_ERR_NETWORK);
    EXPECT_EQ(job.lost(r, failed), 1U);
    EXPECT_EQ(job.why(r, failed), ESP_ERR_PEER_DIED);
    EXPECT_EQ(job.lost(r, 3 - failed - r), 0U) << "the others go on";
    EXPECT_EQ(job.arrived(r, 3 - failed - r), 500U);
  }
}

}  // namespace
}  // namespace espalier::test
