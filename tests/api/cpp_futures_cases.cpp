// The C++ layer's futures, coroutines and senders over operations of a job, whoever drives it.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "espalier/espalier.hpp"
#include "tests/api/cases.hpp"
#include "tests/support/cpp_check.hpp"

namespace test {
namespace cpp_futures_cases {
namespace {

using namespace std::chrono_literals;

// The sum of all ranks, in every element.
auto summing(esp::TeamRef world, std::vector<long>& data) {
  return [world, &data](esp::Notify done) {
    return world.allreduce_in_place_start(data, esp::kSum, std::move(done));
  };
}
long sum_of_ranks(esp::TeamRef world) {
  return static_cast<long>(world.size()) * (world.size() - 1) / 2;
}

void policies(esp::TeamRef world) {
  std::vector<long> a(100, world.rank()), b = a, c = a;
  const long sum = sum_of_ranks(world);
  esp::Future<> later = esp::launch(esp::kAsync, world, summing(world, a));
  esp::Future<> now = esp::launch(esp::kSync, world, summing(world, b));
  CHECK(now.is_ready(), "kSync");
  CHECK_EQ(b[99], sum, "kSync");
  esp::launch(esp::kFireAndForget, world, summing(world, c));
  CHECK_S(now.get());
  CHECK_S(later.get());
  CHECK(!later.valid(), "consumed");
  CHECK_EQ(a[99], sum, "kAsync");
  CHECK_S(world.barrier());  // It began later, and so ends later.
  { const esp::Future<> dropped = esp::launch(esp::kAsync, world, summing(world, b)); }
  CHECK_EQ(b[99], sum * world.size(), "the destructor has waited");
  esp::Future<> timed = esp::launch(esp::kAsync, world, summing(world, b));
  while (timed.wait_for(1ms).code() == ESP_ERR_TIMEOUT) {
  }
  CHECK(timed.is_ready(), "wait_for");
  CHECK_S(timed.get());
  CHECK_EQ(c[99], sum, "kFireAndForget");
  esp::Future<> wrong = esp::launch(esp::kAsync, world, [&](esp::Notify done) {
    std::vector<long> few(3), more(4);
    return world.allreduce_start(few, more, esp::kSum, std::move(done));
  });
  CHECK(wrong.is_ready(), "it was not started");
  const esp::Status status = wrong.get();
  CHECK_EQ(status.code(), ESP_ERR_ARGUMENT, "lengths differ");
  CHECK(std::string(status.text()).find("length") != std::string::npos, "{}", status.text());
}

// One operation after the other, none of which anybody waits for but the last.
void chains(esp::TeamRef world) {
  const int last = world.size() - 1;
  std::vector<long> data(3000, world.rank());
  std::string order;
  esp::Future<long> chain = esp::launch(esp::kAsync, world, summing(world, data))
                                .then([&] {
                                  order += 'a';
                                  return esp::launch(esp::kAsync, world, [&](esp::Notify done) {
                                    if (world.rank() == last) data.assign(data.size(), 7);
                                    return world.bcast_start(data, last, std::move(done));
                                  });
                                })
                                .then([&](esp::Status s) {
                                  order += s.ok() ? 'b' : '-';
                                  return esp::launch(esp::kAsync, world, summing(world, data));
                                })
                                .then([&] {
                                  order += 'c';
                                  return std::accumulate(data.begin(), data.end(), 0L);
                                });
  const esp::Result<long> sum = chain.get();
  CHECK_EQ(order, "abc", "in the order of the chain");
  CHECK_EQ(sum.ok() ? *sum : -1, 3000L * 7 * world.size(), "");
}

// Callbacks neither wait nor block: all of it is refused, and nothing is lost.
void refusals(const esp::Job& job) {
  const esp::TeamRef world = job.world();
  std::vector<long> data(10, world.rank());
  esp_status waited = ESP_OK, timed = ESP_OK, got = ESP_OK, ran = ESP_OK, blocked = ESP_OK;
  std::int64_t left = 1;
  // Not ready before the callback has returned: its operation needs this rank to go on.
  esp::Future<> other;
  CHECK_S(world.barrier_start(esp::Notify([&](esp_status) {
    other = esp::launch(esp::kAsync, world, summing(world, data));
    waited = other.wait().code();
    timed = other.wait_for(1ms).code();
    got = other.get().code();
    blocked = world.barrier().code();
    ran = esp::sync_wait(job, []() -> esp::Task<> { co_return; }()).code();
    __atomic_store_n(&left, 0, __ATOMIC_RELEASE);
  })));
  CHECK_S(job.wait_until(left, 0));
  // Alone, all of it has been done when it is started, but nobody is told inside the callback.
  CHECK_EQ(waited, ESP_ERR_STATE, "wait");
  CHECK_EQ(timed, ESP_ERR_STATE, "wait_for");
  CHECK_EQ(got, ESP_ERR_STATE, "get");
  CHECK_EQ(ran, ESP_ERR_STATE, "sync_wait");
  CHECK_EQ(blocked, ESP_ERR_STATE, "a blocking call");
  CHECK(other.valid(), "what could not be had is still there");
  CHECK_S(other.get());
  CHECK_EQ(data[9], sum_of_ranks(world), "");
}

// Continuations where the user wants them: on this thread, between turns of its own.
void executors(const esp::Job& job) {
  const esp::TeamRef world = job.world();
  std::atomic<bool> queued{false};
  std::deque<esp::Work> queue;
  const auto later = [&](esp::Work work) {
    queue.push_back(std::move(work));
    queued.store(true, std::memory_order_release);
  };
  std::vector<long> data(10, world.rank());
  std::thread::id where;
  esp::Status inside(ESP_ERR_STATE);
  esp::Future<> chain = esp::launch(esp::kAsync, world, summing(world, data)).then(later, [&] {
    where = std::this_thread::get_id();
    inside = world.barrier();  // It is no callback.
  });
  while (!queued.load(std::memory_order_acquire)) (void)job.progress();
  CHECK(!chain.is_ready(), "it waits in the queue");
  queue.front()();
  CHECK(where == std::this_thread::get_id(), "the caller's thread");
  CHECK_S(inside);
  CHECK_S(chain.get());
  // On a thread of its own, while this one waits.
  std::thread thread;
  std::atomic<bool> made{false};
  const auto spawn = [&](esp::Work work) {
    thread = std::thread(std::move(work));
    made.store(true);
    made.notify_one();
  };
  esp::Future<long> elsewhere =
      esp::launch(esp::kAsync, world, summing(world, data)).then(spawn, [&] { return data[0]; });
  CHECK_EQ(elsewhere.get().value(), sum_of_ranks(world) * world.size(), "");
  made.wait(false);
  thread.join();
}

// With a thread of the library any thread may wait, and attach while operations end.
void threads(esp::TeamRef world) {
  constexpr int kOperations = 50;
  std::vector<std::vector<long>> data(kOperations, std::vector<long>(20, world.rank()));
  std::vector<esp::Future<>> futures;
  for (auto& one : data) futures.push_back(esp::launch(esp::kAsync, world, summing(world, one)));
  std::vector<int> ended(2);
  const auto wait = [&](std::size_t first) {
    for (std::size_t i = first; i < kOperations; i += 2) {
      const auto sum = futures[i].then([&, i] { return data[i][19]; }).get();
      ended[first] += sum.ok() && *sum == sum_of_ranks(world);
    }
  };
  std::thread other([&] { wait(1); });
  wait(0);
  other.join();
  CHECK_EQ(ended[0] + ended[1], kOperations, "");
}

esp::Task<long> step(esp::TeamRef world, std::vector<long>& data) {
  esp::Request first = world.allreduce_in_place_start(data, esp::kSum).value();
  esp::Status status = co_await std::move(first);
  CHECK_S(status);
  status = co_await world.bcast_start(data, 0);
  CHECK_S(status);
  status = co_await esp::launch(esp::kAsync, world, summing(world, data));
  CHECK_S(status);
  co_return data[0];
}

esp::Task<long> steps(esp::TeamRef world) {
  std::vector<long> data(500, world.rank()), more(500, 1);
  const long sum = co_await step(world, data);
  CHECK_S(world.barrier());  // Tasks may block.
  // Two under way at once, whatever they report by.
  esp::Future<long> second =
      esp::launch(esp::kAsync, world, summing(world, more)).then([&] { return more[499]; });
  esp::Status status = co_await world.barrier_start();
  CHECK_S(status);
  const esp::Result<long> found = co_await std::move(second);
  CHECK_EQ(found.ok() ? *found : -1, static_cast<long>(world.size()), "");
  esp::PersistentRequest again = world.allreduce_in_place_init(more, esp::kMax).value();
  for (int round = 0; round < 3; ++round) {
    CHECK_S(again.start());
    status = co_await again;
    CHECK_S(status);
  }
  status = co_await world.bcast_start(data, -1);
  CHECK_EQ(status.code(), ESP_ERR_ARGUMENT, "what cannot be started");
  co_return sum;
}

void coroutines(const esp::Job& job) {
  const esp::Result<long> sum = esp::sync_wait(job, steps(job.world()));
  CHECK_EQ(sum.ok() ? *sum : -1, sum_of_ranks(job.world()) * job.size(), "");
}

void senders(const esp::Job& job) {
  struct Receiver {
    std::int64_t* left;
    esp_status* status;
    void end(esp_status how) const noexcept {
      *status = how;
      __atomic_store_n(left, 0, __ATOMIC_RELEASE);
    }
    void set_value() && noexcept { end(ESP_OK); }
    void set_error(esp::Status failure) && noexcept { end(failure.code()); }
    void set_stopped() && noexcept { end(ESP_ERR_CANCELED); }
  };
  std::vector<long> data(10, job.rank());
  std::int64_t left = 1;
  esp_status status = ESP_IN_PROGRESS;
  const auto sender = esp::sender(job.world(), summing(job.world(), data));
  auto operation = sender.connect(Receiver{&left, &status});
  operation.start();
  CHECK_S(job.wait_until(left, 0));
  CHECK_EQ(status, ESP_OK, "");
  CHECK_EQ(data[9], sum_of_ranks(job.world()), "");
}

}  // namespace
}  // namespace cpp_futures_cases

void cpp_futures(const Context& context) {
  // The job belongs to the harness: borrow it and let go in the end.
  struct Borrowed {
    alignas(esp::Job) unsigned char storage[sizeof(esp::Job)];
  } borrowed;
  const esp::Job& job = *new (borrowed.storage) esp::Job(context.job);
  cpp_futures_cases::policies(job.world());
  cpp_futures_cases::chains(job.world());
  cpp_futures_cases::refusals(job);
  cpp_futures_cases::executors(job);
  if (job.fd() < 0) cpp_futures_cases::threads(job.world());
  cpp_futures_cases::coroutines(job);
  cpp_futures_cases::senders(job);
}

}  // namespace test
