// What a waiter drives besides: it is called while a wait finds nothing, often enough, by blocking
// calls of all kinds, not inside operations that find what they need, and may not block itself.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/api/cases.hpp"
#include "tests/support/collectives.hpp"

namespace test {
namespace {

struct Work {
  const Context& context;
  std::atomic<int> calls{0};
  std::atomic<int> found{0};  // answers this
  esp_status refused = ESP_OK;
};

int count(void* context) {
  auto& work = *static_cast<Work*>(context);
  work.calls.fetch_add(1, std::memory_order_relaxed);
  return work.found.load(std::memory_order_relaxed);
}

int block(void* context) {
  auto& work = *static_cast<Work*>(context);
  if (work.refused == ESP_OK) work.refused = esp_barrier(work.context.world);
  return 0;
}

void set(const Context& context, esp_idle_function function, void* with) {
  CHECK_OK(esp_job_set_idle(context.job, function, with), context.world, "");
}

constexpr auto kLate = std::chrono::milliseconds(60);

// The last rank comes late to each of these; the others must have been called meanwhile.
template <typename Call>
void called_while(const Context& context, const char* what, Call&& call, int found = 0) {
  CHECK_OK(esp_barrier(context.world), context.world, "{}", what);
  Work work{context};
  work.found = found;
  set(context, &count, &work);
  const bool late = context.rank == context.size - 1;
  if (late) std::this_thread::sleep_for(kLate);
  call(late);
  set(context, nullptr, nullptr);
  // At least every millisecond is some sixty times; a busy machine may take most of them away.
  if (!late) CHECK(work.calls >= 5, "{}: {} calls in 60 ms", what, work.calls.load());
}

void calls_that_wait(const Context& context) {
  const int last = context.size - 1;
  int value = context.rank;
  std::vector<int> large(500'000, context.rank);
  called_while(context, "barrier",
               [&](bool) { CHECK_OK(esp_barrier(context.world), context.world, ""); });
  called_while(context, "bcast", [&](bool) {
    CHECK_OK(esp_bcast(context.world, &value, 1, ESP_INT32, last), context.world, "");
    CHECK_EQ(value, last, "");
  });
  called_while(context, "large allreduce", [&](bool) {
    CHECK_OK(
        esp_allreduce(context.world, ESP_IN_PLACE, large.data(), large.size(), ESP_INT32, ESP_SUM),
        context.world, "");
    CHECK_EQ(large.back(), context.size * last / 2, "");
  });
  // What it answers keeps the waiter from sleeping, not from seeing that it may go on.
  const auto barrier = [&](bool) { CHECK_OK(esp_barrier(context.world), context.world, ""); };
  called_while(context, "barrier", barrier);
  called_while(context, "busy", barrier, 1);
  called_while(context, "request", [&](bool) {
    esp_request* request = nullptr;
    CHECK_OK(esp_barrier_start(context.world, nullptr, nullptr, &request), context.world, "");
    CHECK_OK(esp_request_wait(&request), context.world, "");
  });
  called_while(context, "message", [&](bool late) {
    if (!late) {
      CHECK_OK(esp_tag_recv(context.world, &value, 1, ESP_INT32, last, 1, ESP_TAG_EXACT, nullptr),
               context.world, "");
    }
    for (int r = 0; late && r < last; ++r) {
      CHECK_OK(esp_tag_send(context.world, &value, 1, ESP_INT32, r, 1), context.world, "");
    }
  });
}

// A waiter that finds nothing for long sleeps, and is called all the same. How often is the
// machine's to say; that it is not every 100 ms, as without it, can be told.
void called_often(const Context& context) {
  CHECK_OK(esp_barrier(context.world), context.world, "");
  Work work{context};
  set(context, &count, &work);
  const bool late = context.rank == context.size - 1;
  if (late) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK_OK(esp_barrier(context.world), context.world, "");
  set(context, nullptr, nullptr);
  if (!late) CHECK(work.calls >= 30, "{} calls in 300 ms", work.calls.load());
}

void may_not_block(const Context& context) {
  Work work{context};
  set(context, &block, &work);
  if (context.rank == context.size - 1) std::this_thread::sleep_for(kLate);
  CHECK_OK(esp_barrier(context.world), context.world, "");
  set(context, nullptr, nullptr);
  if (context.rank != context.size - 1) CHECK_EQ(work.refused, ESP_ERR_STATE, "inside");
  CHECK_OK(esp_barrier(context.world), context.world, "");
}

}  // namespace

void idle(const Context& context) {
  CHECK_EQ(esp_job_set_idle(nullptr, nullptr, nullptr), ESP_ERR_ARGUMENT, "no job");
  if (context.size == 1) return;
  calls_that_wait(context);
  called_often(context);
  const char* threaded = std::getenv("ESPALIER_PROGRESS_THREAD");
  if (threaded == nullptr || *threaded == '0') may_not_block(context);
}

}  // namespace test
