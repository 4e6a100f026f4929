// LossMeter: whether a group loses so much that a tree of messages is better.
//
// A source counts what is stable against what the member that misses most has missed. A period of
// packets in which more than the threshold was missed is bad; so many bad periods in a row are
// enough, for good: networks that lose so much are made wrongly, and do not get better by waiting.
// Values. path: data
#pragma once

#include <cstdint>

#include "core/status.hpp"

namespace espalier::multicast {

struct LossLimits {
  std::uint32_t period = 1024;   // packets
  std::uint32_t permille = 100;  // of a period; more is bad
  std::uint32_t periods = 4;     // in a row
};

struct Loss {
  std::uint32_t packets = 0, missed = 0;  // of the last whole period
  Rank worst = kNoRank;                   // who missed them
};

class LossMeter {
 public:
  explicit LossMeter(const LossLimits& limits) noexcept : limits_(limits) {}

  // Both count from the beginning, modulo 2^32; `missed` of the worst member.
  void note(std::uint32_t packets, std::uint32_t missed, Rank worst) noexcept {
    if (packets - packets_ < limits_.period) return;
    // Another member may be the worst now: what it missed before counts as if it were new, once.
    const std::uint32_t more = missed > missed_ ? missed - missed_ : 0;
    last_ = {packets - packets_, more, worst};
    packets_ = packets;
    missed_ = missed;
    const std::uint64_t threshold = std::uint64_t{last_.packets} * limits_.permille;
    bad_ = std::uint64_t{more} * 1000 > threshold ? bad_ + 1 : 0;
    falls_back_ = falls_back_ || bad_ >= limits_.periods;
    if (!falls_back_ || bad_ == limits_.periods) figures_ = last_;
  }

  bool falls_back() const noexcept { return falls_back_; }
  // Of the period that decided, or the last one.
  const Loss& figures() const noexcept { return figures_; }

 private:
  LossLimits limits_;
  std::uint32_t packets_ = 0, missed_ = 0, bad_ = 0;
  bool falls_back_ = false;
  Loss last_, figures_;
};

}  // namespace espalier::multicast
