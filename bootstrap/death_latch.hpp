// Ranks whose death a launcher reported, kept until the owner of the job asks.
//
// Written by the thread of libpmix that runs event handlers, read by the owner. Path: slow.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/status.hpp"

namespace espalier {

class DeathLatch {
 public:
  explicit DeathLatch(int size) : dead_(static_cast<std::size_t>(size)) {}

  // A launcher may report the same death in several ways; it counts once.
  void latch(Rank rank) {
    const std::lock_guard lock(mutex_);
    if (rank < 0 || static_cast<std::size_t>(rank) >= dead_.size()) return;
    if (dead_[static_cast<std::size_t>(rank)]) return;
    dead_[static_cast<std::size_t>(rank)] = true;
    unread_.push_back(rank);
    if (!first_) first_ = rank;
    arrived_.notify_all();
  }

  // Who died first, for an error's text; waits a moment, as the report may come after the error.
  std::optional<Rank> first_within(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, limit, [this] { return first_.has_value(); });
    return first_;
  }

  std::vector<Rank> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(unread_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<bool> dead_;     // Guarded by mutex_.
  std::vector<Rank> unread_;   // Guarded by mutex_.
  std::optional<Rank> first_;  // Guarded by mutex_.
};

}  // namespace espalier
