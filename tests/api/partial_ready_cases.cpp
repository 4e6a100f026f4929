// Readiness: partitions of an input become ready one by one, in any order, by any thread; the first
// of a persistent request starts its round.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/api/cases.hpp"

namespace test {
namespace partial_ready_cases {
namespace {

void wrong(const std::string& what) {
  CHECK(false, "{}", what);
}

constexpr int kParts = 6;

int value(int from, int to, std::size_t at) {
  return from * 1000 + to * 10 + static_cast<int>(at % 7);
}

// Parts of a message of n elements, nearly equal.
std::size_t part_begin(std::size_t n, int part, int parts = kParts) {
  const auto p = static_cast<std::size_t>(part), all = static_cast<std::size_t>(parts);
  return n / all * p + std::min(p, n % all);
}

// Fills `partition` of the blocks in `input`, all of n elements.
struct Writer {
  std::vector<int>& input;
  std::size_t n;
  int rank;
  int round = 0;

  void write(int partition) const {
    const int to = partition / kParts, part = partition % kParts;
    const std::size_t block = static_cast<std::size_t>(to) * n;
    for (std::size_t i = part_begin(n, part); i < part_begin(n, part + 1); ++i) {
      input[block + i] = value(rank, to, i) + round;
    }
  }
};

std::vector<int> shuffled(int partitions, int seed) {
  std::vector<int> order(static_cast<std::size_t>(partitions));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(seed)));
  return order;
}

// All but the last by threads, each in an order of its own.
void make_ready(const Context& context, esp_request* request, const Writer& writer,
                int partitions) {
  const std::vector<int> order = shuffled(partitions, context.rank + writer.round);
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (std::size_t k = next++; k + 1 < order.size(); k = next++) {
        writer.write(order[k]);
        CHECK_OK(esp_ready(request, order[k]), context.world, "partition {}", order[k]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int turn = 0; turn < 20; ++turn) esp_progress(context.job);
  int done = 0;
  CHECK_STATUS(esp_request_test(&request, &done), ESP_IN_PROGRESS, context.world,
               "complete without partition {}", order.back());
  writer.write(order.back());
  CHECK_OK(esp_ready(request, order.back()), context.world, "the last");
}

esp_coll_options with(const esp_partial& partial) {
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  options.partial = &partial;
  return options;
}

esp_partial awaiting(int partitions) {
  esp_partial partial = ESP_PARTIAL_INIT;
  partial.flags = ESP_PARTIAL_AWAIT;
  partial.partitions = partitions;
  return partial;
}

int sum(const Context& context, std::size_t at) {
  int all = 0;
  for (int r = 0; r < context.size; ++r) all += value(r, 0, at);
  return all;
}

void an_allreduce(const Context& context, std::size_t n) {
  std::vector<int> input(n, -1), output(n, -1);
  const esp_partial partial = awaiting(kParts);
  const esp_coll_options options = with(partial);
  esp_request* request = nullptr;
  CHECK_OK(esp_allreduce_start(context.world, input.data(), output.data(), n, ESP_INT32, ESP_SUM,
                               &options, nullptr, &request),
           context.world, "");
  make_ready(context, request, {input, n, context.rank}, kParts);
  CHECK_OK(esp_request_wait(&request), context.world, "");
  for (std::size_t i = 0; i < n; ++i) {
    if (output[i] != sum(context, i)) return wrong(fmt::format("element {} is {}", i, output[i]));
  }
}

void a_broadcast(const Context& context, std::size_t n) {
  std::vector<int> data(n, -1);
  const int root = context.size - 1;
  const esp_partial partial = awaiting(kParts);
  const esp_coll_options options = with(partial);
  esp_request* request = nullptr;
  CHECK_OK(
      esp_bcast_start(context.world, data.data(), n, ESP_INT32, root, &options, nullptr, &request),
      context.world, "");
  if (context.rank == root) {
    make_ready(context, request, {data, n, root}, kParts);
  } else {
    CHECK_STATUS(esp_ready(request, 0), ESP_ERR_ARGUMENT, context.world, "no input here");
  }
  CHECK_OK(esp_request_wait(&request), context.world, "");
  for (std::size_t i = 0; i < n; ++i) {
    if (data[i] != value(root, 0, i)) return wrong(fmt::format("element {} is {}", i, data[i]));
  }
}

// Rounds of a persistent exchange, each started by whoever comes first.
void rounds_of_alltoall(const Context& context, std::size_t n, esp_algorithm algorithm) {
  const auto members = static_cast<std::size_t>(context.size);
  std::vector<int> input(n * members, -1), output(n * members, -1);
  const esp_partial partial = awaiting(kParts);
  esp_coll_options options = with(partial);
  options.algorithm = algorithm;
  esp_request* request = nullptr;
  CHECK_OK(esp_alltoall_init(context.world, input.data(), output.data(), n, ESP_INT32, &options,
                             nullptr, &request),
           context.world, "");
  if (request == nullptr) return;
  for (int round = 0; round < 3; ++round) {
    std::fill(output.begin(), output.end(), -1);
    make_ready(context, request, {input, n, context.rank, round}, kParts * context.size);
    CHECK_OK(esp_request_wait(&request), context.world, "round {}", round);
    for (std::size_t at = 0; at < output.size(); ++at) {
      const int wanted = value(static_cast<int>(at / n), context.rank, at % n) + round;
      if (output[at] != wanted)
        return wrong(fmt::format("{} is {}, not {}", at, output[at], wanted));
    }
  }
  CHECK_OK(esp_request_free(&request), context.world, "");
}

// Blocks without elements have partitions, too: no round ends before they are ready.
void empty_partitions(const Context& context) {
  const auto members = static_cast<std::size_t>(context.size);
  std::vector<std::size_t> to(members, 40), from(members, 40);
  to.back() = 0;  // nothing for the last rank
  if (context.rank + 1 == context.size) std::fill(from.begin(), from.end(), 0);
  std::vector<int> out(40 * members, context.rank), in(40 * members, -1);
  const esp_partial partial = awaiting(1);
  const esp_coll_options options = with(partial);
  esp_request* request = nullptr;
  CHECK_OK(esp_alltoallv_init(context.world, out.data(), to.data(), nullptr, in.data(), from.data(),
                              nullptr, ESP_INT32, &options, nullptr, &request),
           context.world, "");
  if (request == nullptr) return;
  for (int round = 0; round < 3; ++round) {
    CHECK_OK(esp_request_start(request), context.world, "round {}", round);
    for (int p = 0; p + 1 < context.size; ++p) CHECK_OK(esp_ready(request, p), context.world, "");
    for (int turn = 0; turn < 50; ++turn) esp_progress(context.job);
    int done = 0;
    CHECK_STATUS(esp_request_test(&request, &done), ESP_IN_PROGRESS, context.world,
                 "complete without its empty partition");
    CHECK_OK(esp_ready(request, context.size - 1), context.world, "");
    CHECK_OK(esp_request_wait(&request), context.world, "round {}", round);
  }
  CHECK_OK(esp_request_free(&request), context.world, "");
}

// A message whose ends cut it into parts of their own.
void a_message(const Context& context, std::size_t bytes) {
  if (context.size < 2) return;
  const int right = (context.rank + 1) % context.size;
  const int left = (context.rank + context.size - 1) % context.size;
  std::vector<unsigned char> out(bytes, 0), in(bytes, 0);
  esp_request *send = nullptr, *recv = nullptr;
  CHECK_OK(esp_partitioned_send_init(context.world, out.data(), bytes, 6, right, 3, nullptr, &send),
           context.world, "");
  CHECK_OK(esp_partitioned_recv_init(context.world, in.data(), bytes, 4, left, 3, nullptr, &recv),
           context.world, "");
  if (send == nullptr || recv == nullptr) return;
  for (int round = 0; round < 2; ++round) {
    CHECK_OK(esp_request_start(recv), context.world, "");
    for (const int part : shuffled(6, round)) {
      for (std::size_t i = part_begin(bytes, part, 6); i < part_begin(bytes, part + 1, 6); ++i) {
        out[i] = static_cast<unsigned char>(i * 7 + static_cast<std::size_t>(context.rank + round));
      }
      CHECK_OK(esp_ready(send, part), context.world, "part {}", part);
      CHECK_STATUS(esp_ready(send, part), ESP_ERR_STATE, context.world, "twice");
    }
    std::vector<int> got;
    esp_segment segment;
    int taken = 0;
    while (esp_segment_take(recv, &segment, &taken) == ESP_IN_PROGRESS || taken != 0) {
      if (taken == 0) {
        esp_progress(context.job);
        continue;
      }
      got.push_back(segment.block);
      CHECK_EQ(segment.source, left, "");
      CHECK_EQ(esp_arrived(recv, segment.block), 1, "");
      const auto* data = static_cast<const unsigned char*>(segment.address);
      const auto at = static_cast<std::size_t>(data - in.data());
      for (std::size_t i = 0; i < segment.bytes; ++i) {
        const auto wanted =
            static_cast<unsigned char>((at + i) * 7 + static_cast<std::size_t>(left + round));
        if (data[i] != wanted) return wrong(fmt::format("byte {} of round {}", at + i, round));
      }
    }
    std::sort(got.begin(), got.end());
    CHECK(got == std::vector<int>({0, 1, 2, 3}), "each part once");
    CHECK_OK(esp_request_wait(&recv), context.world, "");
    CHECK_OK(esp_request_wait(&send), context.world, "");
  }
  CHECK_OK(esp_request_free(&recv), context.world, "");
  CHECK_OK(esp_request_free(&send), context.world, "");
}

// A halo of two sides, of which one is written by three threads: 3 + 1 messages, or 2.
void a_halo(const Context& context, std::size_t n, bool separate) {
  const int extent = context.size, periodic = 1;
  esp_graph* ring = nullptr;
  CHECK_OK(esp_grid_create(context.world, 1, &extent, &periodic, &ring), context.world, "");
  std::vector<int> out(2 * n), in(2 * n, -1);
  const int to[] = {3, 1}, from[] = {1, 3};
  esp_partial partial = awaiting(0);
  partial.flags |= ESP_PARTIAL_DELIVER;
  if (separate) partial.flags |= ESP_PARTIAL_SEPARATE;
  partial.block_partitions = to;
  partial.source_partitions = from;
  const esp_coll_options options = with(partial);
  esp_request* request = nullptr;
  CHECK_OK(esp_neighbor_alltoall_init(ring, out.data(), in.data(), n, ESP_INT32, &options, nullptr,
                                      &request),
           context.world, "");
  if (request == nullptr) return;
  const int sides[] = {(context.rank + context.size - 1) % context.size,
                       (context.rank + 1) % context.size};
  for (int round = 0; round < 2; ++round) {
    const std::uint64_t sent = counter(context, "segments_sent");
    for (std::size_t i = 0; i < 2 * n; ++i) {
      out[i] = value(context.rank, i < n ? 0 : 1, i % n) + round;
    }
    for (const int p : {3, 1, 0, 2}) CHECK_OK(esp_ready(request, p), context.world, "part {}", p);
    std::vector<int> got;
    esp_segment segment;
    int taken = 0;
    while (esp_segment_take(request, &segment, &taken) == ESP_IN_PROGRESS || taken != 0) {
      if (taken == 0) {
        esp_progress(context.job);
        continue;
      }
      got.push_back(segment.block);
      CHECK_EQ(segment.source, sides[segment.block], "");
      CHECK_EQ(segment.bytes, n * sizeof(int), "");
    }
    std::sort(got.begin(), got.end());
    CHECK(got == std::vector<int>({0, 1}), "each side once");
    CHECK_OK(esp_request_wait(&request), context.world, "");
    const std::uint64_t messages = context.size == 1 ? 0 : separate ? 4 : 2;
    CHECK_EQ(counter(context, "segments_sent") - sent, messages, "separate: {}", separate);
    for (std::size_t i = 0; i < 2 * n; ++i) {
      const int wanted = value(sides[i / n], i < n ? 1 : 0, i % n) + round;
      if (in[i] != wanted) return wrong(fmt::format("{} is {}, not {}", i, in[i], wanted));
    }
  }
  CHECK_OK(esp_request_free(&request), context.world, "");
  CHECK_OK(esp_graph_free(&ring), context.world, "");
}

void refused(const Context& context) {
  int one = 1, sum = 0;
  const auto start = [&](const esp_partial& partial, const esp_notify* notify,
                         esp_request** request) {
    const esp_coll_options options = with(partial);
    return esp_allreduce_start(context.world, &one, &sum, 1, ESP_INT32, ESP_SUM, &options, notify,
                               request);
  };
  esp_request* request = nullptr;
  esp_partial partial = ESP_PARTIAL_INIT;
  partial.flags = 1U << 30;
  REFUSED_WITH(start(partial, nullptr, &request), ESP_ERR_ARGUMENT, "unknown flag");
  partial.flags = ESP_PARTIAL_SEGMENTS;
  REFUSED_WITH(start(partial, nullptr, &request), ESP_ERR_ARGUMENT, "for DELIVER");
  partial.flags = ESP_PARTIAL_DELIVER | ESP_PARTIAL_UNORDERED;
  REFUSED_WITH(start(partial, nullptr, &request), ESP_ERR_ARGUMENT, "blocks of several");
  partial.flags = ESP_PARTIAL_DELIVER;
  int64_t left = 1;
  const esp_notify notify = {nullptr, nullptr, &left};
  REFUSED_WITH(start(partial, &notify, nullptr), ESP_ERR_ARGUMENT, "not a notify");
  partial.flags = ESP_PARTIAL_AWAIT;
  REFUSED_WITH(start(partial, &notify, nullptr), ESP_ERR_ARGUMENT, "not a notify");
  partial.flags = ESP_PARTIAL_DELIVER;
  partial.blocks = -1;
  REFUSED_WITH(start(partial, nullptr, &request), ESP_ERR_ARGUMENT, "blocks is out of range");
  partial = awaiting(-1);
  REFUSED_WITH(start(partial, nullptr, &request), ESP_ERR_ARGUMENT, "partitions is out of range");
  partial = awaiting(1);
  partial.struct_size = 1;
  REFUSED_WITH(start(partial, nullptr, &request), ESP_ERR_ARGUMENT, "ESP_PARTIAL_INIT");
  CHECK(request == nullptr, "a refused call left a request");
  esp_segment segment;
  int taken = 0;
  CHECK_OK(esp_barrier_start(context.world, nullptr, nullptr, &request), context.world, "");
  REFUSED_WITH(esp_segment_take(request, &segment, &taken), ESP_ERR_ARGUMENT, "does not deliver");
  REFUSED_WITH(esp_ready(request, 0), ESP_ERR_ARGUMENT, "awaits nothing");
  CHECK_EQ(esp_arrived(request, 0), -1, "");
  CHECK_OK(esp_request_wait(&request), context.world, "");
  partial = awaiting(2);
  CHECK_OK(start(partial, nullptr, &request), context.world, "");
  REFUSED_WITH(esp_ready(request, 2), ESP_ERR_ARGUMENT, "partitions 2 to 2 of 2");
  CHECK_OK(esp_ready_range(request, 0, 1), context.world, "");
  CHECK_OK(esp_request_wait(&request), context.world, "");
  CHECK_EQ(sum, context.size, "");
}

}  // namespace
}  // namespace partial_ready_cases

