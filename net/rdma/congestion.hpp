// Congestion: how many packets may be in flight to one peer, judged by what gets lost.
//
// Additive increase, multiplicative decrease (Chiu and Jain, 1989), started as TCP does (RFC 5681):
// the window doubles per round trip up to the first loss; a loss halves it, at most once per round
// trip; then it grows by one packet per round trip; a time-out begins again with two packets.
// Losses that are no congestion cost speed, never correctness. Values. path: data
#pragma once

#include <algorithm>
#include <cstdint>

#include "net/rdma/packet_header.hpp"

namespace espalier::rdma {

class Congestion {
 public:
  std::uint32_t window() const noexcept { return window_; }

  // One packet was acknowledged, while the window was in use.
  void acknowledged() noexcept {
    if (window_ >= kWindowMax) return;
    if (window_ < threshold_) {
      ++window_;
    } else if (++grown_ >= window_) {
      grown_ = 0;
      ++window_;
    }
  }
  // `sequence` got lost, `next` is the first that was not sent yet. What was in flight by then is
  // the same round trip.
  void lost(Sequence sequence, Sequence next) noexcept {
    if (recovering_ && sequence.before(recovery_end_)) return;
    recovering_ = true;
    recovery_end_ = next;
    threshold_ = window_ = std::max(window_ / 2, kLeast);
    grown_ = 0;
  }
  void timed_out(Sequence next) noexcept {
    recovering_ = true;
    recovery_end_ = next;
    threshold_ = std::max(window_ / 2, kLeast);
    window_ = kLeast;
    grown_ = 0;
  }
  // Everything before this has been acknowledged.
  void advanced(Sequence expected) noexcept {
    if (!expected.before(recovery_end_)) recovering_ = false;
  }

 private:
  static constexpr std::uint32_t kFirst = 16, kLeast = 2;

  std::uint32_t window_ = kFirst;
  std::uint32_t threshold_ = kWindowMax;
  std::uint32_t grown_ = 0;  // acknowledgements since the window grew
  Sequence recovery_end_;
  bool recovering_ = false;
};

}  // namespace espalier::rdma
