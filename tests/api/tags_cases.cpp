// Messages matched by tag: order, wildcards, sizes, modes, probes, cancel, bounds, types that lie
// apart, threads or none.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/api/cases.hpp"

namespace test {
namespace {

using Bytes = std::vector<unsigned char>;

// Short, in a cell, eager, announced, in several segments.
constexpr std::size_t kSizes[] = {0, 1, 8, 100, 4096, 32768, 32769, 100000, 3 << 20};

unsigned char byte_at(int from, std::uint64_t tag, std::size_t i) {
  return static_cast<unsigned char>(static_cast<std::uint64_t>(from) * 37 + tag * 11 + i * 7 + 1);
}
Bytes content(int from, std::uint64_t tag, std::size_t bytes) {
  Bytes made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = byte_at(from, tag, i);
  return made;
}
bool is_info(const esp_tag_info& info, int source, std::uint64_t tag, std::size_t bytes) {
  return info.source == source && info.tag == tag && info.bytes == bytes;
}

// Round a ring, also with one member: every size, blocking, started, synchronous.
void ring(const Context& c) {
  const int next = (c.rank + 1) % c.size, before = (c.rank + c.size - 1) % c.size;
  std::uint64_t tag = 1000;
  for (const std::size_t bytes : kSizes) {
    for (int mode = 0; mode < 3; ++mode, ++tag) {
      const Bytes sent = content(c.rank, tag, bytes);
      Bytes got(bytes);
      esp_tag_info info = {};
      esp_request *receive = nullptr, *send = nullptr;
      if (mode != 2) {
        CHECK_OK(esp_tag_recv_start(c.world, got.data(), bytes, ESP_BYTE, before, tag,
                                    ESP_TAG_EXACT, &info, nullptr, &receive),
                 c.world, "");
      }
      const auto start = mode == 1 ? esp_tag_send_synchronous_start : esp_tag_send_start;
      CHECK_OK(start(c.world, sent.data(), bytes, ESP_BYTE, next, tag, nullptr, &send), c.world,
               "");
      if (mode == 2) {
        CHECK_OK(
            esp_tag_recv(c.world, got.data(), bytes, ESP_BYTE, before, tag, ESP_TAG_EXACT, &info),
            c.world, "");
      }
      CHECK_OK(esp_request_wait(&receive), c.world, "");
      CHECK_OK(esp_request_wait(&send), c.world, "");
      CHECK(got == content(before, tag, bytes), "{} bytes, mode {}", bytes, mode);
      CHECK(is_info(info, before, tag, bytes), "{} bytes from {}", info.bytes, info.source);
    }
  }
}

// Many of one pair, received in another order of tags: within a tag in order; wildcards get the
// earliest.
void orders(const Context& c) {
  constexpr int kTags = 7, kEach = 40;
  const int next = (c.rank + 1) % c.size, before = (c.rank + c.size - 1) % c.size;
  std::vector<std::uint64_t> values;
  std::vector<esp_request*> sends;
  for (std::uint64_t i = 0; i < kTags * kEach; ++i) values.push_back(i);
  for (std::uint64_t i = 0; i < kTags * kEach; ++i) {
    esp_request* send = nullptr;
    CHECK_OK(
        esp_tag_send_start(c.world, &values[i], 1, ESP_UINT64, next, i % kTags, nullptr, &send),
        c.world, "");
    sends.push_back(send);
  }
  for (int tag = kTags - 1; tag > 1; --tag) {
    for (int k = 0; k < kEach; ++k) {
      std::uint64_t value = 0;
      CHECK_OK(esp_tag_recv(c.world, &value, 1, ESP_UINT64, before, static_cast<uint64_t>(tag),
                            ESP_TAG_EXACT, nullptr),
               c.world, "");
      CHECK_EQ(value, static_cast<std::uint64_t>(k * kTags + tag), "tag {}", tag);
    }
  }
  // What is left has tags 0 and 1: the lowest bit, then any tag, from anybody.
  esp_tag_info info = {};
  std::uint64_t value = 99;
  CHECK_OK(esp_tag_recv(c.world, &value, 1, ESP_UINT64, ESP_ANY_SOURCE, 1, 1, &info), c.world, "");
  CHECK(value == 1 && is_info(info, before, 1, 8), "{} with tag {}", value, info.tag);
  for (std::uint64_t k = 0; k < 2 * kEach - 1; ++k) {
    CHECK_OK(esp_tag_recv(c.world, &value, 1, ESP_UINT64, ESP_ANY_SOURCE, 0, 0, &info), c.world,
             "");
    const std::uint64_t n = k == 0 ? 0 : k + 1;
    CHECK_EQ(value, n / 2 * kTags + n % 2, "message {}", k);
  }
  CHECK_OK(esp_request_wait_all(sends.data(), sends.size()), c.world, "");
}

// Receives that were posted before: the earliest that fits, wildcards among the others.
void posted(const Context& c) {
  if (c.size < 2) return;
  std::uint64_t got[5] = {};
  esp_tag_info infos[5] = {};
  esp_request* receives[5] = {};
  constexpr struct {
    int source;
    std::uint64_t tag, mask;
  } kAsked[] = {{0, 5, ESP_TAG_EXACT},
                {ESP_ANY_SOURCE, 5, ESP_TAG_EXACT},
                {0, 0, 0},
                {0, 4, 4},
                {0, 5, ESP_TAG_EXACT}};
  if (c.rank == 1) {
    for (int i = 0; i < 5; ++i) {
      CHECK_OK(esp_tag_recv_start(c.world, &got[i], 1, ESP_UINT64, kAsked[i].source, kAsked[i].tag,
                                  kAsked[i].mask, &infos[i], nullptr, &receives[i]),
               c.world, "");
    }
  }
  CHECK_OK(esp_barrier(c.world), c.world, "");
  if (c.rank == 0) {
    // To the first, second, third (any), fourth (a bit of it), fifth.
    const std::uint64_t tags[] = {5, 5, 8, 6, 5};
    for (std::uint64_t i = 0; i < 5; ++i) {
      CHECK_OK(esp_tag_send(c.world, &i, 1, ESP_UINT64, 1, tags[i]), c.world, "");
    }
  } else if (c.rank == 1) {
    CHECK_OK(esp_request_wait_all(receives, 5), c.world, "");
    for (std::uint64_t i = 0; i < 5; ++i) CHECK_EQ(got[i], i, "receive {}", i);
    CHECK(is_info(infos[3], 0, 6, 8), "tag {}", infos[3].tag);
  }
}

// Any source, from everybody, by callback; answered from inside it.
struct Server {
  const Context& c;
  esp_team* team;
  std::vector<int> seen;
  std::uint64_t request = 0;
  esp_tag_info info = {};
  int64_t left = 0;
  int64_t answers = 0;
};
void serve(void* context, esp_status status) {
  auto& server = *static_cast<Server*>(context);
  CHECK_STATUS(status, ESP_OK, server.team, "a request");
  const int source = server.info.source;
  CHECK_EQ(server.request, static_cast<std::uint64_t>(source) * 3, "from {}", source);
  ++server.seen[static_cast<std::size_t>(source)];
  // The last answer may be seen as soon as it is started.
  const bool last = --server.left == 0;
  static const std::uint64_t kAnswer = 77;
  const esp_notify counted = {nullptr, nullptr, &server.answers};
  CHECK_OK(esp_tag_send_start(server.team, &kAnswer, 1, ESP_UINT64, source, 2, &counted, nullptr),
           server.team, "an answer");
  if (last) return;
  const esp_notify again = {serve, &server, nullptr};
  CHECK_OK(esp_tag_recv_start(server.team, &server.request, 1, ESP_UINT64, ESP_ANY_SOURCE, 1,
                              ESP_TAG_EXACT, &server.info, &again, nullptr),
           server.team, "the next");
}

void any_source(const Context& c, esp_team* team) {
  constexpr int kEach = 20;
  const int size = esp_team_size(team), rank = esp_team_rank(team);
  Server server{c, team, std::vector<int>(static_cast<std::size_t>(size))};
  if (rank == 0) {
    server.left = kEach * size;
    server.answers = kEach * size;
    const esp_notify notify = {serve, &server, nullptr};
    CHECK_OK(esp_tag_recv_start(team, &server.request, 1, ESP_UINT64, ESP_ANY_SOURCE, 1,
                                ESP_TAG_EXACT, &server.info, &notify, nullptr),
             team, "");
  }
  for (int i = 0; i < kEach; ++i) {
    const auto value = static_cast<std::uint64_t>(rank) * 3;
    std::uint64_t answer = 0;
    esp_request* receive = nullptr;
    CHECK_OK(esp_tag_recv_start(team, &answer, 1, ESP_UINT64, 0, 2, ESP_TAG_EXACT, nullptr, nullptr,
                                &receive),
             team, "");
    CHECK_OK(esp_tag_send(team, &value, 1, ESP_UINT64, 0, 1), team, "");
    CHECK_OK(esp_request_wait(&receive), team, "");
    CHECK_EQ(answer, std::uint64_t{77}, "the answer");
  }
  if (rank != 0) return;
  CHECK_OK(esp_counter_wait(c.job, &server.answers, 0, 0), team, "");
  for (const int seen : server.seen) CHECK_EQ(seen, kEach, "requests");
}

// Two teams with the members in another order: ranks are those of the team, and nothing gets
// across.
void teams_apart(const Context& c) {
  esp_team *back = nullptr, *copy = nullptr;
  CHECK_OK(esp_team_split(c.world, 0, -c.rank, &back), c.world, "");
  CHECK_OK(esp_team_dup(c.world, &copy), c.world, "");
  any_source(c, back);
  any_source(c, copy);
  const int me = esp_team_rank(back), next = (me + 1) % c.size;
  const std::uint64_t one = 1, two = 2;
  std::uint64_t got = 0;
  esp_request* sends[2] = {};
  CHECK_OK(esp_tag_send_start(back, &one, 1, ESP_UINT64, next, 9, nullptr, &sends[0]), back, "");
  CHECK_OK(esp_tag_send_start(copy, &two, 1, ESP_UINT64, c.rank, 9, nullptr, &sends[1]), copy, "");
  CHECK_OK(esp_tag_recv(copy, &got, 1, ESP_UINT64, ESP_ANY_SOURCE, 0, 0, nullptr), copy, "");
  CHECK_EQ(got, two, "on its team");
  esp_tag_info info = {};
  CHECK_OK(esp_tag_recv(back, &got, 1, ESP_UINT64, ESP_ANY_SOURCE, 0, 0, &info), back, "");
  CHECK(got == one && info.source == (me + c.size - 1) % c.size, "{} from {}", got, info.source);
  CHECK_OK(esp_request_wait_all(sends, 2), c.world, "");
  CHECK_OK(esp_barrier(c.world), c.world, "");
  CHECK_OK(esp_team_free(back), c.world, "");
  CHECK_OK(esp_team_free(copy), c.world, "");
}

// What does not fit fills the receive; the team stays whole.
void truncated(const Context& c) {
  const Context& context = c;
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{200000}}) {
    const Bytes sent = content(c.rank, 4, bytes);
    Bytes got(bytes, 0xee);
    esp_tag_info info = {};
    esp_request* send = nullptr;
    CHECK_OK(esp_tag_send_start(c.world, sent.data(), bytes, ESP_BYTE, c.rank, 4, nullptr, &send),
             c.world, "");
    REFUSED_WITH(
        esp_tag_recv(c.world, got.data(), bytes - 9, ESP_BYTE, c.rank, 4, ESP_TAG_EXACT, &info),
        ESP_ERR_TRUNCATED, "is longer than its receive");
    CHECK_OK(esp_request_wait(&send), c.world, "");
    CHECK(std::equal(sent.begin(), sent.end() - 9, got.begin()) && got[bytes - 9] == 0xee,
          "what fits, and no more");
    CHECK(is_info(info, c.rank, 4, bytes), "{} bytes", info.bytes);
    if (c.size == 1) continue;
    const int other = c.rank ^ 1;
    if (other >= c.size) continue;
    CHECK_OK(esp_tag_send_start(c.world, sent.data(), bytes, ESP_BYTE, other, 4, nullptr, &send),
             c.world, "");
    CHECK_STATUS(esp_tag_recv(c.world, got.data(), 10, ESP_BYTE, other, 4, ESP_TAG_EXACT, &info),
                 ESP_ERR_TRUNCATED, c.world, "");
    CHECK_OK(esp_request_wait(&send), c.world, "");
    CHECK_EQ(got[9], byte_at(other, 4, 9), "what fits");
  }
  CHECK_OK(esp_barrier(c.world), c.world, "the team is whole");
}

