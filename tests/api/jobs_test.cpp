// Several jobs in one process do not disturb each other: two jobs of three ranks, every rank a
// thread, bootstrapped by callbacks alone; then a thread that is a rank of two jobs at once; then a
// job with a progress thread that several threads use together; last, one for which there is none.
#include <thread>
#include <vector>

#include "tests/support/collectives.hpp"
#include "tests/support/no_threads.hpp"
#include "tests/support/thread_bootstrap.hpp"

namespace {

using test::g_case;

test::Opened try_open(test::Meeting& meeting, int rank, esp_thread_mode mode) {
  const esp_bootstrap bootstrap = meeting.of(rank);
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  options.bootstrap = &bootstrap;
  options.thread_mode = mode;
  return test::open_job(options);
}

esp_job* open(test::Meeting& meeting, int rank, esp_thread_mode mode = ESP_THREAD_OWNER) {
  const test::Opened opened = try_open(meeting, rank, mode);
  CHECK(opened.status == ESP_OK, "rank {}: {} {}", rank, esp_status_text(opened.status),
        opened.text);
  return opened.job;
}

void work(esp_job* job, int turns) {
  esp_team* world = esp_job_world(job);
  const int size = esp_job_size(job);
  for (int turn = 0; turn < turns; ++turn) {
    const std::size_t count = turn % 3 == 0 ? 20'000 : 10;
    test::check_bcast(world, {.type = ESP_DOUBLE, .count = count, .root = turn % size});
    test::check_allreduce(world, {.type = ESP_INT32, .count = count, .op = ESP_MAX});
    test::check_reduce(world, {.type = ESP_FLOAT, .count = count, .root = turn % size});
  }
}

void rank_of_one_job(test::Meeting& meeting, int rank) {
  esp_job* job = open(meeting, rank);
  if (job == nullptr) return;
  CHECK_EQ(esp_job_rank(job), rank, "");
  work(job, 60);
  CHECK_EQ(esp_job_finalize(job), ESP_OK, "rank {}", rank);
}

void two_jobs() {
  g_case = "two jobs";
  test::Meeting a(3), b(3);
  std::vector<std::jthread> threads;
  for (int r = 0; r < 3; ++r) {
    threads.emplace_back([&a, r] { rank_of_one_job(a, r); });
    threads.emplace_back([&b, r] { rank_of_one_job(b, r); });
  }
}

void rank_of_two_jobs(test::Meeting& first, test::Meeting& second, int rank) {
  esp_job* a = open(first, rank);
  esp_job* b = open(second, 1 - rank);
  if (a == nullptr || b == nullptr) return;
  int x = rank, y = rank, sum_x = 0, sum_y = 0;
  esp_request* requests[2] = {};
  CHECK_EQ(esp_allreduce_start(esp_job_world(a), &x, &sum_x, 1, ESP_INT32, ESP_SUM, nullptr,
                               nullptr, &requests[0]),
           ESP_OK, "");
  CHECK_EQ(esp_allreduce_start(esp_job_world(b), &y, &sum_y, 1, ESP_INT32, ESP_MAX, nullptr,
                               nullptr, &requests[1]),
           ESP_OK, "");
  CHECK_EQ(esp_request_wait(&requests[1]), ESP_OK, "{}", esp_team_error(esp_job_world(b)));
  CHECK_EQ(esp_request_wait(&requests[0]), ESP_OK, "{}", esp_team_error(esp_job_world(a)));
  CHECK_EQ(sum_x, 1, "");
  CHECK_EQ(sum_y, 1, "");
  work(b, 10);
  work(a, 10);
  // The first job goes, the second goes on.
  CHECK_EQ(esp_job_finalize(a), ESP_OK, "");
  work(b, 10);
  CHECK_EQ(esp_job_finalize(b), ESP_OK, "");
}

void both_at_once() {
  g_case = "rank of two jobs";
  test::Meeting a(2), b(2);
  std::jthread other([&] { rank_of_two_jobs(a, b, 1); });
  rank_of_two_jobs(a, b, 0);
}

// Three threads per rank, each with a team of its own, all calling into one job.
void rank_with_threads(test::Meeting& meeting, int rank) {
  esp_job* job = open(meeting, rank, ESP_THREAD_PROGRESS);
  if (job == nullptr) return;
  std::vector<esp_team*> teams(3, nullptr);
  for (esp_team*& team : teams) {
    CHECK_OK(esp_team_dup(esp_job_world(job), &team), esp_job_world(job), "");
  }
  {
    std::vector<std::jthread> threads;
    for (esp_team* team : teams) {
      threads.emplace_back([team] {
        for (int turn = 0; turn < 50; ++turn) {
          test::check_allreduce(team, {.type = ESP_INT32, .count = 100});
          test::check_bcast(team, {.type = ESP_INT8, .count = 9000, .root = turn % 2});
        }
      });
    }
  }
  for (esp_team* team : teams) CHECK_OK(esp_team_free(team), esp_job_world(job), "");
  CHECK_EQ(esp_job_finalize(job), ESP_OK, "");
}

void progress_threads() {
  g_case = "progress threads";
  test::Meeting meeting(2);
  std::jthread other([&] { rank_with_threads(meeting, 1); });
  rank_with_threads(meeting, 0);
}

// The process lives on, is told why, and can open the job without a thread.
void no_progress_thread() {
  g_case = "no progress thread";
  test::Meeting meeting(1);
  {
    const test::NoThreads none;
    const test::Opened refused = try_open(meeting, 0, ESP_THREAD_PROGRESS);
    CHECK_EQ(refused.status, ESP_ERR_NO_MEMORY, "{}", refused.text);
    CHECK(refused.job == nullptr, "");
    CHECK(refused.text.starts_with("cannot start the progress thread"), "{}", refused.text);
  }
  rank_of_one_job(meeting, 0);
}

}  // namespace

int main() {
  two_jobs();
  both_at_once();
  progress_threads();
  no_progress_thread();
  fmt::print("{} checks, {} failures\n", test::g_checks.load(), test::g_failures.load());
  return test::g_failures.load() == 0 && test::g_checks.load() > 100 ? 0 : 1;
}
