// stream_probe CASE...: calls that are ordered with a stream of the program's, as one rank of a
// job. What the calls read comes by copies that are still in the stream when they are made, and
// what comes of them is read by copies that are put there behind them. DEVICE_LIBRARY names the
// driver's library; THREADED: with a progress thread.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/device/jobs/device_memory.hpp"
#include "tests/support/rank_check.hpp"

namespace test {
namespace {

Device* g_device = nullptr;  // nullptr: no driver is loaded
// What a case has left in a stream, for the time after the job.
void* g_left_stream = nullptr;
void* g_left_event = nullptr;
std::int64_t g_left_counter = 1;

bool is_threaded() {
  return std::getenv("THREADED") != nullptr;
}

// A stream, and a call's buffers: on the device, or registered memory of the host.
class Work {
 public:
  explicit Work(std::size_t count, bool on_host = false)
      : count_(count), stream(g_device->make_stream()), event(g_device->make_event()) {
    given_ = numbers(g_device->allocate_host(bytes()));
    came_ = numbers(g_device->allocate_host(bytes()));
    input = memory(on_host);
    middle_ = memory(on_host);
    output = memory(on_host);
    options = ESP_COLL_OPTIONS_INIT;
    options.stream = stream;
    options.event = event;
  }

  // Under way when this returns, in two steps.
  void give(int seed) {
    for (std::size_t i = 0; i < count_; ++i) given_[i] = value(seed, i);
    g_device->copy(stream, middle_, given_, bytes());
    g_device->copy(stream, input, middle_, bytes());
  }
  // Copies it out behind all that is in the stream.
  void take(const void* from) { g_device->copy(stream, came_, from, bytes()); }
  // What has come is factor * (the numbers of seed) + more.
  void check(int seed, int factor, int more, const char* what) const {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count_; ++i) wrong += came_[i] != factor * value(seed, i) + more;
    CHECK(wrong == 0, "{}: {} of {} numbers are wrong", what, wrong, count_);
  }
  std::size_t count() const { return count_; }

 private:
  std::size_t bytes() const { return count_ * sizeof(std::int32_t); }
  static std::int32_t* numbers(std::byte* at) { return reinterpret_cast<std::int32_t*>(at); }
  static std::int32_t value(int seed, std::size_t i) {
    return seed + static_cast<std::int32_t>(i % 1000);
  }
  void* memory(bool on_host) const {
    return on_host ? g_device->allocate_host(bytes()) : g_device->allocate(bytes());
  }

  std::size_t count_;
  std::int32_t *given_, *came_;
  void* middle_;

