// Active messages: order, sizes, storms in both directions, slow targets, refusals.
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/api/cases.hpp"

namespace test {
namespace {

// Until done(), or much too long.
template <typename Done>
void drive(const Context& c, const char* what, Done&& done) {
  const double end = esp_time() + 60;
  while (!done()) {
    if (esp_progress(c.job) == 0) sched_yield();
    const bool late = esp_time() > end;
    CHECK(!late, "{} takes too long", what);
    if (late) return;
  }
}

std::size_t size_of(std::uint64_t number) {
  constexpr std::size_t kSizes[] = {0, 8, 1, 100, 3, 4000, 16, 16384, 77, 64};
  return kSizes[number % std::size(kSizes)];
}
unsigned char byte_of(int from, std::uint64_t number) {
  return static_cast<unsigned char>(static_cast<std::uint64_t>(from) * 5 + number * 3 + 1);
}

// Handlers run on the thread that drives progress: nothing of this is touched by two at once.
struct Inbox {
  explicit Inbox(int size) : next(static_cast<std::size_t>(size), 0) {}
  std::vector<std::uint64_t> next;  // per source
  std::atomic<std::uint64_t> count{0}, wrong{0};
  std::atomic<bool> posting{false};
};

void numbered(void* context, int source, uint64_t argument, const void* payload, size_t bytes) {
  auto& inbox = *static_cast<Inbox*>(context);
  const auto* data = static_cast<const unsigned char*>(payload);
  bool right = !inbox.posting && inbox.next[static_cast<std::size_t>(source)]++ == argument &&
               bytes == size_of(argument);
  for (std::size_t i = 0; i < bytes && right; ++i) right = data[i] == byte_of(source, argument);
  if (!right) ++inbox.wrong;
  ++inbox.count;
}

void in_order(void* context, int source, uint64_t argument, const void*, size_t) {
  ++static_cast<Inbox*>(context)->count;
  if (static_cast<Inbox*>(context)->next[static_cast<std::size_t>(source)]++ != argument) {
    ++static_cast<Inbox*>(context)->wrong;
  }
}

// Everybody to everybody, itself included, faster than anybody takes them.
void storm(const Context& c) {
  constexpr std::uint64_t kEach = 500;
  const auto n = static_cast<std::uint64_t>(c.size);
  const bool threaded = esp_job_fd(c.job) < 0;
  Inbox inbox(c.size);
  CHECK_OK(esp_am_register(c.job, 0, numbered, &inbox), c.world, "");
  CHECK_OK(esp_barrier(c.world), c.world, "");
  int64_t left = 0;
  const esp_notify counted = {nullptr, nullptr, &left};
  std::vector<std::vector<unsigned char>> payloads;
  for (std::uint64_t i = 0; i < kEach; ++i) {
    payloads.emplace_back(size_of(i), byte_of(c.rank, i));
    for (int r = 0; r < c.size; ++r) {
      __atomic_fetch_add(&left, 1, __ATOMIC_RELAXED);
      inbox.posting = !threaded;
      CHECK_OK(esp_am_send_start(c.job, r, 0, i, payloads.back().data(), payloads.back().size(),
                                 &counted, nullptr),
               c.world, "{} to {}", i, r);
      inbox.posting = false;
    }
  }
  CHECK_OK(esp_counter_wait(c.job, &left, 0, 0), c.world, "sent");
  drive(c, "a storm", [&] { return inbox.count == n * kEach; });
  CHECK_EQ(inbox.wrong.load(), std::uint64_t{0}, "order, size or content");
  CHECK_OK(esp_barrier(c.world), c.world, "");
  CHECK_EQ(inbox.count.load(), n * kEach, "each once");
}

// Functions answer; a ball goes round and comes back.
struct Player {
  const Context& c;
  std::atomic<std::uint64_t> passes{0};
  std::atomic<int64_t> sending{0};
  std::atomic<bool> over{false};
};
void pass(void* context, int, uint64_t ball, const void*, size_t) {
  auto& player = *static_cast<Player*>(context);
  ++player.passes;
  if (ball == 0) player.over = true;
  // The last ball goes round once more, so that everybody sees the end.
  const bool ends = ball == 0 && player.c.rank == player.c.size - 1;
  if (ends) return;
  static int64_t unused = 1 << 30;
  const esp_notify counted = {nullptr, nullptr, &unused};
  const int next = (player.c.rank + 1) % player.c.size;
  const bool back = next == 0 && ball > 0;
  CHECK_OK(esp_am_send_start(player.c.job, next, 1, back ? ball - 1 : ball, nullptr, 0, &counted,
                             nullptr),
           player.c.world, "ball {}", ball);
  CHECK_STATUS(esp_am_send(player.c.job, next, 1, 0, nullptr, 0), ESP_ERR_STATE, player.c.world,
               "blocking inside a function");
  esp_team* copy = nullptr;
  CHECK_STATUS(esp_team_dup(player.c.world, &copy), ESP_ERR_STATE, player.c.world,
               "a team made inside a function");
  const std::string text = esp_job_error(player.c.job);
  CHECK(text.find("esp_team_dup: a blocking call") == 0, "{}", text);
}

void ball_game(const Context& c) {
  constexpr std::uint64_t kRounds = 50;
  Player player{c};
  CHECK_OK(esp_am_register(c.job, 1, pass, &player), c.world, "");
  CHECK_OK(esp_barrier(c.world), c.world, "");
  if (c.rank == 0) {
    CHECK_OK(esp_am_send(c.job, 0, 1, kRounds, nullptr, 0), c.world, "kick-off");
  }
  drive(c, "the game", [&] { return player.over.load(); });
  CHECK_EQ(player.passes.load(), kRounds + 1, "passes");
  CHECK_OK(esp_barrier(c.world), c.world, "");
}

// The target does nothing while far more is sent than the wires hold: the rest stays in progress,
// and comes in order when the target wakes up. On one node the target looks at its memory
// meanwhile, so it is certain that it does nothing else.
void slow_target(const Context& c) {
  constexpr std::uint64_t kMessages = 3000;  // of 16 KiB
  const int target = c.size - 1;
  const bool threaded = esp_job_fd(c.job) < 0;
  if (c.size == 1 || threaded) return;
  esp_region* flag = nullptr;
  CHECK_OK(esp_region_create(c.world, 8, &flag), c.world, "");
  if (flag == nullptr) return;
  const bool one_node = esp_region_pointer(flag, c.rank == 0 ? target : 0) != nullptr;
  Inbox inbox(c.size);
  CHECK_OK(esp_am_register(c.job, 2, in_order, &inbox), c.world, "");
  CHECK_OK(esp_barrier(c.world), c.world, "");
  if (c.rank == 0) {
    int64_t left = 0;
    const esp_notify counted = {nullptr, nullptr, &left};
    const std::vector<unsigned char> payload(16384, 7);
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      ++left;
      CHECK_OK(
          esp_am_send_start(c.job, target, 2, i, payload.data(), payload.size(), &counted, nullptr),
          c.world, "{}", i);
    }
    for (int turns = 0; turns < 1000; ++turns) (void)esp_progress(c.job);
    CHECK(left > 0 || !one_node, "all {} messages went somewhere", kMessages);
    CHECK_OK(esp_fetch_add(flag, target, 0, 1, nullptr), c.world, "wake up");
    drive(c, "sending", [&] {
      const int64_t before = left;
      const int events = esp_progress(c.job);
      CHECK(events > 0 || left == before, "messages left in a progress that did nothing");
      return left == 0 || g_failures > 0;
    });
  } else if (c.rank == target) {
    const auto* word = static_cast<const std::uint64_t*>(esp_region_memory(flag));
    const double end = esp_time() + (one_node ? 60 : 0.05);
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0 && esp_time() < end) sched_yield();
    drive(c, "a slow target", [&] { return inbox.count == kMessages; });
    CHECK_EQ(inbox.wrong.load(), std::uint64_t{0}, "in order");
  }
  CHECK_OK(esp_region_free(flag), c.world, "");
}

