// AttendedClock: time in which its owner was there. It stands still while the process is stopped.
//
// A job that is stopped (Ctrl-Z, a scheduler's suspend, a paused virtual machine) goes on after
// minutes or days; nobody was late meanwhile. No call tells how long a process did not run. But who
// waits looks at the clock often, so a longer distance between two looks was not spent waiting: of
// each distance this clock counts `most_ns` and no more. What it says is for limits and timers of
// one rank. It differs between ranks, and the user's time is another one.
//
// A limit comes late by this where the owner looks seldom: it computes, or it polls once a second.
// Ownership: borrows the steady clock. Threads: owner (another thread that waits has one of its
// own). path: data (beyond the steady clock: a comparison and a store)
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/clock.hpp"

namespace espalier {

class AttendedClock final : public Clock {
 public:
  // More than waits sleep between two looks (Worker: 0.1 s), and what a crowded machine adds.
  static constexpr std::uint64_t kMostNs = 250'000'000;

  explicit AttendedClock(Clock& steady, std::uint64_t most_ns = kMostNs) noexcept
      : steady_(steady), most_ns_(most_ns), seen_ns_(steady.now_ns()) {}

  std::uint64_t now_ns() noexcept override {
    const std::uint64_t steady_ns = steady_.now_ns();
    const std::uint64_t since_ns = elapsed_ns(seen_ns_, steady_ns);
    if (since_ns > most_ns_) [[unlikely]] {
      away_ns_ += since_ns - std::min(since_ns, std::max(most_ns_, sleep_ns_));
    }
    seen_ns_ = steady_ns;
    sleep_ns_ = 0;
    return steady_ns - away_ns_;
  }
  // The owner is about to sleep for so long, and that counts.
  void sleeps(std::uint64_t for_ns) noexcept { sleep_ns_ = for_ns; }

 private:
  Clock& steady_;
  const std::uint64_t most_ns_;
  std::uint64_t seen_ns_;       // by the steady clock, at the last look
  std::uint64_t away_ns_ = 0;   // not counted so far
  std::uint64_t sleep_ns_ = 0;  // before the next look
};

}  // namespace espalier