void cancels(const Context& c) {
  int got = 0;
  esp_request* receive = nullptr;
  CHECK_OK(esp_tag_recv_start(c.world, &got, 1, ESP_INT32, ESP_ANY_SOURCE, 30, ESP_TAG_EXACT,
                              nullptr, nullptr, &receive),
           c.world, "");
  CHECK_OK(esp_tag_cancel(receive), c.world, "");
  CHECK_OK(esp_tag_cancel(receive), c.world, "again");
  CHECK_STATUS(esp_request_wait(&receive), ESP_ERR_CANCELED, c.world, "");
  // One that has been matched stays.
  const int sent = 5;
  CHECK_OK(esp_tag_recv_start(c.world, &got, 1, ESP_INT32, c.rank, 30, ESP_TAG_EXACT, nullptr,
                              nullptr, &receive),
           c.world, "");
  CHECK_OK(esp_tag_send(c.world, &sent, 1, ESP_INT32, c.rank, 30), c.world, "");
  CHECK_OK(esp_tag_cancel(receive), c.world, "");
  CHECK_OK(esp_request_wait(&receive), c.world, "");
  CHECK_EQ(got, sent, "the one that was taken back did not get it");
}

void probes(const Context& c) {
  const int next = (c.rank + 1) % c.size, before = (c.rank + c.size - 1) % c.size;
  std::uint64_t first = 60;  // Another round may be there already.
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{50}, std::size_t{300000}}) {
    const std::uint64_t second = first + 1;
    const Bytes sent = content(c.rank, 60, bytes);
    esp_request* sends[2] = {};
    for (std::uint64_t i = 0; i < 2; ++i) {
      CHECK_OK(esp_tag_send_start(c.world, sent.data(), bytes, ESP_BYTE, next, first + i, nullptr,
                                  &sends[i]),
               c.world, "");
    }
    esp_tag_info info = {};
    CHECK_OK(esp_tag_probe(c.world, ESP_ANY_SOURCE, second, ESP_TAG_EXACT, &info, nullptr), c.world,
             "");
    CHECK(is_info(info, before, second, bytes), "{} bytes from {}", info.bytes, info.source);
    int found = 0;
    CHECK_OK(esp_tag_probe_now(c.world, before, 0, 0, &found, &info, nullptr), c.world, "");
    CHECK(found == 1 && is_info(info, before, first, bytes), "the earliest: {}", info.tag);
    CHECK_OK(
        esp_tag_probe_now(c.world, before, first + 1000, ESP_TAG_EXACT, &found, &info, nullptr),
        c.world, "");
    CHECK_EQ(found, 0, "there is none");
    // Claimed: nobody else finds it.
    esp_tag_message* message = nullptr;
    CHECK_OK(esp_tag_probe(c.world, before, first, ESP_TAG_EXACT, &info, &message), c.world, "");
    CHECK_OK(esp_tag_probe_now(c.world, before, first, ESP_TAG_EXACT, &found, nullptr, nullptr),
             c.world, "");
    CHECK(message != nullptr && found == 0, "claimed");
    Bytes got(bytes);
    info = {};
    CHECK_OK(esp_tag_message_recv(&message, got.data(), bytes, ESP_BYTE, &info), c.world, "");
    CHECK(message == nullptr && is_info(info, before, first, bytes), "{}", info.bytes);
    CHECK(got == content(before, 60, bytes), "content");
    CHECK_OK(esp_tag_probe(c.world, before, second, ESP_TAG_EXACT, nullptr, &message), c.world, "");
    esp_request* receive = nullptr;
    CHECK_OK(esp_tag_message_recv_start(&message, got.data(), bytes, ESP_BYTE, nullptr, nullptr,
                                        &receive),
             c.world, "");
    CHECK_OK(esp_request_wait(&receive), c.world, "");
    CHECK(got == content(before, 60, bytes), "content of the second");
    CHECK_OK(esp_request_wait_all(sends, 2), c.world, "");
    first += 2;
  }
}

