// Several jobs in one process do not disturb each other: two jobs of three ranks, every rank a
// thread, bootstrapped by callbacks alone; then a thread that is a rank of two jobs at once; then a
// job with a progress thread that several threads use together, also to make teams; one for which
// there is none; last, what that thread leaves to the program.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <thread>
#include <vector>

#include "tests/support/collectives.hpp"
#include "tests/support/no_threads.hpp"
#include "tests/support/thread_bootstrap.hpp"

namespace {

using test::g_case;
using test::open;
using test::try_open;

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

// Teams of the same ranks, made at the same time by several threads from different teams: they must
// never take each other's messages.
void make_many(esp_team* parent, std::vector<esp_team*>& made) {
  for (int i = 0; i < 40; ++i) {
    esp_team* team = nullptr;
    if (i % 2 == 0) CHECK_OK(esp_team_dup(parent, &team), parent, "{}", i);
    if (i % 2 == 1) CHECK_OK(esp_team_split(parent, 0, -esp_team_rank(parent), &team), parent, "");
    if (team == nullptr) return;
    made.push_back(team);
  }
}

void use_all_at_once(const std::vector<esp_team*>& teams) {
  std::vector<int> values(teams.size(), -1);
  std::vector<esp_request*> requests(teams.size(), nullptr);
  for (std::size_t i = 0; i < teams.size(); ++i) {
    values[i] = static_cast<int>(i) * 10 + esp_team_job_rank(teams[i], esp_team_rank(teams[i]));
    CHECK_OK(esp_allreduce_start(teams[i], ESP_IN_PLACE, &values[i], 1, ESP_INT32, ESP_SUM, nullptr,
                                 nullptr, &requests[i]),
             teams[i], "team {}", i);
  }
  for (std::size_t i = 0; i < teams.size(); ++i) {
    CHECK_OK(esp_request_wait(&requests[i]), teams[i], "team {}", i);
    CHECK_EQ(values[i], 3 * static_cast<int>(i) * 10 + 3, "team {}", i);
  }
}

void rank_that_makes_teams(test::Meeting& meeting, int rank) {
  esp_job* job = open(meeting, rank, ESP_THREAD_PROGRESS);
  if (job == nullptr) return;
  // Always the same three ranks; two of the teams have the same first member.
  const int backwards[] = {2, 1, 0};
  esp_team* world = esp_job_world(job);
  std::vector<esp_team*> parents(3, nullptr);
  CHECK_OK(esp_team_dup(world, &parents[0]), world, "");
  CHECK_OK(esp_team_dup(world, &parents[1]), world, "");
  CHECK_OK(esp_team_include(world, backwards, 3, &parents[2]), world, "");
  std::vector<std::vector<esp_team*>> made(3);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] { make_many(parents[i], made[i]); });
    }
  }
  std::vector<esp_team*> all;
  for (const auto& some : made) all.insert(all.end(), some.begin(), some.end());
  CHECK_EQ(all.size(), std::size_t{120}, "");
  use_all_at_once(all);
  for (esp_team* team : all) CHECK_OK(esp_team_free(team), world, "");
  CHECK_EQ(esp_job_finalize(job), ESP_OK, "");
}

void teams_at_the_same_time() {
  g_case = "teams at the same time";
  test::Meeting meeting(3);
  std::vector<std::jthread> threads;
  for (int r = 0; r < 3; ++r) {
    threads.emplace_back([&meeting, r] { rank_that_makes_teams(meeting, r); });
  }
}

// One thread asks for the world while another makes teams.
void the_world_meanwhile() {
  g_case = "the world meanwhile";
  test::Meeting meeting(1);
  esp_job* job = open(meeting, 0, ESP_THREAD_PROGRESS);
  if (job == nullptr) return;
  esp_team* world = esp_job_world(job);
  std::atomic<bool> over{false};
  int others = 0;
  std::vector<esp_team*> made;
  {
    std::jthread asker([&] {
      while (!over) others += esp_job_world(job) != world ? 1 : 0;
    });
    make_many(world, made);
    over = true;
  }
  CHECK_EQ(others, 0, "");
  for (esp_team* team : made) CHECK_OK(esp_team_free(team), world, "");
  CHECK_EQ(esp_job_finalize(job), ESP_OK, "");
}

// A signal that all of the program's threads block waits for it.
void signals_are_the_programs() {
  g_case = "signals are the program's";
  test::Meeting meeting(1);
  esp_job* job = open(meeting, 0, ESP_THREAD_PROGRESS);
  if (job == nullptr) return;
  esp_free(job, esp_alloc(job, 8));  // by the thread, which runs then
  sigset_t awaited, before;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &awaited, &before);
  CHECK_EQ(::kill(::getpid(), SIGUSR1), 0, "");
  const timespec limit = {.tv_sec = 5, .tv_nsec = 0};
  CHECK_EQ(::sigtimedwait(&awaited, nullptr, &limit), SIGUSR1, "");
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK_EQ(esp_job_finalize(job), ESP_OK, "");
}

}  // namespace

int main() {
  two_jobs();
  both_at_once();
  progress_threads();
  no_progress_thread();
  teams_at_the_same_time();
  the_world_meanwhile();
  signals_are_the_programs();
  fmt::print("{} checks, {} failures\n", test::g_checks.load(), test::g_failures.load());
  return test::g_failures.load() == 0 && test::g_checks.load() > 100 ? 0 : 1;
}
