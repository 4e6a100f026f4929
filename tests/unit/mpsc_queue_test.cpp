#include "core/mpsc_queue.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "tests/unit/interleaver.hpp"

namespace espalier {
namespace {

TEST(MpscQueue, FirstInFirstOutThroughManyLaps) {
  auto made = MpscQueue<int>::create(3);
  ASSERT_TRUE(made.ok());
  MpscQueue<int>& queue = **made;
  EXPECT_EQ(queue.capacity(), 4u);
  int next_in = 0;
  int next_out = 0;
  for (int lap = 0; lap < 10; ++lap) {
    while (queue.try_push(next_in)) ++next_in;
    EXPECT_EQ(next_in - next_out, 4);
    int value = -1;
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(queue.empty());
      ASSERT_TRUE(queue.try_pop(value));
      EXPECT_EQ(value, next_out++);
    }
  }
  int value = -1;
  EXPECT_TRUE(queue.try_pop(value));
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.try_pop(value));
}

// Stress, for ThreadSanitizer above all: every value arrives once, each producer's in order.
TEST(MpscQueue, ManyProducers) {
  constexpr std::uint64_t kProducers = 4;
  constexpr std::uint64_t kEach = 20000;
  struct Item {
    std::uint64_t producer;
    std::uint64_t number;
    std::uint64_t check;
  };
  auto made = MpscQueue<Item>::create(64);
  ASSERT_TRUE(made.ok());
  std::vector<std::thread> producers;
  for (std::uint64_t p = 0; p < kProducers; ++p) {
    producers.emplace_back([&queue = **made, p] {
      for (std::uint64_t n = 0; n < kEach; ++n) {
        while (!queue.try_push({p, n, p ^ ~n})) std::this_thread::yield();
      }
    });
  }
  std::uint64_t next[kProducers] = {};
  for (std::uint64_t taken = 0; taken < kProducers * kEach;) {
    Item item{};
    if (!(*made)->try_pop(item)) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(item.check, item.producer ^ ~item.number);
    ASSERT_EQ(item.number, next[item.producer]++);
    ++taken;
  }
  for (std::thread& producer : producers) producer.join();
  EXPECT_TRUE((*made)->empty());
}

// Every schedule of two producers and the consumer with at most two preemptions, on a queue of two
// cells, so that laps and "full" happen, too.
TEST(MpscQueue, EverySchedule) {
  using Queue = MpscQueue<int, SteppedAtomic>;
  struct World {
    std::unique_ptr<Queue> queue = std::move(*Queue::create(2));
    std::vector<int> pushed[2];
    std::vector<int> popped;
  };
  std::optional<World> world;
  std::size_t full_count = 0;
  std::size_t wrapped_count = 0;
  const auto producer = [&](int id) {
    return [&world, &full_count, id] {
      for (int n = 0; n < 2; ++n) {
        const int value = id * 10 + n;
        if (world->queue->try_push(value)) {
          world->pushed[id].push_back(value);
        } else {
          ++full_count;
        }
      }
    };
  };
  const auto consumer = [&world] {
    int value = -1;
    for (int tries = 0; tries < 3; ++tries) {
      if (world->queue->try_pop(value)) world->popped.push_back(value);
    }
  };
  const std::size_t schedules = explore_schedules(
      {.preemptions_max = 2}, [&] { world.emplace(); }, {producer(0), producer(1), consumer},
      [&] {
        int value = -1;
        while (world->queue->try_pop(value)) world->popped.push_back(value);
        std::vector<int> popped_of[2];
        for (const int v : world->popped) popped_of[v / 10].push_back(v);
        EXPECT_EQ(popped_of[0], world->pushed[0]);
        EXPECT_EQ(popped_of[1], world->pushed[1]);
        if (world->popped.size() > 2) ++wrapped_count;
        return !testing::Test::HasFailure();
      });
  EXPECT_GT(schedules, 500u);
  EXPECT_GT(full_count, 0u) << "the schedules must reach a full queue";
  EXPECT_GT(wrapped_count, 0u) << "the schedules must reach a second lap";
}

}  // namespace
}  // namespace espalier
