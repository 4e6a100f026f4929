// ConnectionLink when a peer or the adapter is gone, or has no room: who lives is kept or waited
// for, and who is lost is lost with the reason.
#include <gtest/gtest.h>

#include "tests/harness/link_job.hpp"

namespace espalier::test {
namespace {

TEST(ConnectionLink, ADeadPeerIsLostInTime) {
  LinkJobOptions options = connection_job(5);
  options.ranks = 3;
  options.faults = "crash=1,heal=100us";
  options.connections.answer_ns = 10'000'000;
  options.connections.keepalive_ns = 1'000'000;
  LinkJob job(options);
  EXPECT_EQ(job.run(), "");
  Rank dead = 0;
  while (!job.world().crashed(dead)) ++dead;
  for (Rank r = 0; r < 3; ++r) {
    if (r == dead) continue;
    EXPECT_TRUE(job.lost(r, dead));
    EXPECT_EQ(job.why(r, dead).code(), ESP_ERR_PEER_DIED);
  }
  EXPECT_LT(job.world().now_ns(), 30'000'000U);
}

// Without datagrams to fall back to.
TEST(ConnectionLink, APeerWithoutRoomForAConnectionIsLostWithTheReason) {
  LinkJobOptions options = connection_job(9);
  options.ranks = 4;
  options.adapter.connections = 2;
  LinkJob job(options);
  EXPECT_NE(job.run().find("no queue pair left"), std::string::npos);
  std::uint32_t losses = 0;
  for (Rank r = 0; r < 4; ++r) {
    for (Rank p = 0; p < 4; ++p) {
      losses += job.lost(r, p) ? 1 : 0;
      if (job.lost(r, p)) {
        EXPECT_EQ(job.why(r, p).code(), ESP_ERR_NO_MEMORY);
      }
    }
    EXPECT_LE(job.connections(r).statistics().open_max, 2U);
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
  LinkJobOptions options = connection_job(12);
  options.ranks = 3;
  options.frames = 0;
  LinkJob job(options);
  job.connection_net().overrun(0);
  Completion nobody;
  Heard heard;
  (void)job.connections(0).post(1, {}, nullptr, nobody);  // before the link has heard of it
  while (job.connections(0).progress(heard) > 0) {
  }
  EXPECT_TRUE(job.connections(0).arm());
  (void)job.connections(0).post(2, {}, nullptr, nobody);
  EXPECT_FALSE(job.connections(0).arm());
  while (job.connections(0).progress(heard) > 0) {
  }
  EXPECT_TRUE(job.connections(0).arm());
  ASSERT_EQ(heard.told.size(), 2U);
  for (const auto& [peer, why] : heard.told) {
    EXPECT_EQ(why.code(), ESP_ERR_NETWORK);
    EXPECT_EQ(job.connections(0).describe(peer), "lost: the adapter has failed");
  }
}

// Ends that take packets along make windows smaller, and no receiver runs dry.
TEST(ConnectionLink, PacketsThatAreLostArePromisedNoMore) {
  std::uint32_t lost = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    LinkJobOptions options = connection_job(seed);
    options.frames = 6000;
    options.bytes_max = 200;
    options.announced = 0;
    options.adapter.receive_depth = 64;
    options.connections.rebuilds_max = 1000;
    LinkJob job(options);
    for (std::uint64_t i = 0; i < 50; ++i) {
      job.at(30'000 + 20'000 * i, [&] { job.connection_net().break_path(0, 1); });
    }
    for (const Rank r : {0, 1}) job.connection_net().take_along(r, 50);
    ASSERT_EQ(job.run(), "") << seed;
    EXPECT_EQ(job.connection_net().counts().not_ready, 0U) << seed;
    for (const Rank r : {0, 1}) lost += 64 - job.connection_port(r).receive_depth();
  }
  EXPECT_GT(lost, 10U * 2 * 20);
}

// What an adapter cannot connect now it may connect later: at the asker, at the answerer, at both.
TEST(ConnectionLink, AConnectThatFailsIsTriedAgain) {
  for (const std::uint32_t here : {0U, 1U, 5U}) {
    for (const std::uint32_t there : {0U, 1U, 5U}) {
      LinkJobOptions options = connection_job(13 + here + 10 * there);
      options.limit_ns = 20'000'000'000;
      LinkJob job(options);
      job.connection_net().refuse_connects(0, here);
      job.connection_net().refuse_connects(1, there);
      EXPECT_EQ(job.run(), "") << here << ", " << there;
      EXPECT_FALSE(job.lost(0, 1) || job.lost(1, 0));
      EXPECT_LE(job.connections(0).statistics().connections, 1U + there);
    }
  }
}

TEST(ConnectionLink, AConnectThatAlwaysFailsIsTheEndWithItsReason) {
  for (const Rank unable : {0, 1}) {
    LinkJobOptions options = connection_job(14);
    options.limit_ns = 20'000'000'000;
    LinkJob job(options);
    job.connection_net().refuse_connects(unable, 1000);
    const std::string story = job.run();
    EXPECT_NE(story.find("lost: no connection to rank " + std::to_string(1 - unable) +
                         ": the simulated adapter cannot connect now"),
              std::string::npos)
        << story;
    EXPECT_TRUE(job.lost(unable, 1 - unable));
    EXPECT_EQ(job.why(unable, 1 - unable).code(), ESP_ERR_NETWORK);
    EXPECT_EQ(job.connections(unable).statistics().connections, 0U);
    EXPECT_GE(job.connections(unable).statistics().letters, options.connections.rebuilds_max);
  }
}

// It breaks, and rank 1 has none left for a while.
TEST(ConnectionLink, ABrokenConnectionWaitsForRoom) {
  LinkJobOptions options = connection_job(11);
  options.frames = 200;
  options.limit_ns = 10'000'000'000;
  for (const bool in_time : {true, false}) {
    options.connections.no_room_ns = in_time ? 5'000'000'000 : 1'000'000'000;
    LinkJob job(options);
    constexpr std::uint64_t kUntilNs = 3'000'000'000;
    job.at(50'000, [&] {
      job.connection_net().crowd(1, kUntilNs);
      job.connection_net().break_path(0, 1);
    });
    const std::string story = job.run();
    const auto& seen = job.connections(0).statistics();
    EXPECT_GE(seen.no_room, 5U);
    EXPECT_LE(seen.no_room, 60U);
    if (in_time) {
      EXPECT_EQ(story, "");
      EXPECT_GT(job.world().now_ns(), kUntilNs);
    } else {
      EXPECT_NE(story.find("no queue pair left"), std::string::npos) << story;
      EXPECT_EQ(job.why(1, 0).code(), ESP_ERR_NO_MEMORY);
      EXPECT_GE(job.world().now_ns(), options.connections.no_room_ns);
    }
  }
}

// Of a peer that was never met nothing is made for that.
TEST(ConnectionLink, AStrangerCanBeLost) {
  LinkJobOptions options = connection_job(10);
  options.ranks = 3;
  options.frames = 0;
  LinkJob job(options);
  job.connections(0).lose(2, error(ESP_ERR_PEER_DIED, "the launcher says so", 2));
  job.connections(0).lose(2, error(ESP_ERR_PEER_DIED, "again", 2));
  EXPECT_FALSE(job.connections(0).arm());
  EXPECT_NE(job.run(), "");
  EXPECT_TRUE(job.lost(0, 2));
  EXPECT_EQ(job.why(0, 2).code(), ESP_ERR_PEER_DIED);
  EXPECT_EQ(job.connections(0).describe(2), "lost");
  Completion nobody;
  EXPECT_EQ(job.connections(0).post(2, {}, nullptr, nobody), Posted::kDone);
  EXPECT_EQ(job.connections(0).describe(1), "not connected");
}

TEST(ConnectionLink, ConnectionsThatNeverHoldEnd) {
  LinkJobOptions options = connection_job(6);
  options.faults = "rnr=1";
  options.connections.answer_ns = 10'000'000;
  LinkJob job(options);
  EXPECT_NE(job.run().find("break: it had no packet posted"), std::string::npos);
  EXPECT_TRUE(job.lost(0, 1));
  EXPECT_TRUE(job.lost(1, 0));
  EXPECT_LT(job.world().now_ns(), 100'000'000U);
}

TEST(ConnectionLink, AFailedAdapterLosesAllPeers) {
  LinkJobOptions options = connection_job(8);
  options.ranks = 3;
  options.frames = 500;
  options.faults = "overrun=1,heal=50us";
  options.connections.answer_ns = 10'000'000;
  options.connections.keepalive_ns = 1'000'000;
  LinkJob job(options);
  EXPECT_NE(job.run(), "");
  Rank failed = -1;
  for (Rank r = 0; r < 3; ++r) failed = job.connection_port(r).fault().ok() ? failed : r;
  ASSERT_GE(failed, 0);
  EXPECT_FALSE(job.connection_port(failed).arm());
  EXPECT_TRUE(job.connections(failed).arm())
      << "it may sleep, while it goes on with others elsewhere";
  for (Rank r = 0; r < 3; ++r) {
    if (r == failed) continue;
    EXPECT_TRUE(job.lost(failed, r));
    EXPECT_EQ(job.why(failed, r).code(), ESP_ERR_NETWORK);
    EXPECT_TRUE(job.lost(r, failed));
    EXPECT_EQ(job.why(r, failed).code(), ESP_ERR_PEER_DIED);
    EXPECT_FALSE(job.lost(r, 3 - failed - r)) << "the others go on";
    EXPECT_EQ(job.arrived(r, 3 - failed - r), 500U);
  }
}

}  // namespace
}  // namespace espalier::test
