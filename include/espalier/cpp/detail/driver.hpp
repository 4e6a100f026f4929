// Driver: resumes the coroutines of one sync_wait, on its thread, when what they wait for has
// ended.
//
// Futures wake it, from any thread. Requests and segments tell nobody: those it looks at, again and
// again, between turns of progress. path: short, but for waits
#ifndef ESPALIER_CPP_DETAIL_DRIVER_HPP
#define ESPALIER_CPP_DETAIL_DRIVER_HPP

#include <atomic>
#include <coroutine>
#include <thread>
#include <utility>

#include "espalier/cpp/detail/signal.hpp"

namespace esp::detail {

// A suspended coroutine, and its place in a list. Part of its frame.
struct Suspended {
  std::coroutine_handle<> coroutine;
  Suspended* next = nullptr;
};

// One that is looked at.
struct Polled : Suspended {
  // Whether it is to be resumed. Inside the loop, not inside a callback.
  virtual bool look() noexcept = 0;

 protected:
  ~Polled() = default;
};

class Driver {
 public:
  explicit Driver(esp_job* job) noexcept
      : signal_(job), driven_(job == nullptr || is_driven(job)) {}
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver() {
    while (wakers_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  }

  // Any thread.
  void wake(Suspended& one) noexcept {
    wakers_.fetch_add(1, std::memory_order_relaxed);
    one.next = woken_.load(std::memory_order_relaxed);
    while (!woken_.compare_exchange_weak(one.next, &one, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    }
    signal_.raise();
    wakers_.fetch_sub(1, std::memory_order_release);  // From here on the driver may be gone.
  }
  // The driver's thread.
  void poll(Polled& one) noexcept {
    one.next = polled_;
    polled_ = &one;
  }
  void run(std::coroutine_handle<> coroutine) noexcept {
    coroutine.resume();
    while (!coroutine.done()) {
      signal_.lower();
      if (!resume_woken() && !resume_polled()) wait();
    }
  }

 private:
  bool resume_woken() noexcept {
    Suspended* last = woken_.exchange(nullptr, std::memory_order_acquire);
    Suspended* first = nullptr;
    while (last != nullptr) {  // Whoever has ended first goes on first.
      Suspended* before = std::exchange(last->next, first);
      first = std::exchange(last, before);
    }
    const bool any = first != nullptr;
    while (first != nullptr) std::exchange(first, first->next)->coroutine.resume();
    return any;
  }
  bool resume_polled() noexcept {
    bool any = false;
    Suspended* all = std::exchange(polled_, nullptr);
    while (all != nullptr) {
      auto& one = static_cast<Polled&>(*std::exchange(all, all->next));
      if (one.look()) {
        any = true;
        one.coroutine.resume();  // May poll more, which wait for the next turn.
      } else {
        poll(one);
      }
    }
    return any;
  }
  void wait() noexcept {
    if (driven_ && polled_ == nullptr) {
      (void)signal_.park({});
    } else if (driven_ || esp_progress(signal_.job()) == 0) {
      std::this_thread::yield();
    }
  }

  Signal signal_;
  const bool driven_;  // by a thread of the library
  // A stack. Writers: any thread adds (release: publishes what it has waited for); the driver's
  // takes all.
  std::atomic<Suspended*> woken_{nullptr};
  // Those inside wake(). Writers: any thread; reader: the destructor.
  std::atomic<int> wakers_{0};
  Suspended* polled_ = nullptr;
};

}  // namespace esp::detail

#endif  // ESPALIER_CPP_DETAIL_DRIVER_HPP
