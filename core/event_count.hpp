// EventCount: threads sleep until something has happened of which they do not know what it will be.
//
//   who makes it happen                    who waits
//   store the news                         ++waiters
//   fence                                  fence
//   if waiters: ++ticks, wake all          look; nothing: sleep while ticks are as before
//
// Where nobody waits an announcement is a fence and a load. A look that finds nothing before the
// fence of an announcement is in time to be woken by it. Threads: any. path: data (announce), slow
// (wait)
#pragma once

#include <atomic>
#include <cstdint>

#include "core/futex.hpp"

namespace espalier {

class EventCount {
 public:
  void announce() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (waiters_.load(std::memory_order_relaxed) == 0) [[likely]]
      return;
    ticks_.fetch_add(1, std::memory_order_release);
    futex_wake_all(ticks_);
  }

  // Returns when look() holds, after an announcement, or after `timeout_ns`.
  template <typename Look>
  void wait(Look&& look, std::uint64_t timeout_ns) noexcept {
    waiters_.fetch_add(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const std::uint32_t seen = ticks_.load(std::memory_order_acquire);
    if (!look()) futex_wait(ticks_, seen, timeout_ns);
    waiters_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  // Writers: those who wait; readers: those who announce. Publishes nothing.
  std::atomic<std::uint32_t> waiters_{0};
  // Writers: those who announce (release: publishes the news); slept on by those who wait.
  std::atomic<std::uint32_t> ticks_{0};
};

}  // namespace espalier
