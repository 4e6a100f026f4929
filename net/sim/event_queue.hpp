// EventQueue: what will happen, in the order of time; equal times in the order of insertion.
//
// A 4-ary heap of small values: no pointers, no iteration order of a hash table, so a run is a
// function of what was pushed. Threads: owner. path: data
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/assert.hpp"

namespace espalier::sim {

template <typename Event>
class EventQueue {
 public:
  void push(std::uint64_t time, const Event& event) {
    entries_.push_back({time, next_++, event});
    rise(entries_.size() - 1);
  }

  bool empty() const noexcept { return entries_.empty(); }
  std::size_t size() const noexcept { return entries_.size(); }
  std::uint64_t time() const noexcept { return entries_.front().time; }
  std::uint64_t pushed() const noexcept { return next_; }

  // The earliest event, taken out.
  Event pop() {
    ESP_ASSERT(!entries_.empty());
    const Event event = entries_.front().event;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (!entries_.empty()) sink(last);
    return event;
  }

 private:
  static constexpr std::size_t kWays = 4;
  struct Entry {
    std::uint64_t time;
    std::uint64_t number;
    Event event;

    bool before(const Entry& other) const noexcept {
      return time != other.time ? time < other.time : number < other.number;
    }
  };

  void rise(std::size_t at) noexcept {
    const Entry entry = entries_[at];
    while (at > 0) {
      const std::size_t parent = (at - 1) / kWays;
      if (!entry.before(entries_[parent])) break;
      entries_[at] = entries_[parent];
      at = parent;
    }
    entries_[at] = entry;
  }

  // Puts `entry` where the root was.
  void sink(const Entry& entry) noexcept {
    std::size_t at = 0;
    while (true) {
      const std::size_t first = at * kWays + 1;
      if (first >= entries_.size()) break;
      const std::size_t end = std::min(first + kWays, entries_.size());
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (entries_[child].before(entries_[least])) least = child;
      }
      if (!entries_[least].before(entry)) break;
      entries_[at] = entries_[least];
      at = least;
    }
    entries_[at] = entry;
  }

  std::vector<Entry> entries_;
  std::uint64_t next_ = 0;
};

}  // namespace espalier::sim
