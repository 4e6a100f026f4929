// device_one_sided CASE...: puts, gets, atomics and active messages whose buffers are memory of a
// device, as one rank of a job. DEVICE_LIBRARY names the driver's library.
#include <sched.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <utility>

#include "tests/device/jobs/device_memory.hpp"
#include "tests/support/blocks.hpp"

namespace test {
namespace {

// Of one piece, of several, and of more than are under way at a time.
constexpr std::size_t kMiB = std::size_t{1} << 20;
const std::size_t kLengths[] = {0, 1, 8, 4095, 65'536, kMiB, kMiB + 1, 5 * kMiB + 77};
constexpr std::size_t kOffset = 13;
constexpr std::size_t kRegion = 6 * kMiB;

Bytes content(int seed, std::size_t bytes) {
  const std::vector<unsigned char> data = pattern(seed, bytes);
  const auto* first = reinterpret_cast<const std::byte*>(data.data());
  return {first, first + bytes};
}

Buffer buffer(bool on_device, std::size_t bytes) {
  return {on_device ? &the_device() : nullptr, bytes};
}

void check_holds(const Buffer& got, const Bytes& expected, const std::string& what) {
  bool whole = false;
  const Bytes came = got.read(whole);
  CHECK(whole, "{}: bytes beside the buffer were written", what);
  CHECK(std::equal(expected.begin(), expected.end(), came.begin()), "{}: other bytes", what);
}

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

class Region {
 public:
  explicit Region(const Context& c) : c_(c) {
    CHECK_OK(esp_region_create(c.world, kRegion, &region_), c.world, "region");
  }
  ~Region() { CHECK_OK(esp_region_free(region_), c_.world, "free"); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  esp_region* get() const { return region_; }
  std::byte* mine() const { return static_cast<std::byte*>(esp_region_memory(region_)); }
  void clear() const { std::memset(mine(), 0xee, kRegion); }
  // At kOffset, with nothing written around it.
  void check(const Bytes& expected, const std::string& what) const {
    const std::byte* at = mine() + kOffset;
    CHECK(std::equal(expected.begin(), expected.end(), at), "{}: other bytes", what);
    CHECK(at[-1] == std::byte{0xee} && at[expected.size()] == std::byte{0xee},
          "{}: bytes beside were written", what);
  }

 private:
  const Context& c_;
  esp_region* region_ = nullptr;
};

// Whether this thread is inside a call: a progress thread never is.
thread_local bool inside_a_call = false;

// Written by the thread that tells, which publishes all of it by `count`.
struct Told {
  std::atomic<int> count = 0;
  bool inside = false;
  esp_status status = ESP_OK;
};

void tell(void* context, esp_status status) {
  auto& told = *static_cast<Told*>(context);
  told.inside = inside_a_call;
  told.status = status;
  told.count.fetch_add(1, std::memory_order_release);
}

enum Form { kBlocking, kRequest, kCounter, kCallback, kForms };

// By one form: `run(notify, request)` starts it, or, where both are nullptr, does all of it.
template <typename Run>
void by_form(const Context& c, int form, const std::string& what, Run&& run) {
  Told told;
  std::int64_t left = 1;
  esp_request* request = nullptr;
  const esp_notify counter = {nullptr, nullptr, &left}, callback = {tell, &told, nullptr};
  switch (form) {
    case kBlocking:
      CHECK_OK(run(nullptr, nullptr), c.world, "{}", what);
      return;
    case kRequest:
      CHECK_OK(run(nullptr, &request), c.world, "{}", what);
      CHECK_OK(esp_request_wait(&request), c.world, "{}", what);
      return;
    case kCounter:
      CHECK_OK(run(&counter, nullptr), c.world, "{}", what);
      drive(c, "a counter", [&] { return __atomic_load_n(&left, __ATOMIC_ACQUIRE) == 0; });
      return;
    default:
      inside_a_call = true;
      CHECK_OK(run(&callback, nullptr), c.world, "{}", what);
      inside_a_call = false;
      drive(c, "a callback", [&] { return told.count.load(std::memory_order_acquire) == 1; });
      CHECK(!told.inside, "{}: the callback fired inside the call", what);
      CHECK_EQ(told.status, ESP_OK, "{}", what);
  }
}

// Into the next rank's memory, and into one's own.
void puts(const Context& c) {
  const Region region(c);
  for (const bool to_self : {false, true}) {
    const int to = to_self ? c.rank : (c.rank + 1) % c.size;
    const int from = to_self ? c.rank : (c.rank + c.size - 1) % c.size;
    for (int form = 0; form < kForms; ++form) {
      for (const std::size_t n : kLengths) {
        const std::string what = fmt::format("put of {} bytes, form {}", n, form);
        region.clear();
        CHECK_OK(esp_barrier(c.world), c.world, "all are clear");
        Buffer source = buffer(true, n);
        source.write(content(c.rank + form, n));
        by_form(c, form, what, [&](const esp_notify* notify, esp_request** request) {
          return form == kBlocking
                     ? esp_put(region.get(), to, kOffset, source.at(), n)
                     : esp_put_start(region.get(), to, kOffset, source.at(), n, notify, request);
        });
        CHECK_OK(esp_barrier(c.world), c.world, "all have put");
        region.check(content(from + form, n), what);
      }
    }
  }
}

void gets(const Context& c) {
  const Region region(c);
  const Bytes mine = content(c.rank * 3, kRegion);
  std::copy(mine.begin(), mine.end(), region.mine());
  CHECK_OK(esp_barrier(c.world), c.world, "all have written");
  for (const int from : {(c.rank + 1) % c.size, c.rank}) {
    const Bytes theirs = content(from * 3, kRegion);
    for (int form = 0; form < kForms; ++form) {
      for (const std::size_t n : kLengths) {
        const std::string what = fmt::format("get of {} bytes, form {}", n, form);
        Buffer into = buffer(true, n);
        by_form(c, form, what, [&](const esp_notify* notify, esp_request** request) {
          return form == kBlocking
                     ? esp_get(region.get(), from, kOffset, into.at(), n)
                     : esp_get_start(region.get(), from, kOffset, into.at(), n, notify, request);
        });
        check_holds(into, Bytes(theirs.begin() + kOffset, theirs.begin() + kOffset + n), what);
      }
    }
  }
  CHECK_OK(esp_barrier(c.world), c.world, "all have read");
}

std::uint64_t word_of(const Buffer& buffer) {
  bool whole = false;
  const Bytes bytes = buffer.read(whole);
  CHECK(whole, "bytes beside the word were written");
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), sizeof word);
  return word;
}

// All count in a word of each rank: the old values, on the device, are different ones.
void atomics(const Context& c) {
  const Region region(c);
  constexpr std::uint64_t kEach = 12;
  const auto all = kEach * static_cast<std::uint64_t>(c.size);
  for (int target = 0; target < c.size; ++target) {
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < kEach; ++i) {
      Buffer old = buffer(true, 8);
      auto* const at = reinterpret_cast<std::uint64_t*>(old.at());
      by_form(c, static_cast<int>(i) % kForms, "an add",
              [&](const esp_notify* notify, esp_request** request) {
                return i % kForms == kBlocking
                           ? esp_fetch_add(region.get(), target, 16, 1, at)
                           : esp_fetch_add_start(region.get(), target, 16, 1, at, notify, request);
              });
      const std::uint64_t was = word_of(old);
      CHECK(was < all && (i == 0 || was > last), "{} after {}", was, last);
      last = was;
    }
  }
  CHECK_OK(esp_barrier(c.world), c.world, "all have counted");
  std::uint64_t counted = 0;
  std::memcpy(&counted, region.mine() + 16, sizeof counted);
  CHECK_EQ(counted, all, "counted");
  CHECK_OK(esp_barrier(c.world), c.world, "all have looked");
  Buffer old = buffer(true, 8);
  auto* const at = reinterpret_cast<std::uint64_t*>(old.at());
  const int next = (c.rank + 1) % c.size;
  CHECK_OK(esp_compare_swap(region.get(), next, 16, all, 7, at), c.world, "swap");
  CHECK_EQ(word_of(old), all, "it was");
  CHECK_OK(esp_compare_swap(region.get(), next, 16, all, 8, at), c.world, "no swap");
  CHECK_EQ(word_of(old), std::uint64_t{7}, "it is");
  CHECK_OK(esp_fetch_add(region.get(), next, 24, 1, nullptr), c.world, "nobody asks");
  CHECK_OK(esp_barrier(c.world), c.world, "all have swapped");
}

// Of all kinds, to all ranks, by one counter.
void many(const Context& c) {
  const Region region(c);
  constexpr std::size_t kPart = 40'000, kRounds = 60;
  std::int64_t left = 0;
  const esp_notify notify = {nullptr, nullptr, &left};
  std::vector<Buffer> sources, copies;
  const auto place = [&](int rank, std::size_t k) {
    return (static_cast<std::size_t>(rank) * kRounds + k) % 140 * kPart;
  };
  const auto wait = [&] {
    drive(c, "all", [&] { return __atomic_load_n(&left, __ATOMIC_ACQUIRE) == 0; });
  };
  const auto to = [&](std::size_t k) { return (c.rank + static_cast<int>(k)) % c.size; };
  const bool overlap = c.size * static_cast<int>(kRounds) > 140;
  const std::size_t rounds = overlap ? 140 / static_cast<std::size_t>(c.size) : kRounds;
  for (std::size_t k = 0; k < rounds; ++k) {
    sources.push_back(buffer(k % 3 != 0, kPart));
    sources[k].write(content(c.rank * 100 + static_cast<int>(k), kPart));
    __atomic_fetch_add(&left, 1, __ATOMIC_RELAXED);
    CHECK_OK(esp_put_start(region.get(), to(k), place(c.rank, k), sources[k].at(), kPart, &notify,
                           nullptr),
             c.world, "put {}", k);
  }
  wait();
  for (std::size_t k = 0; k < rounds; ++k) {
    copies.push_back(buffer(k % 4 != 0, kPart));
    __atomic_fetch_add(&left, 1, __ATOMIC_RELAXED);
    CHECK_OK(esp_get_start(region.get(), to(k), place(c.rank, k), copies[k].at(), kPart, &notify,
                           nullptr),
             c.world, "get {}", k);
  }
  wait();
  for (std::size_t k = 0; k < rounds; ++k) {
    check_holds(copies[k], content(c.rank * 100 + static_cast<int>(k), kPart),
                fmt::format("part {}", k));
  }
}

// Messages ------------------------------------------------------------------------------------

std::size_t size_of(std::uint64_t number) {
  constexpr std::size_t kSizes[] = {0, 8, 1, 100, 3, 4000, 16, 16384, 77, 32768};
  return kSizes[number % std::size(kSizes)];
}

struct Inbox {
  explicit Inbox(int size) : next(static_cast<std::size_t>(size), 0) {}
  std::vector<std::uint64_t> next;  // by source
  std::uint64_t wrong = 0;
  std::atomic<std::uint64_t> count = 0;  // publishes the rest
};

void numbered(void* context, int source, uint64_t argument, const void* payload, size_t bytes) {
  auto& inbox = *static_cast<Inbox*>(context);
  const auto* data = static_cast<const std::byte*>(payload);
  bool right = !inside_a_call && inbox.next[static_cast<std::size_t>(source)]++ == argument &&
               bytes == size_of(argument);
  const Bytes expected = content(source * 7 + static_cast<int>(argument), size_of(argument));
  if (right && bytes > 0) right = std::equal(expected.begin(), expected.end(), data);
  if (!right) ++inbox.wrong;
  inbox.count.fetch_add(1, std::memory_order_release);
}

// Everybody to everybody, itself included: those of the host never overtake those of the device.
void messages(const Context& c) {
  constexpr std::uint64_t kEach = 120;
  Inbox inbox(c.size);
  CHECK_OK(esp_am_register(c.job, 0, numbered, &inbox), c.world, "register");
  CHECK_OK(esp_barrier(c.world), c.world, "all are ready");
  std::int64_t left = 0;
  const esp_notify notify = {nullptr, nullptr, &left};
  std::vector<Buffer> payloads;
  for (std::uint64_t i = 0; i < kEach; ++i) {
    payloads.push_back(buffer(i % 5 < 3, size_of(i)));
    payloads.back().write(content(c.rank * 7 + static_cast<int>(i), size_of(i)));
    const std::byte* const at = payloads.back().at();
    for (int r = 0; r < c.size; ++r) {
      if (i % 7 == 6) {
        CHECK_OK(esp_am_send(c.job, r, 0, i, at, size_of(i)), c.world, "{} to {}", i, r);
        continue;
      }
      __atomic_fetch_add(&left, 1, __ATOMIC_RELAXED);
      inside_a_call = true;
      CHECK_OK(esp_am_send_start(c.job, r, 0, i, at, size_of(i), &notify, nullptr), c.world,
               "{} to {}", i, r);
      inside_a_call = false;
    }
  }
  drive(c, "sending", [&] { return __atomic_load_n(&left, __ATOMIC_ACQUIRE) == 0; });
  const std::uint64_t all = kEach * static_cast<std::uint64_t>(c.size);
  drive(c, "receiving", [&] { return inbox.count.load(std::memory_order_acquire) == all; });
  CHECK_EQ(inbox.wrong, std::uint64_t{0}, "messages");
  CHECK_OK(esp_barrier(c.world), c.world, "all have come");
}

// Failures ------------------------------------------------------------------------------------

struct Ignored {
  std::uint64_t count = 0;
};
void ignore(void* context, int, uint64_t, const void*, size_t) {
  ++static_cast<Ignored*>(context)->count;
}

// The driver fails at rank 0, once. The operation has ended, and all others go on.
void broken_by(const Context& c, const char* caller,
               esp_status (*run)(const Region&, Buffer&, const Context&)) {
  const Region region(c);
  Ignored ignored;
  CHECK_OK(esp_am_register(c.job, 1, ignore, &ignored), c.world, "register");
  CHECK_OK(esp_barrier(c.world), c.world, "all are ready");
  Buffer buffer(&the_device(), 3 * kMiB);
  esp_status status = ESP_OK;
  for (int i = 0; i < 30 && status == ESP_OK; ++i) status = run(region, buffer, c);
  CHECK_EQ(status, c.rank == 0 ? ESP_ERR_DEVICE : ESP_OK, "{}", esp_job_error(c.job));
  const std::string text = esp_job_error(c.job);
  const std::string told = fmt::format("{}, rank 0: cuMemcpyAsync: out of memory (2)", caller);
  CHECK(c.rank > 0 || text.find(told) != std::string::npos, "it says \"{}\"", text);
  CHECK_OK(run(region, buffer, c), c.world, "it goes on");
  int sum = 1;
  CHECK_OK(esp_allreduce(c.world, ESP_IN_PLACE, &sum, 1, ESP_INT32, ESP_SUM), c.world, "goes on");
}

int next_of(const Context& c) {
  return (c.rank + 1) % c.size;
}

void broken_put(const Context& c) {
  broken_by(c, "esp_put", [](const Region& region, Buffer& from, const Context& context) {
    return esp_put(region.get(), next_of(context), 0, from.at(), 3 * kMiB);
  });
}

void broken_get(const Context& c) {
  broken_by(c, "esp_get", [](const Region& region, Buffer& into, const Context& context) {
    return esp_get(region.get(), next_of(context), 0, into.at(), 3 * kMiB);
  });
}

void broken_atomic(const Context& c) {
  broken_by(c, "esp_fetch_add", [](const Region& region, Buffer& old, const Context& context) {
    return esp_fetch_add(region.get(), next_of(context), 0, 1,
                         reinterpret_cast<std::uint64_t*>(old.at()));
  });
}

void broken_message(const Context& c) {
  broken_by(c, "esp_am_send", [](const Region&, Buffer& from, const Context& context) {
    return esp_am_send(context.job, next_of(context), 1, 0, from.at(), 1000);
  });
}

// Left under way: the end of the job takes them back.
void left(const Context& c) {
  static Ignored ignored;
  esp_region* region = nullptr;
  CHECK_OK(esp_region_create(c.world, kRegion, &region), c.world, "region");
  CHECK_OK(esp_am_register(c.job, 1, ignore, &ignored), c.world, "register");
  CHECK_OK(esp_barrier(c.world), c.world, "all are ready");
  Buffer from = buffer(true, kRegion), into = buffer(true, kRegion);
  esp_request *put = nullptr, *got = nullptr, *sent = nullptr, *behind = nullptr;
  const int next = next_of(c);
  CHECK_OK(esp_put_start(region, next, 0, from.at(), kRegion, nullptr, &put), c.world, "put");
  CHECK_OK(esp_get_start(region, next, 0, into.at(), kRegion, nullptr, &got), c.world, "get");
  CHECK_OK(esp_am_send_start(c.job, next, 1, 0, from.at(), 32'000, nullptr, &sent), c.world, "am");
  CHECK_OK(esp_am_send_start(c.job, next, 1, 0, &next, 0, nullptr, &behind), c.world, "am");
  from.abandon();
  into.abandon();
}

// Rank 1 dies: those that put to it, or get from it, are told. Under --keep-going.
void dead(const Context& c) {
  constexpr int victim = 1;
  esp_region* region = nullptr;
  CHECK_OK(esp_region_create(c.world, kRegion, &region), c.world, "region");
  Buffer one = buffer(true, kRegion);
  CHECK_OK(esp_barrier(c.world), c.world, "all are there");
  if (c.rank == victim) std::raise(SIGKILL);
  esp_status status = ESP_OK;
  const double end = esp_time() + 30;
  while (status == ESP_OK && esp_time() < end) {
    status = esp_put(region, victim, 0, one.at(), kRegion);
    if (status == ESP_OK) status = esp_get(region, victim, 0, one.at(), kRegion);
  }
  CHECK_EQ(status, ESP_ERR_PEER_DIED, "{}", esp_job_error(c.job));
  fmt::print("OK rank {}: {} failures\n", c.rank, g_failures.load());
}

}  // namespace
}  // namespace test

int main(int argc, char** argv) {
  return test::run_cases({{"puts", test::puts},
                          {"gets", test::gets},
                          {"atomics", test::atomics},
                          {"many", test::many},
                          {"messages", test::messages},
                          {"broken_put", test::broken_put},
                          {"broken_get", test::broken_get},
                          {"broken_atomic", test::broken_atomic},
                          {"broken_message", test::broken_message},
                          {"left", test::left},
                          {"dead", test::dead}},
                         argc, argv);
}
