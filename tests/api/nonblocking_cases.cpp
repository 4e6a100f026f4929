// Non-blocking operations: every way to hear of their end, and many at once.
#include <atomic>
#include <vector>

#include "tests/api/cases.hpp"
#include "tests/support/collectives.hpp"

namespace test {
namespace {

int sum_of_ranks(int size) {
  return size * (size - 1) / 2;
}

// An allreduce of one int, with what it needs until it ends.
struct Sum {
  int input = 0;
  int output = -1;
  esp_request* request = nullptr;
};

void start(const Context& context, Sum& sum, int extra, const esp_notify* notify) {
  sum.input = context.rank + extra;
  sum.output = -1;
  CHECK_OK(esp_allreduce_start(context.world, &sum.input, &sum.output, 1, ESP_INT32, ESP_SUM,
                               nullptr, notify, notify == nullptr ? &sum.request : nullptr),
           context.world, "start {}", extra);
}

void check(const Context& context, const Sum& sum, int extra) {
  CHECK_EQ(sum.output, sum_of_ranks(context.size) + extra * context.size, "sum {}", extra);
  CHECK(sum.request == nullptr, "a completed request is not NULL");
}

void test_one(const Context& context) {
  Sum sum;
  start(context, sum, 1, nullptr);
  int done = 0;
  while (done == 0) {
    const esp_status status = esp_request_test(&sum.request, &done);
    CHECK(done != 0 ? status == ESP_OK : sum.request != nullptr, "{}", esp_status_text(status));
    if (status != ESP_OK && status != ESP_IN_PROGRESS) break;
  }
  check(context, sum, 1);
  CHECK_OK(esp_request_test(&sum.request, &done), context.world, "NULL counts as complete");
  CHECK_EQ(done, 1, "NULL counts as complete");
  CHECK_OK(esp_request_wait(&sum.request), context.world, "NULL counts as complete");
}

void wait_all(const Context& context) {
  std::vector<Sum> sums(40);
  std::vector<esp_request*> requests;
  for (int i = 0; i < 40; ++i) {
    start(context, sums[static_cast<std::size_t>(i)], i, nullptr);
    requests.push_back(std::exchange(sums[static_cast<std::size_t>(i)].request, nullptr));
  }
  requests.push_back(nullptr);
  CHECK_OK(esp_request_wait_all(requests.data(), requests.size()), context.world, "");
  for (esp_request* request : requests) CHECK(request == nullptr, "after wait_all");
  for (int i = 0; i < 40; ++i) check(context, sums[static_cast<std::size_t>(i)], i);
}

void wait_any(const Context& context) {
  std::vector<Sum> sums(10);
  std::vector<esp_request*> requests;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    start(context, sums[i], static_cast<int>(i), nullptr);
    requests.push_back(std::exchange(sums[i].request, nullptr));
  }
  for (std::size_t left = sums.size(); left > 0; --left) {
    int index = -2;
    CHECK_OK(esp_request_wait_any(requests.data(), requests.size(), &index), context.world, "");
    CHECK(index >= 0 && index < 10, "{}", index);
    if (index < 0 || index >= 10) return;
    const auto at = static_cast<std::size_t>(index);
    CHECK(requests[at] == nullptr, "the completed request is not NULL");
    CHECK(sums[at].output != -1, "request {} was reported twice or too early", index);
    check(context, sums[at], index);
    sums[at].output = -1;
  }
  int index = -2;
  CHECK_OK(esp_request_wait_any(requests.data(), requests.size(), &index), context.world, "");
  CHECK_EQ(index, -1, "all handles are NULL");
}

// Whatever the order in which they end: each once, with its result.
void wait_some(const Context& context) {
  std::vector<Sum> sums(12);
  std::vector<esp_request*> requests;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    start(context, sums[i], static_cast<int>(i), nullptr);
    requests.push_back(std::exchange(sums[i].request, nullptr));
  }
  std::vector<int> indices(sums.size());
  std::vector<esp_status> statuses(sums.size());
  std::size_t completed = 0, total = 0;
  while (total < sums.size() && g_failures == 0) {
    esp_status* const told = total % 2 == 0 ? statuses.data() : nullptr;
    statuses.assign(statuses.size(), ESP_ERR_INTERNAL);
    CHECK_OK(
        esp_request_wait_some(requests.data(), requests.size(), indices.data(), told, &completed),
        context.world, "");
    CHECK(completed > 0, "it has waited for one");
    for (std::size_t k = 0; k < completed; ++k) {
      const auto at = static_cast<std::size_t>(indices[k]);
      CHECK(requests[at] == nullptr && sums[at].output != -1, "request {} twice", at);
      if (told != nullptr) CHECK_EQ(statuses[k], ESP_OK, "request {}", at);
      check(context, sums[at], indices[k]);
      sums[at].output = -1;
    }
    total += completed;
  }
  CHECK_OK(
      esp_request_wait_some(requests.data(), requests.size(), indices.data(), nullptr, &completed),
      context.world, "");
  CHECK_EQ(completed, std::size_t{0}, "all handles are NULL");
}

