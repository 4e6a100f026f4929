#include "core/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/prng.hpp"

namespace espalier {
namespace {

std::uint64_t exact_percentile(const std::vector<std::uint64_t>& sorted, double fraction) {
  const auto rank =
      static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(sorted.size())));
  return sorted[rank == 0 ? 0 : rank - 1];
}

void expect_close(const Histogram& histogram, std::vector<std::uint64_t> values) {
  std::sort(values.begin(), values.end());
  for (const double fraction : {0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const std::uint64_t exact = exact_percentile(values, fraction);
    const std::uint64_t found = histogram.percentile(fraction);
    EXPECT_GE(found, exact) << fraction;
    EXPECT_LE(found - exact, exact / 64) << fraction;
  }
}

TEST(Histogram, EmptyAndSingle) {
  Histogram histogram;
  EXPECT_EQ(histogram.percentile(0.5), 0u);
  EXPECT_EQ(histogram.min(), 0u);
  EXPECT_EQ(histogram.mean(), 0.0);
  histogram.record(1'000'003);
  for (const double fraction : {0.0, 0.5, 1.0}) {
    EXPECT_EQ(histogram.percentile(fraction), 1'000'003u);
  }
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (std::uint64_t value = 0; value < 128; ++value) histogram.record(value);
  for (std::uint64_t value = 0; value < 128; ++value) {
    EXPECT_EQ(histogram.percentile(static_cast<double>(value + 1) / 128.0), value);
  }
  EXPECT_EQ(histogram.mean(), 63.5);
}

TEST(Histogram, AgreesWithExactPercentiles) {
  for (const double spread_bits : {8.0, 20.0, 40.0, 63.9}) {
    Prng prng(5);
    Histogram histogram;
    std::vector<std::uint64_t> values;
    for (int i = 0; i < 20000; ++i) {
      values.push_back(static_cast<std::uint64_t>(std::exp2(prng.unit() * spread_bits)));
      histogram.record(values.back());
    }
    expect_close(histogram, values);
    EXPECT_EQ(histogram.max(), *std::max_element(values.begin(), values.end()));
  }
}

TEST(Histogram, EveryPowerOfTwoAndItsNeighbours) {
  for (int power = 1; power < 64; ++power) {
    const std::uint64_t at = std::uint64_t{1} << power;
    for (const std::uint64_t value : {at - 1, at, at + 1}) {
      Histogram histogram;
      histogram.record(0);
      histogram.record(value);
      histogram.record(~std::uint64_t{0});
      const std::uint64_t found = histogram.percentile(0.5);
      EXPECT_GE(found, value);
      EXPECT_LE(found - value, value / 64);
    }
  }
}

TEST(Histogram, MergeIsTheSameAsRecordingBoth) {
  Prng prng(9);
  Histogram a, b, both;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = prng.below(1'000'000);
    (i % 3 == 0 ? a : b).record(value);
    both.record(value);
  }
  a.merge(b);
  for (const double fraction : {0.0, 0.1, 0.5, 0.99, 1.0}) {
    EXPECT_EQ(a.percentile(fraction), both.percentile(fraction));
  }
  EXPECT_EQ(a.count(), 1000u);
  EXPECT_DOUBLE_EQ(a.mean(), both.mean());
}

}  // namespace
}  // namespace espalier
