// The library's thread at rest: what it computes when nobody calls, and how long an operation takes
// that has to wake it. path: slow
#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "esp-bench/clock.hpp"
#include "threads/job.hpp"
#include "threads/measures.hpp"
#include "threads/process_threads.hpp"
#include "threads/series.hpp"

namespace espalier::bench {
namespace {

constexpr unsigned kChannel = 0;

void rest(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

std::map<int, ProcessThread> by_id() {
  std::map<int, ProcessThread> found;
  for (ProcessThread& thread : process_threads()) found[thread.id] = std::move(thread);
  return found;
}

// `before`: those that there were before the job.
void report_threads(const std::map<int, ProcessThread>& before, int idle_ms, Report& report) {
  rest(50);  // The barrier's end.
  const std::map<int, ProcessThread> begin = by_id();
  rest(idle_ms);
  const std::map<int, ProcessThread> end = by_id();
  for (const auto& [id, thread] : end) {
    const auto was = begin.find(id);
    if (was == begin.end()) continue;
    const bool is_new = before.find(id) == before.end();
    report.add("threads",
               {{"thread", thread.is_caller ? "caller"
                           : is_new         ? "library"
                                            : "other"},
                {"cpus", thread.cpus},
                {"idle_ms", idle_ms},
                {"busy_us", static_cast<double>(thread.busy_ns - was->second.busy_ns) * 1e-3},
                {"sleeps", thread.sleeps - was->second.sleeps}});
  }
}

// Times of rank 0's calls: of the start alone, and with the wait.
struct Wakes {
  std::vector<double> start_us, whole_us;

  template <typename Start>
  void time(const Job& job, bool counts, Start&& start) {
    esp_request* request = nullptr;
    const std::int64_t begin = now_ns();
    start(&request);
    const std::int64_t started = now_ns();
    job.must(esp_request_wait(&request));
    const std::int64_t end = now_ns();
    if (!counts) return;
    start_us.push_back(static_cast<double>(started - begin) * 1e-3);
    whole_us.push_back(static_cast<double>(end - begin) * 1e-3);
  }
};

constexpr int kFirstWakes = 3;

// An allreduce of a team of one: nobody else is needed.
void wake_alone(const Job& job, esp_team* alone, int sleep_ms, int calls, Wakes& wakes,
                bool& correct) {
  for (int call = -kFirstWakes; call < calls; ++call) {
    if (sleep_ms > 0) rest(sleep_ms);
    const std::int64_t value = call;
    std::int64_t sum = ~value;
    wakes.time(job, call >= 0, [&](esp_request** request) {
      job.must(esp_allreduce_start(alone, &value, &sum, 1, ESP_INT64, ESP_SUM, nullptr, nullptr,
                                   request));
    });
    correct = correct && sum == value;
  }
}

// A message to rank 1, which waits for it, and its answer; all threads but the caller sleep.
void wake_peer(const Job& job, int sleep_ms, int calls, Wakes& wakes, bool& correct) {
  std::int64_t mine = 0, other = 0;
  for (int call = -kFirstWakes; call < calls; ++call) {
    if (job.rank() == 1) {
      job.must(esp_recv(job.world(), &other, sizeof other, 0, kChannel));
      mine = other + 1;
      job.must(esp_send(job.world(), &mine, sizeof mine, 0, kChannel));
      continue;
    }
    if (sleep_ms > 0) rest(sleep_ms);
    mine = call;
    wakes.time(job, call >= 0, [&](esp_request** request) {
      job.must(esp_send(job.world(), &mine, sizeof mine, 1, kChannel));
      job.must(esp_recv_start(job.world(), &other, sizeof other, 1, kChannel, nullptr, request));
    });
    correct = correct && other == mine + 1;
  }
}

void add_row(const char* operation, int sleep_ms, const Wakes& wakes, bool correct,
             Report& report) {
  const Series start = describe(wakes.start_us), whole = describe(wakes.whole_us);
  report.add("wakes", {{"operation", operation},
                       {"sleep_ms", sleep_ms},
                       {"iterations", wakes.whole_us.size()},
                       {"median_us", whole.median},
                       {"p90_us", whole.p90},
                       {"start_us", start.median},
                       {"crowded", report.is_crowded(2)},
                       {"correct", correct}});
}

}  // namespace

void measure_wake(const Options& options, Report& report) {
  const std::map<int, ProcessThread> before = by_id();
  const Job job(Mode::kProgress);
  report.note("wake",
              "alone: allreduce of a team of one; peer: a message and its answer, round trip");
  job.barrier();
  report_threads(before, options.idle_ms, report);
  esp_team* alone = nullptr;
  job.must(esp_team_split(job.world(), job.rank(), 0, &alone));
  for (const int sleep_ms : {0, options.sleep_ms}) {
    Wakes wakes;
    bool correct = true;
    if (job.rank() == 0) {
      wake_alone(job, alone, sleep_ms, options.iterations, wakes, correct);
      add_row("alone", sleep_ms, wakes, correct, report);
    }
    job.barrier();
  }
  for (const int sleep_ms : {0, options.sleep_ms}) {
    Wakes wakes;
    bool correct = true;
    if (job.size() < 2) continue;
    if (job.rank() < 2) wake_peer(job, sleep_ms, options.iterations, wakes, correct);
    if (job.rank() == 0) add_row("peer", sleep_ms, wakes, correct, report);
    job.barrier();
  }
  job.must(esp_team_free(alone));
}

}  // namespace espalier::bench
