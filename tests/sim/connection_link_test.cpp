// ConnectionLink over simulated connections: without faults few packets, doorbells and completions;
// with letters that get lost connections are made all the same.
#include <gtest/gtest.h>

#include "tests/harness/link_job.hpp"

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
      : same(the_same), bed(2), net(world), letters(world) {
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
  SimBed bed;
  sim::World& world = bed.world;
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

TEST(ConnectionLink, CarriesFramesOfAllSizes) {
  LinkJobOptions options = connection_job();
  options.ranks = 3;
  options.frames = 200;
  LinkJob job(options);
  EXPECT_EQ(job.run(), "");
  EXPECT_EQ(job.connection_net().counts().not_ready, 0U) << "credits keep receivers ready";
  EXPECT_EQ(job.connection_net().counts().breaks, 0U);
  for (Rank r = 0; r < 3; ++r) {
    const auto& s = job.connections(r).statistics();
    EXPECT_EQ(s.rebuilds, 0U);
    EXPECT_EQ(s.repeated, 0U);
    EXPECT_GT(s.placed, 0U);
    EXPECT_LT(s.signals * 4, s.messages * 3);
    EXPECT_LT(s.messages, 2 * s.frames + 40'000 * 200 / 4000) << "small frames share packets";
  }
}

// In steady state the receivers are ahead: adapters write large frames where they belong.
TEST(ConnectionLink, AnnouncedFramesAreWrittenInPlace) {
  LinkJobOptions options = connection_job(4);
  options.frames = 100;
  options.announced = options.registered = 1;
  options.calm = 0.99;
  options.connections.place_from_bytes = 129;
  LinkJob job(options);
  EXPECT_EQ(job.run(), "");
  for (Rank r = 0; r < 2; ++r) {
    const auto& s = job.connections(r).statistics();
    EXPECT_GT(s.placed, 40U);
    EXPECT_EQ(s.announced, job.connections(1 - r).statistics().placed + s.retired);
    EXPECT_LT(s.copied_bytes, 100'000U) << "of about a million";
  }
}

// One way only: all credits come back in messages of their own.
TEST(ConnectionLink, CreditsComeBackWithoutTrafficToRideOn) {
  for (const std::uint32_t window : {4U, 5U, 8U, 32U}) {
    LinkJobOptions options = connection_job(window);
    options.connections.window = window;
    options.frames = 300;
    options.announced = 0;
    LinkJob job(options);
    EXPECT_EQ(job.run(), "") << window;
    EXPECT_EQ(job.connection_net().counts().not_ready, 0U);
  }
}

// Many peers share one receive queue: windows shrink, but the queue never runs dry.
TEST(ConnectionLink, WindowsFitTheReceiveQueue) {
  LinkJobOptions options = connection_job(1);
  options.ranks = 9;
  options.frames = 20;
  options.adapter.receive_depth = 64;
  LinkJob job(options);
  EXPECT_EQ(job.run(), "");
  EXPECT_EQ(job.connection_net().counts().not_ready, 0U);
}

TEST(ConnectionLink, ShortSendQueuesAndFewPackets) {
  LinkJobOptions options = connection_job(2);
  options.ranks = 3;
  options.adapter.send_depth = 8;
  options.connections.send_packets = 8;
  options.connections.posts_max = 4;
  LinkJob job(options);
  EXPECT_EQ(job.run(), "");
}

TEST(ConnectionLink, BuffersMayBeRegisteredPerOperation) {
  LinkJobOptions options = connection_job(3);
  options.registered = 0;
  options.calm = 0.9;
  options.announced = 1;
  options.connections.memory.register_from_bytes = 20'000;
  LinkJob job(options);
  EXPECT_EQ(job.run(), "");
  EXPECT_GT(job.connections(0).registrations(), 0U);
  // Its packets, sources and places; nothing of single operations.
  for (Rank r = 0; r < 2; ++r) EXPECT_EQ(job.connection_port(r).regions(), 3U);
}

// Of a frame that is posted before its receive nothing is copied, and its sender waits.
TEST(ConnectionLink, LargeFramesAreReadByTheirReceiver) {
  LinkJobOptions options = connection_job(4);
  options.calm = 0;
  options.registered = options.announced = 1;
  options.connections.place_from_bytes = options.connections.pull_from_bytes = 1;
  LinkJob job(options);
  EXPECT_EQ(job.run(), "");
  for (Rank r = 0; r < 2; ++r) {
    const rdma::ConnectionStatistics& counts = job.connections(r).statistics();
    EXPECT_GT(counts.pulled, 3U) << r;
    EXPECT_LE(counts.copied_bytes, 40U * 128) << "small ones, which are not worth it";
  }
}

TEST(ConnectionLink, LettersMayGetLostRepeatedAndOvertaken) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    LinkJobOptions options = connection_job(seed);
    options.faults = "loss=0.4,duplicate=0.4,reorder=0.4";
    options.frames = 3;
    LinkJob job(options);
    ASSERT_EQ(job.run(), "") << seed;
  }
}

TEST(ConnectionLink, RunsAreFunctionsOfTheirSeed) {
  LinkJobOptions options = connection_job(7);
  options.faults = "loss=0.1,duplicate=0.1,delay=0.05:2us,break=5,rnr=0.05,heal=200us";
  options.whims = 0.2;
  LinkJob one(options), two(options);
  EXPECT_EQ(one.run(), "");
  EXPECT_EQ(two.run(), "");
  EXPECT_EQ(one.world().unseed(), two.world().unseed());
}

}  // namespace
}  // namespace espalier::test