void partial_ready(const Context& context) {
  using namespace partial_ready_cases;
  for (const std::size_t n : {std::size_t{12}, std::size_t{700}, std::size_t{60'000}}) {
    an_allreduce(context, n);
    a_broadcast(context, n);
    rounds_of_alltoall(context, n, ESP_ALGORITHM_AUTO);
    rounds_of_alltoall(context, n, ESP_ALGORITHM_BRUCK);
    a_message(context, n * 5);
  }
  empty_partitions(context);
  a_halo(context, 50, false);
  a_halo(context, 50, true);
  refused(context);
}

// With a limit of 2 s. The last rank's input is never ready: it says which part, the others that it
// is late.
void partial_unready(const Context& context) {
  const int last = context.size - 1;
  std::vector<int> input(1000, 1), output(1000);
  esp_partial partial = ESP_PARTIAL_INIT;
  partial.flags = ESP_PARTIAL_AWAIT;
  partial.partitions = 4;
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  options.partial = &partial;
  for (const std::size_t n : {std::size_t{4}, std::size_t{1000}}) {
    esp_team* team = nullptr;
    CHECK_OK(esp_team_dup(context.world, &team), context.world, "");
    esp_request* request = nullptr;
    CHECK_OK(esp_allreduce_start(team, input.data(), output.data(), n, ESP_INT32, ESP_SUM, &options,
                                 nullptr, &request),
             team, "");
    CHECK_OK(esp_ready_range(request, 0, 1), team, "");
    if (context.rank != last) CHECK_OK(esp_ready_range(request, 2, 3), team, "");
    // Whoever polls comes to the limit as well.
    int done = 0;
    while (context.rank % 2 == 1 && esp_request_test(&request, &done) == ESP_IN_PROGRESS) {
    }
    if (context.rank % 2 == 0) CHECK_STATUS(esp_request_wait(&request), ESP_ERR_TIMEOUT, team, "");
    const std::string text = esp_team_error(team);
    const std::string wanted =
        context.rank == last
            ? fmt::format("rank {} itself, where partition 2 of the input is not ready", last)
            : fmt::format("rank {}", last);
    CHECK(text.find(wanted) != std::string::npos, "\"{}\" lacks \"{}\"", text, wanted);
    CHECK_OK(esp_team_free(team), context.world, "");
  }
}

}  // namespace test
