// The sender's ring of chunks against a model that knows every byte's owner.
#include "shm/arena.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "core/prng.hpp"

namespace espalier::shm {
namespace {

struct Live {
  std::uint64_t begin, end;
  std::uint32_t readers;
};

TEST(Arena, RandomTakesAndReleasesNeverOverlap) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Prng prng(seed);
    // Every other one begins smaller than it is.
    const std::uint64_t size = 64 * (16 + prng.below(seed % 2 == 0 ? 1000 : 30000));
    Arena arena(size);
    std::map<std::uint32_t, Live> live;
    std::uint64_t taken = 0;
    for (int i = 0; i < 20000; ++i) {
      if (prng.chance(0.55)) {
        const std::uint64_t bytes = 1 + prng.below(size / (prng.chance(0.1) ? 3 : 30));
        const auto readers = static_cast<std::uint32_t>(1 + prng.below(4));
        const auto chunk = arena.take(bytes, readers, live.empty() || prng.chance(0.2));
        if (chunk.id == Arena::kNone) {
          ASSERT_FALSE(live.empty()) << "an empty arena refused " << bytes << " of " << size;
          continue;
        }
        ++taken;
        ASSERT_EQ(chunk.offset % Arena::kAlign, 0U);
        ASSERT_LE(chunk.offset + bytes, size);
        ASSERT_FALSE(live.contains(chunk.id));
        for (const auto& [id, other] : live) {
          ASSERT_TRUE(chunk.offset + bytes <= other.begin || other.end <= chunk.offset)
              << "seed " << seed << ": chunks " << id << " and " << chunk.id << " overlap";
        }
        live[chunk.id] = {chunk.offset, chunk.offset + bytes, readers};
      } else if (!live.empty()) {
        auto any = live.begin();
        std::advance(any, static_cast<std::ptrdiff_t>(prng.below(live.size())));
        arena.release(any->first);
        if (--any->second.readers == 0) live.erase(any);
      }
    }
    EXPECT_GT(taken, 1000U);
    for (const auto& [id, chunk] : live) {
      for (std::uint32_t r = 0; r < chunk.readers; ++r) arena.release(id);
    }
    EXPECT_TRUE(arena.empty());
  }
}

TEST(Arena, AnEmptyArenaTakesAnythingThatFits) {
  Arena arena(1024);
  for (std::uint64_t bytes = 1; bytes <= 1024; bytes += 63) {
    const auto chunk = arena.take(bytes, 1, true);
    ASSERT_NE(chunk.id, Arena::kNone) << bytes;
    arena.release(chunk.id);
  }
  EXPECT_EQ(arena.take(1025, 1, true).id, Arena::kNone);
}

TEST(Arena, SpaceComesBackWithTheOldestChunk) {
  Arena arena(256);
  const auto a = arena.take(64, 1, true), b = arena.take(64, 1, true), c = arena.take(128, 2, true);
  EXPECT_EQ(arena.take(1, 1, true).id, Arena::kNone);
  arena.release(b.id);
  EXPECT_EQ(arena.take(1, 1, true).id, Arena::kNone) << "the oldest is still in use";
  arena.release(a.id);
  EXPECT_NE(arena.take(128, 1, true).id, Arena::kNone);
  arena.release(c.id);
  EXPECT_EQ(arena.take(1, 1, true).id, Arena::kNone) << "one of its two readers still reads";
  arena.release(c.id);
  EXPECT_NE(arena.take(1, 1, true).id, Arena::kNone);
}

TEST(Arena, WhatFindsRoomKeepsTheRingSmall) {
  constexpr std::uint64_t kBytes = 4 << 20;
  Arena arena(kBytes);
  const std::uint64_t first = arena.ring_bytes();
  ASSERT_LT(first, kBytes / 8);
  for (int i = 0; i < 10000; ++i) {
    const auto one = arena.take(4096, 1, true), two = arena.take(8192, 1, true);
    ASSERT_LE(one.offset + 4096, first);
    ASSERT_LE(two.offset + 8192, first);
    arena.release(one.id);
    arena.release(two.id);
  }
  EXPECT_EQ(arena.ring_bytes(), first);
}

TEST(Arena, TheRingGrowsToAllOfTheArenaUnderPressure) {
  constexpr std::uint64_t kBytes = 4 << 20, kChunk = 64 << 10;
  Arena arena(kBytes);
  std::vector<std::uint32_t> live;
  for (std::uint64_t i = 0; i < kBytes / kChunk; ++i) {
    const auto chunk = arena.take(kChunk, 1, true);
    ASSERT_NE(chunk.id, Arena::kNone) << "chunk " << i;
    live.push_back(chunk.id);
  }
  EXPECT_EQ(arena.take(1, 1, true).id, Arena::kNone);
  EXPECT_EQ(arena.ring_bytes(), kBytes);
  for (const std::uint32_t id : live) arena.release(id);
  EXPECT_TRUE(arena.empty());
}

TEST(Arena, TheRingDoesNotGrowBeforeItMay) {
  Arena arena(4 << 20);
  const std::uint64_t first = arena.ring_bytes();
  const auto all = arena.take(first, 1, false);
  ASSERT_NE(all.id, Arena::kNone);
  EXPECT_EQ(arena.take(64, 1, false).id, Arena::kNone);
  EXPECT_EQ(arena.ring_bytes(), first);
  EXPECT_NE(arena.take(64, 1, true).id, Arena::kNone);
  EXPECT_EQ(arena.ring_bytes(), 2 * first);
}

// Its head is behind what a reader has not read yet.
TEST(Arena, OneLateReaderDoesNotHoldUpTheOthers) {
  constexpr std::uint64_t kBytes = 4 << 20;
  Arena arena(kBytes);
  const std::uint64_t half = arena.ring_bytes() / 2;
  arena.release(arena.take(half, 1, true).id);
  // Not before something else lies there.
  const auto before = arena.take(64, 1, true);
  const auto late = arena.take(half - 64, 1, true);
  arena.release(before.id);
  const auto around = arena.take(half, 1, true);
  ASSERT_NE(around.id, Arena::kNone);
  EXPECT_LT(around.offset, late.offset) << "there was room at the begin";
  // Behind the begin, which is free again, lies what is late: the ring grows.
  for (std::uint64_t taken = 0; taken + half <= kBytes - 2 * half; taken += half) {
    const auto chunk = arena.take(half, 1, true);
    ASSERT_NE(chunk.id, Arena::kNone) << taken;
    ASSERT_GE(chunk.offset, 2 * half);
    arena.release(chunk.id);
  }
  EXPECT_EQ(arena.take(half, 1, true).id, Arena::kNone) << "the begin is still taken";
  arena.release(around.id);
  EXPECT_EQ(arena.take(half, 1, true).id, Arena::kNone) << "space comes back in order";
  arena.release(late.id);
  EXPECT_EQ(arena.take(half, 1, true).offset, 0U);
}

TEST(ArenaDeathTest, AChunkIsReleasedOnce) {
  Arena arena(1024);
  const auto chunk = arena.take(64, 1, true);
  arena.release(chunk.id);
  EXPECT_DEATH(arena.release(chunk.id), "readers > 0");
}

}  // namespace
}  // namespace espalier::shm
