// TimerQueue: callbacks at a time.
//
// Timers are intrusive and form a pairing heap: adding is O(1), cancelling and expiring O(log n)
// amortised, nothing is allocated, and equal deadlines expire in the order of their adding.
// Ownership: the caller owns the Timer, which must be idle when it dies (asserted). Threads: the
// owner's only; callbacks run inside run_expired(). path: data
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/clock.hpp"
#include "core/intrusive_list.hpp"

namespace espalier {

// A timer is idle, pending (in the heap) or expiring (its callback is about to run).
class Timer : private ListNode {
 public:
  using Callback = void (*)(Timer& self, std::uint64_t now_ns) noexcept;

  explicit Timer(Callback callback) noexcept : on_expire_(callback) {}
  ~Timer() { ESP_ASSERT(idle()); }

  bool idle() const noexcept { return !in_heap_ && !linked(); }
  std::uint64_t deadline_ns() const noexcept { return deadline_ns_; }

 private:
  friend class TimerQueue;
  friend class IntrusiveList<Timer>;

  Callback on_expire_;
  std::uint64_t deadline_ns_ = kNever;
  std::uint64_t order_ = 0;  // of adding; breaks ties
  // Pairing heap: `child_` is the first child, `sibling_` the next child of the same parent,
  // `before_` the sibling before, or the parent for a first child.
  Timer* child_ = nullptr;
  Timer* sibling_ = nullptr;
  Timer* before_ = nullptr;
  bool in_heap_ = false;
};

class TimerQueue {
 public:
  TimerQueue() = default;
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;
  ~TimerQueue() { ESP_ASSERT(empty()); }

  // The timer must be idle. A deadline of kNever is legal and never expires.
  void add(Timer& timer, std::uint64_t deadline_ns) noexcept;
  // Makes the timer idle; its callback will not run. Idle timers may be cancelled, too.
  void cancel(Timer& timer) noexcept;
  bool empty() const noexcept { return root_ == nullptr && expiring_.empty(); }

  // kNever when there is none.
  std::uint64_t next_deadline_ns() const noexcept {
    return root_ == nullptr ? kNever : root_->deadline_ns_;
  }
  // Runs the callbacks of all timers whose deadline is not after `now_ns`, earliest first; each
  // timer is idle when its callback runs. Callbacks may add and cancel any timer; what they add
  // waits for the next call. Returns how many ran. Not reentrant.
  std::size_t run_expired(std::uint64_t now_ns) noexcept {
    return now_ns < next_deadline_ns() || root_ == nullptr ? 0 : run_expired_slow(now_ns);
  }

 private:
  std::size_t run_expired_slow(std::uint64_t now_ns) noexcept;
  static bool earlier(const Timer& a, const Timer& b) noexcept {
    if (a.deadline_ns_ != b.deadline_ns_) return a.deadline_ns_ < b.deadline_ns_;
    return a.order_ < b.order_;
  }
  static Timer* meld(Timer* a, Timer* b) noexcept;
  static Timer* meld_children(Timer* first) noexcept;
  void remove(Timer& timer) noexcept;

  Timer* root_ = nullptr;
  std::uint64_t added_count_ = 0;
  IntrusiveList<Timer> expiring_;
  bool running_ = false;
};

}  // namespace espalier
