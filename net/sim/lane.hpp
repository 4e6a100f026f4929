// Lane: something that transfers occupy one after the other (a network card, a memory bus).
//
// Reservations may be asked for out of order: a rank that has its turn runs ahead of the others by
// the work it is charged, and reserves at its own time. So a lane keeps the busy intervals that are
// not over yet, and a transfer takes the first gap that holds it. Threads: owner. path: data
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace espalier::sim {

class LaneSchedule {
 public:
  // Occupies the lane for `length_ns`, no earlier than `from_ns`; returns the beginning. What ended
  // before `now_ns`, the time of the event that is being handled, is forgotten.
  std::uint64_t reserve(std::uint64_t from_ns, std::uint64_t length_ns, std::uint64_t now_ns) {
    forget(now_ns);
    if (length_ns == 0) return from_ns;
    const Gap gap = find(from_ns, length_ns);
    insert(gap.before, {gap.begin, gap.begin + length_ns});
    return gap.begin;
  }
  // When it would begin.
  std::uint64_t first_gap(std::uint64_t from_ns, std::uint64_t length_ns) const {
    return length_ns == 0 ? from_ns : find(from_ns, length_ns).begin;
  }

  std::size_t intervals() const noexcept { return busy_.size() - first_; }

 private:
  struct Interval {
    std::uint64_t begin, end;
  };

  struct Gap {
    std::uint64_t begin;
    std::size_t before;  // the position of the interval behind it
  };

  Gap find(std::uint64_t from_ns, std::uint64_t length_ns) const {
    std::size_t at = first_;
    while (at < busy_.size() && busy_[at].end <= from_ns) ++at;
    std::uint64_t begin = from_ns;
    while (at < busy_.size() && busy_[at].begin < begin + length_ns) begin = busy_[at++].end;
    return {begin, at};
  }

  void forget(std::uint64_t now_ns) {
    while (first_ < busy_.size() && busy_[first_].end <= now_ns) ++first_;
    if (first_ == busy_.size()) {
      busy_.clear();
      first_ = 0;
    } else if (first_ >= 32) {
      busy_.erase(busy_.begin(), busy_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
  }

  // Before position `at`; neighbours that touch become one.
  void insert(std::size_t at, Interval interval) {
    const bool after = at > first_ && busy_[at - 1].end == interval.begin;
    const bool before = at < busy_.size() && busy_[at].begin == interval.end;
    if (after && before) {
      busy_[at - 1].end = busy_[at].end;
      busy_.erase(busy_.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (after) {
      busy_[at - 1].end = interval.end;
    } else if (before) {
      busy_[at].begin = interval.begin;
    } else {
      busy_.insert(busy_.begin() + static_cast<std::ptrdiff_t>(at), interval);
    }
  }

  std::vector<Interval> busy_;  // sorted, disjoint; those before first_ are over
  std::size_t first_ = 0;
};

}  // namespace espalier::sim
