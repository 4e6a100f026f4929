// RoundTrip: how long an answer takes, and so when to send again: RFC 6298.
//
// Karn's rule is the caller's: only packets that were sent once are samples. Back-off stays until a
// sample comes. Values. path: data
#pragma once

#include <algorithm>
#include <cstdint>

namespace espalier::rdma {

struct RoundTripLimits {
  std::uint64_t initial_ns = 10'000'000;  // time-out before the first sample
  std::uint64_t min_ns = 1'000'000;       // of the time-out: longer than acknowledgements wait
  std::uint64_t max_ns = 500'000'000;
};

class RoundTrip {
 public:
  void sample(std::uint64_t rtt_ns) noexcept {
    rtt_ns = std::max<std::uint64_t>(rtt_ns, 1);
    if (smoothed_ns_ == 0) {
      smoothed_ns_ = rtt_ns;
      deviation_ns_ = rtt_ns / 2;
      shortest_ns_ = rtt_ns;
    } else {
      const std::uint64_t error =
          rtt_ns > smoothed_ns_ ? rtt_ns - smoothed_ns_ : smoothed_ns_ - rtt_ns;
      deviation_ns_ = deviation_ns_ - deviation_ns_ / 4 + error / 4;
      smoothed_ns_ = smoothed_ns_ - smoothed_ns_ / 8 + rtt_ns / 8;
      shortest_ns_ = std::min(shortest_ns_, rtt_ns);
    }
    backoff_ = 0;
  }
  // A time-out: the next one comes later.
  void back_off() noexcept { backoff_ += backoff_ < kBackoffMax ? 1U : 0U; }

  std::uint64_t timeout_ns(const RoundTripLimits& limits) const noexcept {
    const std::uint64_t base =
        smoothed_ns_ == 0 ? limits.initial_ns : smoothed_ns_ + 4 * deviation_ns_;
    const std::uint64_t bounded = std::clamp(base, limits.min_ns, limits.max_ns);
    return std::min(bounded << backoff_, limits.max_ns);
  }

  std::uint64_t smoothed_ns() const noexcept { return smoothed_ns_; }
  std::uint64_t deviation_ns() const noexcept { return deviation_ns_; }
  std::uint64_t shortest_ns() const noexcept { return shortest_ns_; }

 private:
  static constexpr std::uint32_t kBackoffMax = 16;

  std::uint64_t smoothed_ns_ = 0;  // 0: no sample yet
  std::uint64_t deviation_ns_ = 0;
  std::uint64_t shortest_ns_ = 0;
  std::uint32_t backoff_ = 0;  // time-outs in a row
};

}  // namespace espalier::rdma
