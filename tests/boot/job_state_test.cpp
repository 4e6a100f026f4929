// What the launcher says and returns, as a function of how ranks end.
#include "tools/esp-run/job_state.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "tools/esp-run/job_plan.hpp"

namespace esp_run {
namespace {

TEST(RanksText, JoinsNeighbours) {
  EXPECT_EQ(ranks_text({}), "");
  EXPECT_EQ(ranks_text({5}), "5");
  EXPECT_EQ(ranks_text({0, 1, 2, 5, 7, 8}), "0-2, 5, 7-8");
}

TEST(JobState, TheFirstFailureGivesTheExitCode) {
  JobState state(3);
  EXPECT_EQ(state.exit_code(), 0);
  EXPECT_TRUE(state.rank_ended(2, {W_EXITCODE(0, 0), RankLeft::kProperly}));
  EXPECT_TRUE(state.rank_ended(0, {W_EXITCODE(0, SIGSEGV), RankLeft::kWithoutFinalize}));
  EXPECT_TRUE(state.rank_ended(1, {W_EXITCODE(7, 0), RankLeft::kProperly}));
  EXPECT_TRUE(state.all_ended());
  EXPECT_EQ(state.exit_code(), 128 + SIGSEGV);
}

TEST(JobState, ARankEndsOnce) {
  JobState state(2);
  EXPECT_TRUE(state.rank_ended(1, {}));
  EXPECT_FALSE(state.rank_ended(1, {W_EXITCODE(3, 0), RankLeft::kProperly}));
  EXPECT_FALSE(state.rank_ended(2, {}));
  EXPECT_FALSE(state.rank_ended(-1, {}));
  EXPECT_EQ(state.exit_code(), 0);
  EXPECT_EQ(state.running_ranks(), std::vector<int>{0});
}

TEST(RankEnd, LeavingWithoutFinalizeIsAFailure) {
  const RankEnd end{0, RankLeft::kWithoutFinalize};
  EXPECT_TRUE(end.is_failure());
  EXPECT_EQ(end.exit_code(), 1);
  EXPECT_EQ(end.death_kind(), DeathKind::kWithoutFinalize);
}

TEST(JobPlan, BlocksOfRanksCoverTheJobInOrder) {
  for (int ranks = 1; ranks <= 40; ++ranks) {
    for (int nodes = 1; nodes <= ranks; ++nodes) {
      JobPlan plan;
      plan.options.ranks = ranks;
      plan.options.nodes = nodes;
      ASSERT_EQ(plan.first_rank(0), 0);
      ASSERT_EQ(plan.first_rank(nodes), ranks);
      for (int node = 0; node < nodes; ++node) {
        ASSERT_GT(plan.first_rank(node + 1), plan.first_rank(node)) << "an empty node";
        for (int rank = plan.first_rank(node); rank < plan.first_rank(node + 1); ++rank) {
          ASSERT_EQ(plan.node_of(rank), node) << ranks << " ranks, " << nodes << " nodes";
        }
      }
    }
  }
}

}  // namespace
}  // namespace esp_run