// All is under way until the last member has entered it; what has ended is taken by test_all only
// with the rest.
void test_any_and_all(const Context& context) {
  Sum first, last;
  start(context, first, 0, nullptr);
  esp_request* requests[] = {nullptr, std::exchange(first.request, nullptr), nullptr};
  int index = -2, done = 0;
  esp_status status = ESP_IN_PROGRESS;
  while (done == 0) {
    status = esp_request_test_any(requests, 3, &index, &done);
    CHECK(done != 0 || (status == ESP_IN_PROGRESS && index == -1 && requests[1] != nullptr), "{}",
          esp_status_text(status));
  }
  CHECK_OK(status, context.world, "");
  CHECK(index == 1 && requests[1] == nullptr, "{}", index);
  check(context, first, 0);
  CHECK_OK(esp_request_test_any(requests, 3, &index, &done), context.world, "");
  CHECK(done == 1 && index == -1, "all handles are NULL");

  int value = context.rank;
  start(context, first, 1, nullptr);
  requests[0] = std::exchange(first.request, nullptr);
  // Rank 0 goes to the last one only when everybody has found it under way.
  if (context.rank != 0) start(context, last, 2, nullptr);
  requests[2] = std::exchange(last.request, nullptr);
  if (context.rank != 0) {
    status = esp_request_test_all(requests, 3, &done);
    CHECK(done == 0 && status == ESP_IN_PROGRESS, "rank 0 has not entered it");
    CHECK(requests[0] != nullptr && requests[2] != nullptr, "nothing is taken");
  }
  esp_team* const world = context.world;
  const int next = context.size > 1 ? (context.rank + 1) % context.size : 0;
  const int before = (context.rank + context.size - 1) % context.size;
  if (context.rank != 0) CHECK_OK(esp_recv(world, &value, sizeof value, before, 9), world, "");
  if (context.rank != 0) CHECK_OK(esp_send(world, &value, sizeof value, next, 9), world, "");
  if (context.rank == 0 && context.size > 1) {
    CHECK_OK(esp_send(world, &value, sizeof value, next, 9), world, "");
    CHECK_OK(esp_recv(world, &value, sizeof value, before, 9), world, "");
  }
  if (context.rank == 0) start(context, last, 2, nullptr);
  if (context.rank == 0) requests[2] = std::exchange(last.request, nullptr);
  do status = esp_request_test_all(requests, 3, &done);
  while (done == 0 && status == ESP_IN_PROGRESS);
  CHECK_OK(status, context.world, "");
  CHECK(requests[0] == nullptr && requests[2] == nullptr, "all are taken");
  check(context, first, 1);
  check(context, last, 2);
  CHECK_OK(esp_request_test_all(requests, 3, &done), context.world, "");
  CHECK_EQ(done, 1, "NULL counts as complete");
}

struct Fired {
  int times = 0;
  esp_status status = ESP_IN_PROGRESS;
};

void record(void* context, esp_status status) {
  auto* fired = static_cast<Fired*>(context);
  ++fired->times;
  fired->status = status;
}

void callbacks(const Context& context) {
  std::vector<Sum> sums(20);
  std::vector<Fired> fired(20);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const esp_notify notify{record, &fired[i], nullptr};
    start(context, sums[i], static_cast<int>(i), &notify);
    CHECK_EQ(fired[i].times, 0, "a callback ran inside the starting call");
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    while (fired[i].times == 0) (void)esp_progress(context.job);
    CHECK_EQ(fired[i].times, 1, "callback {}", i);
    CHECK_EQ(fired[i].status, ESP_OK, "callback {}", i);
    check(context, sums[i], static_cast<int>(i));
  }
}

