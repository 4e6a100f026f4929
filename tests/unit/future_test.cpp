// Futures without a job: an operation is a Notify that the test calls, from whichever thread.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "espalier/espalier.hpp"

namespace {

using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<esp::Future<>>);
static_assert(std::is_nothrow_move_constructible_v<esp::Future<int>>);

// An operation under way, until end().
class Operation {
 public:
  esp::Future<> start() {
    return esp::launch(esp::kAsync, esp::TeamRef(nullptr), [this](esp::Notify notify) {
      told_ = *notify.get();
      notify.release();
      return esp::Status();
    });
  }
  void end(esp_status status = ESP_OK) const { told_.callback(told_.context, status); }

 private:
  esp_notify told_{};
};

esp::Future<> refused() {
  return esp::launch(esp::kSync, esp::TeamRef(nullptr), [](const esp::Notify&) {
    return esp::Status(ESP_ERR_ARGUMENT, "lengths differ");
  });
}

void ends_with_its_operation() {
  Operation operation;
  esp::Future<> future = operation.start();
  EXPECT_TRUE(future.valid());
  EXPECT_FALSE(future.is_ready());
  EXPECT_EQ(future.wait_for(1ms).code(), ESP_ERR_TIMEOUT);
  operation.end(ESP_ERR_CANCELED);
  EXPECT_TRUE(future.is_ready());
  EXPECT_TRUE(future.wait().ok());
  EXPECT_EQ(future.get().code(), ESP_ERR_CANCELED);
  EXPECT_FALSE(future.valid());
  EXPECT_EQ(future.get().code(), ESP_ERR_STATE);
  EXPECT_EQ(future.wait().code(), ESP_ERR_STATE);
}

void of_what_cannot_be_started() {
  esp::Future<> future = refused();
  EXPECT_TRUE(future.is_ready());
  const esp::Status status = future.get();
  EXPECT_EQ(status.code(), ESP_ERR_ARGUMENT);
  EXPECT_STREQ(status.text(), "lengths differ");
}

void in_the_order_of_the_chain() {
  for (const bool before : {true, false}) {
    Operation operation;
    std::string order;
    esp::Future<> started = operation.start();
    if (before) operation.end();
    esp::Future<std::string> last =
        started.then([&](esp::Status s) { order += s.ok() ? 'a' : '-'; })
            .then([&] {
              order += 'b';
              return 3;
            })
            .then([&](int n) { return std::string(static_cast<std::size_t>(n), 'c'); });
    EXPECT_FALSE(started.valid());
    EXPECT_EQ(last.is_ready(), before);
    if (!before) {
      EXPECT_EQ(order, "");
      operation.end();
    }
    EXPECT_EQ(order, "ab");
    EXPECT_EQ(last.get().value(), "ccc");
  }
}

