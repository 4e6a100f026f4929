#include "accel/shim/choice.hpp"

#include <algorithm>
#include <new>

namespace espalier::accel {
namespace {

constexpr std::uint64_t kSmall = 16 << 10, kMiddle = 512 << 10;

}  // namespace

void Choice::begin(std::uint64_t bytes, bool measures) {
  begun_ = true;
  if (!measures) return;
  round_ = 1 + (bytes <= kSmall ? kTimedMax : bytes <= kMiddle ? 5 : 3);
  times_.reset(new (std::nothrow) Times{});
}

void Choice::begin(Side side) noexcept {
  begun_ = true;
  chosen_ = side;
}

Side Choice::side() const noexcept {
  if (times_ == nullptr) return chosen_;
  return (calls_ / round_) % 2 == 0 ? Side::kOurs : Side::kMpi;
}

void Choice::count(double seconds, double until_met) noexcept {
  const double mean = (seconds + until_met) / 2;
  const auto at = static_cast<std::size_t>(side());
  if (calls_ % round_ != 0) (*times_)[at][timed_[at]++] = static_cast<float>(mean);
  ++calls_;
}

std::array<double, 2> Choice::own_times() noexcept {
  std::array<double, 2> mean = {};
  for (std::size_t at = 0; at < 2; ++at) {
    auto& times = (*times_)[at];
    const std::uint32_t lower = (timed_[at] + 1) / 2;
    std::nth_element(times.begin(), times.begin() + lower - 1, times.begin() + timed_[at]);
    for (std::uint32_t i = 0; i < lower; ++i) mean[at] += static_cast<double>(times[i]) / lower;
  }
  return mean;
}

void Choice::decide(const std::array<double, 2>& sums) noexcept {
  sums_ = sums;
  chosen_ = sums[0] <= sums[1] ? Side::kOurs : Side::kMpi;
  times_.reset();
}

}  // namespace espalier::accel
