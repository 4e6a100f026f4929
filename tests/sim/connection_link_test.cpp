// ConnectionLink over simulated connections: without faults few packets, doorbells and completions;
// with them nothing lost, doubled, damaged or out of order.
#include <gtest/gtest.h>

#include "connection_job.hpp"
#include "sim_world.hpp"

namespace espalier::test {
namespace {

// Two ranks that throw a frame back and forth.
struct PingPong {
  struct Player final : net::FrameSink {
    std::byte* begin(Rank, const net::FrameHeader&) noexcept override { return ball; }
    void end(Rank from, const net::FrameHeader& header, std::byte*) noexcept override {
      game->last_ns = game->world.now_ns();
      if (++game->throws == 1001) game->begin_ns = game->last_ns;
      net::FrameHeader next = header;
      next.flow += game->same ? 0 : 1;
      if (game->throws <= 3000) (void)link->post(from, next, ball, nobody);
    }
    void lost(Rank, const Status&) noexcept override { game->throws = 1'000'000; }
    PingPong* game = nullptr;
    std::unique_ptr<sim::SimConnectionPort> port;
    std::unique_ptr<rdma::ConnectionLink> link;
    Completion nobody;
    std::byte ball[64] = {};
  };
  // Frames of one flow after the other; or the same one again, which no header tells.
  explicit PingPong(std::uint64_t bytes, bool the_same)
      : same(the_same),
        machine(device_machine()),
        map(*sim::Map::create(machine, 2, 1, sim::Placement::kByCore, 1)),
        world(machine, map, {}),
        net(world),
        letters(world) {
    world.set_turn(
        [](void* self, Rank r) {
          Player& player = static_cast<PingPong*>(self)->players[r];
          while (player.link->progress(player) > 0) {
          }
        },
        this);
    for (Rank r = 0; r < 2; ++r) {
      players[r].game = this;
      players[r].port = std::make_unique<sim::SimConnectionPort>(net, r);
      players[r].link = std::move(*rdma::ConnectionLink::create(
          *players[r].port, letters.postman(r), world.clock(r), r, 2));
    }
    net::FrameHeader header;
    header.total = 1;
    header.bytes = bytes;
    (void)players[0].link->post(1, header, players[0].ball, players[0].nobody);
    world.run();
  }
  ~PingPong() {
    for (Player& player : players) player.link.reset();
  }

