#include "esp-bench/statistics.hpp"

#include <gtest/gtest.h>

namespace espalier::bench {
namespace {

TEST(Summarize, OfNothingIsZero) {
  const Summary summary = summarize({});
  EXPECT_EQ(summary.samples, 0u);
  EXPECT_EQ(summary.median, 0.0);
}

TEST(Summarize, OddCount) {
  const Summary summary = summarize({5.0, 1.0, 100.0});
  EXPECT_EQ(summary.median, 5.0);
  EXPECT_EQ(summary.mad, 4.0);  // of 4, 0, 95
  EXPECT_EQ(summary.min, 1.0);
  EXPECT_EQ(summary.p99, 100.0);
}

TEST(Summarize, EvenCountTakesTheMiddle) {
  const Summary summary = summarize({4.0, 1.0, 2.0, 3.0});
  EXPECT_EQ(summary.median, 2.5);
  EXPECT_EQ(summary.mad, 1.0);  // of 0.5, 0.5, 1.5, 1.5
}

TEST(Summarize, NinetyNinthPercentileLeavesOnePercentAbove) {
  std::vector<double> samples;
  for (int i = 1; i <= 1000; ++i) samples.push_back(i);
  EXPECT_EQ(summarize(samples).p99, 990.0);
}

}  // namespace
}  // namespace espalier::bench
