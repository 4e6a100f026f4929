// Point-to-point flows: order, sizes, many channels, both directions at once.
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

void flows(const Context& context) {
  from_shared_memory(context);
  if (context.size == 1) return;
  ring(context);
  all_to_all(context);
}

}  // namespace test