  const bool same;
  const sim::Machine machine;
  const sim::Map map;
  sim::World world;
  sim::ConnectionNet net;
  Letters letters;
  Player players[2];
  std::uint64_t throws = 0, begin_ns = 0, last_ns = 0;
};

// One packet, one doorbell and a sixteenth of a completion; the time is what the wire takes.
void expect_one_message(bool same) {
  PingPong game(8, same);
  ASSERT_EQ(game.throws, 3001U);
  const std::uint64_t bytes = same ? 8 + 28 + 8 : 8;
  const std::uint64_t wire_ns = 100 + 1000 + bytes / 2 + 200;
  std::uint64_t probes = 0;
  for (const auto& player : game.players) probes += player.link->statistics().probes;
  EXPECT_LE(probes, 20U) << "after tail_ns, and signs of life";
  EXPECT_GE(game.last_ns - game.begin_ns, 2000 * wire_ns);
  EXPECT_LE(game.last_ns - game.begin_ns, 2000 * wire_ns + 200 * probes);
  EXPECT_EQ(game.net.counts().posted, 3001U + probes) << "credits ride on frames";
  EXPECT_EQ(game.net.counts().doorbells, 3001U + probes);
  for (const auto& player : game.players) {
    EXPECT_LE(player.link->statistics().signals, 1501U / 16 + 1 + probes);
    EXPECT_EQ(player.link->statistics().copied_bytes, player.link->statistics().frames * 8);
    const std::uint64_t frames = player.link->statistics().frames;
    EXPECT_EQ(player.link->statistics().headless, same ? 0 : frames - 1) << "all but the first";
  }
  EXPECT_EQ(game.letters.posted(), 3U) << "request, reply, ready";
}
TEST(ConnectionLink, ASmallFrameCostsOneMessage) {
  expect_one_message(true);
}
TEST(ConnectionLink, AFrameThatFollowsAnotherNeedsNoHeader) {
  expect_one_message(false);
}

ConnectionJobOptions small(std::uint64_t seed) {
  ConnectionJobOptions options;
  options.seed = seed;
  return options;
}

TEST(ConnectionLink, CarriesFramesOfAllSizes) {
  ConnectionJobOptions options;
  options.ranks = 3;
  options.frames = 200;
  ConnectionJob job(options);
  EXPECT_EQ(job.run(), "");
  EXPECT_EQ(job.net().counts().not_ready, 0U) << "credits keep receivers ready";
  EXPECT_EQ(job.net().counts().breaks, 0U);
  for (Rank r = 0; r < 3; ++r) {
    const auto& s = job.link(r).statistics();
    EXPECT_EQ(s.rebuilds, 0U);
    EXPECT_EQ(s.repeated, 0U);
    EXPECT_GT(s.placed, 0U);
    EXPECT_LT(s.signals * 4, s.messages * 3);
    EXPECT_LT(s.messages, 2 * s.frames + 40'000 * 200 / 4000) << "small frames share packets";
  }
}

// In steady state the receivers are ahead: adapters write large frames where they belong.
TEST(ConnectionLink, AnnouncedFramesAreWrittenInPlace) {
  ConnectionJobOptions options = small(4);
  options.frames = 100;
  options.announced = options.registered = 1;
  options.calm = 0.99;
  options.link.place_from_bytes = 129;
  ConnectionJob job(options);
  EXPECT_EQ(job.run(), "");
  for (Rank r = 0; r < 2; ++r) {
    const auto& s = job.link(r).statistics();
    EXPECT_GT(s.placed, 40U);
    EXPECT_EQ(s.announced, job.link(1 - r).statistics().placed + s.retired);
    EXPECT_LT(s.copied_bytes, 100'000U) << "of about a million";
  }
}

// One way only: all credits come back in messages of their own.
TEST(ConnectionLink, CreditsComeBackWithoutTrafficToRideOn) {
  for (const std::uint32_t window : {4U, 5U, 8U, 32U}) {
    ConnectionJobOptions options = small(window);
    options.link.window = window;
    options.frames = 300;
    options.announced = 0;
    ConnectionJob job(options);
    EXPECT_EQ(job.run(), "") << window;
    EXPECT_EQ(job.net().counts().not_ready, 0U);
  }
}

// Many peers share one receive queue: windows shrink, but the queue never runs dry.
TEST(ConnectionLink, WindowsFitTheReceiveQueue) {
  ConnectionJobOptions options = small(1);
  options.ranks = 9;
  options.frames = 20;
  options.limits.receive_depth = 64;
  ConnectionJob job(options);
  EXPECT_EQ(job.run(), "");
  EXPECT_EQ(job.net().counts().not_ready, 0U);
}

TEST(ConnectionLink, ShortSendQueuesAndFewPackets) {
  ConnectionJobOptions options = small(2);
  options.ranks = 3;
  options.limits.send_depth = 8;
  options.link.send_packets = 8;
  options.link.posts_max = 4;
  ConnectionJob job(options);
  EXPECT_EQ(job.run(), "");
}

TEST(ConnectionLink, BuffersMayBeRegisteredPerOperation) {
  ConnectionJobOptions options = small(3);
  options.registered = 0;
  options.calm = 0.9;
  options.announced = 1;
  options.link.memory.register_from_bytes = 20'000;
  ConnectionJob job(options);
  EXPECT_EQ(job.run(), "");
  EXPECT_GT(job.link(0).registrations(), 0U);
  // Its packets, sources and places; nothing of single operations.
  for (Rank r = 0; r < 2; ++r) EXPECT_EQ(job.port(r).regions(), 3U);
}

// Of a frame that is posted before its receive nothing is copied, and its sender waits.
TEST(ConnectionLink, LargeFramesAreReadByTheirReceiver) {
  ConnectionJobOptions options = small(4);
  options.calm = 0;
  options.registered = options.announced = 1;
  options.link.place_from_bytes = options.link.pull_from_bytes = 1;
  ConnectionJob job(options);
  EXPECT_EQ(job.run(), "");
  for (Rank r = 0; r < 2; ++r) {
    const rdma::ConnectionStatistics& counts = job.link(r).statistics();
    EXPECT_GT(counts.pulled, 3U) << r;
    EXPECT_LE(counts.copied_bytes, 40U * 128) << "small ones, which are not worth it";
  }
}

TEST(ConnectionLink, LettersMayGetLostRepeatedAndOvertaken) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    ConnectionJobOptions options = small(seed);
    options.faults = "loss=0.4,duplicate=0.4,reorder=0.4";
    options.frames = 3;
    ConnectionJob job(options);
    ASSERT_EQ(job.run(), "") << seed;
  }
}

TEST(ConnectionLink, RunsAreFunctionsOfTheirSeed) {
  ConnectionJobOptions options = small(7);
  options.faults = "loss=0.1,duplicate=0.1,delay=0.05:2us,break=5,rnr=0.05,heal=200us";
  options.whims = 0.2;
  ConnectionJob one(options), two(options);
  EXPECT_EQ(one.run(), "");
  EXPECT_EQ(two.run(), "");
  EXPECT_EQ(one.world().unseed(), two.world().unseed());
}

#ifdef ESPALIER_SANITIZED
constexpr std::uint64_t kSeeds = 300;
#else
constexpr std::uint64_t kSeeds = 3000;
#endif

// Everything that may go wrong while all ranks live, drawn by seed.
TEST(ConnectionLink, NothingIsLostOrDoubledWhateverBreaks) {
  std::uint64_t breaks = 0, ghosts = 0, repeated = 0, placed = 0, not_ready = 0, headless = 0;
  std::uint64_t pulled = 0, puts = 0, gets = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Prng prng(seed);
    ConnectionJobOptions options = small(seed);
    options.ranks = 2 + static_cast<std::uint32_t>(prng.below(3));
    options.frames = 10;
    options.bytes_max = prng.chance(0.5) ? 2000 : 60'000;
    options.link.window = 4 + static_cast<std::uint32_t>(prng.below(29));
    options.link.place_from_bytes = prng.chance(0.5) ? 1000 : 10'000;
    if (prng.chance(0.3)) options.link.memory.register_from_bytes = 5000;
    if (prng.chance(0.3)) options.limits.send_depth = 8;
    if (prng.chance(0.3)) options.link.send_packets = 16;
    options.limits.inline_bytes = 60 + static_cast<std::uint32_t>(prng.below(200));
    options.whims = prng.chance(0.5) ? 0.3 : 0;
    options.calm = prng.chance(0.5) ? 0.3 : 0.9;
    options.link.rebuilds_max = 1000;
    options.faults = "heal=300us";
    if (prng.chance(0.8)) options.faults += ",break=" + std::to_string(1 + prng.below(30));
    if (prng.chance(0.3)) options.faults += ",rnr=0.1";
    if (prng.chance(0.3)) options.faults += ",loss=0.2,duplicate=0.2,reorder=0.3";
    if (prng.chance(0.3)) options.faults += ",delay=0.05:3us";
    if (prng.chance(0.3)) options.faults += ",echo=0.1";
    if (prng.chance(0.2)) options.faults += ",clog=3";
    if (prng.chance(0.2)) options.faults += ",no-memory=0.2";
    if (prng.chance(0.5)) options.link.pull_from_bytes = options.link.place_from_bytes;
    if (prng.chance(0.5)) options.accesses = 16;
    ConnectionJob job(options);
    if (seed % 8 == 0) job.net().refuse_connects(static_cast<Rank>(seed / 8 % 2), 2);
    ASSERT_EQ(job.run(), "") << seed << " " << options.faults;
    breaks += job.net().counts().breaks;
    ghosts += job.net().counts().ghosts;
    not_ready += job.net().counts().not_ready;
    for (Rank r = 0; r < static_cast<Rank>(options.ranks); ++r) {
      repeated += job.link(r).statistics().repeated;
      placed += job.link(r).statistics().placed;
      headless += job.link(r).statistics().headless;
      pulled += job.link(r).statistics().pulled;
      puts += job.link(r).statistics().puts;
      gets += job.link(r).statistics().gets;
    }
  }
  EXPECT_GT(headless, kSeeds);
  EXPECT_GT(puts, 4 * kSeeds);
  EXPECT_GT(gets, 4 * kSeeds);
  // The faults were there.
  EXPECT_GT(breaks, kSeeds);
  EXPECT_GT(ghosts, kSeeds / 3);
  EXPECT_GT(repeated, kSeeds);
  EXPECT_GT(placed, kSeeds);
  EXPECT_GT(pulled, kSeeds);
  EXPECT_GT(not_ready, kSeeds / 3);
}

// A placement that is sent again as a message needs a packet, and may stand before messages that
// hold all others.
TEST(ConnectionLink, WhatIsSentAgainFindsAPacket) {
  std::uint64_t repeated = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds / 10; ++seed) {
    ConnectionJobOptions options = small(seed);
    options.bytes_max = 2000;
    options.link.place_from_bytes = 1000;
    options.link.send_packets = 2;
    options.announced = options.registered = 0.7;
    options.link.rebuilds_max = 1000;
    options.faults = "heal=300us,break=20";
    ConnectionJob job(options);
    ASSERT_EQ(job.run(), "") << seed;
    for (Rank r = 0; r < 2; ++r) repeated += job.link(r).statistics().repeated;
  }
  EXPECT_GT(repeated, kSeeds / 20);
}