 public:
  void *stream, *event;
  void *input, *output;
  esp_coll_options options;
};

constexpr std::size_t kCounts[] = {1, 700, 20'000, 150'001};

// The end of a call, as a program waits for it: with a progress thread by the stream alone.
void wait(const Context& c, const Work& work, esp_request*& request) {
  if (!is_threaded()) CHECK_OK(esp_request_wait(&request), c.world, "wait");
  g_device->finish(work.stream);
  CHECK(g_device->is_done(work.event), "the event is behind the end");
  CHECK_OK(esp_request_wait(&request), c.world, "wait");
}

int sum_of_ranks(const Context& c) {
  return c.size * (c.size - 1) / 2;
}

void sum(const Context& c, bool on_host) {
  for (const std::size_t n : kCounts) {
    Work work(n, on_host);
    for (int round = 0; round < 3; ++round) {
      work.give(10 * round + c.rank);
      esp_request* request = nullptr;
      CHECK_OK(esp_allreduce_start(c.world, work.input, work.output, n, ESP_INT32, ESP_SUM,
                                   &work.options, nullptr, &request),
               c.world, "start");
      work.take(work.output);
      wait(c, work, request);
      work.check(10 * round, c.size, sum_of_ranks(c), "sum");
    }
  }
}

void device_buffers(const Context& c) {
  sum(c, false);
}
void host_buffers(const Context& c) {
  sum(c, true);
}
void mixed_buffers(const Context& c) {
  sum(c, c.rank % 2 == 1);
}

// Calls that read what others in the same stream write, none of which anybody has waited for.
void chained(const Context& c) {
  for (const std::size_t n : kCounts) {
    Work work(n, c.rank % 3 == 2);
    work.give(c.rank);
    esp_request* requests[3] = {};
    CHECK_OK(esp_allreduce_start(c.world, work.input, work.output, n, ESP_INT32, ESP_SUM,
                                 &work.options, nullptr, &requests[0]),
             c.world, "sum");
    CHECK_OK(esp_allreduce_start(c.world, ESP_IN_PLACE, work.output, n, ESP_INT32, ESP_MAX,
                                 &work.options, nullptr, &requests[1]),
             c.world, "maximum");
    if (c.rank == 0) g_device->copy(work.stream, work.input, work.output, n * 4);
    CHECK_OK(
        esp_bcast_start(c.world, work.input, n, ESP_INT32, 0, &work.options, nullptr, &requests[2]),
        c.world, "bcast");
    work.take(work.input);
    for (int k = 2; k >= 0; --k) {
      if (is_threaded()) break;
      CHECK_OK(esp_request_wait(&requests[k]), c.world, "call {}", k);
    }
    g_device->finish(work.stream);
    CHECK_OK(esp_request_wait_all(requests, 3), c.world, "all");
    work.check(0, c.size, sum_of_ranks(c), "chain");
  }
}

// Two streams that come in another order than their calls.
void crossed(const Context& c) {
  for (const std::size_t n : {std::size_t{50}, std::size_t{100'000}}) {
    Work late(n), early(n);
    for (int i = 0; i < 20; ++i) late.give(i);
    late.give(c.rank);
    early.give(c.rank + 5);
    esp_request *first = nullptr, *second = nullptr;
    CHECK_OK(esp_allreduce_start(c.world, late.input, late.output, n, ESP_INT32, ESP_SUM,
                                 &late.options, nullptr, &first),
             c.world, "late");
    CHECK_OK(esp_allreduce_start(c.world, early.input, early.output, n, ESP_INT32, ESP_SUM,
                                 &early.options, nullptr, &second),
             c.world, "early");
    early.take(early.output);
    late.take(late.output);
    wait(c, early, second);
    early.check(5, c.size, sum_of_ranks(c), "early");
    wait(c, late, first);
    late.check(0, c.size, sum_of_ranks(c), "late");
  }
}

void persistent(const Context& c) {
  for (const std::size_t n : kCounts) {
    Work work(n, c.rank % 2 == 1);
    esp_request* sum = nullptr;
    CHECK_OK(esp_allreduce_init(c.world, work.input, work.output, n, ESP_INT32, ESP_SUM,
                                &work.options, nullptr, &sum),
             c.world, "init");
    for (int round = 0; round < 5; ++round) {
      work.give(round + c.rank);
      CHECK_OK(esp_request_start(sum), c.world, "round {}", round);
      work.take(work.output);
      wait(c, work, sum);
      work.check(round, c.size, sum_of_ranks(c), "round");
    }
    CHECK_OK(esp_request_free(&sum), c.world, "free");
  }
}

// What every collective does with buffers in a stream it does by the same packing; a few more.
void others(const Context& c) {
  const auto n = static_cast<std::size_t>(c.size) * 300;
  const auto start = [&](const char* what, int factor, int more, auto call) {
    Work work(n, c.rank % 3 == 1);
    work.give(0);
    g_device->copy(work.stream, work.output, work.input, n * 4);
    esp_request* request = nullptr;
    CHECK_OK(call(work, &request), c.world, "{}", what);
    work.take(work.output);
    wait(c, work, request);
    work.check(0, factor, more, what);
  };
  start("scan", c.rank + 1, 0, [&](Work& w, esp_request** request) {
    return esp_scan_start(c.world, w.input, w.output, n, ESP_INT32, ESP_SUM, &w.options, nullptr,
                          request);
  });
  start("reduce", c.rank == 0 ? c.size : 1, 0, [&](Work& w, esp_request** request) {
    return esp_reduce_start(c.world, w.input, w.output, n, ESP_INT32, ESP_SUM, 0, &w.options,
                            nullptr, request);
  });
  start("exscan", c.rank == 0 ? 1 : c.rank, 0, [&](Work& w, esp_request** request) {
    return esp_exscan_start(c.world, w.input, w.output, n, ESP_INT32, ESP_SUM, &w.options, nullptr,
                            request);
  });
}

// A default stream, by CUDA's name for it (1: of all threads, 2: of this one), and no event.
void in_default_stream(const Context& c, std::uintptr_t name) {
  Work work(3000);
  void* const own = work.stream;
  work.stream = work.options.stream = reinterpret_cast<void*>(name);
  work.options.event = nullptr;
  work.give(c.rank);
  esp_request* request = nullptr;
  CHECK_OK(esp_allreduce_start(c.world, work.input, work.output, work.count(), ESP_INT32, ESP_SUM,
                               &work.options, nullptr, &request),
           c.world, "start");
  work.take(work.output);
  CHECK_OK(esp_request_wait(&request), c.world, "wait");
  g_device->finish(work.stream);
  work.check(0, c.size, sum_of_ranks(c), "sum");
  work.stream = own;
}

void default_stream(const Context& c) {
  for (const std::uintptr_t name : {1, 2}) in_default_stream(c, name);
}

// As a program without the options must not do.
void unordered(const Context& c) {
  Work work(20'000);
  for (int round = 0; round < 20; ++round) {
    work.give(c.rank);
    CHECK_OK(esp_allreduce(c.world, work.input, work.output, work.count(), ESP_INT32, ESP_SUM),
             c.world, "sum");
    g_device->finish(work.stream);
  }
}

// Refusals ----------------------------------------------------------------------------------------

void expect_refusal(const Context& c, const esp_coll_options& options, esp_status expected,
                    const char* text, void* buffer) {
  esp_request* request = nullptr;
  CHECK_STATUS(esp_allreduce_start(c.world, ESP_IN_PLACE, buffer, 10, ESP_INT32, ESP_SUM, &options,
                                   nullptr, &request),
               expected, c.world, "{}", text);
  CHECK(request == nullptr, "no request");
  CHECK(std::strstr(esp_job_error(c.job), text) != nullptr, "it says \"{}\"", esp_job_error(c.job));
  CHECK_STATUS(esp_allreduce_init(c.world, ESP_IN_PLACE, buffer, 10, ESP_INT32, ESP_SUM, &options,
                                  nullptr, &request),
               expected, c.world, "persistent: {}", text);
  CHECK(request == nullptr, "no persistent request");
}

void refused(const Context& c) {
  Work work(1000);
  std::int32_t words[10] = {};
  esp_coll_options options = work.options;
  options.stream = words;
  expect_refusal(c, options, ESP_ERR_ARGUMENT, "cuStreamGetCtx: invalid resource handle (400)",
                 words);
  options = work.options;
  options.event = words;
  expect_refusal(c, options, ESP_ERR_ARGUMENT, "cuEventQuery: invalid resource handle (400)",
                 words);
  options = work.options;
  options.stream = nullptr;
  expect_refusal(c, options, ESP_ERR_ARGUMENT, "an event, and no stream", words + 1);
  esp_partial partial = ESP_PARTIAL_INIT;
  partial.flags = ESP_PARTIAL_DELIVER;
  options = work.options;
  options.partial = &partial;
  expect_refusal(c, options, ESP_ERR_UNSUPPORTED, "partial completion is not ordered", words);
  esp_request* request = nullptr;
  CHECK_STATUS(esp_barrier_start(c.world, &work.options, nullptr, &request), ESP_ERR_UNSUPPORTED,
               c.world, "barrier");
  g_device->finish(work.stream);  // None of them has left it standing.
  sum(c, false);
}

// No driver is loaded, or DEVICES is off.
void absent(const Context& c) {
  std::int32_t words[10] = {};
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  options.stream = words;
  const char* const text = std::getenv("EXPECTED");
  expect_refusal(c, options, ESP_ERR_ARGUMENT, text, words);
  CHECK_OK(esp_allreduce(c.world, ESP_IN_PLACE, words, 10, ESP_INT32, ESP_SUM), c.world, "host");
}

// Failures ----------------------------------------------------------------------------------------

// The driver fails at rank 0: all members are told, by whom, and no stream stands.
void broken(const Context& c) {
  Work work(20'000);
  esp_status status = ESP_OK;
  for (int i = 0; i < 20 && status == ESP_OK; ++i) {
    work.give(c.rank);
    esp_request* request = nullptr;
    status = esp_allreduce_start(c.world, work.input, work.output, work.count(), ESP_INT32, ESP_SUM,
                                 &work.options, nullptr, &request);
    if (status == ESP_OK) status = esp_request_wait(&request);
    g_device->finish(work.stream);
  }
  CHECK_EQ(status, ESP_ERR_DEVICE, "{}", text_of(c.world));
  const std::string text = text_of(c.world);
  CHECK(text.find("rank 0") != std::string::npos, "it says \"{}\"", text);
}

// The same of rounds.
void broken_rounds(const Context& c) {
  Work work(20'000);
  esp_request* sum = nullptr;
  CHECK_OK(esp_allreduce_init(c.world, work.input, work.output, work.count(), ESP_INT32, ESP_SUM,
                              &work.options, nullptr, &sum),
           c.world, "init");
  esp_status status = ESP_OK;
  for (int i = 0; i < 20 && status == ESP_OK; ++i) {
    work.give(c.rank);
    status = esp_request_start(sum);
    if (status == ESP_OK) status = esp_request_wait(&sum);
    g_device->finish(work.stream);
  }
  CHECK_EQ(status, ESP_ERR_DEVICE, "{}", text_of(c.world));
  CHECK_OK(esp_request_free(&sum), c.world, "free");
}

// What a driver cannot do is the caller's own affair, as an argument.
void unsupported(const Context& c) {
  Work work(100);
  esp_request* request = nullptr;
  CHECK_STATUS(esp_allreduce_start(c.world, work.input, work.output, 100, ESP_INT32, ESP_SUM,
                                   &work.options, nullptr, &request),
               ESP_ERR_UNSUPPORTED, c.world, "start");
  g_device->finish(work.stream);
  sum(c, false);
}

// Rank 1 dies: the streams of the others go on.
void death(const Context& c) {
  Work work(100'000);
  CHECK_OK(esp_barrier(c.world), c.world, "setup");
  if (c.rank == 1) ::raise(SIGKILL);
  work.give(c.rank);
  esp_request* request = nullptr;
  esp_status status = esp_allreduce_start(c.world, work.input, work.output, work.count(), ESP_INT32,
                                          ESP_SUM, &work.options, nullptr, &request);
  if (status == ESP_OK) status = esp_request_wait(&request);
  CHECK_EQ(status, ESP_ERR_PEER_DIED, "{}", text_of(c.world));
  g_device->finish(work.stream);
  CHECK(g_device->is_done(work.event), "the event has come");
  if (g_failures.load() == 0) fmt::print("OK rank {}\n", c.rank);
}

// A call that the others never make is under way when the job ends: see main().
void left(const Context& c) {
  CHECK(true, "rank {} leaves", c.rank);
  CHECK(true, "of {}", c.size);
  if (c.rank > 0) return;
  Work work(5000);
  work.give(1);
  const esp_notify notify = {nullptr, nullptr, &g_left_counter};
  CHECK_OK(esp_allreduce_start(c.world, work.input, work.output, work.count(), ESP_INT32, ESP_SUM,
                               &work.options, &notify, nullptr),
           c.world, "start");
  g_left_stream = work.stream;
  g_left_event = work.event;
}

}  // namespace
}  // namespace test

int main(int argc, char** argv) {
  using namespace test;
  if (std::getenv("DEVICE_LIBRARY") != nullptr) g_device = &the_device();
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  if (is_threaded()) options.thread_mode = ESP_THREAD_PROGRESS;
  const int status = run_cases({{"device", device_buffers},
                                {"host", host_buffers},
                                {"mixed", mixed_buffers},
                                {"chained", chained},
                                {"crossed", crossed},
                                {"persistent", persistent},
                                {"others", others},
                                {"default", default_stream},
                                {"unordered", unordered},
                                {"refused", refused},
                                {"absent", absent},
                                {"broken", broken},
                                {"broken_rounds", broken_rounds},
                                {"unsupported", unsupported},
                                {"death", death},
                                {"left", left}},
                               argc, argv, options);
  if (g_left_stream == nullptr) return status;
  g_device->finish(g_left_stream);
  return g_device->is_done(g_left_event) && g_left_counter == 0 ? status : 1;
}