// Thousands that nobody receives yet: what waits at the receiver is bounded, nothing is lost.
void flood(const Context& c) {
  if (c.size < 2 || c.rank > 1) return;
  constexpr std::size_t kMessages = 10000, kBytes = 500;
  if (c.rank == 0) {
    const Bytes sent = content(0, 1, kBytes);
    std::vector<esp_request*> sends(kMessages);
    for (std::size_t i = 0; i < kMessages; ++i) {
      CHECK_OK(esp_tag_send_start(c.world, sent.data(), kBytes, ESP_BYTE, 1, i, nullptr, &sends[i]),
               c.world, "");
    }
    CHECK_OK(esp_tag_send(c.world, nullptr, 0, ESP_BYTE, 1, ~std::uint64_t{0}), c.world, "");
    CHECK_OK(esp_request_wait_all(sends.data(), kMessages), c.world, "");
    CHECK(counter(c, "tags_window_full") > 0, "the window is as large as all messages");
    return;
  }
  CHECK_OK(
      esp_tag_recv(c.world, nullptr, 0, ESP_BYTE, 0, ~std::uint64_t{0}, ESP_TAG_EXACT, nullptr),
      c.world, "behind all");
  for (std::size_t i = kMessages; i-- > 0;) {
    unsigned char got[kBytes];
    CHECK_OK(esp_tag_recv(c.world, got, kBytes, ESP_BYTE, 0, i, ESP_TAG_EXACT, nullptr), c.world,
             "");
    CHECK(got[0] == byte_at(0, 1, 0) && got[kBytes - 1] == byte_at(0, 1, kBytes - 1), "{}", i);
  }
}

