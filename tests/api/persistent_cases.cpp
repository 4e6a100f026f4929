// Persistent requests: rounds of every operation, whoever waits for them and however, and what is
// refused.
#include <sched.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/api/cases.hpp"
#include "tests/support/persistent.hpp"

namespace test {
namespace persistent_cases {
namespace {

bool says(const Context& context, const char* words) {
  return std::strstr(esp_job_error(context.job), words) != nullptr;
}

#define REFUSED_AS(call, status, words)                                                           \
  do {                                                                                            \
    CHECK_STATUS(call, status, context.world, "must be refused");                                 \
    CHECK(says(context, words), "\"{}\" does not say \"{}\"", esp_job_error(context.job), words); \
  } while (false)

// Nothing is looked up after the first: nobody's plans are counted.
void one_after_the_other(const Context& context) {
  for (const Kind kind : kKinds) {
    for (const std::size_t count : {0, 1, 700, 40'000}) {
      for (const bool in_place : {false, true}) {
        Rounds rounds(context.world, kind, count, in_place);
        esp_request* request = nullptr;
        CHECK_OK(rounds.init(nullptr, &request), context.world, "kind {}", static_cast<int>(kind));
        if (request == nullptr) return;
        esp_request* const handle = request;
        int done = 0;
        CHECK_OK(esp_request_test(&request, &done), context.world, "not started yet");
        CHECK_EQ(done, 1, "an inactive request counts as complete");
        const std::uint64_t built = counter(context, "plans_built");
        const std::uint64_t reused = counter(context, "plans_reused");
        for (int round = 0; round < 3; ++round) {
          rounds.fill(round);
          CHECK_OK(esp_request_start(request), context.world, "round {}", round);
          CHECK_OK(esp_request_wait(&request), context.world, "round {}", round);
          rounds.check(round);
          CHECK(request == handle, "the handle stays");
        }
        CHECK_EQ(counter(context, "plans_built"), built, "a round made a plan");
        CHECK_EQ(counter(context, "plans_reused"), reused, "a round looked for its plan");
        CHECK_OK(esp_request_free(&request), context.world, "");
        CHECK(request == nullptr, "a freed request is not NULL");
      }
    }
  }
}

// All kinds under way together.
struct All {
  explicit All(const Context& context) : world(context.world) {
    for (const Kind kind : kKinds) {
      for (const bool in_place : {false, true}) {
        rounds.push_back(std::make_unique<Rounds>(world, kind, 2000, in_place));
        requests.push_back(nullptr);
        CHECK_OK(rounds.back()->init(nullptr, &requests.back()), world, "init");
      }
    }
  }
  ~All() {
    for (esp_request*& request : requests) CHECK_OK(esp_request_free(&request), world, "free");
  }
  void start(int round) {
    for (auto& one : rounds) one->fill(round);
    CHECK_OK(esp_request_start_all(requests.data(), requests.size()), world, "round {}", round);
  }
  void check(int round) const {
    for (const auto& one : rounds) one->check(round);
    for (const esp_request* request : requests) CHECK(request != nullptr, "the handle stays");
  }
  esp_team* world;
  std::vector<std::unique_ptr<Rounds>> rounds;
  std::vector<esp_request*> requests;
};

void together(const Context& context) {
  All all(context);
  esp_team* const world = context.world;
  const std::size_t n = all.requests.size();
  all.start(0);
  CHECK_OK(esp_request_wait_all(all.requests.data(), n), world, "");
  all.check(0);
  all.start(1);
  std::vector<bool> seen(n, false);
  for (std::size_t k = 0; k < n; ++k) {
    int index = -1;
    CHECK_OK(esp_request_wait_any(all.requests.data(), n, &index), world, "");
    CHECK(index >= 0 && !seen[static_cast<std::size_t>(index)], "request {} twice", index);
    if (index < 0) return;
    seen[static_cast<std::size_t>(index)] = true;
  }
  int index = -2, done = 0;
  CHECK_OK(esp_request_wait_any(all.requests.data(), n, &index), world, "all are inactive");
  CHECK_EQ(index, -1, "all are inactive");
  CHECK_OK(esp_request_test_any(all.requests.data(), n, &index, &done), world, "");
  CHECK(done == 1 && index == -1, "all are inactive");
  all.check(1);
  all.start(2);
  std::vector<int> indices(n);
  std::size_t completed = 0, total = 0;
  do {
    CHECK_OK(esp_request_wait_some(all.requests.data(), n, indices.data(), nullptr, &completed),
             world, "");
    total += completed;
  } while (completed > 0 && total < n);
  CHECK_EQ(total, n, "each once");
  CHECK_OK(esp_request_wait_some(all.requests.data(), n, indices.data(), nullptr, &completed),
           world, "");
  CHECK_EQ(completed, std::size_t{0}, "all are inactive");
  all.check(2);
  all.start(3);
  esp_status status = ESP_IN_PROGRESS;
  do status = esp_request_test_all(all.requests.data(), n, &done);
  while (done == 0 && status == ESP_IN_PROGRESS);
  CHECK_OK(status, world, "");
  all.check(3);
}

// A request whose callback starts it again.
struct Chain {
  esp_team* world = nullptr;
  esp_request* request = nullptr;
  Rounds* rounds = nullptr;
  std::atomic<int> round{0};
  static constexpr int kRounds = 20;
};

void next_round(void* raw, esp_status status) {
  auto& chain = *static_cast<Chain*>(raw);
  CHECK_OK(status, chain.world, "round {}", chain.round.load());
  chain.rounds->check(chain.round);
  if (chain.round + 1 < Chain::kRounds && status == ESP_OK) {
    chain.rounds->fill(chain.round + 1);
    CHECK_OK(esp_request_start(chain.request), chain.world, "in the callback");
  }
  ++chain.round;
}

void in_callbacks(const Context& context) {
  for (const Kind kind : {Kind::kAllreduce, Kind::kBarrier, Kind::kAlltoallv}) {
    Rounds rounds(context.world, kind, 300, false);
    Chain chain;
    chain.world = context.world;
    chain.rounds = &rounds;
    const esp_notify notify{next_round, &chain, nullptr};
    CHECK_OK(rounds.init(&notify, &chain.request), context.world, "");
    rounds.fill(0);
    CHECK_OK(esp_request_start(chain.request), context.world, "");
    while (chain.round < Chain::kRounds && g_failures == 0) {
      if (esp_progress(context.job) == 0) ::sched_yield();
    }
    CHECK_OK(esp_request_free(&chain.request), context.world, "");
  }
}

// Rounds that are counted down need not be waited for; those that are have their status.
void counted(const Context& context) {
  Rounds rounds(context.world, Kind::kAllgather, 50, false);
  std::int64_t left = 0;
  const esp_notify notify{nullptr, nullptr, &left};
  esp_request* request = nullptr;
  CHECK_OK(rounds.init(&notify, &request), context.world, "");
  for (int round = 0; round < 6; ++round) {
    rounds.fill(round);
    left = 1;
    CHECK_OK(esp_request_start(request), context.world, "round {}", round);
    CHECK_OK(esp_counter_wait(context.job, &left, 0, 0), context.world, "round {}", round);
    if (round % 2 == 1) CHECK_OK(esp_request_wait(&request), context.world, "round {}", round);
    rounds.check(round);
  }
  CHECK_OK(esp_request_free(&request), context.world, "");
}

void messages_again(const Context& context) {
  if (context.size == 1) return;
  const int next = (context.rank + 1) % context.size;
  const int before = (context.rank + context.size - 1) % context.size;
  for (const std::size_t bytes : {0, 8, 20'000, 3'000'000}) {
    std::vector<unsigned char> sent(bytes + 1), got(bytes + 1);
    esp_request* both[2] = {};
    CHECK_OK(esp_recv_init(context.world, got.data(), bytes, before, 3, nullptr, &both[0]),
             context.world, "");
    CHECK_OK(esp_send_init(context.world, sent.data(), bytes, next, 3, nullptr, &both[1]),
             context.world, "");
    for (int round = 0; round < 4; ++round) {
      std::memset(sent.data(), 16 * round + context.rank % 16, bytes);
      CHECK_OK(esp_request_start_all(both, 2), context.world, "round {}", round);
      CHECK_OK(esp_request_wait_all(both, 2), context.world, "round {}", round);
      const int expected = 16 * round + before % 16;
      CHECK(bytes == 0 || (got[0] == expected && got[bytes - 1] == expected),
            "round {} of {} bytes", round, bytes);
    }
    for (esp_request*& request : both) CHECK_OK(esp_request_free(&request), context.world, "");
  }
}

void refused(const Context& context) {
  esp_team* const world = context.world;
  int x = context.rank;
  esp_request* request = nullptr;
  CHECK_EQ(esp_barrier_init(nullptr, nullptr, nullptr, &request), ESP_ERR_ARGUMENT, "no team");
  REFUSED_AS(esp_barrier_init(world, nullptr, nullptr, nullptr), ESP_ERR_ARGUMENT,
             "esp_barrier_init: request is NULL");
  const esp_notify none{nullptr, nullptr, nullptr};
  REFUSED_AS(esp_bcast_init(world, &x, 1, ESP_INT32, 0, nullptr, &none, &request), ESP_ERR_ARGUMENT,
             "esp_bcast_init: a notify has either");
  REFUSED_AS(esp_allgather_init(world, nullptr, &x, 1, ESP_INT32, nullptr, nullptr, &request),
             ESP_ERR_ARGUMENT, "esp_allgather_init: the input is NULL");
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  options.algorithm = ESP_ALGORITHM_TREE;
  REFUSED_AS(
      esp_scan_init(world, ESP_IN_PLACE, &x, 1, ESP_INT32, ESP_SUM, &options, nullptr, &request),
      ESP_ERR_UNSUPPORTED, "esp_scan_init: ");
  REFUSED_AS(esp_send_init(world, &x, 4, context.rank, 0, nullptr, &request), ESP_ERR_ARGUMENT,
             "esp_send_init: peer");
  CHECK(request == nullptr, "a refused call gave a request");

  CHECK_OK(esp_allreduce_init(world, ESP_IN_PLACE, &x, 1, ESP_INT32, ESP_MAX, nullptr, nullptr,
                              &request),
           world, "");
  CHECK_OK(esp_request_start(request), world, "");
  REFUSED_AS(esp_request_start(request), ESP_ERR_STATE, "esp_request_start: the round before");
  REFUSED_AS(esp_request_free(&request), ESP_ERR_STATE, "esp_request_free: its round");
  CHECK(request != nullptr, "a refused free took the handle");
  CHECK_OK(esp_request_wait(&request), world, "nothing was lost");
  CHECK_EQ(x, context.size - 1, "nothing was lost");

  // Of two of which one is not to be started, none is.
  esp_request* once = nullptr;
  CHECK_OK(esp_barrier_start(world, nullptr, nullptr, &once), world, "");
  esp_request* two[] = {request, once};
  std::size_t completed = 0;
  REFUSED_AS(esp_request_start_all(two, 2), ESP_ERR_ARGUMENT,
             "esp_request_start_all: the request is not persistent");
  two[1] = nullptr;
  REFUSED_AS(esp_request_start_all(two, 2), ESP_ERR_ARGUMENT,
             "esp_request_start_all: request 1 is NULL");
  REFUSED_AS(esp_request_test(&once, nullptr), ESP_ERR_ARGUMENT, "esp_request_test: done is NULL");
  REFUSED_AS(esp_request_wait_any(two, 2, nullptr), ESP_ERR_ARGUMENT,
             "esp_request_wait_any: index is NULL");
  REFUSED_AS(esp_request_wait_some(two, 2, nullptr, nullptr, &completed), ESP_ERR_ARGUMENT,
             "esp_request_wait_some: indices is NULL");
  REFUSED_AS(esp_request_test_all(two, 2, nullptr), ESP_ERR_ARGUMENT,
             "esp_request_test_all: done is NULL");
  REFUSED_AS(esp_request_start(once), ESP_ERR_ARGUMENT, "esp_request_start: the request is not");
  REFUSED_AS(esp_request_free(&once), ESP_ERR_ARGUMENT, "esp_request_free: it is not persistent");
  CHECK_OK(esp_request_wait(&once), world, "");
  CHECK_OK(esp_request_free(&request), world, "it was not started");
  CHECK_EQ(esp_request_start(nullptr), ESP_ERR_ARGUMENT, "NULL");
  CHECK_EQ(esp_request_free(nullptr), ESP_ERR_ARGUMENT, "NULL");
  CHECK_EQ(esp_request_start_all(&two[1], 1), ESP_ERR_ARGUMENT, "NULL");
  CHECK_EQ(esp_request_start_all(nullptr, 1), ESP_ERR_ARGUMENT, "NULL");
  CHECK_OK(esp_request_free(&request), world, "NULL");
}

void largest(const void* in, void* inout, std::size_t count, esp_type, void*) {
  for (std::size_t i = 0; i < count; ++i) {
    auto& mine = static_cast<int*>(inout)[i];
    mine = std::max(mine, static_cast<const int*>(in)[i]);
  }
}

void operators_in_use(const Context& context) {
  esp_op op = -1;
  CHECK_OK(esp_op_create(context.job, largest, nullptr, 1, &op), context.world, "");
  std::vector<int> x(100);
  esp_request* request = nullptr;
  CHECK_OK(esp_allreduce_init(context.world, ESP_IN_PLACE, x.data(), x.size(), ESP_INT32, op,
                              nullptr, nullptr, &request),
           context.world, "");
  for (int round = 0; round < 3; ++round) {
    x.assign(x.size(), context.rank + round);
    REFUSED_AS(esp_op_free(context.job, op), ESP_ERR_STATE, "persistent requests use it");
    CHECK_OK(esp_request_start(request), context.world, "");
    CHECK_OK(esp_request_wait(&request), context.world, "");
    CHECK_EQ(x.back(), context.size - 1 + round, "round {}", round);
  }
  CHECK_OK(esp_request_free(&request), context.world, "");
  CHECK_OK(esp_op_free(context.job, op), context.world, "");
}

// With a round under way a team stays; with inactive requests it goes, and they are of no use.
void freed_teams(const Context& context) {
  esp_team* team = nullptr;
  CHECK_OK(esp_team_dup(context.world, &team), context.world, "");
  Rounds rounds(team, Kind::kAllreduce, 100, false);
  esp_request *request = nullptr, *idle = nullptr;
  CHECK_OK(rounds.init(nullptr, &request), team, "");
  CHECK_OK(rounds.init(nullptr, &idle), team, "");
  rounds.fill(0);
  char byte = 0;
  // Rank 0 comes when all others have found it under way.
  for (int r = 1; context.rank == 0 && r < context.size; ++r) {
    CHECK_OK(esp_recv(context.world, &byte, 1, r, 8), context.world, "");
  }
  CHECK_OK(esp_request_start(request), team, "");
  if (context.rank != 0) {
    REFUSED_AS(esp_team_free(team), ESP_ERR_STATE, "operations are under way");
    CHECK_OK(esp_send(context.world, &byte, 1, 0, 8), context.world, "");
  }
  CHECK_OK(esp_request_wait(&request), team, "");
  rounds.check(0);
  CHECK_OK(esp_team_free(team), context.world, "");
  REFUSED_AS(esp_request_start(request), ESP_ERR_ARGUMENT, "its team has been freed");
  CHECK_OK(esp_request_wait(&request), context.world, "it is inactive");
  CHECK_OK(esp_request_free(&request), context.world, "");
  CHECK_OK(esp_request_free(&idle), context.world, "");
}

// A round that meets another length, the blocking form or a started call fails the team; every
// later round says so.
void failed_teams(const Context& context) {
  enum class Other { kLength, kBlocking, kStarted };
  for (const Other other : {Other::kLength, Other::kBlocking, Other::kStarted}) {
    esp_team* team = nullptr;
    CHECK_OK(esp_team_split(context.world, context.rank / 2, 0, &team), context.world, "");
    if (esp_team_size(team) == 1) continue;  // nobody to disagree with, and no part in what fails
    int x[2] = {};
    const bool differs = context.rank % 2 == 1;
    const std::size_t count = differs && other == Other::kLength ? 2 : 1;
    esp_request *request = nullptr, *once = nullptr;
    CHECK_OK(esp_allreduce_init(team, ESP_IN_PLACE, x, count, ESP_INT32, ESP_SUM, nullptr, nullptr,
                                &request),
             team, "");
    esp_status status = ESP_OK;
    if (differs && other == Other::kBlocking) {
      status = esp_allreduce(team, ESP_IN_PLACE, x, 1, ESP_INT32, ESP_SUM);
    } else if (differs && other == Other::kStarted) {
      CHECK_OK(esp_allreduce_start(team, ESP_IN_PLACE, x, 1, ESP_INT32, ESP_SUM, nullptr, nullptr,
                                   &once),
               team, "");
      status = esp_request_wait(&once);
    } else {
      CHECK_OK(esp_request_start(request), team, "");
      status = esp_request_wait(&request);
      CHECK(request != nullptr, "the handle stays");
    }
    CHECK_EQ(status, ESP_ERR_MISMATCH, "other call {}", static_cast<int>(other));
    CHECK_STATUS(esp_request_start(request), ESP_ERR_MISMATCH, team, "the team has failed");
    esp_request* more = nullptr;
    CHECK_STATUS(esp_barrier_init(team, nullptr, nullptr, &more), ESP_ERR_MISMATCH, team, "");
    CHECK_OK(esp_request_free(&request), team, "");
  }
}

}  // namespace
}  // namespace persistent_cases

void persistent(const Context& context) {
  persistent_cases::one_after_the_other(context);
  persistent_cases::together(context);
  persistent_cases::in_callbacks(context);
  persistent_cases::counted(context);
  persistent_cases::messages_again(context);
  persistent_cases::refused(context);
  persistent_cases::operators_in_use(context);
  persistent_cases::freed_teams(context);
  persistent_cases::failed_teams(context);
  // What is left is the job's.
  esp_request* left = nullptr;
  CHECK_OK(esp_barrier_init(context.world, nullptr, nullptr, &left), context.world, "");
}

}  // namespace test
