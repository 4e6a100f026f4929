#include "core/timer_queue.hpp"

#include <utility>

namespace espalier {

void TimerQueue::add(Timer& timer, std::uint64_t deadline_ns) noexcept {
  ESP_ASSERT(timer.idle());
  timer.deadline_ns_ = deadline_ns;
  timer.order_ = added_count_++;
  timer.in_heap_ = true;
  root_ = meld(root_, &timer);
}

void TimerQueue::cancel(Timer& timer) noexcept {
  if (timer.linked()) timer.unlink();
  if (timer.in_heap_) remove(timer);
  ESP_ASSERT(timer.idle());
}

std::size_t TimerQueue::run_expired_slow(std::uint64_t now_ns) noexcept {
  ESP_ASSERT(!running_);
  running_ = true;
  // First collect, then run: a callback that adds a timer which has already expired must not keep
  // this loop from ending.
  while (root_ != nullptr && root_->deadline_ns_ <= now_ns && root_->deadline_ns_ != kNever) {
    Timer& timer = *root_;
    remove(timer);
    expiring_.push_back(timer);
  }
  std::size_t count = 0;
  while (Timer* timer = expiring_.pop_front()) {
    timer->on_expire_(*timer, now_ns);
    ++count;
  }
  running_ = false;
  return count;
}

// Joins two heaps; the later root becomes the first child of the earlier one.
Timer* TimerQueue::meld(Timer* a, Timer* b) noexcept {
  if (a == nullptr) return b;
  if (b == nullptr) return a;
  if (earlier(*b, *a)) std::swap(a, b);
  b->sibling_ = a->child_;
  b->before_ = a;
  if (a->child_ != nullptr) a->child_->before_ = b;
  a->child_ = b;
  return a;
}

// The two passes of the pairing heap: meld siblings in pairs, then the pairs from right to left.
Timer* TimerQueue::meld_children(Timer* first) noexcept {
  Timer* pairs = nullptr;  // stack through sibling_
  while (first != nullptr) {
    Timer* second = first->sibling_;
    Timer* rest = second == nullptr ? nullptr : second->sibling_;
    first->sibling_ = first->before_ = nullptr;
    if (second != nullptr) second->sibling_ = second->before_ = nullptr;
    Timer* pair = meld(first, second);
    pair->sibling_ = pairs;
    pairs = pair;
    first = rest;
  }
  Timer* heap = nullptr;
  while (pairs != nullptr) {
    Timer* pair = pairs;
    pairs = std::exchange(pair->sibling_, nullptr);
    heap = meld(heap, pair);
  }
  return heap;
}

void TimerQueue::remove(Timer& timer) noexcept {
  ESP_ASSERT(timer.in_heap_);
  Timer* children = meld_children(std::exchange(timer.child_, nullptr));
  if (&timer == root_) {
    root_ = children;
  } else {
    Timer*& link =
        timer.before_->child_ == &timer ? timer.before_->child_ : timer.before_->sibling_;
    link = timer.sibling_;
    if (timer.sibling_ != nullptr) timer.sibling_->before_ = timer.before_;
    timer.sibling_ = timer.before_ = nullptr;
    root_ = meld(root_, children);
  }
  timer.in_heap_ = false;
}

}  // namespace espalier
