// Regions: put, get and atomics on memory of every rank, blocking and not, on every wire.
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/api/cases.hpp"

namespace test {
namespace {

constexpr std::size_t kBytes = (3 << 20) + 512;

struct Ring {
  int next, before;
};
Ring ring_of(const Context& c) {
  return {(c.rank + 1) % c.size, (c.rank + c.size - 1) % c.size};
}

// Members of different sizes, some of none.
void region_shapes(const Context& c) {
  const auto bytes_of = [](int rank) {
    return rank % 3 == 2 ? 0 : 1000 + 64 * static_cast<std::size_t>(rank);
  };
  esp_region* region = nullptr;
  CHECK_OK(esp_region_create(c.world, bytes_of(c.rank), &region), c.world, "create");
  if (region == nullptr) return;
  CHECK(esp_region_memory(region) == esp_region_pointer(region, c.rank), "own memory");
  for (int r = 0; r < c.size; ++r) {
    CHECK_EQ(esp_region_bytes(region, r), bytes_of(r), "of rank {}", r);
    std::vector<unsigned char> seen(bytes_of(r), 1);
    CHECK_OK(esp_get(region, r, 0, seen.data(), seen.size()), c.world, "of rank {}", r);
    CHECK(seen == std::vector<unsigned char>(bytes_of(r), 0), "it is zeroed on {}", r);
    const auto* pointer = static_cast<const unsigned char*>(esp_region_pointer(region, r));
    CHECK(pointer == nullptr || bytes_of(r) == 0 || pointer[0] == 0, "the pointer to {}", r);
  }
  CHECK_EQ(esp_region_bytes(region, c.size), std::size_t{0}, "there is no such rank");
  CHECK(esp_region_pointer(region, -1) == nullptr, "nor that");
  CHECK_OK(esp_region_free(region), c.world, "free");
}

// Each writes into the next rank's memory and reads it back; nothing around is touched.
void sizes_and_offsets(const Context& c) {
  esp_region* region = nullptr;
  CHECK_OK(esp_region_create(c.world, kBytes, &region), c.world, "create");
  if (region == nullptr) return;
  const Ring ring = ring_of(c);
  auto* mine = static_cast<unsigned char*>(esp_region_memory(region));
  for (const std::size_t bytes : {0, 1, 7, 8, 63, 4095, (128 << 10) - 1, 128 << 10, (128 << 10) + 1,
                                  1 << 20, (3 << 20) + 5}) {
    for (const std::size_t offset : {std::size_t{0}, std::size_t{13}, kBytes - bytes - 1}) {
      std::memset(mine, 0xEE, kBytes);
      CHECK_OK(esp_barrier(c.world), c.world, "");
      const auto data = pattern(c.rank, bytes);
      CHECK_OK(esp_put(region, ring.next, offset, data.data(), bytes), c.world, "{} B", bytes);
      std::vector<unsigned char> back(bytes + 1, 0xAA);
      CHECK_OK(esp_get(region, ring.next, offset, back.data(), bytes), c.world, "{} B", bytes);
      CHECK_EQ(back.back(), 0xAA, "wrote beyond {} B", bytes);
      back.pop_back();
      CHECK(back == data, "{} B at {} read back", bytes, offset);
      CHECK_OK(esp_barrier(c.world), c.world, "");
      const auto expected = pattern(ring.before, bytes);
      CHECK(std::equal(expected.begin(), expected.end(), mine + offset), "{} B at {}", bytes,
            offset);
      CHECK(offset == 0 || mine[offset - 1] == 0xEE, "before {} B at {}", bytes, offset);
      CHECK_EQ(mine[offset + bytes], 0xEE, "behind {} B at {}", bytes, offset);
    }
  }
  CHECK_OK(esp_region_free(region), c.world, "free");
}

// Many at once to everybody: counters, requests, callbacks; none of which fires inside a post.
struct Heard {
  std::atomic<int> calls{0}, wrong{0};
  std::atomic<bool> posting{false};
};
void on_done(void* context, esp_status status) {
  auto& heard = *static_cast<Heard*>(context);
  if (status != ESP_OK || heard.posting) ++heard.wrong;
  ++heard.calls;
}

void many_at_once(const Context& c) {
  constexpr std::size_t kEach = 100, kPiece = 3001;
  esp_region* region = nullptr;
  const auto n = static_cast<std::size_t>(c.size);
  CHECK_OK(esp_region_create(c.world, n * kEach * kPiece, &region), c.world, "create");
  if (region == nullptr) return;
  const auto data = pattern(c.rank, kEach * kPiece);
  const bool threaded = esp_job_fd(c.job) < 0;
  Heard heard;
  int64_t left = 0;
  std::vector<esp_request*> requests;
  const esp_notify counted = {nullptr, nullptr, &left};
  const esp_notify called = {on_done, &heard, nullptr};
  int callbacks = 0;
  for (std::size_t i = 0; i < kEach; ++i) {
    for (int r = 0; r < c.size; ++r) {
      const std::size_t at = (static_cast<std::size_t>(c.rank) * kEach + i) * kPiece;
      const esp_notify* notify = i % 3 == 0 ? &counted : i % 3 == 1 ? &called : nullptr;
      if (i % 3 == 0) __atomic_fetch_add(&left, 1, __ATOMIC_RELAXED);
      if (i % 3 == 1) ++callbacks;
      if (i % 3 == 2) requests.push_back(nullptr);
      heard.posting = !threaded;
      CHECK_OK(esp_put_start(region, r, at, data.data() + i * kPiece, kPiece, notify,
                             notify == nullptr ? &requests.back() : nullptr),
               c.world, "piece {} to {}", i, r);
      heard.posting = false;
    }
  }
  CHECK_OK(esp_counter_wait(c.job, &left, 0, 0), c.world, "counted");
  CHECK_OK(esp_request_wait_all(requests.data(), requests.size()), c.world, "requests");
  while (heard.calls < callbacks && g_failures == 0) {
    if (esp_progress(c.job) == 0) sched_yield();
  }
  CHECK_EQ(heard.wrong.load(), 0, "callbacks");
  CHECK_OK(esp_barrier(c.world), c.world, "");
  const auto* mine = static_cast<const unsigned char*>(esp_region_memory(region));
  for (int r = 0; r < c.size; ++r) {
    const auto expected = pattern(r, kEach * kPiece);
    CHECK(std::memcmp(mine + static_cast<std::size_t>(r) * kEach * kPiece, expected.data(),
                      expected.size()) == 0,
          "from rank {}", r);
  }
  CHECK_OK(esp_region_free(region), c.world, "free");
}

// All ranks count in one word, the owner with its own atomics: nothing is lost, each old value is
// somebody's.
void counting(const Context& c) {
  constexpr std::uint64_t kEach = 300;
  esp_region* region = nullptr;
  CHECK_OK(esp_region_create(c.world, 32, &region), c.world, "create");
  if (region == nullptr) return;
  auto* mine = static_cast<std::uint64_t*>(esp_region_memory(region));
  std::vector<std::uint64_t> olds(kEach);
  int64_t left = 0;
  const esp_notify counted = {nullptr, nullptr, &left};
  for (std::uint64_t i = 0; i < kEach; ++i) {
    if (c.rank == 0 && i % 3 == 0) {
      olds[i] = __atomic_fetch_add(&mine[1], 1, __ATOMIC_RELAXED);
    } else if (i % 3 == 1) {
      CHECK_OK(esp_fetch_add(region, 0, 8, 1, &olds[i]), c.world, "{}", i);
    } else {
      __atomic_fetch_add(&left, 1, __ATOMIC_RELAXED);
      CHECK_OK(esp_fetch_add_start(region, 0, 8, 1, &olds[i], &counted, nullptr), c.world, "{}", i);
    }
  }
  CHECK_OK(esp_counter_wait(c.job, &left, 0, 0), c.world, "");
  // Without an old value, and downwards.
  CHECK_OK(esp_fetch_add(region, 0, 16, 5, nullptr), c.world, "");
  CHECK_OK(esp_fetch_add(region, 0, 16, static_cast<std::uint64_t>(-2), nullptr), c.world, "");
  CHECK_OK(esp_barrier(c.world), c.world, "");
  const auto n = static_cast<std::uint64_t>(c.size);
  std::uint64_t sum = 0;
  CHECK_OK(esp_fetch_add(region, 0, 8, 0, &sum), c.world, "");
  CHECK_EQ(sum, n * kEach, "the sum");
  CHECK_OK(esp_get(region, 0, 16, &sum, 8), c.world, "");
  CHECK_EQ(sum, 3 * n, "the other sum");
  const std::set<std::uint64_t> different(olds.begin(), olds.end());
  CHECK_EQ(different.size(), olds.size(), "each old value once");
  std::vector<std::uint64_t> all{0};
  for (const std::uint64_t old : olds) all[0] += old;
  CHECK_OK(esp_allreduce(c.world, ESP_IN_PLACE, all.data(), 1, ESP_UINT64, ESP_SUM), c.world, "");
  CHECK_EQ(all[0], n * kEach * (n * kEach - 1) / 2, "of all of them");
  CHECK_OK(esp_region_free(region), c.world, "free");
}

// Compare-swap in a loop adds, too; on the last rank's word.
void swapping(const Context& c) {
  constexpr int kEach = 40;
  esp_region* region = nullptr;
  CHECK_OK(esp_region_create(c.world, 8, &region), c.world, "create");
  if (region == nullptr) return;
  const int last = c.size - 1;
  std::uint64_t expected = 0;
  for (int i = 0; i < kEach; ++i) {
    while (g_failures == 0) {
      std::uint64_t old = 0;
      CHECK_OK(esp_compare_swap(region, last, 0, expected, expected + 3, &old), c.world, "{}", i);
      if (old == expected) break;
      expected = old;
    }
    expected += 3;
  }
  CHECK_OK(esp_compare_swap(region, last, 0, 1, 0, nullptr), c.world, "never 1");
  CHECK_OK(esp_barrier(c.world), c.world, "");
  std::uint64_t sum = 0;
  CHECK_OK(esp_get(region, last, 0, &sum, 8), c.world, "");
  CHECK_EQ(sum, static_cast<std::uint64_t>(3 * kEach * c.size), "the sum");
  CHECK_OK(esp_region_free(region), c.world, "free");
}

void wrong_region_calls(const Context& c) {
  esp_region* region = nullptr;
  CHECK_STATUS(esp_region_create(nullptr, 8, &region), ESP_ERR_ARGUMENT, c.world, "no team");
  CHECK_STATUS(esp_region_create(c.world, 8, nullptr), ESP_ERR_ARGUMENT, c.world, "no place");
  // More than there is on one rank: an error for all, and nothing is left behind.
  const std::size_t absurd = c.rank == 0 ? std::size_t{1} << 46 : 8;
  CHECK_STATUS(esp_region_create(c.world, absurd, &region), ESP_ERR_NO_MEMORY, c.world, "absurd");
  CHECK(region == nullptr, "nothing was made");
  CHECK_OK(esp_region_create(c.world, 64, &region), c.world, "create");
  if (region == nullptr) return;
  const int to = ring_of(c).next;
  std::uint64_t word = 0;
  esp_request* request = nullptr;
  const auto argument = [&](esp_status status, const char* what) {
    CHECK_STATUS(status, ESP_ERR_ARGUMENT, c.world, "{}", what);
  };
  constexpr auto kMost = std::numeric_limits<std::size_t>::max();
  argument(esp_put(nullptr, to, 0, &word, 8), "no region");
  argument(esp_put(region, c.size, 0, &word, 8), "no such rank");
  argument(esp_get(region, -1, 0, &word, 8), "no such rank");
  argument(esp_put(region, to, 57, &word, 8), "beyond the end");
  const std::string text = esp_job_error(c.job);
  CHECK(text.starts_with("esp_put: 8 bytes at offset 57 "), "{}", text);
  argument(esp_get(region, to, 65, &word, 0), "behind the end");
  argument(esp_get(region, to, kMost, &word, 8), "wraps around");
  argument(esp_put(region, to, 8, &word, kMost), "wraps around");
  argument(esp_put(region, to, 0, nullptr, 8), "no buffer");
  argument(esp_fetch_add(region, to, 4, 1, &word), "not aligned");
  argument(esp_compare_swap(region, to, 64, 0, 1, &word), "behind the end");
  argument(esp_put_start(region, to, 0, &word, 8, nullptr, nullptr), "no report");
  const auto no_request = [&](auto&& call, const char* what) {
    request = reinterpret_cast<esp_request*>(&word);
    argument(call(), what);
    CHECK(request == nullptr, "{} leaves a request", what);
  };
  no_request([&] { return esp_put_start(region, to, 57, &word, 8, nullptr, &request); }, "a put");
  no_request([&] { return esp_get_start(region, -1, 0, &word, 8, nullptr, &request); }, "a get");
  no_request([&] { return esp_fetch_add_start(region, to, 4, 1, &word, nullptr, &request); },
             "a fetch-add");
  no_request([&] { return esp_compare_swap_start(nullptr, to, 0, 0, 1, &word, nullptr, &request); },
             "a compare-swap");
  const esp_notify neither = {nullptr, nullptr, nullptr};
  argument(esp_get_start(region, to, 0, &word, 8, &neither, nullptr), "an empty notify");
  int64_t left = 1;
  const esp_notify counted = {nullptr, nullptr, &left};
  argument(esp_get_start(region, to, 0, &word, 8, &counted, &request), "two reports");
  CHECK_EQ(left, 1, "nothing was started");
  CHECK_OK(esp_put(region, to, 64, nullptr, 0), c.world, "nothing at the end");
  CHECK_OK(esp_barrier(c.world), c.world, "");
  CHECK_EQ(*static_cast<std::uint64_t*>(esp_region_memory(region)), std::uint64_t{0}, "untouched");
  CHECK_OK(esp_region_free(region), c.world, "free");
}

// Regions of a part of the job, its ranks in another order; again and again.
void of_teams(const Context& c) {
  esp_team* team = nullptr;
  CHECK_OK(esp_team_split(c.world, c.rank % 2, -c.rank, &team), c.world, "split");
  if (team == nullptr) return;
  const int size = esp_team_size(team), me = esp_team_rank(team);
  for (int round = 0; round < 10; ++round) {
    esp_region* region = nullptr;
    CHECK_OK(esp_region_create(team, 4096, &region), team, "round {}", round);
    if (region == nullptr) break;
    const std::uint64_t word = static_cast<std::uint64_t>(c.rank * 100 + round);
    for (int r = 0; r < size; ++r) {
      CHECK_OK(esp_put(region, r, static_cast<std::size_t>(me) * 8, &word, 8), team, "to {}", r);
    }
    CHECK_OK(esp_barrier(team), team, "");
    const auto* mine = static_cast<const std::uint64_t*>(esp_region_memory(region));
    for (int r = 0; r < size; ++r) {
      const int from = esp_team_job_rank(team, r);
      CHECK_EQ(mine[r], static_cast<std::uint64_t>(from * 100 + round), "from {}", r);
    }
    CHECK_STATUS(esp_team_free(team), ESP_ERR_STATE, team, "it has a region");
    CHECK_OK(esp_region_free(region), team, "round {}", round);
  }
  CHECK_OK(esp_team_free(team), c.world, "");
}

// What crosses the network is counted to the byte: by the origin, and by the target unless an
// adapter has done it without. What stays on the node is not.
void bytes_are_counted(const Context& c) {
  constexpr std::size_t kPut = 300'000, kGet = 3'000;
  constexpr std::uint64_t kOperands = 16, kWord = 8;
  esp_region* region = nullptr;
  CHECK_OK(esp_region_create(c.world, kPut, &region), c.world, "create");
  if (region == nullptr) return;
  const Ring ring = ring_of(c);
  const auto crosses = [&](int rank) {
    return esp_region_pointer(region, rank) == nullptr ? std::uint64_t{1} : 0;
  };
  const std::uint64_t sent = counter(c, "remote_bytes_sent");
  const std::uint64_t received = counter(c, "remote_bytes_received");
  auto data = pattern(c.rank, kPut);
  std::uint64_t old = 0;
  CHECK_OK(esp_barrier(c.world), c.world, "");
  CHECK_OK(esp_put(region, ring.next, 0, data.data(), kPut), c.world, "");
  CHECK_OK(esp_get(region, ring.next, 0, data.data(), kGet), c.world, "");
  CHECK_OK(esp_fetch_add(region, ring.next, 0, 1, &old), c.world, "");
  CHECK_OK(esp_barrier(c.world), c.world, "");
  constexpr std::uint64_t kThere = kPut + kOperands, kBack = kGet + kWord;
  const std::uint64_t now_sent = counter(c, "remote_bytes_sent") - sent;
  const std::uint64_t now_received = counter(c, "remote_bytes_received") - received;
  const char* wires = std::getenv("ESPALIER_WIRES");
  const bool adapters = wires != nullptr && std::strstr(wires, "rc") != nullptr;
  const std::uint64_t own_sent = crosses(ring.next) * kThere;
  const std::uint64_t own_received = crosses(ring.next) * kBack;
  const auto is = [&](std::uint64_t count, std::uint64_t own, std::uint64_t all,
                      std::uint64_t without) {
    return count == own + crosses(ring.before) * all ||
           (adapters && count == own + crosses(ring.before) * without);
  };
  CHECK(is(now_sent, own_sent, kBack, kWord), "sent {}", now_sent);
  CHECK(is(now_received, own_received, kThere, kOperands), "received {}", now_received);
  CHECK_OK(esp_region_free(region), c.world, "free");
}

}  // namespace

void regions(const Context& context) {
  region_shapes(context);
  sizes_and_offsets(context);
  many_at_once(context);
  bytes_are_counted(context);
  counting(context);
  swapping(context);
  wrong_region_calls(context);
  of_teams(context);
}

}  // namespace test