void any_length_of_chain() {
  Operation operation;
  int steps = 0;
  esp::Future<> chain = operation.start();
  for (int i = 0; i < 100'000; ++i) chain = chain.then([&steps] { ++steps; });
  operation.end();
  EXPECT_TRUE(chain.get().ok());
  EXPECT_EQ(steps, 100'000);
}

void failures_go_on() {
  int skipped = 0;
  esp::Future<int> chain = refused().then([&] { ++skipped; }).then([&] { return ++skipped; });
  const esp::Result<int> failed = chain.get();
  EXPECT_EQ(failed.error().code, ESP_ERR_ARGUMENT);
  EXPECT_EQ(failed.error().text, "lengths differ");
  EXPECT_EQ(skipped, 0);
  const auto repair = [](const esp::Result<int>& found) { return found.ok() ? *found : -1; };
  EXPECT_EQ(refused().then([] { return 1; }).then(repair).get().value(), -1);
  const auto fail = [] { return esp::Result<int>(esp::Status(ESP_ERR_NETWORK, "gone")); };
  EXPECT_EQ(refused().then([](esp::Status) {}).then(fail).get().error().text, "gone");
  EXPECT_EQ(refused().then([](esp::Status s) { return s; }).get().code(), ESP_ERR_ARGUMENT);
}

void that_is_returned() {
  for (const bool inner_first : {true, false}) {
    Operation first, second;
    esp::Future<int> inner = second.start().then([] { return 5; });
    esp::Future<int> chain = first.start().then([&] { return std::move(inner); });
    (inner_first ? second : first).end();
    EXPECT_FALSE(chain.is_ready());
    (inner_first ? first : second).end();
    EXPECT_TRUE(chain.is_ready());
    EXPECT_EQ(chain.get().value(), 5);
  }
  EXPECT_EQ(refused().then([](esp::Status) { return esp::Future<>(); }).get().code(),
            ESP_ERR_STATE);
}

void empty_ones() {
  esp::Future<> empty;
  EXPECT_FALSE(empty.valid());
  EXPECT_FALSE(empty.is_ready());
  EXPECT_EQ(empty.then([](esp::Status s) { return s; }).get().code(), ESP_ERR_STATE);
  empty.detach();
}

TEST(Future, ExceptionsComeOutOfGet) {
  Operation operation;
  bool called = false;
  esp::Future<> chain =
      operation.start().then([] { throw std::runtime_error("thrown"); }).then([&](esp::Status) {
        called = true;
      });
  operation.end();
  EXPECT_TRUE(chain.is_ready());
  EXPECT_TRUE(chain.wait().ok());
  try {
    (void)chain.get();
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "thrown");
  }
  EXPECT_FALSE(called);
  EXPECT_FALSE(chain.valid());
}

// ---- nobody waits ----

struct Reports {
  static inline thread_local int failures = 0, exceptions = 0;
  static void count(esp::Status status, std::exception_ptr thrown) {  // NOLINT
    failures += status.code() == ESP_ERR_NETWORK;
    exceptions += thrown != nullptr;
  }
};

TEST(Future, ForgottenOnesFreeThemselvesAndReport) {
  Reports::failures = Reports::exceptions = 0;
  const auto held = std::make_shared<int>(0);
  const esp::FireAndForget policy{Reports::count};
  Operation operations[4];
  operations[0].start().then(policy, [held] {});
  operations[1].start().then(policy, [held] { throw std::runtime_error("thrown"); });
  operations[2].start().then([held] {}).detach(Reports::count);
  operations[3].start().then([held](esp::Status) { return 1; }).detach(Reports::count);
  EXPECT_EQ(held.use_count(), 5);
  for (const Operation& one : operations)
    one.end(&one == &operations[2] ? ESP_ERR_NETWORK : ESP_OK);
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(Reports::failures, 1);
  EXPECT_EQ(Reports::exceptions, 1);
  esp::launch(policy, esp::TeamRef(nullptr),
              [](const esp::Notify&) { return esp::Status(ESP_ERR_NETWORK); });
  EXPECT_EQ(Reports::failures, 2);
}

// ---- executors ----

void where_the_executor_says() {
  std::vector<std::function<void()>> queue;
  const auto later = [&](esp::Work work) { queue.emplace_back(std::move(work)); };
  Operation operation;
  int calls = 0;
  esp::Future<int> chain = operation.start().then(later, [&] { return ++calls; });
  operation.end();
  EXPECT_EQ(calls, 0);
  ASSERT_EQ(queue.size(), std::size_t{1});
  const std::function<void()> copy = queue[0];
  queue[0]();
  copy();  // the same piece
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(chain.get().value(), 1);
}

void dropped_work() {
  int calls = 0;
  const auto dropping = [](const esp::Work&) {};
  const auto throwing = [](const esp::Work&) { throw std::runtime_error("full"); };
  Operation first, second;
  esp::Future<> dropped = first.start().then(dropping, [&] { ++calls; });
  esp::Future<> thrown = second.start().then(throwing, [&] { ++calls; });
  first.end();
  second.end();
  EXPECT_EQ(dropped.get().code(), ESP_ERR_CANCELED);
  EXPECT_EQ(thrown.get().code(), ESP_ERR_CANCELED);
  EXPECT_EQ(calls, 0);
}

// ---- threads ----

// The continuation is attached while another thread ends the operation.
void attached_while_it_ends() {
  constexpr int kRounds = 500;
  std::vector<Operation> operations(kRounds);
  std::vector<esp::Future<>> futures;
  for (Operation& one : operations) futures.push_back(one.start());
  std::atomic<int> gone{0};
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      while (gone.load(std::memory_order_relaxed) < i) std::this_thread::yield();
      operations[static_cast<std::size_t>(i)].end();
    }
  });
  int sum = 0;  // not atomic: what a continuation writes is seen by whoever has waited
  for (int i = 0; i < kRounds; ++i) {
    gone.store(i, std::memory_order_relaxed);
    auto chain =
        futures[static_cast<std::size_t>(i)].then([&sum] { ++sum; }).then([] { return 1; });
    EXPECT_EQ(chain.get().value(), 1);
    EXPECT_EQ(sum, i + 1);
  }
  other.join();
}

// Waits on one thread, destructors, forgotten ones, while another thread ends them.
void waited_for_while_it_ends() {
  constexpr int kRounds = 300;
  std::vector<Operation> operations(kRounds);
  std::vector<esp::Future<>> futures;
  for (Operation& one : operations) futures.push_back(one.start());
  std::thread other([&] {
    for (Operation& one : operations) one.end();
  });
  std::atomic<int> calls{0};
  for (int i = 0; i < kRounds; ++i) {
    esp::Future<> future = std::move(futures[static_cast<std::size_t>(i)]);
    if (i % 3 == 0) {
      EXPECT_TRUE(future.get().ok());
    }
    if (i % 3 == 1) future.then(esp::kFireAndForget, [&] { ++calls; });
  }
  other.join();
  EXPECT_EQ(calls.load(), kRounds / 3);
}

// Work of an executor of threads, in chains of their own.
void chains_through_threads() {
  std::vector<std::thread> threads;
  const auto spawn = [&](esp::Work work) { threads.emplace_back(std::move(work)); };
  Operation operation;
  int value = 1;
  esp::Future<int> chain =
      operation.start().then(spawn, [&] { value *= 10; }).then([&] { return value + 5; });
  operation.end();
  EXPECT_EQ(chain.get().value(), 15);
  for (std::thread& one : threads) one.join();
}

TEST(Future, EndsWithItsOperation) {
  ends_with_its_operation();
  of_what_cannot_be_started();
  empty_ones();
}

TEST(Future, ContinuationsFollowEachOther) {
  in_the_order_of_the_chain();
  any_length_of_chain();
  failures_go_on();
  that_is_returned();
}

TEST(Future, ContinuationsRunWhereTheExecutorSays) {
  where_the_executor_says();
  dropped_work();
}

TEST(Future, ThreadsEndWhatOthersWaitFor) {
  attached_while_it_ends();
  waited_for_while_it_ends();
  chains_through_threads();
}

}  // namespace
