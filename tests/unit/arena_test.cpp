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
    const std::uint64_t size = 64 * (16 + prng.below(1000));
    Arena arena(size);
    std::map<std::uint32_t, Live> live;
    std::uint64_t taken = 0;
    for (int i = 0; i < 20000; ++i) {
      if (prng.chance(0.55)) {
        const std::uint64_t bytes = 1 + prng.below(size / 3);
        const auto readers = static_cast<std::uint32_t>(1 + prng.below(4));
        const auto chunk = arena.take(bytes, readers, true);
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

// A pipeline whose window is a little more than the ring finds it full again and again after it
// has wrapped around, where it cannot grow at once.
TEST(Arena, ARingThatWasFoundFullGrowsAtItsNextEnd) {
  Arena arena(4 << 20);
  const std::uint64_t first = arena.ring_bytes();
  const std::uint64_t third = first / 3 / Arena::kAlign * Arena::kAlign;
  std::vector<std::uint32_t> live;
  for (int i = 0; i < 3; ++i) live.push_back(arena.take(third, 1, true).id);
  arena.release(live[0]);
  live.push_back(arena.take(third, 1, true).id);
  EXPECT_EQ(arena.ring_bytes(), first) << "there was room at the begin";
  EXPECT_EQ(arena.take(third, 1, true).id, Arena::kNone);
  for (int i = 1; i < 4; ++i) {
    arena.release(live[static_cast<std::size_t>(i)]);
    live.push_back(arena.take(third, 1, true).id);
    ASSERT_NE(live.back(), Arena::kNone);
  }
  EXPECT_EQ(arena.ring_bytes(), 2 * first);
}

TEST(ArenaDeathTest, AChunkIsReleasedOnce) {
  Arena arena(1024);
  const auto chunk = arena.take(64, 1, true);
  arena.release(chunk.id);
  EXPECT_DEATH(arena.release(chunk.id), "readers > 0");
}

}  // namespace
}  // namespace espalier::shm
