// Point-to-point flows: order, sizes, many channels, both directions at once.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tests/api/cases.hpp"

namespace test {
namespace {

std::vector<unsigned char> message(int from, int to, unsigned channel, std::size_t bytes) {
  std::vector<unsigned char> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    data[i] =
        static_cast<unsigned char>(static_cast<std::size_t>(from * 7 + to * 13) + channel + i * 3);
  }
  return data;
}

// Round a ring, in an order without deadlock even when a send waits for its receive.
void ring(const Context& context) {
  const int next = (context.rank + 1) % context.size;
  const int before = (context.rank + context.size - 1) % context.size;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{64},
                                  std::size_t{5000}, std::size_t{300'000}, std::size_t{3} << 20}) {
    const auto mine = message(context.rank, next, 0, bytes);
    std::vector<unsigned char> received(bytes + 1, 0xEE);
    const auto send = [&] {
      CHECK_OK(esp_send(context.world, mine.data(), bytes, next, 0), context.world, "{} B", bytes);
    };
    const auto recv = [&] {
      CHECK_OK(esp_recv(context.world, received.data(), bytes, before, 0), context.world, "{} B",
               bytes);
    };
    if (context.rank == 0) {
      send();
      recv();
    } else {
      recv();
      send();
    }
    CHECK_EQ(received.back(), 0xEE, "wrote beyond {} B", bytes);
    received.pop_back();
    CHECK(received == message(before, context.rank, 0, bytes), "{} B from {}", bytes, before);
  }
}

// Everybody sends to everybody on several channels at once; receives are started in another order
// than the sends, and messages of a flow stay in order.
void all_to_all(const Context& context) {
  constexpr unsigned kChannels[] = {255, 0, 17};
  constexpr std::size_t kBytes[] = {8, 40'000, 1};
  std::vector<std::vector<unsigned char>> buffers;
  std::vector<esp_request*> requests;
  struct Expected {
    std::size_t buffer;
    int from;
    unsigned channel;
    std::size_t bytes;
  };
  std::vector<Expected> expected;
  for (int p = 0; p < context.size; ++p) {
    if (p == context.rank) continue;
    for (const unsigned channel : kChannels) {
      for (const std::size_t bytes : kBytes) {
        expected.push_back({buffers.size(), p, channel, bytes});
        buffers.emplace_back(bytes);
        requests.push_back(nullptr);
        CHECK_OK(esp_recv_start(context.world, buffers.back().data(), bytes, p, channel, nullptr,
                                &requests.back()),
                 context.world, "from {}", p);
      }
    }
  }
  for (int p = context.size - 1; p >= 0; --p) {
    if (p == context.rank) continue;
    for (const std::size_t bytes : kBytes) {
      for (const unsigned channel : kChannels) {
        buffers.push_back(message(context.rank, p, channel, bytes));
        requests.push_back(nullptr);
        CHECK_OK(esp_send_start(context.world, buffers.back().data(), bytes, p, channel, nullptr,
                                &requests.back()),
                 context.world, "to {}", p);
      }
    }
  }
  CHECK_OK(esp_request_wait_all(requests.data(), requests.size()), context.world, "all to all");
  for (const Expected& e : expected) {
    CHECK(buffers[e.buffer] == message(e.from, context.rank, e.channel, e.bytes),
          "{} B from {} on channel {}", e.bytes, e.from, e.channel);
  }
}

// A blocking call and a start/wait pair cut a message alike: each form of sending meets each form
// of receiving, at the sizes where the way through the library changes.
void forms(const Context& context) {
  const int peer = context.rank ^ 1;
  if (peer >= context.size) return;
  const bool sends = context.rank < peer;
  for (const std::size_t bytes :
       {std::size_t{88}, std::size_t{89}, std::size_t{4096}, std::size_t{4097}, std::size_t{65'537},
        std::size_t{1} << 20, (std::size_t{1} << 20) + 1}) {
    for (int form = 0; form < 4; ++form) {
      const bool start = (sends ? form & 1 : form & 2) != 0;
      esp_request* request = nullptr;
      esp_status status = ESP_OK;
      if (sends) {
        const auto data = message(context.rank, peer, 3, bytes);
        status = start
                     ? esp_send_start(context.world, data.data(), bytes, peer, 3, nullptr, &request)
                     : esp_send(context.world, data.data(), bytes, peer, 3);
        if (status == ESP_OK) status = esp_request_wait(&request);
        CHECK_OK(status, context.world, "sending {} B, form {}", bytes, form);
        continue;
      }
      std::vector<unsigned char> data(bytes);
      status = start ? esp_recv_start(context.world, data.data(), bytes, peer, 3, nullptr, &request)
                     : esp_recv(context.world, data.data(), bytes, peer, 3);
      if (status == ESP_OK) status = esp_request_wait(&request);
      CHECK_OK(status, context.world, "receiving {} B, form {}", bytes, form);
      CHECK(data == message(peer, context.rank, 3, bytes), "{} B, form {}", bytes, form);
    }
  }
}

// More small messages than the ring has cells: those that were complete when they were started and
// those that had to wait stay in order.
void many_small(const Context& context) {
  const int peer = context.rank ^ 1;
  if (peer >= context.size) return;
  constexpr std::size_t kMessages = 300;
  std::vector<std::uint64_t> out(kMessages), in(kMessages);
  std::vector<esp_request*> requests(2 * kMessages, nullptr);
  for (std::size_t i = 0; i < kMessages; ++i) {
    out[i] = static_cast<std::uint64_t>(context.rank) << 32 | i;
    CHECK_OK(esp_send_start(context.world, &out[i], sizeof out[i], peer, 9, nullptr, &requests[i]),
             context.world, "message {}", i);
  }
  for (std::size_t i = 0; i < kMessages; ++i) {
    CHECK_OK(esp_recv_start(context.world, &in[i], sizeof in[i], peer, 9, nullptr,
                            &requests[kMessages + i]),
             context.world, "message {}", i);
  }
  CHECK_OK(esp_request_wait_all(requests.data(), requests.size()), context.world, "");
  for (std::size_t i = 0; i < kMessages; ++i) {
    CHECK_EQ(in[i], static_cast<std::uint64_t>(peer) << 32 | i, "message {}", i);
  }
}

// The receiver is slower: the sender waits for room again and again. Each message travels once, in
// order. A receiver's progress thread takes messages while its program does something else: there
// the sender may never have to wait.
void one_way_stream(const Context& context) {
  constexpr std::uint64_t kMessages = 20'000;
  constexpr std::size_t kSizes[] = {8, 88, 40, 64};  // sent without waiting, whatever is configured
  if (context.rank > 1) return;
  auto* shared = static_cast<std::uint64_t*>(esp_alloc(context.job, 2048));
  CHECK(shared != nullptr, "{}", esp_job_error(context.job));
  if (shared == nullptr) return;
  const std::uint64_t before = counter(context, "segments_sent");
  const std::uint64_t retries_before = counter(context, "retries");
  const std::uint64_t frames_before = counter(context, "frames_sent");
  for (std::uint64_t i = 0; i < kMessages && g_failures == 0; ++i) {
    // Now and then one that is read in place, and so holds its sender up.
    const std::size_t bytes = i % 256 == 255 ? 2048 : kSizes[i % 4];
    if (context.rank == 0) {
      shared[0] = shared[bytes / 8 - 1] = i;
      CHECK_OK(esp_send(context.world, shared, bytes, 1, 3), context.world, "message {}", i);
    } else {
      const double pause = i % 2000 == 0 ? 10e-3 : 5e-6;
      for (const double begin = esp_time(); esp_time() < begin + pause;) {
      }
      CHECK_OK(esp_recv(context.world, shared, bytes, 0, 3), context.world, "message {}", i);
      CHECK(shared[0] == i && shared[bytes / 8 - 1] == i, "{} instead of {}", shared[0], i);
    }
  }
  const std::uint64_t sent = counter(context, "segments_sent") - before;
  if (std::getenv("ESPALIER_SEGMENT_BYTES") == nullptr) {
    CHECK_EQ(sent, context.rank == 0 ? kMessages : 0, "segments");
  }
  // A network has other ways to make a sender wait.
  const bool network = counter(context, "frames_sent") > frames_before;
  const bool may_run_on = network || esp_job_fd(context.job) < 0;
  CHECK(context.rank != 0 || may_run_on || counter(context, "retries") > retries_before,
        "it never had to wait");
  esp_free(context.job, shared);
}

// Memory that peers can map works as source and as destination, of flows and of collectives.
void from_shared_memory(const Context& context) {
  constexpr std::size_t kBytes = 20'000;
  auto* shared = static_cast<unsigned char*>(esp_alloc(context.job, kBytes));
  CHECK(shared != nullptr, "{}", esp_job_error(context.job));
  if (shared == nullptr) return;
  CHECK_EQ(reinterpret_cast<std::uintptr_t>(shared) % 64, std::uintptr_t{0}, "alignment");
  const auto expected = message(0, 0, 0, kBytes);
  if (context.rank == 0) std::copy(expected.begin(), expected.end(), shared);
  CHECK_OK(esp_bcast(context.world, shared, kBytes, ESP_UINT8, 0), context.world, "");
  CHECK(std::equal(expected.begin(), expected.end(), shared), "bcast");
  std::vector<unsigned char> sum(kBytes);
  CHECK_OK(esp_allreduce(context.world, shared, sum.data(), kBytes, ESP_UINT8, ESP_MAX),
           context.world, "");
  CHECK(sum == expected, "allreduce");
  esp_free(context.job, shared);
  esp_free(context.job, nullptr);
}

}  // namespace

// Each is an operation, whatever way it takes.
void counted(const Context& context) {
  constexpr std::size_t kBytes[] = {8, 40'000, 40u << 20};
  const int next = (context.rank + 1) % context.size;
  const int before = (context.rank + context.size - 1) % context.size;
  std::vector<char> out(kBytes[2]), in(kBytes[2]);
  for (const std::size_t bytes : kBytes) {
    const std::uint64_t was = counter(context, "operations");
    esp_request* request = nullptr;
    CHECK_OK(esp_recv_start(context.world, in.data(), bytes, before, 3, nullptr, &request),
             context.world, "");
    CHECK_OK(esp_send(context.world, out.data(), bytes, next, 3), context.world, "");
    CHECK_OK(esp_request_wait(&request), context.world, "");
    CHECK_OK(esp_send_start(context.world, out.data(), bytes, next, 3, nullptr, &request),
             context.world, "");
    CHECK_OK(esp_recv(context.world, in.data(), bytes, before, 3), context.world, "");
    CHECK_OK(esp_request_wait(&request), context.world, "");
    CHECK_EQ(counter(context, "operations"), was + 4, "{} B", bytes);
  }
}

void flows(const Context& context) {
  from_shared_memory(context);
  if (context.size == 1) return;
  one_way_stream(context);
  ring(context);
  all_to_all(context);
  forms(context);
  many_small(context);
  counted(context);
}

}  // namespace test
