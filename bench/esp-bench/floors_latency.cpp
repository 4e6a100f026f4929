// Floors of telling another process something: a cache line, a futex wake, a yield hop.
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "esp-bench/clock.hpp"
#include "esp-bench/floors.hpp"
#include "esp-bench/host.hpp"
#include "esp-bench/pair.hpp"
#include "esp-bench/proximity.hpp"

namespace espalier::bench {
namespace {

Summary time_line(PairCpus cpus, const Options& options) {
  SharedMemory memory(sizeof(Court));
  auto& court = memory.as<Court>();
  const int rallies = options.smoke ? 3 : 40;
  std::vector<double> one_way_us;
  run_pair(
      cpus,
      [&](pid_t) {
        for (int i = 0; i < rallies; ++i) one_way_us.push_back(bounce(court, 0, 1) * 1e-3);
      },
      [&] { bounce(court, 1, rallies); });
  return summarize(one_way_us);
}

// Two processes hand a token to and fro; `hand_over` publishes the new value and waits for the
// other's. Per hop.
template <typename HandOver>
Summary time_hops(PairCpus cpus, const Options& options, HandOver hand_over) {
  const int samples = options.smoke ? 3 : 30;
  constexpr std::uint32_t kRounds = 100;
  SharedMemory memory(sizeof(Gate));
  auto& token = memory.as<Gate>().turn;
  std::vector<double> hop_us;
  const auto last = 2 * kRounds * static_cast<std::uint32_t>(samples);
  run_pair(
      cpus,
      [&](pid_t) {
        std::uint32_t value = 0;
        for (int sample = 0; sample < samples; ++sample) {
          const std::int64_t start = now_ns();
          for (std::uint32_t i = 0; i < kRounds; ++i, value += 2)
            hand_over(token, value, value + 1);
          hop_us.push_back(static_cast<double>(now_ns() - start) / (2.0 * kRounds) * 1e-3);
        }
      },
      [&] {
        while (token.load(std::memory_order_acquire) != 1) sched_yield();
        for (std::uint32_t value = 1; value + 1 < last; value += 2) {
          hand_over(token, value, value + 1);
        }
        token.store(last, std::memory_order_release);
        syscall(SYS_futex, &token, FUTEX_WAKE, 1, nullptr, nullptr, 0);
      });
  return summarize(hop_us);
}

// The token is `have`: make it `have` + 1 and sleep until it is `have` + 2.
void hand_over_by_futex(std::atomic<std::uint32_t>& token, std::uint32_t have, std::uint32_t next) {
  token.store(next, std::memory_order_release);
  syscall(SYS_futex, &token, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  while (token.load(std::memory_order_acquire) != have + 2) {
    syscall(SYS_futex, &token, FUTEX_WAIT, next, nullptr, nullptr, 0);
  }
}

void hand_over_by_yield(std::atomic<std::uint32_t>& token, std::uint32_t have, std::uint32_t next) {
  token.store(next, std::memory_order_release);
  while (token.load(std::memory_order_acquire) != have + 2) sched_yield();
}

}  // namespace

void measure_latency_floors(const Options& options, std::vector<Floor>& floors) {
  const std::vector<int> cpus = allowed_cpus();
  const PairCpus same{cpus.front(), cpus.front()};
  floors.push_back({"yield-hop", 0, time_hops(same, options, hand_over_by_yield), "one core"});
  floors.push_back({"futex-same", 0, time_hops(same, options, hand_over_by_futex), "one core"});
  if (cpus.size() < 2) {
    floors.push_back({"line", 0, {}, "needs two CPUs; this process may use one"});
    return;
  }
  const PairCpus both{cpus[0], cpus[1]};
  floors.push_back({"futex-across", 0, time_hops(both, options, hand_over_by_futex), "two cores"});
  floors.push_back({"line", 0, time_line(both, options), "one way, two cores"});
}

std::vector<Floor> measure_floors(const Options& options) {
  std::vector<Floor> floors;
  measure_latency_floors(options, floors);
  measure_copy_floors(options, floors);
  return floors;
}

}  // namespace espalier::bench
