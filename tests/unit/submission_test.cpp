// What threads hand to the owner of a worker, and where they wait: submissions, latches, event
// counts, pools of all threads, the place of a thread.
#include "core/submission.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "core/event_count.hpp"
#include "core/latch.hpp"
#include "core/mpsc_queue.hpp"
#include "core/shared_pool.hpp"
#include "core/thread_place.hpp"
#include "tests/unit/interleaver.hpp"

namespace espalier {
namespace {

static_assert(MpscQueue<Submission>::cell_bytes() == 128, "two lines, none of them shared");

TEST(Submission, CarriesWhatItNeeds) {
  std::array<std::uint64_t, 13> values = {};
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < values.size(); ++i) values[i] = i;
  const auto work = [values, &sum] {
    for (const std::uint64_t value : values) sum += value;
  };
  static_assert(sizeof work == Submission::kBytes);
  Submission original(work);
  values = {};
  Submission copy = original;
  original.run();
  copy.run();
  EXPECT_EQ(sum, 2 * 78U);
}

// From several threads through the queue, none lost and none twice.
TEST(Submission, ManyProducers) {
  constexpr int kProducers = 4, kEach = 20'000;
  auto queue = std::move(*MpscQueue<Submission>::create(64));
  std::array<int, kProducers> next = {};
  bool in_order = true;
  std::vector<std::jthread> producers;
  for (std::size_t p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      for (int n = 0; n < kEach; ++n) {
        const Submission work([&next, &in_order, p, n] { in_order = in_order && next[p]++ == n; });
        while (!queue->try_push(work)) std::this_thread::yield();
      }
    });
  }
  int taken = 0;
  for (Submission work; taken < kProducers * kEach;) {
    if (!queue->try_pop(work)) {
      std::this_thread::yield();
      continue;
    }
    work.run();
    ++taken;
  }
  EXPECT_TRUE(in_order);
  EXPECT_TRUE(queue->empty());
}