// Columns of a matrix become rows, and the other way round, by both protocols.
void apart(const Context& c) {
  const int next = (c.rank + 1) % c.size, before = (c.rank + c.size - 1) % c.size;
  for (const std::size_t rows : {std::size_t{20}, std::size_t{30000}}) {
    constexpr std::size_t kColumns = 3;
    esp_type column = ESP_BYTE;
    CHECK_OK(esp_type_strided(c.job, ESP_INT32, rows, 1, kColumns, 0, &column), c.world, "");
    std::vector<std::int32_t> matrix(rows * kColumns), line(rows), back(rows * kColumns, -1);
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      matrix[i] = static_cast<std::int32_t>(i) + 1000 * c.rank;
    }
    for (const auto start : {esp_tag_send_start, esp_tag_send_synchronous_start}) {
      esp_request* send = nullptr;
      CHECK_OK(start(c.world, matrix.data() + 1, 1, column, next, 1, nullptr, &send), c.world, "");
      CHECK_OK(
          esp_tag_recv(c.world, line.data(), rows, ESP_INT32, before, 1, ESP_TAG_EXACT, nullptr),
          c.world, "");
      CHECK_OK(esp_request_wait(&send), c.world, "");
      for (std::size_t r = 0; r < rows; ++r) {
        CHECK_EQ(line[r], static_cast<std::int32_t>(r * kColumns + 1) + 1000 * before, "row {}", r);
      }
      CHECK_OK(start(c.world, line.data(), rows, ESP_INT32, next, 2, nullptr, &send), c.world, "");
      CHECK_OK(esp_tag_recv(c.world, back.data(), 1, column, before, 2, ESP_TAG_EXACT, nullptr),
               c.world, "");
      CHECK_OK(esp_request_wait(&send), c.world, "");
      const int origin = (before + c.size - 1) % c.size;
      CHECK(back[kColumns] == static_cast<std::int32_t>(kColumns + 1) + 1000 * origin &&
                back[1] == -1 && back[2] == -1,
            "{} {}", back[kColumns], back[1]);
    }
    // In use it cannot be freed.
    esp_request* receive = nullptr;
    CHECK_OK(esp_tag_recv_start(c.world, back.data(), 1, column, before, 3, ESP_TAG_EXACT, nullptr,
                                nullptr, &receive),
             c.world, "");
    const bool threaded = esp_job_fd(c.job) < 0;
    if (!threaded) {
      CHECK_STATUS(esp_type_free(c.job, column), ESP_ERR_STATE, c.world, "a receive uses it");
    }
    CHECK_OK(esp_tag_cancel(receive), c.world, "");
    CHECK_STATUS(esp_request_wait(&receive), ESP_ERR_CANCELED, c.world, "");
    CHECK_OK(esp_type_free(c.job, column), c.world, "");
  }
}

