// IdleWork: what a waiting thread drives besides, for another library of the same process.
// Threads: set before anybody waits; called by who waits. path: slow
#pragma once

#include <algorithm>
#include <cstdint>

namespace espalier {

struct IdleWork {
  int (*function)(void* context) = nullptr;  // events handled; nullptr: there is none
  void* context = nullptr;

  explicit operator bool() const noexcept { return function != nullptr; }
  bool operator()() const noexcept { return function(context) > 0; }

  // Nothing has happened for so long: short waits do without it.
  static constexpr std::uint64_t kPauseNs = 30'000;
  // Waiters yield for longer before they sleep, and then sleep briefly: the longer nothing has
  // happened, the longer. What the other library has to do is announced by nothing.
  static constexpr std::uint64_t kPatienceNs = 2'000'000;
  static constexpr std::uint64_t kSleepMinNs = 100'000, kSleepMaxNs = 900'000;
  static constexpr std::uint64_t sleep_ns(std::uint64_t idle_ns) noexcept {
    return std::clamp(idle_ns / 16, kSleepMinNs, kSleepMaxNs);
  }
  // A wait that always finds something of its own calls it once in so many rounds.
  static constexpr std::uint32_t kBusyRounds = 16;
};

}  // namespace espalier
