// The statistics of bench/threads, and when a measurement counts as warm.
#include <gtest/gtest.h>

#include "threads/series.hpp"

namespace espalier::bench {
namespace {

TEST(Series, OfNothingIsZero) {
  const Series series = describe({});
  EXPECT_EQ(series.mean, 0.0);
  EXPECT_EQ(series.p90, 0.0);
}

TEST(Series, HasWhatAHandComputes) {
  const Series series = describe({4.0, 2.0, 8.0, 6.0});
  EXPECT_DOUBLE_EQ(series.mean, 5.0);
  EXPECT_DOUBLE_EQ(series.median, 5.0);
  EXPECT_NEAR(series.deviation, 2.5819889, 1e-6);
  EXPECT_DOUBLE_EQ(series.min, 2.0);
  EXPECT_DOUBLE_EQ(series.p90, 8.0);
  EXPECT_DOUBLE_EQ(describe({1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0}).p90, 9.0);
  EXPECT_DOUBLE_EQ(describe({7.0}).deviation, 0.0);
}

TEST(WarmUp, TakesTwentyIterationsAtLeast) {
  WarmUp warm_up;
  for (int batch = 0; batch < 3; ++batch) warm_up.add(1.0);
  EXPECT_FALSE(warm_up.is_over());
  warm_up.add(1.0);
  EXPECT_EQ(warm_up.iterations(), 20);
  EXPECT_TRUE(warm_up.is_steady());
  EXPECT_TRUE(warm_up.is_over());
}

TEST(WarmUp, ForgetsItsColdBegin) {
  WarmUp warm_up;
  for (const double mean : {9.0, 2.0, 1.0, 1.0, 1.02}) warm_up.add(mean);
  EXPECT_FALSE(warm_up.is_steady());
  warm_up.add(1.01);
  EXPECT_TRUE(warm_up.is_steady());
}

TEST(WarmUp, EndsUnsteadyAfterTwoHundredIterations) {
  WarmUp warm_up;
  for (int batch = 0; batch < 39; ++batch) warm_up.add(batch % 2 == 0 ? 1.0 : 2.0);
  EXPECT_FALSE(warm_up.is_over());
  warm_up.add(2.0);
  EXPECT_EQ(warm_up.iterations(), 200);
  EXPECT_TRUE(warm_up.is_over());
  EXPECT_FALSE(warm_up.is_steady());
}

}  // namespace
}  // namespace espalier::bench