TEST(Latch, LetsItsWaiterGoOnce) {
  for (int turn = 0; turn < 200; ++turn) {
    int result = 0;
    std::optional<Latch> latch(std::in_place);
    std::jthread opener([&result, &there = *latch, turn] {
      if (turn % 2 == 0) std::this_thread::yield();
      result = turn;
      there.open();
    });
    while (!latch->is_open()) latch->sleep(1'000'000'000);
    EXPECT_EQ(result, turn);
    opener.join();
    latch.reset();
  }
  Latch never;
  never.sleep(1'000'000);  // has an end
  EXPECT_FALSE(never.is_open());
}

TEST(EventCount, WakesWhoLooks) {
  EventCount events;
  std::atomic<int> news{0};
  std::jthread teller([&] {
    for (int i = 0; i < 100; ++i) {
      news.fetch_add(1, std::memory_order_release);
      events.announce();
      if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  std::vector<std::jthread> waiters;
  for (int w = 0; w < 3; ++w) {
    waiters.emplace_back([&] {
      const auto all_there = [&] { return news.load(std::memory_order_acquire) == 100; };
      while (!all_there()) events.wait(all_there, 10'000'000'000);
    });
  }
}

TEST(SharedPool, GivesEachObjectToOne) {
  struct Object {
    std::uint64_t owner = 0;
  };
  SharedPool<Object> pool;
  std::set<Object*> all;
  for (int i = 0; i < 1000; ++i) {
    Object* object = pool.allocate();
    ASSERT_NE(object, nullptr);
    EXPECT_TRUE(all.insert(object).second);
  }
  for (Object* object : all) pool.release(object);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(all.erase(pool.allocate()), 1U);
}

TEST(SharedPool, ManyThreads) {
  struct Object {
    std::uint64_t owner = 0, check = 0;
  };
  SharedPool<Object> pool;
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&pool, t] {
      std::vector<Object*> held;
      for (std::uint64_t turn = 0; turn < 5000; ++turn) {
        Object* object = pool.allocate();
        ASSERT_NE(object, nullptr);
        *object = {t, t ^ turn};
        held.push_back(object);
        if (held.size() < turn % 90) continue;
        for (Object* one : held) {
          ASSERT_EQ(one->owner, t);
          pool.release(one);
        }
        held.clear();
      }
    });
  }
}

// Every schedule of a thread that takes two and gives the first back, and two that take and keep
// one: no object is with two of them, although the same one is on top again.
TEST(SharedPool, EverySchedule) {
  struct Object {
    int holders = 0;
  };
  using Stepped = SharedPool<Object, SteppedAtomic>;
  std::optional<Stepped> pool;
  std::vector<Object*> kept;
  const auto taker = [&] {
    Object* one = pool->allocate();
    kept.push_back(pool->allocate());
    pool->release(one);
  };
  const auto keeper = [&] { kept.push_back(pool->allocate()); };
  const std::size_t schedules = explore_schedules(
      {.preemptions_max = 2},
      [&] {
        kept.clear();
        pool.emplace();
        pool->release(pool->allocate());  // The first slab is there.
      },
      {taker, keeper, keeper},
      [&] {
        std::set<Object*> all(kept.begin(), kept.end());
        for (std::size_t i = kept.size(); i < 64; ++i) all.insert(pool->allocate());
        EXPECT_EQ(all.size(), 64U) << "a cell is lost, or there twice";
        return !testing::Test::HasFailure();
      });
  EXPECT_GT(schedules, 300U);
}

// ---- the place of a thread ----

ThreadPlace placed(const ThreadSurroundings& caller, std::string_view rule) {
  auto place = place_beside(caller, rule);
  EXPECT_TRUE(place.ok());
  return place ? *place : ThreadPlace{};
}

TEST(ThreadPlace, BesideTheCaller) {
  using Cpus = std::vector<int>;
  const Cpus node = {0, 1, 2, 3, 8, 9, 10, 11};
  // Bound to a core with two hardware threads: the other one.
  EXPECT_EQ(placed({1, {1, 9}, {1, 9}, node}, "auto").cpus, Cpus{9});
  EXPECT_EQ(placed({9, {1, 9}, {1, 9}, node}, "auto").cpus, Cpus{1});
  // To one processor: there is nowhere else to go.
  EXPECT_EQ(placed({1, {1}, {1, 9}, node}, "auto").cpus, Cpus{1});
  // But by order.
  EXPECT_EQ(placed({1, {1}, {1, 9}, node}, "sibling").cpus, Cpus{9});
  // Not bound: its NUMA node, as far as it may be used, but its own processor, if there are enough.
  const Cpus some = {1, 2, 3, 4, 5};
  EXPECT_EQ(placed({2, some, {2, 10}, node}, "auto").cpus, (Cpus{1, 3}));
  EXPECT_EQ(placed({2, some, {2, 10}, node, true}, "auto").cpus, (Cpus{1, 2, 3}));
  // To two cores of one hardware thread each.
  EXPECT_EQ(placed({2, {2, 3}, {2}, node}, "auto").cpus, Cpus{3});
  // To one of its node, and others elsewhere.
  EXPECT_EQ(placed({2, {2, 4}, {2}, node}, "auto").cpus, Cpus{4});
  // Where nothing is known.
  EXPECT_EQ(placed({2, {2, 3, 4}, {2}, {}}, "auto").cpus, (Cpus{3, 4}));
  EXPECT_EQ(placed({2, {2, 3}, {2}, node}, "off").cpus, Cpus{});
  EXPECT_EQ(placed({2, {2, 3}, {2}, node}, "5,7-8").cpus, (Cpus{5, 7, 8}));
  EXPECT_NE(placed({1, {1, 9}, {1, 9}, node}, "auto").text.find("processor 9, of the core"),
            std::string::npos);
}

TEST(ThreadPlace, RefusesNonsense) {
  for (const char* rule : {"", "none", "3-", "-1", "auto,3"}) {
    const auto place = place_beside({0, {0}, {0}, {0}}, rule);
    ASSERT_FALSE(place.ok()) << rule;
    EXPECT_EQ(place.error().status.code(), ESP_ERR_CONFIG);
  }
  const auto alone = place_beside({3, {3}, {3}, {}}, "sibling");
  ASSERT_FALSE(alone.ok());
  EXPECT_NE(alone.error().text.find("processor 3 has one hardware thread"), std::string::npos);
}

TEST(ThreadPlace, ThisThread) {
  const ThreadSurroundings here = current_surroundings();
  EXPECT_FALSE(here.allowed.empty());
  EXPECT_NE(std::find(here.allowed.begin(), here.allowed.end(), here.cpu), here.allowed.end());
  EXPECT_NE(std::find(here.siblings.begin(), here.siblings.end(), here.cpu), here.siblings.end());
}

}  // namespace
}  // namespace espalier
