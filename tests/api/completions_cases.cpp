// Callbacks of all that can be started with one, on every wire: each is called once, in order of
// nothing but its own operation, and finds the operation's result. And barriers that hold: what a
// rank has counted elsewhere before it enters is there when another leaves.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "tests/api/cases.hpp"

namespace test {
namespace {

constexpr std::size_t kSizes[] = {8, 3000, 40'000, (1 << 20) + 3};

// An operation whose callback looks at what it has brought.
struct Watched {
  std::vector<unsigned char> buffer, expected;
  int calls = 0;
  esp_status status = ESP_IN_PROGRESS;
  bool right = false;

  static void ended(void* context, esp_status status) {
    auto& self = *static_cast<Watched*>(context);
    ++self.calls;
    self.status = status;
    self.right = self.buffer == self.expected;
  }
};

class All {
 public:
  explicit All(const Context& context) : context_(context) {}

  // `start` gets the memory and the notify, and starts the operation.
  template <typename Start>
  void add(const char* what, std::vector<unsigned char> buffer, std::vector<unsigned char> expected,
           Start&& start) {
    auto& one = *all_.emplace_back(std::make_unique<Watched>());
    one.buffer = std::move(buffer);
    one.expected = std::move(expected);
    names_.push_back(what);
    const esp_notify notify = {&Watched::ended, &one, nullptr};
    CHECK_OK(start(one.buffer.data(), one.buffer.size(), &notify), context_.world, "{}", what);
    CHECK_EQ(one.calls, 0, "{}: called back from inside the start", what);
  }
  void finish() {
    const auto open = [&] {
      return std::any_of(all_.begin(), all_.end(), [](const auto& one) { return one->calls == 0; });
    };
    for (const double end = esp_time() + 60; open() && esp_time() < end;) {
      (void)esp_progress(context_.job);
    }
    CHECK_OK(esp_barrier(context_.world), context_.world, "all have come");
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const Watched& one = *all_[i];
      CHECK_EQ(one.calls, 1, "{}, {} bytes", names_[i], one.buffer.size());
      CHECK_EQ(one.status, ESP_OK, "{}, {} bytes", names_[i], one.buffer.size());
      CHECK(one.right, "{}, {} bytes: the result was not there", names_[i], one.buffer.size());
    }
  }

 private:
  const Context& context_;
  std::vector<std::unique_ptr<Watched>> all_;
  std::vector<const char*> names_;
};

// With every other rank at once, in both directions.
void flows_with_callbacks(const Context& c) {
  All all(c);
  for (const std::size_t bytes : kSizes) {
    for (int peer = 0; peer < c.size; ++peer) {
      if (peer == c.rank) continue;
      all.add("receive", std::vector<unsigned char>(bytes), pattern(peer, bytes),
              [&](void* data, std::size_t n, const esp_notify* notify) {
                return esp_recv_start(c.world, data, n, peer, 3, notify, nullptr);
              });
      all.add("send", pattern(c.rank, bytes), pattern(c.rank, bytes),
              [&](void* data, std::size_t n, const esp_notify* notify) {
                return esp_send_start(c.world, data, n, peer, 3, notify, nullptr);
              });
    }
  }
  all.finish();
}

std::vector<unsigned char> word(std::uint64_t value) {
  std::vector<unsigned char> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// Of each rank's memory everybody reads the same part, writes one of its own and counts in words of
// its own.
void accesses_with_callbacks(const Context& c) {
  constexpr std::size_t kRead = (1 << 20) + 3, kWords = 1 << 21;
  const auto slot = static_cast<std::size_t>(c.rank) * 64;
  esp_region* region = nullptr;
  const std::size_t all_bytes = kWords + 64 * static_cast<std::size_t>(c.size);
  CHECK_OK(esp_region_create(c.world, all_bytes, &region), c.world, "create");
  if (region == nullptr) return;
  const auto mine = pattern(c.rank, kRead);
  std::memcpy(esp_region_memory(region), mine.data(), mine.size());
  CHECK_OK(esp_barrier(c.world), c.world, "filled");
  All all(c);
  for (int peer = 0; peer < c.size; ++peer) {
    for (const std::size_t bytes : kSizes) {
      all.add("get", std::vector<unsigned char>(bytes), pattern(peer, bytes),
              [&](void* data, std::size_t n, const esp_notify* notify) {
                return esp_get_start(region, peer, 0, data, n, notify, nullptr);
              });
    }
    all.add("put", word(9), word(9), [&](void* data, std::size_t n, const esp_notify* notify) {
      return esp_put_start(region, peer, kWords + slot + 16, data, n, notify, nullptr);
    });
    all.add("fetch and add", word(7), word(0),
            [&](void* old, std::size_t, const esp_notify* notify) {
              return esp_fetch_add_start(region, peer, kWords + slot, 5,
                                         static_cast<std::uint64_t*>(old), notify, nullptr);
            });
    all.add("compare and swap", word(7), word(0),
            [&](void* old, std::size_t, const esp_notify* notify) {
              return esp_compare_swap_start(region, peer, kWords + slot + 8, 0, 6,
                                            static_cast<std::uint64_t*>(old), notify, nullptr);
            });
  }
  all.finish();
  for (int from = 0; from < c.size; ++from) {
    std::uint64_t words[3] = {};
    const std::size_t at = kWords + 64 * static_cast<std::size_t>(from);
    std::memcpy(words, static_cast<const char*>(esp_region_memory(region)) + at, sizeof words);
    CHECK(words[0] == 5 && words[1] == 6 && words[2] == 9, "of {}: {} {} {}", from, words[0],
          words[1], words[2]);
  }
  CHECK_OK(esp_region_free(region), c.world, "free");
}

void messages_with_callbacks(const Context& c) {
  constexpr int kTold = 20;
  static int heard;
  heard = 0;
  const esp_am_handler hear = [](void*, int from, std::uint64_t argument, const void* payload,
                                 std::size_t bytes) {
    const auto expected = pattern(from, bytes);
    const bool same = bytes == 0 || std::memcmp(payload, expected.data(), bytes) == 0;
    heard += same && argument == bytes ? 1 : -1000;
  };
  CHECK_OK(esp_am_register(c.job, 4, hear, nullptr), c.world, "register");
  CHECK_OK(esp_barrier(c.world), c.world, "registered");
  All all(c);
  for (int round = 0; round < kTold; ++round) {
    const auto bytes = static_cast<std::size_t>(round) * 400;
    for (int peer = 0; peer < c.size; ++peer) {
      all.add("message", pattern(c.rank, bytes), pattern(c.rank, bytes),
              [&](const void* data, std::size_t n, const esp_notify* notify) {
                return esp_am_send_start(c.job, peer, 4, n, data, n, notify, nullptr);
              });
    }
  }
  all.finish();
  for (const double end = esp_time() + 60; heard < kTold * c.size && esp_time() < end;) {
    (void)esp_progress(c.job);
  }
  CHECK_EQ(heard, kTold * c.size, "messages of all");
  CHECK_OK(esp_barrier(c.world), c.world, "all have heard all");
}

// Each rank says to rank 0 that it enters; who has left asks it how many had.
void barriers_hold(const Context& c) {
  esp_region* region = nullptr;
  CHECK_OK(esp_region_create(c.world, c.rank == 0 ? 8 : 0, &region), c.world, "create");
  if (region == nullptr) return;
  std::mt19937 random(static_cast<unsigned>(c.rank));
  constexpr std::uint64_t kTurns = 30;
  for (std::uint64_t turn = 1; turn <= kTurns; ++turn) {
    if (random() % 4 == 0) ::usleep(static_cast<useconds_t>(random() % 3000));
    CHECK_OK(esp_fetch_add(region, 0, 0, 1, nullptr), c.world, "turn {}", turn);
    if (turn % 2 == 0) {
      CHECK_OK(esp_barrier(c.world), c.world, "turn {}", turn);
    } else {
      esp_request* request = nullptr;
      CHECK_OK(esp_barrier_start(c.world, nullptr, nullptr, &request), c.world, "turn {}", turn);
      CHECK_OK(esp_request_wait(&request), c.world, "turn {}", turn);
    }
    std::uint64_t entered = 0;
    CHECK_OK(esp_fetch_add(region, 0, 0, 0, &entered), c.world, "turn {}", turn);
    const auto size = static_cast<std::uint64_t>(c.size);
    CHECK(entered >= turn * size && entered < (turn + 1) * size, "turn {}: {} of {} had entered",
          turn, entered, turn * size);
  }
  CHECK_OK(esp_region_free(region), c.world, "free");
}

}  // namespace

void completions(const Context& context) {
  flows_with_callbacks(context);
  accesses_with_callbacks(context);
  messages_with_callbacks(context);
  barriers_hold(context);
}

}  // namespace test
