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
  const std::uint64_t threshold = measured_pull_rule(choice, false).threshold;
  EXPECT_TRUE(threshold == kNeverPull ||
              (threshold >= kMeasuredFrom && threshold <= 4 * kMeasuredFrom));
  EXPECT_GT(choice.in_ns.load(), 0U);
  const PathCost cost{choice.in_ns.load(), choice.out_ns.load(), choice.pull_ns.load()};
  EXPECT_EQ(readers_that_pull(cost, false) > 0, threshold != kNeverPull);
  const std::uint64_t seen = choice.pull_ns.load();
  EXPECT_EQ(measured_pull_rule(choice, true).threshold, threshold);
  EXPECT_EQ(choice.pull_ns.load(), seen) << "measured a second time";
  EXPECT_NE(explain(choice).find("measured at"), std::string::npos);
}

TEST(PathCost, NobodyWaitsForTheRankThatMeasures) {
  PathChoice choice{};
  choice.measuring.store(1);
  EXPECT_EQ(measured_pull_rule(choice, false).threshold, kNeverPull);
  choice.readers.store(3);
  choice.threshold.store(5);
  EXPECT_EQ(measured_pull_rule(choice, false).threshold, 5U);
  EXPECT_EQ(measured_pull_rule(choice, false).readers, 3U);
}

TEST(PathCost, ReadersShareOneCopyIn) {
  // Each on a core of its own: the slower half of the pipeline against the pull.
  EXPECT_EQ(readers_that_pull({70, 70, 100}, false), 0U);
  EXPECT_EQ(readers_that_pull({70, 110, 100}, false), kAnyReaders);
  // On shared cores all copies add up: 2 x 100 < 70 + 2 x 70, 3 x 100 is not < 70 + 3 x 70.
  EXPECT_EQ(readers_that_pull({70, 70, 100}, true), 2U);
  EXPECT_EQ(readers_that_pull({70, 70, 200}, true), 0U);
  EXPECT_EQ(readers_that_pull({70, 70, 60}, true), kAnyReaders);
  EXPECT_EQ(readers_that_pull({70, 70, 0}, true), 0U) << "not allowed";
}

TEST(PathCost, WhatIsForbiddenNeverPays) {
  test::Child child([] {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    (void)seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(process_vm_readv), 0);
    if (seccomp_load(filter) != 0) return 1;
    PathChoice choice{};
    return measured_pull_rule(choice, true).threshold == kNeverPull ? 0 : 2;
  });
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace espalier::shm