void wrong_calls(const Context& context) {
  esp_team* w = context.world;
  int word = 0;
  esp_request* r = nullptr;
  esp_tag_message* m = nullptr;
  const auto refused = [&](esp_status status, const char* what) {
    CHECK_STATUS(status, ESP_ERR_ARGUMENT, w, "{}", what);
  };
  refused(esp_tag_send(nullptr, &word, 1, ESP_INT32, 0, 0), "no team");
  refused(esp_tag_recv(nullptr, &word, 1, ESP_INT32, 0, 0, 0, nullptr), "no team");
  refused(esp_tag_send(w, nullptr, 1, ESP_INT32, 0, 0), "no buffer");
  refused(esp_tag_recv(w, nullptr, 1, ESP_INT32, 0, 0, 0, nullptr), "no buffer");
  refused(esp_tag_send(w, &word, 1, ESP_INT32, context.size, 0), "no such rank");
  refused(esp_tag_send(w, &word, 1, ESP_INT32, ESP_ANY_SOURCE, 0), "anybody is nobody's rank");
  refused(esp_tag_recv(w, &word, 1, ESP_INT32, -2, 0, 0, nullptr), "no such rank");
  refused(esp_tag_send(w, &word, static_cast<size_t>(-1), ESP_INT32, 0, 0), "absurd");
  refused(esp_tag_send_start(w, &word, 1, ESP_INT32, 0, 0, nullptr, nullptr), "no report");
  refused(esp_tag_recv_start(w, &word, 1, ESP_INT32, 0, 0, 0, nullptr, nullptr, nullptr),
          "no report");
  refused(esp_tag_probe_now(w, 0, 0, 0, nullptr, nullptr, nullptr), "no place for the answer");
  refused(esp_tag_probe(w, context.size, 0, 0, nullptr, nullptr), "no such rank");
  refused(esp_tag_message_recv(&m, &word, 1, ESP_INT32, nullptr), "no message");
  refused(esp_tag_message_recv_start(nullptr, &word, 1, ESP_INT32, nullptr, nullptr, &r),
          "no message");
  refused(esp_tag_cancel(nullptr), "no request");
  CHECK_STATUS(esp_tag_send(w, &word, 1, static_cast<esp_type>(9999), 0, 0), ESP_ERR_TYPE, w,
               "no such type");
  REFUSED_WITH(esp_tag_send(w, &word, 1, ESP_INT32, context.size, 0), ESP_ERR_ARGUMENT,
               "esp_tag_send: rank");
}

}  // namespace

void tags(const Context& context) {
  ring(context);
  orders(context);
  CHECK_OK(esp_barrier(context.world), context.world, "");
  posted(context);
  any_source(context, context.world);
  CHECK_OK(esp_barrier(context.world), context.world, "");
  teams_apart(context);
  truncated(context);
  cancels(context);
  probes(context);
  CHECK_OK(esp_barrier(context.world), context.world, "");
  flood(context);
  apart(context);
  wrong_calls(context);
}

}  // namespace test
