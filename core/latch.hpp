// Latch: one thread waits, in its own memory, for another that says once that something is done.
//
// A system call is made only where the waiter sleeps. The opener does not touch the latch after
// open() has let the waiter go, but for its address: the waiter may destroy it at once.
// Threads: open() one; the rest another one. path: data (open, is_open), slow (sleep)
#pragma once

#include <atomic>
#include <cstdint>

#include "core/futex.hpp"

namespace espalier {

class Latch {
 public:
  Latch() = default;
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;

  // Publishes everything that the opener did before.
  void open() noexcept {
    if (word_.exchange(kOpen, std::memory_order_acq_rel) == kSleptOn) futex_wake_all(word_);
  }
  bool is_open() const noexcept { return word_.load(std::memory_order_acquire) == kOpen; }
  // Until it is open, but no longer than `timeout_ns`, or for no reason.
  void sleep(std::uint64_t timeout_ns) noexcept {
    std::uint32_t shut = kShut;
    if (!word_.compare_exchange_strong(shut, kSleptOn, std::memory_order_acquire) &&
        shut == kOpen) {
      return;
    }
    futex_wait(word_, kSleptOn, timeout_ns);
  }

 private:
  static constexpr std::uint32_t kShut = 0, kSleptOn = 1, kOpen = 2;
  // Writers: the waiter (that it sleeps: publishes nothing), the opener (release). Reader: the
  // waiter.
  std::atomic<std::uint32_t> word_{kShut};
};

}  // namespace espalier
