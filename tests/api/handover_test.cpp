// The communication thread: starts are handed over to it and do not wait for it, its queue is
// bounded, operations do not wait for one another, what one thread does stays in its order, it
// sleeps when there is nothing to do, and runs where it is told to. Every rank is a thread with a
// bootstrap of its own.
#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <thread>

#include "tests/support/collectives.hpp"
#include "tests/support/held_thread.hpp"
#include "tests/support/thread_bootstrap.hpp"

namespace {

using test::g_case;

std::uint64_t counted(esp_job* job, std::string_view name) {
  std::vector<esp_counter_value> values(esp_counters(job, nullptr, 0));
  (void)esp_counters(job, values.data(), values.size());
  for (const esp_counter_value& one : values) {
    if (one.name == name) return one.value;
  }
  CHECK(false, "there is no counter {}", name);
  return 0;
}

template <typename Body>
void on_ranks(int size, Body&& body) {
  test::Meeting meeting(size);
  const auto rank = [&](int r) {
    esp_job* job = test::open(meeting, r, ESP_THREAD_PROGRESS);
    if (job == nullptr) return;
    body(job, r);
    CHECK_EQ(esp_job_finalize(job), ESP_OK, "rank {}", r);
  };
  std::vector<std::jthread> others;
  for (int r = 1; r < size; ++r) others.emplace_back([&rank, r] { rank(r); });
  rank(0);
}

// While its thread is held, a rank starts operations of all sizes: it gets them all, nothing has
// moved, and nothing ends before the thread is let go.
void starts_do_not_wait() {
  g_case = "starts do not wait";
  on_ranks(2, [](esp_job* job, int rank) {
    esp_team* world = esp_job_world(job);
    constexpr std::size_t kSizes[] = {1, 1000, 100'000, 1'000'000};
    std::vector<std::vector<std::int32_t>> in, out;
    for (const std::size_t n : kSizes) {
      in.emplace_back(n, rank + 1);
      out.emplace_back(n, 0);
    }
    std::vector<std::int32_t> message(50'000, rank == 0 ? 7 : 0);
    std::vector<esp_request*> requests(std::size(kSizes) + 1, nullptr);
    CHECK_OK(esp_barrier(world), world, "");
    {
      test::HeldThread held(job);
      const std::uint64_t moved = counted(job, "bytes_sent") + counted(job, "copy_in_bytes");
      for (std::size_t i = 0; i < std::size(kSizes); ++i) {
        CHECK_OK(esp_allreduce_start(world, in[i].data(), out[i].data(), kSizes[i], ESP_INT32,
                                     ESP_SUM, nullptr, nullptr, &requests[i]),
                 world, "{}", kSizes[i]);
      }
      esp_request** last = &requests.back();
      const std::size_t bytes = message.size() * sizeof(std::int32_t);
      CHECK_OK(rank == 0 ? esp_send_start(world, message.data(), bytes, 1, 3, nullptr, last)
                         : esp_recv_start(world, message.data(), bytes, 0, 3, nullptr, last),
               world, "");
      for (esp_request*& one : requests) {
        int done = -1;
        CHECK_EQ(esp_request_test(&one, &done), ESP_IN_PROGRESS, "");
        CHECK_EQ(done, 0, "");
      }
      CHECK_EQ(counted(job, "bytes_sent") + counted(job, "copy_in_bytes"), moved, "");
      CHECK(held.holds(), "the starts took more than the time for which the thread is held");
    }
    CHECK_OK(esp_request_wait_all(requests.data(), requests.size()), world, "");
    for (const auto& result : out) CHECK_EQ(result.back(), 3, "{}", result.size());
    CHECK_EQ(message.back(), 7, "");
  });
}

// The queue takes so many and no more; who comes then waits until it has room.
void the_queue_is_bounded() {
  g_case = "the queue is bounded";
  on_ranks(1, [](esp_job* job, int) {
    constexpr int kStarts = 3000, kRoom = 1024;
    esp_team* world = esp_job_world(job);
    std::vector<std::int64_t> values(kStarts, 1), sums(kStarts, 0);
    std::int64_t open = kStarts;
    const esp_notify notify = {nullptr, nullptr, &open};
    std::atomic<int> started{0};
    std::jthread starter;
    {
      test::HeldThread held(job);
      starter = std::jthread([&] {
        for (std::size_t i = 0; i < kStarts; ++i, ++started) {
          CHECK_OK(esp_allreduce_start(world, &values[i], &sums[i], 1, ESP_INT64, ESP_SUM, nullptr,
                                       &notify, nullptr),
                   world, "");
        }
      });
      while (held.holds() && counted(job, "submissions_full") == 0) std::this_thread::yield();
      CHECK(held.holds(), "nobody has met a full queue");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      CHECK_EQ(started.load(), kRoom, "");
    }
    starter.join();
    CHECK_EQ(esp_counter_wait(job, &open, 0, 0), ESP_OK, "{}", esp_job_error(job));
    CHECK_EQ(std::accumulate(sums.begin(), sums.end(), std::int64_t{0}), kStarts, "");
  });
}

// An operation for which a member is late does not keep later ones from their end.
void no_head_of_line() {
  g_case = "no head of line";
  std::atomic<bool> others_done{false};
  on_ranks(3, [&](esp_job* job, int rank) {
    esp_team *world = esp_job_world(job), *late = nullptr;
    CHECK_OK(esp_team_dup(world, &late), world, "");
    std::vector<std::int32_t> in(20'000, 1), out(20'000, 0);
    esp_request* first = nullptr;
    const auto start = [&] {
      CHECK_OK(esp_allreduce_start(late, in.data(), out.data(), in.size(), ESP_INT32, ESP_SUM,
                                   nullptr, nullptr, &first),
               late, "");
    };
    if (rank != 2) start();
    for (int turn = 0; turn < 20; ++turn) {
      test::check_allreduce(world, {.type = ESP_INT32, .count = turn % 2 == 0 ? 10U : 30'000U});
    }
    if (rank == 0) {
      int done = -1;
      CHECK_EQ(esp_request_test(&first, &done), ESP_IN_PROGRESS, "");
      others_done = true;
    }
    if (rank == 2) {
      while (!others_done) std::this_thread::yield();
      start();
    }
    CHECK_OK(esp_request_wait(&first), late, "");
    CHECK_EQ(out.back(), 3, "");
    CHECK_OK(esp_team_free(late), world, "");
  });
}

// What frees something that a start needs comes behind the start: it is refused, or nothing needs
// it any more.
void in_order() {
  g_case = "in order";
  on_ranks(2, [](esp_job* job, int rank) {
    esp_team* world = esp_job_world(job);
    for (int turn = 0; turn < 50; ++turn) {
      esp_type apart = ESP_BYTE;
      CHECK_OK(esp_type_strided(job, ESP_INT32, 100, 1, 2, 200, &apart), world, "");
      std::vector<std::int32_t> buffer(200, rank == 0 ? turn : -1);
      esp_request* request = nullptr;
      CHECK_OK(esp_bcast_start(world, buffer.data(), 1, apart, 0, nullptr, nullptr, &request),
               world, "");
      const esp_status freed = esp_type_free(job, apart);
      CHECK(freed == ESP_OK || freed == ESP_ERR_STATE, "{}", esp_status_text(freed));
      CHECK_OK(esp_request_wait(&request), world, "");
      if (freed != ESP_OK) CHECK_OK(esp_type_free(job, apart), world, "");
      CHECK_EQ(buffer[198], turn, "");
      CHECK_EQ(buffer[199], rank == 0 ? turn : -1, "");
    }
    esp_team* team = nullptr;
    CHECK_OK(esp_team_dup(world, &team), world, "");
    std::int32_t value = rank;
    esp_request* request = nullptr;
    {
      test::HeldThread held(job);
      CHECK_OK(esp_bcast_start(team, &value, 1, ESP_INT32, 1, nullptr, nullptr, &request), team,
               "");
    }
    CHECK_OK(esp_request_wait(&request), team, "");
    CHECK_OK(esp_team_free(team), world, "");
  });
}

// Several threads of a rank, a team each, with many operations under way, waited for in any order
// and in any way.
void many_threads() {
  g_case = "many threads";
  constexpr int kThreads = 4, kOperations = 300;
  on_ranks(2, [](esp_job* job, int rank) {
    esp_team* world = esp_job_world(job);
    std::vector<esp_team*> teams(kThreads, nullptr);
    for (esp_team*& team : teams) CHECK_OK(esp_team_dup(world, &team), world, "");
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([team = teams[static_cast<std::size_t>(t)], rank, t] {
          std::vector<std::int32_t> in(kOperations), out(kOperations, -1);
          std::vector<esp_request*> requests(kOperations, nullptr);
          for (std::size_t i = 0; i < kOperations; ++i) {
            in[i] = static_cast<std::int32_t>(i) * (rank + 1);
            CHECK_OK(esp_allreduce_start(team, &in[i], &out[i], 1, ESP_INT32, ESP_SUM, nullptr,
                                         nullptr, &requests[i]),
                     team, "");
          }
          std::shuffle(requests.begin(), requests.end(), std::mt19937(static_cast<unsigned>(t)));
          int index = 0;
          for (int i = 0; i < 20; ++i) {
            CHECK_OK(esp_request_wait_any(requests.data(), requests.size(), &index), team, "");
          }
          CHECK_OK(esp_request_wait_all(requests.data(), requests.size()), team, "");
          for (std::size_t i = 0; i < kOperations; ++i) {
            CHECK_EQ(out[i], 3 * static_cast<std::int32_t>(i), "thread {}", t);
          }
        });
      }
    }
    for (esp_team* team : teams) CHECK_OK(esp_team_free(team), world, "");
  });
}

// Rounds of a persistent request are handed over, too; one too many is refused by the caller.
void persistent_rounds() {
  g_case = "persistent rounds";
  on_ranks(2, [](esp_job* job, int rank) {
    esp_team* world = esp_job_world(job);
    std::vector<std::int32_t> in(3000, rank), out(3000, -1);
    esp_request* request = nullptr;
    CHECK_OK(esp_allreduce_init(world, in.data(), out.data(), in.size(), ESP_INT32, ESP_SUM,
                                nullptr, nullptr, &request),
             world, "");
    for (int round = 0; round < 20; ++round) {
      std::fill(in.begin(), in.end(), rank + round);
      {
        std::optional<test::HeldThread> held;
        if (round == 7) held.emplace(job);
        CHECK_OK(esp_request_start(request), world, "round {}", round);
        if (held) CHECK_EQ(esp_request_start(request), ESP_ERR_STATE, "");
      }
      CHECK_OK(esp_request_wait(&request), world, "round {}", round);
      CHECK_EQ(out.back(), 1 + 2 * round, "");
    }
    CHECK_OK(esp_request_free(&request), world, "");
  });
}

// Several threads wait for the segments of an operation, each of which goes to one of them.
void threads_wait_for_segments() {
  g_case = "threads wait for segments";
  on_ranks(2, [](esp_job* job, int rank) {
    esp_team* world = esp_job_world(job);
    std::vector<std::uint8_t> data(2'000'000, static_cast<std::uint8_t>(rank == 0 ? 9 : 0));
    esp_partial partial = ESP_PARTIAL_INIT;
    partial.flags = ESP_PARTIAL_DELIVER | ESP_PARTIAL_SEGMENTS;
    esp_coll_options options = ESP_COLL_OPTIONS_INIT;
    options.segment_bytes = 10'000;
    options.partial = &partial;
    esp_request* request = nullptr;
    CHECK_OK(esp_barrier(world), world, "");
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK_OK(
        esp_bcast_start(world, data.data(), data.size(), ESP_BYTE, 0, &options, nullptr, &request),
        world, "");
    std::atomic<std::size_t> bytes{0};
    {
      std::vector<std::jthread> takers;
      for (int t = 0; t < 3; ++t) {
        takers.emplace_back([&] {
          for (;;) {
            esp_segment one;
            int taken = 0;
            CHECK_OK(esp_segment_wait(request, &one, &taken), world, "");
            if (taken == 0) return;
            bytes += one.bytes;
            const auto* at = static_cast<const std::uint8_t*>(one.address);
            CHECK(std::all_of(at, at + one.bytes, [](std::uint8_t b) { return b == 9; }), "");
          }
        });
      }
    }
    CHECK_EQ(bytes.load(), data.size(), "");
    CHECK_OK(esp_request_wait(&request), world, "");
  });
}

// What only the thread finds ends the operation: a team that fails while starts are on their way.
// Once that is known, starts are refused.
void failures_are_ends() {
  g_case = "failures are ends";
  on_ranks(2, [](esp_job* job, int rank) {
    esp_team *world = esp_job_world(job), *team = nullptr;
    CHECK_OK(esp_team_dup(world, &team), world, "");
    std::int32_t value = 0, result = 0;
    std::vector<esp_request*> requests(4, nullptr);
    {
      test::HeldThread held(job);
      CHECK_OK(esp_allreduce_start(team, &value, &result, rank == 0 ? 1 : 0, ESP_INT32, ESP_SUM,
                                   nullptr, nullptr, requests.data()),
               team, "");
      for (std::size_t i = 1; i < requests.size(); ++i) {
        CHECK_OK(esp_allreduce_start(team, &value, &result, 1, ESP_INT32, ESP_MAX, nullptr, nullptr,
                                     &requests[i]),
                 team, "");
      }
    }
    for (esp_request*& one : requests) {
      CHECK_EQ(esp_request_wait(&one), ESP_ERR_MISMATCH, "{}", esp_job_error(job));
      CHECK(one == nullptr, "");
    }
    esp_request* late = nullptr;
    CHECK_EQ(esp_bcast_start(team, &value, 1, ESP_INT32, 0, nullptr, nullptr, &late),
             ESP_ERR_MISMATCH, "");
    CHECK(late == nullptr, "");
    CHECK(std::strstr(esp_job_error(job), "called allreduce") != nullptr, "{}", esp_job_error(job));
    CHECK_EQ(esp_send_start(team, &value, 4, 1 - rank, 0, nullptr, &late), ESP_ERR_MISMATCH, "");
    CHECK_OK(esp_team_free(team), world, "");
    test::check_allreduce(world, {.type = ESP_INT32, .count = 10});
  });
}

// Of the threads of this process, those of that name: where their files are.
std::vector<std::string> threads_named(std::string_view name) {
  std::vector<std::string> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir("/proc/self/task"), &::closedir);
  while (const dirent* entry = all != nullptr ? ::readdir(all.get()) : nullptr) {
    std::string folder = fmt::format("/proc/self/task/{}", entry->d_name);
    std::string its_name;
    std::getline(std::ifstream(folder + "/comm"), its_name);
    if (its_name == name) found.push_back(std::move(folder));
  }
  return found;
}

// Nanoseconds on a processor.
std::uint64_t busy_ns(const std::string& thread) {
  std::ifstream file(thread + "/schedstat");
  std::uint64_t busy = 0;
  CHECK(static_cast<bool>(file >> busy), "{}", thread);
  return busy;
}

// Asleep: over a second without calls it takes less than a hundredth of one of a processor.
void sleeps_when_idle() {
  g_case = "sleeps when idle";
  on_ranks(1, [](esp_job* job, int) {
    test::check_allreduce(esp_job_world(job), {.type = ESP_INT32, .count = 1000});
    const std::vector<std::string> mine = threads_named("esp-progress");
    CHECK_EQ(mine.size(), std::size_t{1}, "");
    if (mine.empty()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const std::uint64_t before = busy_ns(mine.front());
    std::this_thread::sleep_for(std::chrono::seconds(1));
    CHECK(busy_ns(mine.front()) - before < 10'000'000, "{} ns", busy_ns(mine.front()) - before);
    test::check_allreduce(esp_job_world(job), {.type = ESP_INT32, .count = 1000});
  });
}

test::Opened open_with(test::Meeting& meeting, const std::string& setting) {
  const esp_bootstrap bootstrap = meeting.of(0);
  const char* const settings[] = {setting.c_str(), nullptr};
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  options.bootstrap = &bootstrap;
  options.thread_mode = ESP_THREAD_PROGRESS;
  options.settings = settings;
  return test::open_job(options);
}

// As the kernel writes them: "0-3,8".
std::string allowed_list(const std::string& thread) {
  std::ifstream file(thread + "/status");
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kName = "Cpus_allowed_list:\t";
    if (line.starts_with(kName)) return line.substr(kName.size());
  }
  return {};
}

void runs_where_it_is_told() {
  g_case = "runs where it is told";
  const std::string all = allowed_list("/proc/thread-self");
  const std::string last = all.substr(all.find_last_of("-,") + 1);
  for (const auto& [setting, allowed] : {std::pair("PROGRESS_CPUS=" + last, last),
                                         std::pair(std::string("PROGRESS_CPUS=off"), all)}) {
    test::Meeting meeting(1);
    const test::Opened opened = open_with(meeting, setting);
    CHECK_EQ(opened.status, ESP_OK, "{}: {}", setting, opened.text);
    if (opened.job == nullptr) continue;
    const std::vector<std::string> thread = threads_named("esp-progress");
    CHECK_EQ(thread.size(), std::size_t{1}, "");
    if (!thread.empty()) CHECK_EQ(allowed_list(thread.front()), allowed, "{}", setting);
    std::vector<char> text(esp_job_describe(opened.job, nullptr, 0));
    (void)esp_job_describe(opened.job, text.data(), text.size());
    CHECK(std::string_view(text.data()).find("a thread of the library, on") != std::string::npos,
          "{}", text.data());
    CHECK_EQ(esp_job_finalize(opened.job), ESP_OK, "");
  }
  CHECK_EQ(allowed_list("/proc/thread-self"), all, "its caller may run elsewhere now");
}

void refused_places() {
  g_case = "refused places";
  for (const auto& [value, words] :
       {std::pair("near", "is not auto, off, sibling or a list of processors"),
        std::pair("8100", "PROGRESS_CPUS=8100: cannot start the progress thread"),
        std::pair("3-", "is not auto, off, sibling or a list of processors")}) {
    test::Meeting meeting(1);
    const test::Opened refused = open_with(meeting, std::string("PROGRESS_CPUS=") + value);
    CHECK_EQ(refused.status, ESP_ERR_CONFIG, "{}: {}", value, refused.text);
    CHECK(refused.text.find(words) != std::string::npos, "{}", refused.text);
  }
}

}  // namespace

int main() {
  starts_do_not_wait();
  the_queue_is_bounded();
  no_head_of_line();
  in_order();
  many_threads();
  persistent_rounds();
  threads_wait_for_segments();
  failures_are_ends();
  sleeps_when_idle();
  runs_where_it_is_told();
  refused_places();
  return test::g_failures == 0 ? 0 : 1;
}
