// ConnectionLink over simulated connections that break, repeat and lose: nothing is lost, doubled
// or out of order.
#include <gtest/gtest.h>

#include "tests/harness/link_job.hpp"

namespace espalier::test {
namespace {

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
    LinkJobOptions options = connection_job(seed);
    options.ranks = 2 + static_cast<std::uint32_t>(prng.below(3));
    options.frames = 10;
    options.bytes_max = prng.chance(0.5) ? 2000 : 60'000;
    options.connections.window = 4 + static_cast<std::uint32_t>(prng.below(29));
    options.connections.place_from_bytes = prng.chance(0.5) ? 1000 : 10'000;
    if (prng.chance(0.3)) options.connections.memory.register_from_bytes = 5000;
    if (prng.chance(0.3)) options.adapter.send_depth = 8;
    if (prng.chance(0.3)) options.connections.send_packets = 16;
    options.adapter.inline_bytes = 60 + static_cast<std::uint32_t>(prng.below(200));
    options.whims = prng.chance(0.5) ? 0.3 : 0;
    options.calm = prng.chance(0.5) ? 0.3 : 0.9;
    options.connections.rebuilds_max = 1000;
    options.faults = "heal=300us";
    if (prng.chance(0.8)) options.faults += ",break=" + std::to_string(1 + prng.below(30));
    if (prng.chance(0.3)) options.faults += ",rnr=0.1";
    if (prng.chance(0.3)) options.faults += ",loss=0.2,duplicate=0.2,reorder=0.3";
    if (prng.chance(0.3)) options.faults += ",delay=0.05:3us";
    if (prng.chance(0.3)) options.faults += ",echo=0.1";
    if (prng.chance(0.2)) options.faults += ",clog=3";
    if (prng.chance(0.2)) options.faults += ",no-memory=0.2";
    if (prng.chance(0.5))
      options.connections.pull_from_bytes = options.connections.place_from_bytes;
    if (prng.chance(0.5)) options.accesses = 16;
    LinkJob job(options);
    if (seed % 8 == 0) job.connection_net().refuse_connects(static_cast<Rank>(seed / 8 % 2), 2);
    ASSERT_EQ(job.run(), "") << seed << " " << options.faults;
    breaks += job.connection_net().counts().breaks;
    ghosts += job.connection_net().counts().ghosts;
    not_ready += job.connection_net().counts().not_ready;
    for (Rank r = 0; r < static_cast<Rank>(options.ranks); ++r) {
      repeated += job.connections(r).statistics().repeated;
      placed += job.connections(r).statistics().placed;
      headless += job.connections(r).statistics().headless;
      pulled += job.connections(r).statistics().pulled;
      puts += job.connections(r).statistics().puts;
      gets += job.connections(r).statistics().gets;
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
    LinkJobOptions options = connection_job(seed);
    options.bytes_max = 2000;
    options.connections.place_from_bytes = 1000;
    options.connections.send_packets = 2;
    options.announced = options.registered = 0.7;
    options.connections.rebuilds_max = 1000;
    options.faults = "heal=300us,break=20";
    LinkJob job(options);
    ASSERT_EQ(job.run(), "") << seed;
    for (Rank r = 0; r < 2; ++r) repeated += job.connections(r).statistics().repeated;
  }
  EXPECT_GT(repeated, kSeeds / 20);
}

std::uint64_t out_of_order(LinkJob& job) {
  std::uint64_t sum = 0;
  for (Rank r = 0; r < 2; ++r) sum += job.connections(r).statistics().out_of_order;
  return sum;
}

TEST(ConnectionLink, WhatAnAdapterRepeatsIsLeftOut) {
  std::uint64_t placed = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    LinkJobOptions options = connection_job(seed);
    options.faults = "echo=0.2";
    options.announced = options.registered = 0.7;
    options.connections.place_from_bytes = 1000;
    LinkJob job(options);
    ASSERT_EQ(job.run(), "") << seed;
    EXPECT_GT(job.connection_net().counts().echoes, 0U);
    EXPECT_GE(job.connection_net().counts().echoes, out_of_order(job));
    EXPECT_GT(out_of_order(job), 0U);
    for (Rank r = 0; r < 2; ++r) placed += job.connections(r).statistics().placed;
  }
  EXPECT_GT(placed, 100U);
}

// Who sent what is missing sends it again; if an adapter has said that it had arrived the peer is
// given up. What comes after it shows the gap.
TEST(ConnectionLink, AGapIsClosedOrTold) {
  std::uint64_t closed = 0, told = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    LinkJobOptions options = connection_job(seed);
    options.frames = 100;
    options.limit_ns = 100'000'000;
    LinkJob job(options);
    job.at(20'000 + 1000 * seed, [&] { job.connection_net().swallow(0, 1); });
    const std::string story = job.run();
    if (story.empty()) {
      closed += job.connections(1).statistics().rebuilds > 0 ? 1 : 0;
    } else {
      ++told;
      EXPECT_NE(story.find("did not arrive at rank 1; its adapter had acknowledged it"),
                std::string::npos)
          << seed << ": " << story;
      EXPECT_EQ(job.why(0, 1).code(), ESP_ERR_NETWORK);
    }
  }
  EXPECT_GT(closed, 20U);
  EXPECT_GT(told, 0U);
}

}  // namespace
}  // namespace espalier::test
