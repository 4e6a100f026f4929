#include "core/pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "core/prng.hpp"

namespace espalier {
namespace {

struct alignas(64) Wide {
  explicit Wide(int* alive_count) : alive(alive_count) { ++*alive; }
  ~Wide() { --*alive; }
  int* alive;
};

TEST(Pool, ConstructsDestroysAndAligns) {
  int alive = 0;
  Pool<Wide> pool({.objects_per_slab = 3, .objects_max = 100});
  std::vector<Wide*> objects;
  for (int i = 0; i < 10; ++i) {
    objects.push_back(pool.allocate(&alive));
    ASSERT_NE(objects.back(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(objects.back()) % 64, 0u);
    EXPECT_TRUE(pool.owns(objects.back()));
  }
  EXPECT_EQ(alive, 10);
  EXPECT_EQ(pool.in_use(), 10u);
  EXPECT_EQ(pool.capacity(), 12u);
  EXPECT_EQ(std::set<Wide*>(objects.begin(), objects.end()).size(), 10u);
  for (Wide* object : objects) pool.release(object);
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(pool.in_use(), 0u);
}

TEST(Pool, LimitIsReportedAndReleaseMakesRoom) {
  Pool<int> pool({.objects_per_slab = 2, .objects_max = 4});
  int* objects[4];
  for (int*& object : objects) ASSERT_NE(object = pool.allocate(1), nullptr);
  EXPECT_EQ(pool.allocate(1), nullptr);
  pool.release(objects[2]);
  EXPECT_EQ(pool.allocate(7), objects[2]);
  EXPECT_EQ(*objects[2], 7);
  for (int* object : objects) pool.release(object);
}

TEST(Pool, RandomUseNeverHandsOutAnObjectTwice) {
  Pool<std::uint64_t> pool({.objects_per_slab = 16, .objects_max = 256});
  Prng prng(3);
  std::vector<std::uint64_t*> live;
  for (std::uint64_t step = 0; step < 20000; ++step) {
    if (live.size() < 256 && (live.empty() || prng.chance(0.5))) {
      live.push_back(pool.allocate(step));
      ASSERT_NE(live.back(), nullptr);
      ASSERT_EQ(std::count(live.begin(), live.end(), live.back()), 1);
    } else {
      std::swap(live[prng.below(live.size())], live.back());
      ASSERT_LE(*live.back(), step);
      pool.release(live.back());
      live.pop_back();
    }
    ASSERT_EQ(pool.in_use(), live.size());
  }
  for (auto* object : live) pool.release(object);
}

TEST(PoolDeathTest, ObjectsMustBeBack) {
  EXPECT_DEATH(
      {
        Pool<int> pool;
        (void)pool.allocate(1);
      },
      "in_use_ == 0");
}

#ifdef ESP_POOL_POISON
TEST(PoolDeathTest, UseAfterReleaseIsFound) {
  Pool<std::uint64_t> pool;
  std::uint64_t* object = pool.allocate(1u);
  pool.release(object);
  EXPECT_DEATH(*const_cast<volatile std::uint64_t*>(object) = 2, "use-after-poison");
}
#endif

}  // namespace
}  // namespace espalier
