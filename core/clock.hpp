// Clock: where time comes from. Injected, so that a test or a simulator decides what time it is.
//
// Monotonic nanoseconds from an arbitrary origin. Ownership: users hold a reference, the
// composition root owns the clock and outlives them. Threads: SteadyClock any; ManualClock one
// writer at a time, any readers. path: data (one virtual call; the steady clock reads the vDSO, no
// system call)
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

namespace espalier {

inline constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
// The deadline that never comes.
inline constexpr std::uint64_t kNever = ~std::uint64_t{0};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::uint64_t now_ns() noexcept = 0;
};

class SteadyClock final : public Clock {
 public:
  std::uint64_t now_ns() noexcept override {
    // What std::chrono::steady_clock asks, without a call in between.
    timespec now;
    (void)::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * kNanosecondsPerSecond +
           static_cast<std::uint64_t>(now.tv_nsec);
  }
};

// Stands still until it is told to move.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(std::uint64_t start_ns = 0) noexcept : now_ns_(start_ns) {}

  std::uint64_t now_ns() noexcept override { return now_ns_.load(std::memory_order_relaxed); }
  void advance_ns(std::uint64_t by_ns) noexcept {
    now_ns_.fetch_add(by_ns, std::memory_order_relaxed);
  }

 private:
  // Writer: the test. Readers: any thread under test. Publishes nothing but itself.
  std::atomic<std::uint64_t> now_ns_;
};

// 0 if `since_ns` is later: it may come from a look at the clock within the present round.
inline std::uint64_t elapsed_ns(std::uint64_t since_ns, std::uint64_t now_ns) noexcept {
  return now_ns > since_ns ? now_ns - since_ns : 0;
}

// start + seconds, saturating at kNever; for timeouts, where 0 or less means never.
inline std::uint64_t deadline_after(std::uint64_t start_ns, double timeout_seconds) noexcept {
  if (!(timeout_seconds > 0.0)) return kNever;
  const double ns = timeout_seconds * static_cast<double>(kNanosecondsPerSecond);
  if (ns >= static_cast<double>(kNever - start_ns)) return kNever;
  return start_ns + static_cast<std::uint64_t>(ns);
}

}  // namespace espalier
