// Coroutines without a job: operations are Notifies that the test calls, from whichever thread.
#include <gtest/gtest.h>

#include <coroutine>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "espalier/espalier.hpp"

namespace {

static_assert(!std::is_copy_constructible_v<esp::Task<>>);

// A Future of an operation that ends when `notify` is called.
esp::Future<> under_way(esp_notify& notify) {
  return esp::launch(esp::kAsync, esp::TeamRef(nullptr), [&notify](esp::Notify told) {
    notify = *told.get();
    told.release();
    return esp::Status();
  });
}
void end(const esp_notify& notify, esp_status status = ESP_OK) {
  notify.callback(notify.context, status);
}

esp::Task<int> doubled(int value) {
  co_return 2 * value;
}
esp::Task<> throwing() {
  throw std::runtime_error("thrown");
  co_return;
}

TEST(Coroutine, TasksReturnAndThrowToWhoAwaitsThem) {
  const auto both = []() -> esp::Task<int> {
    const int first = co_await doubled(3);
    try {
      co_await throwing();
    } catch (const std::runtime_error&) {
      co_return 2 * first + 1;
    }
    co_return -1;
  };
  EXPECT_EQ(esp::sync_wait(nullptr, both()).value(), 13);
  EXPECT_THROW((void)esp::sync_wait(nullptr, throwing()), std::runtime_error);
  const auto fails = []() -> esp::Task<esp::Status> { co_return esp::Status(ESP_ERR_NETWORK); };
  EXPECT_EQ(esp::sync_wait(nullptr, fails()).code(), ESP_ERR_NETWORK);
  bool begun = false;
  {
    const auto idle = [&]() -> esp::Task<> {
      begun = true;
      co_return;
    };
    const esp::Task<> never = idle();
  }
  EXPECT_FALSE(begun);
}

esp::Task<int> statuses(std::vector<esp::Future<>> futures) {
  int sum = 0;
  for (esp::Future<>& one : futures) sum += (co_await std::move(one)).code();
  co_return sum;
}

// Ended before, while and after they are awaited, by another thread.
TEST(Coroutine, FuturesWakeTheWaiter) {
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<esp_notify> notifies(3);
    std::vector<esp::Future<>> futures;
    for (esp_notify& one : notifies) futures.push_back(under_way(one));
    std::jthread other([&] {
      for (const esp_notify& one : notifies) end(one, ESP_ERR_NETWORK);
    });
    EXPECT_EQ(esp::sync_wait(nullptr, statuses(std::move(futures))).value(), 3 * ESP_ERR_NETWORK);
  }
}

TEST(Coroutine, FuturesThrowToWhoAwaitsThem) {
  esp_notify notify;
  auto chain = under_way(notify).then([]() -> int { throw std::runtime_error("thrown"); });
  const auto waiting = [](esp::Future<int> future) -> esp::Task<int> {
    const esp::Result<int> found = co_await std::move(future);
    co_return *found;
  };
  end(notify);
  EXPECT_THROW((void)esp::sync_wait(nullptr, waiting(std::move(chain))), std::runtime_error);
  const auto empty = []() -> esp::Task<esp::Status> { co_return co_await esp::Future<>(); };
  EXPECT_EQ(esp::sync_wait(nullptr, empty()).code(), ESP_ERR_STATE);
}

// Somebody else's coroutine goes on where the future ends.
struct Detached {
  struct promise_type {
    Detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept {}
  };
};
Detached record(esp::Future<> future, std::thread::id& where) {
  if (const esp::Status s = co_await std::move(future); s.ok()) where = std::this_thread::get_id();
}

TEST(Coroutine, OthersAwaitFutures) {
  esp_notify notify;
  std::thread::id where;
  record(under_way(notify), where);
  EXPECT_EQ(where, std::thread::id());
  std::thread other([&] { end(notify); });
  const std::thread::id expected = other.get_id();
  other.join();
  EXPECT_EQ(where, expected);
}

}  // namespace
