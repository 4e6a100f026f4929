#include "net/buffer_pool.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/prng.hpp"

namespace espalier::net {
namespace {

TEST(BufferPool, GivesBackTheSameMemoryForTheSameSize) {
  BufferPool pool(1 << 20);
  std::byte* first = pool.take(1000);
  pool.give(first);
  EXPECT_EQ(pool.take(1024), first);
  std::byte* second = pool.take(1024);
  EXPECT_NE(second, first);
  EXPECT_EQ(pool.in_use_bytes(), 2048U);
  pool.give(first);
  EXPECT_EQ(pool.take(513), first);
  std::byte* small = pool.take(1);
  EXPECT_EQ(pool.in_use_bytes(), 2048U + 256U);
  for (std::byte* block : {first, second, small}) pool.give(block);
}

TEST(BufferPool, KeepsNoMoreThanItsLimit) {
  BufferPool pool(10'000);
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(pool.take(1024));
  for (std::byte* block : blocks) pool.give(block);
  EXPECT_EQ(pool.in_use_bytes(), 0U);
  EXPECT_LE(pool.kept_bytes(), 10'000U);
  EXPECT_GT(pool.kept_bytes(), 8'000U);
}

TEST(BufferPool, GivesNoMoreThanItsBound) {
  BufferPool pool(1 << 20, 4096);
  std::byte* first = pool.take(2048);
  std::byte* second = pool.take(1024);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(pool.take(1025), nullptr) << "a block of 2048";
  std::byte* third = pool.take(1024);
  ASSERT_NE(third, nullptr);
  EXPECT_EQ(pool.take(1), nullptr);
  EXPECT_EQ(pool.in_use_bytes(), 4096U);
  pool.give(first);
  pool.bound(2048);
  EXPECT_EQ(pool.take(1), nullptr) << "what is kept does not count, what is in use does";
  pool.give(second);
  EXPECT_EQ(pool.take(1000), second);
  for (std::byte* block : {second, third}) pool.give(block);
}

TEST(BufferPool, BlocksAreAlignedAndDoNotOverlap) {
  BufferPool pool(1 << 22);
  struct Block {
    std::byte* memory;
    std::size_t bytes;
    int value;
  };
  std::vector<Block> blocks;
  Prng prng(3);
  for (int i = 0; i < 2000; ++i) {
    if (!blocks.empty() && prng.chance(0.45)) {
      const std::size_t at = prng.below(blocks.size());
      for (std::size_t b = 0; b < blocks[at].bytes; ++b) {
        ASSERT_EQ(std::to_integer<int>(blocks[at].memory[b]), blocks[at].value);
      }
      pool.give(blocks[at].memory);
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(at));
      continue;
    }
    const std::size_t bytes = prng.below(5000);
    std::byte* memory = pool.take(bytes);
    ASSERT_NE(memory, nullptr);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0U);
    std::memset(memory, i % 251, bytes);
    blocks.push_back({memory, bytes, i % 251});
  }
  for (const Block& block : blocks) pool.give(block.memory);
}

TEST(BufferPool, AnAbsurdSizeIsRefused) {
  BufferPool pool(0);
  EXPECT_EQ(pool.take(~0ULL), nullptr);
  EXPECT_EQ(pool.take(1ULL << 62), nullptr);
  EXPECT_EQ(pool.in_use_bytes(), 0U);
}

}  // namespace
}  // namespace espalier::net