// Each callback starts the next operation: a chain without a wait in it.
struct Chain {
  const Context* context;
  int value = 0;
  int left = 0;
  esp_status status = ESP_OK;
};

void next_link(void* raw, esp_status status) {
  auto* chain = static_cast<Chain*>(raw);
  if (status != ESP_OK) chain->status = status;
  if (--chain->left == 0 || chain->status != ESP_OK) return;
  const esp_notify notify{next_link, chain, nullptr};
  const esp_status started = esp_allreduce_start(chain->context->world, ESP_IN_PLACE, &chain->value,
                                                 1, ESP_INT32, ESP_MAX, nullptr, &notify, nullptr);
  if (started != ESP_OK) chain->status = started;
}

void callbacks_that_start(const Context& context) {
  Chain chain{&context, context.rank, 101};
  next_link(&chain, ESP_OK);
  while (chain.left > 0 && chain.status == ESP_OK) (void)esp_progress(context.job);
  CHECK_OK(chain.status, context.world, "chain");
  CHECK_EQ(chain.value, context.size - 1, "chain");
}

void counters(const Context& context) {
  std::vector<Sum> sums(30);
  std::int64_t pending = 30;
  const esp_notify notify{nullptr, nullptr, &pending};
  for (std::size_t i = 0; i < sums.size(); ++i)
    start(context, sums[i], static_cast<int>(i), &notify);
  CHECK_OK(esp_counter_wait(context.job, &pending, 25, 0), context.world, "to 25");
  CHECK(pending <= 25, "{}", pending);
  CHECK_OK(esp_counter_wait(context.job, &pending, 0, 0), context.world, "to 0");
  CHECK_EQ(pending, std::int64_t{0}, "");
  for (std::size_t i = 0; i < sums.size(); ++i) check(context, sums[i], static_cast<int>(i));
  std::int64_t never = 1;
  CHECK_EQ(esp_counter_wait(context.job, &never, 0, 0.02), ESP_ERR_TIMEOUT, "nobody counts down");
}

// Broadcasts from every root, reductions to every root and barriers, all under way together, with
// messages small and large.
void mixed(const Context& context) {
  constexpr std::size_t kCount = 3000;
  const auto size = static_cast<std::size_t>(context.size);
  std::vector<std::vector<int>> casts(size, std::vector<int>(kCount)), sums = casts;
  std::vector<int> mine(kCount, context.rank);
  std::vector<esp_request*> requests;
  for (int root = 0; root < context.size; ++root) {
    const auto at = static_cast<std::size_t>(root);
    if (root == context.rank) casts[at].assign(kCount, 1000 + root);
    requests.resize(requests.size() + 3, nullptr);
    esp_request** slots = &requests[requests.size() - 3];
    CHECK_OK(esp_bcast_start(context.world, casts[at].data(), kCount, ESP_INT32, root, nullptr,
                             nullptr, &slots[0]),
             context.world, "bcast {}", root);
    CHECK_OK(esp_reduce_start(context.world, mine.data(), sums[at].data(), kCount, ESP_INT32,
                              ESP_SUM, root, nullptr, nullptr, &slots[1]),
             context.world, "{}", root);
    CHECK_OK(esp_barrier_start(context.world, nullptr, nullptr, &slots[2]), context.world, "");
  }
  CHECK_OK(esp_request_wait_all(requests.data(), requests.size()), context.world, "mixed");
  for (int root = 0; root < context.size; ++root) {
    const auto at = static_cast<std::size_t>(root);
    CHECK_EQ(casts[at].back(), 1000 + root, "bcast from {}", root);
    if (root == context.rank) CHECK_EQ(sums[at].back(), sum_of_ranks(context.size), "reduce");
  }
}

}  // namespace

void nonblocking(const Context& context) {
  test_one(context);
  wait_all(context);
  wait_any(context);
  wait_some(context);
  test_any_and_all(context);
  callbacks(context);
  callbacks_that_start(context);
  counters(context);
  mixed(context);
}

}  // namespace test
