// The measured choice between the two paths: taken once, the same for all.
#include "shm/path_cost.hpp"

#include <gtest/gtest.h>
#include <seccomp.h>

#include "child.hpp"

namespace espalier::shm {
namespace {

TEST(PathCost, IsMeasuredOnceAndKept) {
  PathChoice choice{};
  EXPECT_NE(explain(choice).find("with the first flow"), std::string::npos);
  const std::uint64_t threshold = measured_pull_threshold(choice, false);
  EXPECT_TRUE(threshold == kNeverPull ||
              (threshold >= kMeasuredFrom && threshold <= 4 * kMeasuredFrom));
  EXPECT_GT(choice.through_ns.load(), 0U);
  const bool pays = choice.pull_ns.load() > 0 && choice.pull_ns.load() < choice.through_ns.load();
  EXPECT_EQ(pays, threshold != kNeverPull);
  const std::uint64_t seen = choice.pull_ns.load();
  EXPECT_EQ(measured_pull_threshold(choice, true), threshold);
  EXPECT_EQ(choice.pull_ns.load(), seen) << "measured a second time";
  EXPECT_NE(explain(choice).find("measured at"), std::string::npos);
}

TEST(PathCost, NobodyWaitsForTheRankThatMeasures) {
  PathChoice choice{};
  choice.measuring.store(1);
  EXPECT_EQ(measured_pull_threshold(choice, false), kNeverPull);
  choice.threshold.store(5);
  EXPECT_EQ(measured_pull_threshold(choice, false), 5U);
}

TEST(PathCost, WhatIsForbiddenNeverPays) {
  test::Child child([] {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    (void)seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(process_vm_readv), 0);
    if (seccomp_load(filter) != 0) return 1;
    PathChoice choice{};
    return measured_pull_threshold(choice, true) == kNeverPull ? 0 : 2;
  });
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace espalier::shm
