// Histogram: counts of 64-bit values in log-linear buckets; percentiles within a relative error of
// 1/64 (1.6 %) over the whole range, in constant memory (30 KiB).
//
// Values below 128 have a bucket each; above, every power of two is divided into 64 equal buckets
// (the layout of HdrHistogram). Value type; threads: the owner's only. path: data (record)
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/assert.hpp"

namespace espalier {

class Histogram {
 public:
  void record(std::uint64_t value) noexcept {
    ++buckets_[bucket_of(value)];
    ++count_;
    sum_ += static_cast<double>(value);
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
  }

  void merge(const Histogram& other) noexcept {
    for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
  }

  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t min() const noexcept { return count_ == 0 ? 0 : min_; }
  std::uint64_t max() const noexcept { return max_; }
  double mean() const noexcept { return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_); }

  // The smallest value that at least `fraction` of the values do not exceed (nearest rank),
  // rounded up to the end of its bucket and never above max(). 0 when empty.
  std::uint64_t percentile(double fraction) const noexcept {
    ESP_ASSERT(fraction >= 0.0 && fraction <= 1.0);
    const double wanted = std::ceil(fraction * static_cast<double>(count_));
    const std::uint64_t rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      seen += buckets_[i];
      if (seen >= rank) return std::clamp(bucket_last(i), min_, max_);
    }
    return max_;
  }

 private:
  static constexpr unsigned kBits = 6;
  static constexpr std::uint64_t kPerPower = 1u << kBits;
  static constexpr std::size_t kBuckets = (64 - kBits + 1) * kPerPower;

  // With the top bit at position p > kBits, the bucket is made of p and the kBits bits below it.
  static std::size_t bucket_of(std::uint64_t value) noexcept {
    if (value < kPerPower) return static_cast<std::size_t>(value);
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kBits;
    return (shift << kBits) + static_cast<std::size_t>(value >> shift);
  }
  static std::uint64_t bucket_last(std::size_t bucket) noexcept {
    if (bucket < 2 * kPerPower) return bucket;
    const unsigned shift = static_cast<unsigned>(bucket >> kBits) - 1;
    const std::uint64_t first = (bucket - (std::size_t{shift} << kBits)) << shift;
    return first + ((std::uint64_t{1} << shift) - 1);
  }

  std::array<std::uint64_t, kBuckets> buckets_ = {};
  std::uint64_t count_ = 0;
  double sum_ = 0.0;
  std::uint64_t min_ = ~std::uint64_t{0};
  std::uint64_t max_ = 0;
};

}  // namespace espalier
