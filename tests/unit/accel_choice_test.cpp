// The accelerator's choice of a side, by times that are told.
#include <gtest/gtest.h>

#include "accel/shim/choice.hpp"

namespace espalier::accel {
namespace {

struct Told {
  double seconds, until_met;
};

// Makes all calls that are timed; the first of each round takes ten times as long.
Side chosen(std::uint64_t bytes, Told ours, Told theirs) {
  Choice choice;
  choice.begin(bytes, true);
  Side before = choice.side();
  EXPECT_EQ(before, Side::kOurs);
  bool first = true;
  for (int calls = 0; choice.is_timed(); ++calls) {
    EXPECT_LT(calls, 100);
    const Told& told = choice.side() == Side::kOurs ? ours : theirs;
    const double factor = first ? 10 : 1;
    choice.count(factor * told.seconds, factor * told.until_met);
    first = choice.side() != before;
    before = choice.side();
    if (choice.wants_sums()) choice.decide(choice.own_times());
  }
  EXPECT_TRUE(choice.is_decided());
  return choice.side();
}

TEST(AccelChoice, TheFasterSideStays) {
  for (const std::uint64_t bytes : {8U, 100'000U, 10'000'000U}) {
    EXPECT_EQ(chosen(bytes, {1e-6, 2e-6}, {2e-6, 3e-6}), Side::kOurs) << bytes;
    EXPECT_EQ(chosen(bytes, {2e-6, 3e-6}, {1e-6, 2e-6}), Side::kMpi) << bytes;
  }
}

TEST(AccelChoice, ASideThatLeavesTheWorkToOthersIsNotFaster) {
  EXPECT_EQ(chosen(8, {2e-6, 3e-6}, {1e-6, 9e-6}), Side::kOurs);
  EXPECT_EQ(chosen(8, {1e-6, 9e-6}, {2e-6, 3e-6}), Side::kMpi);
  EXPECT_EQ(chosen(8, {2e-6, 3e-6}, {1e-6, 3.5e-6}), Side::kMpi);
}

TEST(AccelChoice, CallsInWhichSomebodyWasLateDoNotCount) {
  Choice choice;
  choice.begin(8, true);
  for (int calls = 0; !choice.wants_sums(); ++calls) {
    const bool disturbed = choice.side() == Side::kOurs && calls % 4 == 1;
    const double seconds = choice.side() == Side::kOurs ? 1e-6 : 2e-6;
    choice.count(disturbed ? 1 : seconds, disturbed ? 1 : seconds);
  }
  choice.decide(choice.own_times());
  EXPECT_EQ(choice.side(), Side::kOurs);
}

TEST(AccelChoice, WhatIsKnownIsNotTimed) {
  Choice choice;
  choice.begin(Side::kMpi);
  EXPECT_TRUE(choice.has_begun());
  EXPECT_FALSE(choice.is_timed());
  EXPECT_TRUE(choice.is_decided());
  EXPECT_EQ(choice.side(), Side::kMpi);
}

}  // namespace
}  // namespace espalier::accel