// Nobody takes them: each sender learns it, and nothing else is disturbed.
void refusals(const Context& c) {
  const int target = c.size - 1;
  esp_status status = ESP_OK;
  drive(c, "a refusal", [&] {
    status = esp_am_send(c.job, target, 63, 0, "?", 1);
    return status != ESP_OK;
  });
  CHECK_STATUS(status, ESP_ERR_MISMATCH, c.world, "a message that nobody takes");
  CHECK_OK(esp_barrier(c.world), c.world, "");
}

void wrong_calls(const Context& c) {
  const std::vector<char> large(esp_am_bytes_max(c.job) + 1);
  const auto argument = [&](esp_status status, const char* what) {
    CHECK_STATUS(status, ESP_ERR_ARGUMENT, c.world, "{}", what);
  };
  CHECK(esp_am_bytes_max(c.job) >= 16384, "{}", esp_am_bytes_max(c.job));
  argument(esp_am_register(nullptr, 0, numbered, nullptr), "no job");
  argument(esp_am_register(c.job, ESP_AM_IDS, numbered, nullptr), "no such id");
  argument(esp_am_register(c.job, -1, numbered, nullptr), "no such id");
  argument(esp_am_send(nullptr, 0, 0, 0, nullptr, 0), "no job");
  argument(esp_am_send(c.job, c.size, 0, 0, nullptr, 0), "no such rank");
  argument(esp_am_send(c.job, -1, 0, 0, nullptr, 0), "no such rank");
  argument(esp_am_send(c.job, 0, 64, 0, nullptr, 0), "no such id");
  argument(esp_am_send(c.job, 0, 0, 0, nullptr, 1), "no payload");
  argument(esp_am_send(c.job, 0, 0, 0, large.data(), large.size()), "too large");
  const std::string text = esp_job_error(c.job);
  CHECK(text.starts_with("esp_am_send: a message of 32769 bytes"), "{}", text);
  argument(esp_am_send_start(c.job, 0, 0, 0, nullptr, 0, nullptr, nullptr), "no report");
  esp_request* request = nullptr;
  request = reinterpret_cast<esp_request*>(&request);
  argument(esp_am_send_start(c.job, 0, 64, 0, nullptr, 0, nullptr, &request), "no such id");
  CHECK(request == nullptr, "a request is left");
}

}  // namespace

void messages(const Context& context) {
  storm(context);
  ball_game(context);
  slow_target(context);
  refusals(context);
  wrong_calls(context);
}

}  // namespace test
