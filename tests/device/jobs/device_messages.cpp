// device_messages CASE...: messages by tag whose buffers are memory of a device, at one end or at
// both, as one rank of a job. DEVICE_LIBRARY names the driver's library.
#include <csignal>
#include <cstdlib>
#include <utility>

#include "espalier/devices.h"
#include "tests/device/jobs/device_memory.hpp"
#include "tests/support/blocks.hpp"

namespace test {
namespace {

// Of nothing, one, at once, the longest at once, announced, in several pieces.
const std::size_t kLengths[] = {0, 1, 1000, 32 * 1024, 32 * 1024 + 1, 700'001};

Bytes message(int seed, std::size_t bytes) {
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

struct Ring {
  explicit Ring(const Context& c)
      : right((c.rank + 1) % c.size), left((c.rank + c.size - 1) % c.size) {}
  int right, left;
};

using SendStart = esp_status(esp_team*, const void*, std::size_t, esp_type, int, std::uint64_t,
                             const esp_notify*, esp_request**);

// Around a ring, by one way to send; receives are posted before, or find what has come.
void around(const Context& c, std::size_t n, unsigned kinds, SendStart* send, bool posted) {
  const Ring to(c);
  const std::string what = fmt::format("{} bytes, kinds {}, posted {}", n, kinds, posted);
  Buffer from = buffer((kinds & 1) != 0, n), into = buffer((kinds & 2) != 0, n);
  from.write(message(c.rank, n));
  esp_request *sent = nullptr, *came = nullptr;
  esp_tag_info info = {-7, 0, 0};
  const auto receive = [&] {
    CHECK_OK(esp_tag_recv_start(c.world, into.at(), n, ESP_BYTE, to.left, 5, ESP_TAG_EXACT, &info,
                                nullptr, &came),
             c.world, "{}", what);
  };
  if (posted) {
    receive();
    CHECK_OK(esp_barrier(c.world), c.world, "all are posted");
  }
  CHECK_OK(send(c.world, from.at(), n, ESP_BYTE, to.right, 5, nullptr, &sent), c.world, "{}", what);
  if (!posted) {
    CHECK_OK(esp_barrier(c.world), c.world, "all are sent");
    receive();
  }
  CHECK_OK(esp_request_wait(&came), c.world, "{}", what);
  CHECK_OK(esp_request_wait(&sent), c.world, "{}", what);
  CHECK_EQ(info.source, to.left, "{}", what);
  CHECK_EQ(info.bytes, n, "{}", what);
  check_holds(into, message(to.left, n), what);
}

void started(const Context& c) {
  for (const std::size_t n : kLengths) {
    for (unsigned kinds = 0; kinds < 4; ++kinds) {
      for (const bool posted : {true, false}) {
        around(c, n, kinds, esp_tag_send_start, posted);
        around(c, n, kinds, esp_tag_send_synchronous_start, posted);
      }
    }
  }
}

std::uint64_t counter(const Context& c, const char* name) {
  std::vector<esp_counter_value> all(esp_counters(c.job, nullptr, 0));
  (void)esp_counters(c.job, all.data(), all.size());
  for (const esp_counter_value& one : all) {
    if (std::strcmp(one.name, name) == 0) return one.value;
  }
  CHECK(false, "no counter {}", name);
  return 0;
}

// Short messages need no receive to be sent: each rank sends first. And they were not announced.
void blocking(const Context& c) {
  const Ring to(c);
  for (unsigned kinds = 0; kinds < 4; ++kinds) {
    for (const std::size_t n : kLengths) {
      const std::string what = fmt::format("{} bytes, kinds {}", n, kinds);
      Buffer from = buffer((kinds & 1) != 0, n), into = buffer((kinds & 2) != 0, n);
      from.write(message(c.rank, n));
      esp_request* came = nullptr;
      const bool is_long = n > 32 * 1024;
      if (is_long) {
        CHECK_OK(esp_tag_recv_start(c.world, into.at(), n, ESP_BYTE, to.left, 9, ESP_TAG_EXACT,
                                    nullptr, nullptr, &came),
                 c.world, "{}", what);
      }
      const std::uint64_t announced = counter(c, "tags_announced");
      CHECK_OK(esp_tag_send(c.world, from.at(), n, ESP_BYTE, to.right, 9), c.world, "{}", what);
      CHECK_EQ(counter(c, "tags_announced"), announced + (is_long ? 1 : 0), "{}", what);
      const esp_status ended = is_long ? esp_request_wait(&came)
                                       : esp_tag_recv(c.world, into.at(), n, ESP_BYTE, to.left, 9,
                                                      ESP_TAG_EXACT, nullptr);
      CHECK_OK(ended, c.world, "{}", what);
      check_holds(into, message(to.left, n), what);
    }
  }
  CHECK(counter(c, "device_copies") > 0, "nothing was copied");
}

// An element: blocks of so many bytes, that far apart; and from one to the next.
constexpr std::size_t kBlocks = 5, kBlock = 200, kStride = 280, kExtent = 1600;

// Where the k-th block lies, in elements or in one run.
std::ptrdiff_t place_of(std::size_t k, bool apart) {
  const std::size_t at = k / kBlocks * kExtent + k % kBlocks * kStride;
  return static_cast<std::ptrdiff_t>(apart ? at : k * kBlock);
}

// Elements that lie apart there, in one piece here, or the other way round.
void exchange_columns(const Context& c, esp_type column, std::size_t n, unsigned kinds) {
  const Ring to(c);
  const bool sends_columns = (kinds & 4) != 0;
  const std::size_t packed = n * kBlocks * kBlock, apart = n * kExtent;
  Buffer from = buffer((kinds & 1) != 0, sends_columns ? apart : packed);
  Buffer into = buffer((kinds & 2) != 0, sends_columns ? packed : apart);
  const Bytes theirs = message(to.left, apart);
  Bytes holds(sends_columns ? packed : apart, std::byte{0x11});
  from.write(message(c.rank, apart));
  into.write(holds);
  esp_request* came = nullptr;
  CHECK_OK(esp_tag_recv_start(c.world, into.at(), sends_columns ? packed / 4 : n,
                              sends_columns ? ESP_INT32 : column, to.left, 2, ESP_TAG_EXACT,
                              nullptr, nullptr, &came),
           c.world, "kinds {}", kinds);
  CHECK_OK(esp_tag_send(c.world, from.at(), sends_columns ? n : packed / 4,
                        sends_columns ? column : ESP_INT32, to.right, 2),
           c.world, "kinds {}", kinds);
  CHECK_OK(esp_request_wait(&came), c.world, "kinds {}", kinds);
  for (std::size_t k = 0; k < n * kBlocks; ++k) {
    std::copy_n(theirs.begin() + place_of(k, sends_columns), kBlock,
                holds.begin() + place_of(k, !sends_columns));
  }
  check_holds(into, holds, fmt::format("{} columns, kinds {}", n, kinds));
}

void types(const Context& c) {
  esp_type column = ESP_INT32;
  CHECK_OK(
      esp_type_strided(c.job, ESP_INT32, kBlocks, kBlock / 4, kStride / 4, kExtent / 4, &column),
      c.world, "strided");
  for (const std::size_t n : {std::size_t{1}, std::size_t{30}, std::size_t{150}}) {
    for (unsigned kinds = 0; kinds < 8; ++kinds) exchange_columns(c, column, n, kinds);
  }
  CHECK_OK(esp_type_free(c.job, column), c.world, "free");
}

// Messages of one tag come in the order of their sending, wherever each of them lies, and however
// long it is.
void order(const Context& c) {
  const Ring to(c);
  constexpr std::size_t kAtOnce = 40;
  std::vector<Buffer> from, into;
  std::vector<esp_request*> requests(2 * kAtOnce, nullptr);
  const auto length = [](std::size_t k) { return kLengths[k * 7 % 5]; };
  for (std::size_t k = 0; k < kAtOnce; ++k) {
    from.push_back(buffer(k % 3 != 1, length(k)));
    into.push_back(buffer(k % 4 < 2, length(k)));
    from[k].write(message(c.rank * 100 + static_cast<int>(k), length(k)));
    CHECK_OK(esp_tag_send_start(c.world, from[k].at(), length(k), ESP_BYTE, to.right, 4, nullptr,
                                &requests[k]),
             c.world, "{}", k);
  }
  for (std::size_t k = 0; k < kAtOnce; ++k) {
    CHECK_OK(esp_tag_recv_start(c.world, into[k].at(), length(k), ESP_BYTE, ESP_ANY_SOURCE, 0, 0,
                                nullptr, nullptr, &requests[kAtOnce + k]),
             c.world, "{}", k);
  }
  CHECK_OK(esp_request_wait_all(requests.data(), requests.size()), c.world, "all");
  for (std::size_t k = 0; k < kAtOnce; ++k) {
    check_holds(into[k], message(to.left * 100 + static_cast<int>(k), length(k)),
                fmt::format("message {}", k));
  }
}

// Of a message that is too long what fits is there, and no more.
void truncated(const Context& c) {
  const Ring to(c);
  for (const std::size_t n : {std::size_t{1000}, std::size_t{200'000}}) {
    for (const bool posted : {true, false}) {
      for (const std::size_t room : {std::size_t{0}, std::size_t{999}}) {
        Buffer from = buffer(c.rank % 2 == 0, n), into = buffer(true, room);
        from.write(message(c.rank, n));
        esp_request *sent = nullptr, *came = nullptr;
        esp_tag_info info = {};
        const auto receive = [&] {
          CHECK_OK(esp_tag_recv_start(c.world, into.at(), room, ESP_BYTE, to.left, 6, ESP_TAG_EXACT,
                                      &info, nullptr, &came),
                   c.world, "receive");
        };
        if (posted) receive();
        CHECK_OK(esp_barrier(c.world), c.world, "posted");
        CHECK_OK(esp_tag_send_start(c.world, from.at(), n, ESP_BYTE, to.right, 6, nullptr, &sent),
                 c.world, "send");
        CHECK_OK(esp_barrier(c.world), c.world, "sent");
        if (!posted) receive();
        CHECK_STATUS(esp_request_wait(&came), ESP_ERR_TRUNCATED, c.world, "{} into {}", n, room);
        CHECK_OK(esp_request_wait(&sent), c.world, "the sender does not hear of it");
        CHECK_EQ(info.bytes, n, "into {}", room);
        Bytes fits = message(to.left, n);
        fits.resize(room);
        check_holds(into, fits, fmt::format("{} of {}", room, n));
      }
    }
  }
}

// What is taken back, probed, taken out of matching.
void matched(const Context& c) {
  const Ring to(c);
  Buffer into = buffer(true, 700'001);
  esp_request* came = nullptr;
  CHECK_OK(esp_tag_recv_start(c.world, into.at(), 100, ESP_BYTE, to.left, 77, ESP_TAG_EXACT,
                              nullptr, nullptr, &came),
           c.world, "receive");
  CHECK_OK(esp_tag_cancel(came), c.world, "cancel");
  CHECK_STATUS(esp_request_wait(&came), ESP_ERR_CANCELED, c.world, "cancelled");
  for (const std::size_t n : kLengths) {
    for (unsigned kinds = 0; kinds < 4; ++kinds) {
      Buffer from = buffer((kinds & 1) != 0, n);
      Buffer here = buffer((kinds & 2) != 0, n);
      from.write(message(c.rank, n));
      esp_request* sent = nullptr;
      CHECK_OK(esp_tag_send_start(c.world, from.at(), n, ESP_BYTE, to.right, 8, nullptr, &sent),
               c.world, "send");
      esp_tag_message* taken = nullptr;
      esp_tag_info info = {};
      CHECK_OK(esp_tag_probe(c.world, ESP_ANY_SOURCE, 8, ESP_TAG_EXACT, &info, &taken), c.world,
               "probe");
      CHECK_EQ(info.bytes, n, "probed");
      CHECK_OK(esp_tag_message_recv(&taken, here.at(), n, ESP_BYTE, &info), c.world, "{} bytes", n);
      CHECK_OK(esp_request_wait(&sent), c.world, "sent");
      check_holds(here, message(to.left, n), fmt::format("{} bytes, kinds {}", n, kinds));
    }
  }
}

// What a rank sends itself.
void to_self(const Context& c) {
  for (const std::size_t n : kLengths) {
    for (unsigned kinds = 0; kinds < 8; ++kinds) {
      const std::string what = fmt::format("{} bytes, kinds {}", n, kinds);
      Buffer from = buffer((kinds & 1) != 0, n), into = buffer((kinds & 2) != 0, n);
      from.write(message(c.rank, n));
      esp_request *sent = nullptr, *came = nullptr;
      const auto receive = [&] {
        CHECK_OK(esp_tag_recv_start(c.world, into.at(), n, ESP_BYTE, c.rank, 3, ESP_TAG_EXACT,
                                    nullptr, nullptr, &came),
                 c.world, "{}", what);
      };
      if ((kinds & 4) != 0) receive();
      CHECK_OK(esp_tag_send_start(c.world, from.at(), n, ESP_BYTE, c.rank, 3, nullptr, &sent),
               c.world, "{}", what);
      if ((kinds & 4) == 0) receive();
      CHECK_OK(esp_request_wait(&came), c.world, "{}", what);
      CHECK_OK(esp_request_wait(&sent), c.world, "{}", what);
      check_holds(into, message(c.rank, n), what);
    }
  }
  // Left under way, one posted and one that is being copied: the end of the job takes them back.
  constexpr std::size_t kLong = 4'000'000;
  esp_request *never = nullptr, *sent = nullptr, *came = nullptr;
  Buffer left = buffer(true, kLong), from = buffer(true, kLong), into = buffer(true, kLong);
  CHECK_OK(esp_tag_recv_start(c.world, left.at(), kLong, ESP_BYTE, c.rank, 12, ESP_TAG_EXACT,
                              nullptr, nullptr, &never),
           c.world, "left");
  CHECK_OK(esp_tag_send_start(c.world, from.at(), kLong, ESP_BYTE, c.rank, 13, nullptr, &sent),
           c.world, "left");
  CHECK_OK(esp_tag_recv_start(c.world, into.at(), kLong, ESP_BYTE, c.rank, 13, ESP_TAG_EXACT,
                              nullptr, nullptr, &came),
           c.world, "left");
  left.abandon();
  from.abandon();
  into.abandon();
}

void copies(const Context& c) {
  for (const std::size_t n : kLengths) {
    if (n == 0) continue;
    for (unsigned kinds = 0; kinds < 4; ++kinds) {
      Buffer from = buffer((kinds & 1) != 0, n), to = buffer((kinds & 2) != 0, n);
      from.write(message(2, n));
      CHECK_EQ(esp_memory_is_device(c.job, from.at()), static_cast<int>(kinds & 1), "kind");
      CHECK_OK(esp_memory_copy(c.job, to.at(), from.at(), n), c.world, "{} bytes", n);
      check_holds(to, message(2, n), fmt::format("{} bytes, kinds {}", n, kinds));
    }
  }
  CHECK_STATUS(esp_memory_copy(c.job, nullptr, &the_device(), 3), ESP_ERR_ARGUMENT, c.world, "");
}

std::size_t count_of_environment() {
  const char* count = std::getenv("DEVICE_COUNT");
  return count != nullptr ? static_cast<std::size_t>(std::atoll(count)) : 1000;
}

// The driver fails at rank 0, which sends and receives: it is told by what, the others by whom.
void broken(const Context& c) {
  const Ring to(c);
  const std::size_t n = count_of_environment();
  Buffer from = buffer(true, n), into = buffer(true, n);
  from.write(message(1, n));
  esp_status status = ESP_OK;
  for (int i = 0; i < 50 && status == ESP_OK; ++i) {
    esp_request* came = nullptr;
    status = esp_tag_recv_start(c.world, into.at(), n, ESP_BYTE, to.left, 5, ESP_TAG_EXACT, nullptr,
                                nullptr, &came);
    if (status != ESP_OK) break;
    status = esp_tag_send(c.world, from.at(), n, ESP_BYTE, to.right, 5);
    const esp_status ended = esp_request_wait(&came);
    if (status == ESP_OK) status = ended;
  }
  CHECK_EQ(status, ESP_ERR_DEVICE, "{}", text_of(c.world));
  const std::string text = text_of(c.world);
  CHECK(text.find("rank 0") != std::string::npos, "it says \"{}\"", text);
  if (c.rank > 0) return;
  CHECK(text.find("cuMemcpyAsync: out of memory (2)") != std::string::npos, "it says \"{}\"", text);
}

// The same of what is copied in one process alone.
void broken_copy(const Context& c) {
  Buffer from = buffer(true, 100), to = buffer(false, 100);
  esp_status status = ESP_OK;
  for (int i = 0; i < 50 && status == ESP_OK; ++i) {
    status = esp_memory_copy(c.job, to.at(), from.at(), 100);
  }
  CHECK_EQ(status, c.rank == 0 ? ESP_ERR_DEVICE : ESP_OK, "{}", esp_job_error(c.job));
  const std::string text = esp_job_error(c.job);
  const std::string told = "esp_memory_copy, rank 0: cuMemcpyAsync: out of memory (2)";
  CHECK(c.rank > 0 || text.find(told) != std::string::npos, "it says \"{}\"", text);
  int sum = 1;
  CHECK_OK(esp_allreduce(c.world, ESP_IN_PLACE, &sum, 1, ESP_INT32, ESP_SUM), c.world, "goes on");
}

// Rank 1 dies: those that send to it, or wait for it, are told. Under --keep-going.
void dead(const Context& c) {
  constexpr int victim = 1;
  Buffer one = buffer(true, 200'000), other = buffer(true, 200'000);
  CHECK_OK(esp_barrier(c.world), c.world, "all are there");
  if (c.rank == victim) std::raise(SIGKILL);
  esp_request* request = nullptr;
  CHECK_OK(esp_tag_recv_start(c.world, one.at(), 200'000, ESP_BYTE, victim, 1, ESP_TAG_EXACT,
                              nullptr, nullptr, &request),
           c.world, "receive");
  CHECK_STATUS(esp_request_wait(&request), ESP_ERR_PEER_DIED, c.world, "of the dead");
  CHECK_STATUS(esp_tag_send(c.world, other.at(), 200'000, ESP_BYTE, victim, 1), ESP_ERR_PEER_DIED,
               c.world, "to the dead");
  fmt::print("OK rank {}: {} failures\n", c.rank, g_failures.load());
}

}  // namespace
}  // namespace test

int main(int argc, char** argv) {
  return test::run_cases({{"started", test::started},
                          {"blocking", test::blocking},
                          {"types", test::types},
                          {"order", test::order},
                          {"truncated", test::truncated},
                          {"matched", test::matched},
                          {"to_self", test::to_self},
                          {"copies", test::copies},
                          {"broken", test::broken},
                          {"broken_copy", test::broken_copy},
                          {"dead", test::dead}},
                         argc, argv);
}
