// Splitters: where the sorted keys of all ranks are to be cut so that each rank gets exactly as
// many as it wants. Found by histograms: everybody counts its keys up to a few candidates, the sums
// over all ranks tell between which two of them each splitter is, and so on there.
//
// It ends: a round leaves of an interval of width w (its highest key less its lowest) one of width
// at most w / ways, so after 64 / log2(ways) rounds, rounded up, each interval is one key. Most are
// found earlier, by a candidate below which there are exactly as many keys as wanted.
//
// Pure: sums over ranks are the caller's. path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "keys.hpp"

namespace sorting {

class SplitterSearch {
 public:
  static constexpr std::uint64_t kWays = 16;  // 4 bits in each round, by 15 candidates.

  struct Range {
    Key lowest, highest;
  };
  // One splitter for each target: the smallest key such that at least so many keys of all ranks are
  // not above it. `range` holds all keys; no target is more than their number.
  SplitterSearch(std::span<const std::uint64_t> targets, Range range);

  bool done() const { return open_.empty(); }
  int rounds() const { return rounds_; }
  // Of this round: kWays - 1 of each splitter that is not found, ascending.
  const std::vector<Key>& candidates() const { return candidates_; }
  // Takes how many keys of all ranks are not above each candidate.
  void narrow(std::span<const std::uint64_t> counts);
  const std::vector<Key>& splitters() const { return found_; }

 private:
  struct Interval {
    std::size_t splitter;
    std::uint64_t target;
    Range range;
  };
  void propose();

  std::vector<Interval> open_;
  std::vector<Key> candidates_, found_;
  int rounds_ = 0;
};

// How many of the sorted keys are not above each candidate.
std::vector<std::uint64_t> count_up_to(std::span<const Key> sorted,
                                       std::span<const Key> candidates);

// Keys equal to a splitter are cut by (key, rank, position): the sum over all ranks of `below`, and
// the sum over the ranks before this one of `equal`, tell each rank how many go to the left.
struct Ties {
  std::vector<std::uint64_t> below, equal;  // For each splitter, of one rank's keys.
};
Ties count_ties(std::span<const Key> sorted, std::span<const Key> splitters);
// Positions in this rank's sorted keys, one for each splitter, ascending as targets are.
std::vector<std::size_t> cut(const Ties& mine, std::span<const std::uint64_t> targets,
                             std::span<const std::uint64_t> below_of_all,
                             std::span<const std::uint64_t> equal_before_me);

}  // namespace sorting
