// Arrivals and Partitions by themselves: threads that take while the owner appends, and that make
// ready while it looks; no memory is asked for on the way.
#include "api/arrivals.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "api/partitions.hpp"
#include "tests/support/allocations.hpp"

namespace espalier::api {
namespace {

BlockMap blocks_of(std::vector<std::uint64_t> lengths) {
  BlockMap map;
  for (const std::uint64_t length : lengths) map.begins.push_back(map.begins.back() + length);
  return map;
}

UserBlocks from_all(std::size_t blocks) {
  UserBlocks user;
  for (std::size_t b = 0; b < blocks; ++b) user.sources.push_back(static_cast<int>(b));
  return user;
}

Portion portion_at(const BlockMap& map, std::uint32_t block, std::uint64_t offset,
                   std::uint64_t bytes, const std::byte* memory) {
  Portion portion;
  portion.block = block;
  portion.offset = offset;
  portion.bytes = bytes;
  portion.data = memory + map.begins[block] + offset;
  return portion;
}

TEST(BlockMap, PartsStayInTheirBlocks) {
  const BlockMap map = blocks_of({3, 0, 5, 0, 2});
  struct Part {
    std::size_t block;
    std::uint64_t offset, bytes;
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;
  map.for_each_part(1, 8, [&](std::size_t b, std::uint64_t o, std::uint64_t n) {
    parts.push_back({b, o, n});
  });
  EXPECT_EQ(parts, (std::vector<Part>{{0, 1, 2}, {2, 0, 5}, {4, 0, 1}}));
  map.for_each_part(4, 0, [](std::size_t, std::uint64_t, std::uint64_t) { FAIL(); });
  const BlockMap nearly_equal = map_bytes(10, 4);
  EXPECT_EQ(nearly_equal.begins, (std::vector<std::uint64_t>{0, 3, 6, 8, 10}));
}

TEST(Arrivals, BlocksLandWhenTheirLastByteDoes) {
  const BlockMap map = blocks_of({8, 8, 4});
  std::vector<std::byte> memory(20);
  Arrivals arrivals(map, from_all(3), false);
  ASSERT_TRUE(arrivals.reserve(3));
  esp_segment segment;
  arrivals.land(portion_at(map, 0, 4, 12, memory.data()));  // the end of block 0, all of block 1
  EXPECT_EQ(arrivals.arrived(0), 0);
  EXPECT_EQ(arrivals.arrived(1), 1);
  EXPECT_EQ(arrivals.arrived(3), -1);
  ASSERT_TRUE(arrivals.take(segment));
  EXPECT_EQ(segment.block, 1);
  EXPECT_EQ(segment.source, 1);
  EXPECT_EQ(segment.address, memory.data() + 8);
  EXPECT_EQ(segment.bytes, 8U);
  EXPECT_FALSE(arrivals.take(segment));
  arrivals.land(portion_at(map, 0, 0, 4, memory.data()));
  ASSERT_TRUE(arrivals.take(segment));
  EXPECT_EQ(segment.address, memory.data());
  EXPECT_EQ(arrivals.arrived(0), 1);
  arrivals.begin_round();
  EXPECT_EQ(arrivals.arrived(0), 0);
  EXPECT_FALSE(arrivals.take(segment));
}

TEST(Arrivals, EachSegmentToOneOfManyTakers) {
  constexpr std::uint64_t kBlocks = 5000, kRounds = 3;
  const BlockMap map = blocks_of(std::vector<std::uint64_t>(kBlocks, 1));
  std::vector<std::byte> memory(kBlocks);
  Arrivals arrivals(map, from_all(kBlocks), true);
  ASSERT_TRUE(arrivals.reserve(kBlocks));
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    if (round > 0) arrivals.begin_round();
    std::vector<std::atomic<int>> taken(kBlocks);
    std::atomic<std::uint64_t> sum{0};
    std::vector<std::thread> takers;
    for (int t = 0; t < 3; ++t) {
      takers.emplace_back([&] {
        esp_segment segment;
        while (sum.load() < kBlocks) {
          if (!arrivals.take(segment)) {
            std::this_thread::yield();
            continue;
          }
          // What the owner wrote before it landed is there.
          EXPECT_EQ(memory[static_cast<std::size_t>(segment.block)], std::byte(round + 1));
          ++taken[static_cast<std::size_t>(segment.block)];
          ++sum;
        }
      });
    }
    const std::uint64_t before = test::allocations();
    for (std::uint32_t b = 0; b < kBlocks; ++b) {
      memory[b] = std::byte(round + 1);
      arrivals.land(portion_at(map, b, 0, 1, memory.data()));
    }
    EXPECT_EQ(test::allocations() - before, 0U) << "a segment asked for memory";
    for (std::thread& taker : takers) taker.join();
    for (std::uint64_t b = 0; b < kBlocks; ++b) ASSERT_EQ(taken[b].load(), 1) << "block " << b;
  }
}

TEST(Partitions, OpenByPartsAndByThreads) {
  const BlockMap whole = map_bytes(100, 1);
  std::vector<std::byte> input(100);
  Partitions partitions(whole, map_bytes(100, 10), input.data());
  int notices = 0;
  partitions.context = &notices;
  partitions.notice = [](void* count) noexcept { ++*static_cast<int*>(count); };
  const auto open = [&](std::uint64_t at, std::uint64_t bytes) {
    Portion portion;
    portion.at = at;
    portion.bytes = bytes;
    return partitions.is_open(portion);
  };
  EXPECT_TRUE(partitions.ready(3));
  EXPECT_FALSE(partitions.ready(3));
  EXPECT_TRUE(open(30, 10));
  EXPECT_FALSE(open(29, 2));
  EXPECT_FALSE(open(39, 2));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int p = t; p < 9; p += 3) {
        if (p == 3) continue;  // is ready
        EXPECT_TRUE(partitions.ready(p));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(open(0, 90));
  EXPECT_FALSE(partitions.all_open());
  EXPECT_EQ(partitions.first_closed(), 9);
  // What another operation brings opens what it covers, and nothing outside.
  partitions.landed(input.data() + 85, 8);
  EXPECT_EQ(notices, 0);
  partitions.landed(input.data() + 93, 200);
  EXPECT_EQ(notices, 1);
  EXPECT_TRUE(partitions.all_open());
  partitions.close_all();
  EXPECT_EQ(partitions.first_closed(), 0);
}

}  // namespace
}  // namespace espalier::api
