#include "core/timer_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "core/prng.hpp"

namespace espalier {
namespace {

struct TestTimer : Timer {
  explicit TestTimer(std::function<void(std::uint64_t)> what)
      : Timer([](Timer& self, std::uint64_t now_ns) noexcept {
          static_cast<TestTimer&>(self).action(now_ns);
        }),
        action(std::move(what)) {}
  std::function<void(std::uint64_t)> action;
};

TEST(TimerQueue, RunsInOrderOfDeadlineThenOfAdding) {
  TimerQueue queue;
  std::vector<int> ran;
  std::deque<TestTimer> timers;
  const std::uint64_t deadlines[] = {30, 10, 20, 10, 40};
  for (int i = 0; i < 5; ++i) {
    queue.add(timers.emplace_back([&ran, i](std::uint64_t) { ran.push_back(i); }), deadlines[i]);
  }
  EXPECT_EQ(queue.next_deadline_ns(), 10u);
  EXPECT_EQ(queue.run_expired(9), 0u);
  EXPECT_EQ(queue.run_expired(30), 4u);
  EXPECT_EQ(ran, (std::vector<int>{1, 3, 2, 0}));
  EXPECT_EQ(queue.next_deadline_ns(), 40u);
  queue.cancel(timers[4]);
  EXPECT_EQ(queue.next_deadline_ns(), kNever);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.run_expired(100), 0u);
}

TEST(TimerQueue, NeverNeverExpires) {
  TimerQueue queue;
  TestTimer timer([](std::uint64_t) { ADD_FAILURE(); });
  queue.add(timer, kNever);
  EXPECT_EQ(queue.run_expired(kNever), 0u);
  EXPECT_FALSE(queue.empty());
  queue.cancel(timer);
}

TEST(TimerQueue, CallbacksMayAddThemselvesAgainWithoutEnd) {
  TimerQueue queue;
  int ran = 0;
  TestTimer timer([&](std::uint64_t) {
    ++ran;
    queue.add(timer, 0);
  });
  queue.add(timer, 5);
  EXPECT_EQ(queue.run_expired(5), 1u);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(queue.run_expired(5), 1u);
  queue.cancel(timer);
}

TEST(TimerQueue, CallbacksMayCancelOthersThatAreAboutToRun) {
  TimerQueue queue;
  TestTimer second([](std::uint64_t) { ADD_FAILURE() << "was cancelled"; });
  TestTimer first([&](std::uint64_t now_ns) {
    EXPECT_EQ(now_ns, 7u);
    EXPECT_TRUE(first.idle());
    EXPECT_FALSE(second.idle());
    queue.cancel(second);
  });
  queue.add(first, 1);
  queue.add(second, 2);
  EXPECT_EQ(queue.run_expired(7), 1u);
  EXPECT_TRUE(queue.empty());
}

TEST(TimerQueueDeathTest, BusyTimersMustNotDie) {
  EXPECT_DEATH(
      {
        TimerQueue queue;
        TestTimer timer([](std::uint64_t) {});
        queue.add(timer, 1);
      },
      "idle");
}

// Against a sorted list: random adds, cancels and runs.
TEST(TimerQueue, AgreesWithASortedList) {
  constexpr std::size_t kTimers = 200;
  Prng prng(11);
  TimerQueue queue;
  std::vector<std::size_t> ran;
  std::deque<TestTimer> timers;
  for (std::size_t i = 0; i < kTimers; ++i) {
    timers.emplace_back([&ran, i](std::uint64_t) { ran.push_back(i); });
  }
  std::vector<std::pair<std::uint64_t, std::size_t>> model;  // (deadline, timer), order of adding
  std::uint64_t now = 0;
  std::size_t total = 0;
  for (int step = 0; step < 20000; ++step) {
    const std::size_t i = prng.below(kTimers);
    if (timers[i].idle()) {
      model.emplace_back(now + prng.below(50), i);
      queue.add(timers[i], model.back().first);
    } else if (prng.chance(0.3)) {
      queue.cancel(timers[i]);
      std::erase_if(model, [i](const auto& entry) { return entry.second == i; });
    }
    if (prng.chance(0.2)) {
      now += prng.below(20);
      std::stable_sort(model.begin(), model.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      std::vector<std::size_t> expected;
      for (const auto& [deadline, timer] : model) {
        if (deadline <= now) expected.push_back(timer);
      }
      std::erase_if(model, [now](const auto& entry) { return entry.first <= now; });
      ran.clear();
      ASSERT_EQ(queue.run_expired(now), expected.size());
      // The model's stable sort keeps the order of adding only among entries that were never
      // reordered before, which holds: sorting by deadline never swaps equal ones.
      ASSERT_EQ(ran, expected) << "step " << step;
      total += ran.size();
    }
    std::uint64_t earliest = kNever;
    for (const auto& [deadline, timer] : model) earliest = std::min(earliest, deadline);
    ASSERT_EQ(queue.next_deadline_ns(), earliest);
  }
  EXPECT_GT(total, 1000u);
  for (TestTimer& timer : timers) queue.cancel(timer);
}

TEST(IntrusiveList, OrderRemovalAndWalk) {
  struct Item : ListNode {
    explicit Item(int n) : number(n) {}
    int number;
  };
  IntrusiveList<Item> list;
  Item a(1), b(2), c(3);
  EXPECT_EQ(list.front(), nullptr);
  list.push_back(b);
  list.push_back(c);
  list.push_front(a);
  std::vector<int> seen;
  for (Item* item = list.front(); item != nullptr; item = list.after(*item)) {
    seen.push_back(item->number);
  }
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 3}));
  b.unlink();
  EXPECT_FALSE(b.linked());
  EXPECT_EQ(list.pop_front(), &a);
  EXPECT_EQ(list.back(), &c);
  EXPECT_EQ(list.pop_front(), &c);
  EXPECT_EQ(list.pop_front(), nullptr);
}

}  // namespace
}  // namespace espalier