std::uint64_t out_of_order(ConnectionJob& job) {
  std::uint64_t sum = 0;
  for (Rank r = 0; r < 2; ++r) sum += job.link(r).statistics().out_of_order;
  return sum;
}

TEST(ConnectionLink, WhatAnAdapterRepeatsIsLeftOut) {
  std::uint64_t placed = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    ConnectionJobOptions options = small(seed);
    options.faults = "echo=0.2";
    options.announced = options.registered = 0.7;
    options.link.place_from_bytes = 1000;
    ConnectionJob job(options);
    ASSERT_EQ(job.run(), "") << seed;
    EXPECT_GT(job.net().counts().echoes, 0U);
    EXPECT_GE(job.net().counts().echoes, out_of_order(job));
    EXPECT_GT(out_of_order(job), 0U);
    for (Rank r = 0; r < 2; ++r) placed += job.link(r).statistics().placed;
  }
  EXPECT_GT(placed, 100U);
}

struct Swallow final : sim::Happening {
  void happen() noexcept override { job->net().swallow(0, 1); }
  std::uint64_t mark() const noexcept override { return 1; }
  ConnectionJob* job = nullptr;
};

// Who sent what is missing sends it again; if an adapter has said that it had arrived the peer is
// given up. What comes after it shows the gap.
TEST(ConnectionLink, AGapIsClosedOrTold) {
  std::uint64_t closed = 0, told = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    ConnectionJobOptions options = small(seed);
    options.frames = 100;
    options.limit_ns = 100'000'000;
    ConnectionJob job(options);
    Swallow swallow;
    swallow.job = &job;
    job.world().schedule(swallow, 1, 20'000 + 1000 * seed);
    const std::string story = job.run();
    if (story.empty()) {
      closed += job.link(1).statistics().rebuilds > 0 ? 1 : 0;
    } else {
      ++told;
      EXPECT_NE(story.find("did not arrive at rank 1; its adapter had acknowledged it"),
                std::string::npos)
          << seed << ": " << story;
      EXPECT_EQ(job.why(0, 1), ESP_ERR_NETWORK);
    }
  }
  EXPECT_GT(closed, 20U);
  EXPECT_GT(told, 0U);
}

TEST(ConnectionLink, ADeadPeerIsLostInTime) {
  ConnectionJobOptions options = small(5);
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
  ConnectionJobOptions options = small(9);
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
  ConnectionJobOptions options = small(12);
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
    ConnectionJobOptions options = small(seed);
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
      ConnectionJobOptions options = small(13 + here + 10 * there);
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
    ConnectionJobOptions options = small(14);
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
  ConnectionJobOptions options = small(11);
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
  ConnectionJobOptions options = small(10);
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
  ConnectionJobOptions options = small(6);
  options.faults = "rnr=1";
  options.link.answer_ns = 10'000'000;
  ConnectionJob job(options);
  EXPECT_NE(job.run().find("break: it had no packet posted"), std::string::npos);
  EXPECT_EQ(job.lost(0, 1), 1U);
  EXPECT_EQ(job.lost(1, 0), 1U);
  EXPECT_LT(job.world().now_ns(), 100'000'000U);
}

TEST(ConnectionLink, AFailedAdapterLosesAllPeers) {
  ConnectionJobOptions options = small(8);
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
