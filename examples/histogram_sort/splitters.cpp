#include "splitters.hpp"

#include <algorithm>

namespace sorting {

SplitterSearch::SplitterSearch(std::span<const std::uint64_t> targets, Range range)
    : found_(targets.size(), range.lowest) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    // Without keys below it any splitter is right, the lowest as well.
    if (targets[i] > 0 && range.lowest < range.highest) open_.push_back({i, targets[i], range});
  }
  propose();
}

void SplitterSearch::propose() {
  candidates_.clear();
  for (const Interval& interval : open_) {
    const std::uint64_t width = interval.range.highest - interval.range.lowest;
    const std::uint64_t whole = width / kWays, rest = width % kWays;
    for (std::uint64_t i = 1; i < kWays; ++i) {
      candidates_.push_back(interval.range.lowest + whole * i + rest * i / kWays);
    }
  }
}

void SplitterSearch::narrow(std::span<const std::uint64_t> counts) {
  std::vector<Interval> still_open;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    Interval& interval = open_[i];
    const std::size_t first = i * (kWays - 1);
    const auto mine = counts.subspan(first, kWays - 1);
    const auto enough = std::lower_bound(mine.begin(), mine.end(), interval.target);
    const auto piece = static_cast<std::size_t>(enough - mine.begin());
    if (piece < mine.size()) interval.range.highest = candidates_[first + piece];
    if (piece > 0) interval.range.lowest = candidates_[first + piece - 1] + 1;
    // With exactly as many keys up to a candidate as wanted, it cuts as the splitter itself would.
    const bool exact = piece < mine.size() && *enough == interval.target;
    if (exact || interval.range.lowest == interval.range.highest) {
      found_[interval.splitter] = interval.range.highest;
    } else {
      still_open.push_back(interval);
    }
  }
  open_ = std::move(still_open);
  ++rounds_;
  propose();
}

std::vector<std::uint64_t> count_up_to(std::span<const Key> sorted,
                                       std::span<const Key> candidates) {
  std::vector<std::uint64_t> counts;
  counts.reserve(candidates.size());
  for (const Key candidate : candidates) {
    const auto end = std::upper_bound(sorted.begin(), sorted.end(), candidate);
    counts.push_back(static_cast<std::uint64_t>(end - sorted.begin()));
  }
  return counts;
}

Ties count_ties(std::span<const Key> sorted, std::span<const Key> splitters) {
  Ties ties;
  for (const Key splitter : splitters) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), splitter);
    ties.below.push_back(static_cast<std::uint64_t>(first - sorted.begin()));
    ties.equal.push_back(static_cast<std::uint64_t>(last - first));
  }
  return ties;
}

std::vector<std::size_t> cut(const Ties& mine, std::span<const std::uint64_t> targets,
                             std::span<const std::uint64_t> below_of_all,
                             std::span<const std::uint64_t> equal_before_me) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    // Wanted of those that are equal, by all ranks, and by those from this one on.
    const std::uint64_t wanted = targets[i] - std::min(targets[i], below_of_all[i]);
    const std::uint64_t left = wanted - std::min(wanted, equal_before_me[i]);
    positions.push_back(mine.below[i] + std::min(left, mine.equal[i]));
  }
  return positions;
}

}  // namespace sorting
