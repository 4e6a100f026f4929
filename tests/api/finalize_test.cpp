// Leaving a job with operations under way: each is told once that it will not complete, whoever
// drives progress, and the other members go on with what does not need the one that leaves. Every
// rank is a thread.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "espalier/espalier.hpp"
#include "tests/support/thread_bootstrap.hpp"

namespace {

using namespace std::chrono_literals;
using test::g_case;
using test::open;

// Counts what it is told; after the first news it tries to go on.
struct News {
  std::atomic<bool>* left = nullptr;
  int times = 0;
  esp_status status = ESP_IN_PROGRESS;
  esp_team* team = nullptr;
  esp_status next = ESP_OK;
};

void record(void* context, esp_status status) {
  auto& news = *static_cast<News*>(context);
  ++news.times;
  news.status = status;
  if (news.left != nullptr) {
    news.left->store(true);
    news.left->notify_one();
  }
  const esp_notify again{record, context, nullptr};
  if (news.team != nullptr) {
    news.next = esp_barrier_start(std::exchange(news.team, nullptr), nullptr, &again, nullptr);
  }
}

// `left`: rank 0 is leaving. The other rank stays until then, so that it is not the first to go.
void leave_with_much_under_way(test::Meeting& meeting, int rank, esp_thread_mode mode,
                               std::atomic<bool>& left) {
  esp_job* job = open(meeting, rank, mode);
  if (job == nullptr) return;
  esp_team* world = esp_job_world(job);
  esp_team* team = nullptr;
  CHECK_OK(esp_team_dup(world, &team), world, "");
  // The other rank takes part in none of these.
  News news[5];
  std::int64_t counter = 2;
  std::vector<int> data(300'000);
  int received = 0;
  esp_request *requests[2] = {}, *persistent[3] = {};
  if (rank == 0) {
    const auto told = [&](int i) { return esp_notify{record, &news[i], nullptr}; };
    const esp_notify counted{nullptr, nullptr, &counter};
    news[0].team = team;
    news[0].left = &left;
    esp_notify notify = told(0);
    CHECK_OK(esp_recv_start(world, &received, 4, 1, 7, &notify, nullptr), world, "");
    notify = told(1);
    CHECK_OK(
        esp_bcast_start(world, data.data(), data.size(), ESP_INT32, 0, nullptr, &notify, nullptr),
        world, "");
    notify = told(2);
    CHECK_OK(esp_allreduce_start(team, ESP_IN_PLACE, data.data(), data.size(), ESP_INT32, ESP_SUM,
                                 nullptr, &notify, nullptr),
             team, "");
    notify = told(3);
    CHECK_OK(esp_send_start(team, data.data(), data.size() * 4, 1, 7, &notify, nullptr), team, "");
    CHECK_OK(esp_barrier_start(world, nullptr, &counted, nullptr), world, "");
    CHECK_OK(esp_recv_start(team, &received, 4, 1, 8, &counted, nullptr), team, "");
    CHECK_OK(esp_barrier_start(world, nullptr, nullptr, &requests[0]), world, "");
    CHECK_OK(esp_recv_start(world, &received, 4, 1, 9, nullptr, &requests[1]), world, "");
    notify = told(4);
    CHECK_OK(esp_recv_init(team, &received, 4, 1, 10, &notify, &persistent[0]), team, "");
    CHECK_OK(esp_barrier_init(world, nullptr, nullptr, &persistent[1]), world, "");
    CHECK_OK(esp_request_start_all(persistent, 2), world, "");
    CHECK_OK(esp_bcast_init(team, data.data(), data.size(), ESP_INT32, 0, nullptr, nullptr,
                            &persistent[2]),
             team, "not started");
  }
  if (rank != 0) left.wait(false);
  CHECK_EQ(esp_job_finalize(job), ESP_OK, "rank {}", rank);
  if (rank != 0) return;
  for (const News& one : news) {
    CHECK_EQ(one.times, 1, "callback {}", &one - news);
    CHECK_EQ(one.status, ESP_ERR_CANCELED, "callback {}", &one - news);
  }
  CHECK_EQ(news[0].next, ESP_ERR_CANCELED, "nothing can be started any more");
  CHECK_EQ(counter, std::int64_t{0}, "each counted operation counts down once");
}

void open_requests_and_callbacks() {
  for (const esp_thread_mode mode : {ESP_THREAD_OWNER, ESP_THREAD_PROGRESS}) {
    g_case = mode == ESP_THREAD_OWNER ? "open requests" : "open requests, progress thread";
    test::Meeting meeting(2);
    std::atomic<bool> left{false};
    std::jthread other([&] { leave_with_much_under_way(meeting, 1, mode, left); });
    leave_with_much_under_way(meeting, 0, mode, left);
  }
}

// Messages to a rank that does nothing, until they have to wait: finalize ends them, once each.
void leave_with_messages_under_way(test::Meeting& meeting, int rank, std::atomic<bool>& left) {
  esp_job* job = open(meeting, rank);
  if (job == nullptr) return;
  esp_team* world = esp_job_world(job);
  constexpr int kMessages = 100;
  const std::vector<char> payload(16000);
  std::vector<News> news(kMessages);
  int taken = 0;
  const esp_am_handler count = [](void* context, int, uint64_t, const void*, size_t) {
    ++*static_cast<int*>(context);
  };
  CHECK_OK(esp_am_register(job, 0, count, &taken), world, "");
  CHECK_OK(esp_barrier(world), world, "");
  if (rank == 0) {
    for (News& one : news) {
      const esp_notify notify{record, &one, nullptr};
      CHECK_OK(esp_am_send_start(job, 1, 0, 0, payload.data(), payload.size(), &notify, nullptr),
               world, "");
    }
    left = true;
    left.notify_one();
  } else {
    left.wait(false);
  }
  CHECK_EQ(esp_job_finalize(job), ESP_OK, "rank {}", rank);
  if (rank != 0) return;
  int sent = 0, cancelled = 0;
  for (const News& one : news) {
    CHECK_EQ(one.times, 1, "message {}", &one - news.data());
    sent += one.status == ESP_OK ? 1 : 0;
    cancelled += one.status == ESP_ERR_CANCELED ? 1 : 0;
  }
  CHECK_EQ(sent + cancelled, kMessages, "");
  CHECK(sent > 0 && cancelled > 0, "{} sent, {} cancelled", sent, cancelled);
}

void messages_under_way() {
  g_case = "messages under way";
  test::Meeting meeting(2);
  std::atomic<bool> left{false};
  std::jthread other([&] { leave_with_messages_under_way(meeting, 1, left); });
  leave_with_messages_under_way(meeting, 0, left);
}

// Long enough for the others' watchdogs to look at what they wait for several times.
constexpr auto kLater = 200ms;

// Rank 0 has done its part of everything, but leaves a receive open that nobody will serve.
void leave_others_at_work(test::Meeting& meeting, int rank) {
  esp_job* job = open(meeting, rank);
  if (job == nullptr) return;
  esp_team* world = esp_job_world(job);
  std::vector<int> data(1000, rank == 0 ? 5 : -1);
  int never = 0, token = 17;
  esp_request* request = nullptr;
  const auto last_bcast = [&] {
    esp_request* last = nullptr;
    CHECK_OK(
        esp_bcast_start(world, data.data(), data.size(), ESP_INT32, 0, nullptr, nullptr, &last),
        world, "rank {}", rank);
    CHECK_OK(esp_request_wait(&last), world, "rank {}", rank);
  };
  if (rank == 0) {
    CHECK_OK(esp_recv_start(world, &never, 4, 1, 3, nullptr, &request), world, "");
    last_bcast();
  } else if (rank == 1) {
    CHECK_OK(esp_recv(world, &token, 4, 2, 0), world, "a message of two that stay");
    CHECK_EQ(token, 18, "");
    last_bcast();
  } else {
    std::this_thread::sleep_for(kLater);
    token = 18;
    CHECK_OK(esp_send(world, &token, 4, 1, 0), world, "a message of two that stay");
    last_bcast();
  }
  CHECK_EQ(data.back(), 5, "what rank 0 had sent before it left, rank {}", rank);
  CHECK_EQ(esp_job_finalize(job), ESP_OK, "rank {}", rank);
}

void the_others_go_on() {
  g_case = "the others go on";
  test::Meeting meeting(3);
  std::vector<std::jthread> threads;
  for (int r = 0; r < 3; ++r) {
    threads.emplace_back([&meeting, r] { leave_others_at_work(meeting, r); });
  }
}

// Puts on the own node, each started by the callback of the one before.
struct Chain {
  esp_region* region = nullptr;
  // Writers: this thread, then that of callbacks; the reader waits for the job's end.
  std::atomic<int> puts = 0;
  std::atomic<esp_status> next = ESP_OK;
};

void put_next(void* context, esp_status) {
  auto& chain = *static_cast<Chain*>(context);
  const std::uint64_t word = 7;
  const esp_notify again{put_next, context, nullptr};
  ++chain.puts;
  chain.next = esp_put_start(chain.region, 0, 0, &word, sizeof word, &again, nullptr);
}

void a_chain_of_puts() {
  for (const esp_thread_mode mode : {ESP_THREAD_OWNER, ESP_THREAD_PROGRESS}) {
    g_case = mode == ESP_THREAD_OWNER ? "a chain of puts" : "a chain of puts, progress thread";
    test::Meeting meeting(1);
    esp_job* job = open(meeting, 0, mode);
    if (job == nullptr) return;
    Chain chain;
    CHECK_OK(esp_region_create(esp_job_world(job), 8, &chain.region), esp_job_world(job), "");
    put_next(&chain, ESP_OK);
    CHECK_EQ(chain.next.load(), ESP_OK, "");
    ::alarm(10);
    CHECK_EQ(esp_job_finalize(job), ESP_OK, "");
    ::alarm(0);
    CHECK(chain.puts > 1, "the last put was done, and told");
    CHECK_EQ(chain.next.load(), ESP_ERR_CANCELED, "nothing can be started any more");
  }
}

// Nobody waits for a receive that nobody serves: finalize ends it, and what it shares goes.
void leave_a_future_behind(test::Meeting& meeting, int rank, esp_thread_mode mode,
                           std::atomic<bool>& left) {
  esp_job* job = open(meeting, rank, mode);
  if (job == nullptr) return;
  const esp::TeamRef world(esp_job_world(job));
  const auto ends = std::make_shared<std::vector<esp_status>>();
  int never = 0;
  if (rank == 0) {
    const auto receive = [&](esp::Notify done) {
      return world.recv_start(esp::one(never), {.rank = 1}, std::move(done));
    };
    esp::launch(esp::kAsync, world, receive)
        .then(esp::kFireAndForget, [ends, &left](esp::Status s) {
          ends->push_back(s.code());
          left.store(true);
          left.notify_one();
        });
    CHECK_EQ(ends.use_count(), 2, "it is under way");
  } else {
    left.wait(false);
  }
  CHECK_EQ(esp_job_finalize(job), ESP_OK, "rank {}", rank);
  if (rank != 0) return;
  CHECK(*ends == std::vector<esp_status>{ESP_ERR_CANCELED}, "{} ends", ends->size());
  CHECK_EQ(ends.use_count(), 1, "it is gone");
}

void forgotten_futures() {
  for (const esp_thread_mode mode : {ESP_THREAD_OWNER, ESP_THREAD_PROGRESS}) {
    g_case = mode == ESP_THREAD_OWNER ? "forgotten" : "forgotten, progress thread";
    test::Meeting meeting(2);
    std::atomic<bool> left{false};
    std::jthread other([&] { leave_a_future_behind(meeting, 1, mode, left); });
    leave_a_future_behind(meeting, 0, mode, left);
  }
}

}  // namespace

int main() {
  open_requests_and_callbacks();
  messages_under_way();
  the_others_go_on();
  a_chain_of_puts();
  forgotten_futures();
  fmt::print("{} checks, {} failures\n", test::g_checks.load(), test::g_failures.load());
  return test::g_failures.load() == 0 && test::g_checks.load() > 30 ? 0 : 1;
}
