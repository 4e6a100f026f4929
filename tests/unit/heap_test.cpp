// The allocator behind esp_alloc.
#include "shm/heap.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <vector>

#include "core/prng.hpp"

namespace espalier::shm {
namespace {

TEST(Heap, RandomAllocationsDoNotOverlapAndMergeAgain) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Prng prng(seed);
    std::vector<std::byte> memory(64 << 10);
    Heap heap(memory.data(), memory.size());
    std::map<std::byte*, std::uint64_t> live;
    for (int i = 0; i < 5000; ++i) {
      if (prng.chance(0.6)) {
        const std::uint64_t bytes = prng.below(4000);
        auto* p = static_cast<std::byte*>(heap.allocate(bytes));
        if (p == nullptr) continue;
        ASSERT_EQ(static_cast<std::uint64_t>(p - memory.data()) % Heap::kAlign, 0U);
        ASSERT_LE(p + bytes, memory.data() + memory.size());
        const auto after = live.lower_bound(p);
        if (after != live.end()) {
          ASSERT_LE(p + std::max<std::uint64_t>(bytes, 1), after->first);
        }
        if (after != live.begin()) {
          ASSERT_LE(std::prev(after)->first + std::prev(after)->second, p);
        }
        live[p] = std::max<std::uint64_t>(bytes, 1);
        ASSERT_TRUE(heap.owns(p));
      } else if (!live.empty()) {
        auto any = live.begin();
        std::advance(any, static_cast<std::ptrdiff_t>(prng.below(live.size())));
        ASSERT_TRUE(heap.release(any->first));
        live.erase(any);
      }
    }
    for (const auto& [p, bytes] : live) ASSERT_TRUE(heap.release(p));
    EXPECT_EQ(heap.used(), 0U);
    EXPECT_NE(heap.allocate(memory.size()), nullptr) << "free ranges were not merged";
  }
}

TEST(Heap, WhatItDoesNotOwnIsRefused) {
  std::vector<std::byte> memory(4096);
  Heap heap(memory.data(), memory.size());
  void* p = heap.allocate(100);
  ASSERT_NE(p, nullptr);
  EXPECT_FALSE(heap.release(static_cast<std::byte*>(p) + 1));
  EXPECT_FALSE(heap.release(&heap));
  EXPECT_FALSE(heap.release(nullptr));
  EXPECT_TRUE(heap.release(p));
  EXPECT_FALSE(heap.release(p)) << "a second time";
  EXPECT_EQ(heap.allocate(4097), nullptr);
  EXPECT_EQ(heap.allocate(std::numeric_limits<std::uint64_t>::max()), nullptr);
}

TEST(Heap, AHeapOfNothingHasNothing) {
  Heap heap(nullptr, 0);
  EXPECT_EQ(heap.allocate(0), nullptr);
}

}  // namespace
}  // namespace espalier::shm
