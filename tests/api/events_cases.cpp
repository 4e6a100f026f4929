// A job's descriptor in an event loop: armed, it wakes whoever sleeps on it when something comes.
// Nothing else ends a sleep here but a limit that is an error.
#include <poll.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/api/cases.hpp"

namespace test {
namespace {

constexpr int kLimitMs = 10'000;
constexpr unsigned kAwayUs = 30'000;  // until the other is asleep, most likely
constexpr int kRounds = 4;

// Returns how often it slept; -1 when nothing woke it.
template <typename Done>
int sleep_until(const Context& c, const std::string& what, Done&& done) {
  int sleeps = 0;
  while (!done()) {
    const int events = esp_job_arm(c.job);
    CHECK(events >= 0, "{}: {}", what, esp_job_error(c.job));
    if (events < 0) return -1;
    if (events == 0) {
      ++sleeps;
      pollfd wake = {esp_job_fd(c.job), POLLIN, 0};
      const int ready = ::poll(&wake, 1, kLimitMs);
      CHECK(ready == 1 && wake.revents == POLLIN, "{}: nothing woke this rank ({})", what, ready);
      if (ready != 1) return -1;
    }
    (void)esp_progress(c.job);
  }
  return sleeps;
}

// `target` is about to sleep: what `other` sends comes when it does, most likely.
void meet(const Context& c, int target, int other) {
  char go = 0;
  if (c.rank == target) {
    CHECK_OK(esp_send(c.world, &go, 1, other, 1), c.world, "");
    return;
  }
  CHECK_OK(esp_recv(c.world, &go, 1, target, 1), c.world, "");
  ::usleep(kAwayUs);
}

// `target` sleeps until a message of `other` is there. Returns how often.
int flow(const Context& c, int target, int other, std::size_t bytes) {
  std::vector<unsigned char> data(bytes, c.rank == target ? 0 : 77);
  if (c.rank == other) {
    meet(c, target, other);
    CHECK_OK(esp_send(c.world, data.data(), bytes, target, 0), c.world, "");
    return 0;
  }
  esp_request* request = nullptr;
  CHECK_OK(esp_recv_start(c.world, data.data(), bytes, other, 0, nullptr, &request), c.world, "");
  meet(c, target, other);
  int done = 0;
  const int sleeps = sleep_until(c, fmt::format("{} bytes from rank {}", bytes, other), [&] {
    if (done == 0) (void)esp_request_test(&request, &done);
    return done != 0;
  });
  CHECK_OK(esp_request_wait(&request), c.world, "");
  CHECK(data.front() == 77 && data.back() == 77, "{} bytes", bytes);
  return sleeps;
}

void count(void* context, int, uint64_t, const void*, size_t) {
  ++*static_cast<int*>(context);
}

int message(const Context& c, int target, int other, const int& come) {
  const int expected = come + 1;
  meet(c, target, other);
  if (c.rank == target) {
    return sleep_until(c, fmt::format("a message from rank {}", other),
                       [&] { return come == expected; });
  }
  std::int64_t left = 1;
  const esp_notify counted = {nullptr, nullptr, &left};
  CHECK_OK(esp_am_send_start(c.job, target, 0, 5, nullptr, 0, &counted, nullptr), c.world, "");
  CHECK_OK(esp_counter_wait(c.job, &left, 0, 0), c.world, "");
  return 0;
}

// Who is called by progress cannot drive it.
struct Inside {
  const Context& c;
  bool called = false;
};
void drive_inside(void* context, int, uint64_t, const void*, size_t) {
  auto& inside = *static_cast<Inside*>(context);
  CHECK_EQ(esp_progress(inside.c.job), 0, "progress inside a function");
  CHECK(esp_job_arm(inside.c.job) < 0, "armed inside a function");
  const std::string text = esp_job_error(inside.c.job);
  CHECK(text.starts_with("esp_job_arm: "), "{}", text);
  inside.called = true;
}

void inside_a_callback(const Context& c) {
  Inside inside{c};
  CHECK_OK(esp_am_register(c.job, 1, drive_inside, &inside), c.world, "");
  CHECK_OK(esp_am_send(c.job, c.rank, 1, 0, nullptr, 0), c.world, "");
  while (!inside.called) (void)esp_progress(c.job);
}

}  // namespace

void events(const Context& c) {
  CHECK(c.size > 1 && esp_job_fd(c.job) >= 0, "{}", esp_job_error(c.job));
  inside_a_callback(c);
  int come = 0;
  CHECK_OK(esp_am_register(c.job, 0, count, &come), c.world, "");
  for (int target = 0; target < c.size && c.size > 1; ++target) {
    CHECK_OK(esp_barrier(c.world), c.world, "");
    const int other = (target + 1) % c.size;
    if (c.rank != target && c.rank != other) continue;
    int sleeps = 0;
    for (int round = 0; round < kRounds; ++round) {
      sleeps += flow(c, target, other, round % 2 == 0 ? 8 : 100'000);
      sleeps += message(c, target, other, come);
    }
    CHECK(sleeps > 0 || c.rank == other, "it never slept");
  }
  CHECK_OK(esp_barrier(c.world), c.world, "");
}

}  // namespace test
