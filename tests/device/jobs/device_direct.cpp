// device_direct CASE...: adapters read and write memory of devices between nodes, a rank on each.
// DEVICE_LIBRARY names the driver's library. EXPECT_DIRECT=0: none does, and all goes by the host.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "tests/device/jobs/device_memory.hpp"
#include "tests/support/counter.hpp"
#include "tests/support/rank_check.hpp"

namespace test {
namespace {

constexpr std::size_t kCount = 200'003, kBytes = kCount * 4;

bool expect_direct() {
  const char* text = std::getenv("EXPECT_DIRECT");
  return text == nullptr || std::string_view(text) != "0";
}

void bcast(const Context& c, Buffer& buffer, int root, int seed) {
  const Bytes sent = numbers(seed, kBytes);
  if (c.rank == root) buffer.write(sent);
  CHECK_OK(esp_bcast(c.world, buffer.at(), kCount, ESP_INT32, root), c.world, "bcast");
  bool whole = false;
  CHECK(buffer.read(whole) == sent && whole, "bcast {} from {}", seed, root);
}

// What adapters have brought, and what has been copied between devices and host, of all ranks.
struct Moved {
  std::uint64_t direct = 0, copied = 0;
};
template <typename Work>
Moved moved_during(const Context& c, Work&& work) {
  const std::uint64_t direct = counter(c, "device_direct_bytes");
  const std::uint64_t copied = counter(c, "device_copy_bytes");
  work();
  std::uint64_t all[] = {counter(c, "device_direct_bytes") - direct,
                         counter(c, "device_copy_bytes") - copied};
  CHECK_OK(esp_allreduce(c.world, ESP_IN_PLACE, all, 2, ESP_UINT64, ESP_SUM), c.world, "sum");
  return {all[0], all[1]};
}

// Connections are made, and all know what their adapters take.
void warm_up(const Context& c, Buffer& buffer) {
  for (int round = 0; round < 2; ++round) {
    for (int root = 0; root < c.size; ++root) bcast(c, buffer, root, root);
    CHECK_OK(esp_barrier(c.world), c.world, "barrier");
  }
}

// Read once at the sender of each copy, and written once at its receiver.
void collectives(const Context& c) {
  const auto size = static_cast<std::size_t>(c.size);
  Buffer one(&the_device(), kBytes), all(&the_device(), kBytes * size);
  warm_up(c, one);
  Moved moved = moved_during(c, [&] { bcast(c, one, 0, 7); });
  const std::uint64_t copies = size - 1;
  CHECK_EQ(moved.direct, expect_direct() ? 2 * copies * kBytes : 0, "of a bcast");
  if (expect_direct()) CHECK_EQ(moved.copied, 0, "of a bcast");

  one.write(numbers(c.rank, kBytes));
  moved = moved_during(c, [&] {
    CHECK_OK(esp_allgather(c.world, one.at(), all.at(), kCount, ESP_INT32), c.world, "allgather");
  });
  CHECK_EQ(moved.direct > 0, expect_direct(), "of an allgather");
  Bytes expected;
  for (int r = 0; r < c.size; ++r) {
    const Bytes of = numbers(r, kBytes);
    expected.insert(expected.end(), of.begin(), of.end());
  }
  bool whole = false;
  CHECK(all.read(whole) == expected && whole, "allgather");

  Buffer sum(&the_device(), kBytes);
  CHECK_OK(esp_allreduce(c.world, one.at(), sum.at(), kCount, ESP_INT32, ESP_MAX), c.world, "max");
  Bytes largest(kBytes);
  for (std::size_t at = 0; at < kBytes; at += 4) {
    std::int32_t most = 0, value = 0;
    for (std::size_t r = 0; r < size; ++r) {
      std::memcpy(&value, &expected[r * kBytes + at], 4);
      most = std::max(most, value);
    }
    std::memcpy(&largest[at], &most, 4);
  }
  CHECK(sum.read(whole) == largest && whole, "allreduce");
}

// What people are told of it.
void told(const Context& c) {
  Buffer one(&the_device(), kBytes);
  warm_up(c, one);
  std::string text(esp_job_describe(c.job, nullptr, 0) + 1, ' ');
  (void)esp_job_describe(c.job, text.data(), text.size());
  const char* how =
      expect_direct() ? "between nodes it goes by adapters" : "between nodes it goes by the host: ";
  CHECK(text.find(how) != std::string::npos, "{}", text);
}

void messages(const Context& c) {
  const int right = (c.rank + 1) % c.size, left = (c.rank + c.size - 1) % c.size;
  Buffer warm(&the_device(), kBytes);
  warm_up(c, warm);
  Moved moved;
  for (int round = 0; round < 70; ++round) {  // more allocations than are kept
    Buffer from(&the_device(), kBytes), to(&the_device(), kBytes);
    from.write(numbers(c.rank + round, kBytes));
    moved = moved_during(c, [&] {
      esp_request* sent = nullptr;
      CHECK_OK(esp_send_start(c.world, from.at(), kBytes, right, 3, nullptr, &sent), c.world,
               "send");
      CHECK_OK(esp_recv(c.world, to.at(), kBytes, left, 3), c.world, "recv");
      CHECK_OK(esp_request_wait(&sent), c.world, "sent");
    });
    bool whole = false;
    CHECK(to.read(whole) == numbers(left + round, kBytes) && whole, "round {}", round);
  }
  const auto size = static_cast<std::uint64_t>(c.size);
  CHECK_EQ(moved.direct, expect_direct() ? 2 * size * kBytes : 0, "of messages");
}

// Some have their buffers on the host.
void mixed(const Context& c) {
  Buffer far(&the_device(), kBytes), near(nullptr, kBytes);
  warm_up(c, far);
  for (int round = 0; round < 12; ++round) {
    const bool here = (round + c.rank) % 3 == 0;
    bcast(c, here ? near : far, round % c.size, round);
  }
}

// To devices from the host, by multicast: until adapters have put some of it into each of them. Who
// posts its receives late has it by the host.
void by_group(const Context& c) {
  constexpr std::size_t kWhole = std::size_t{1} << 20, kOdd = 2 * kWhole + 4 * 777;
  for (const std::size_t bytes : {kWhole, kOdd}) {
    Buffer buffer(c.rank == 0 ? nullptr : &the_device(), bytes);
    int more = 1;
    for (int round = 0; more > 0; ++round) {
      const std::uint64_t direct = counter(c, "device_direct_bytes");
      const Bytes sent = numbers(round, bytes);
      if (c.rank == 0) buffer.write(sent);
      CHECK_OK(esp_bcast(c.world, buffer.at(), bytes / 4, ESP_INT32, 0), c.world, "bcast");
      bool whole = false;
      CHECK(buffer.read(whole) == sent && whole, "round {} of {} bytes", round, bytes);
      const std::uint64_t placed = counter(c, "device_direct_bytes") - direct;
      CHECK(placed <= bytes, "{} of {} bytes were placed", placed, bytes);
      fmt::print("rank {}: {} of {} bytes placed\n", c.rank, placed, bytes);
      if (!expect_direct()) CHECK_EQ(placed, 0, "of {}", bytes);
      more = c.rank > 0 && placed == 0 ? 1 : 0;
      CHECK_OK(esp_allreduce(c.world, ESP_IN_PLACE, &more, 1, ESP_INT32, ESP_MAX), c.world, "max");
      if (!expect_direct() && round == 2) break;
      CHECK(round < 40 || more == 0, "nothing is placed");
      if (round == 40) break;
    }
  }
}

}  // namespace
}  // namespace test

int main(int argc, char** argv) {
  return test::run_cases({{"collectives", test::collectives},
                          {"told", test::told},
                          {"messages", test::messages},
                          {"mixed", test::mixed},
                          {"by_group", test::by_group}},
                         argc, argv);
}
