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

JobPlan placed(Placement placement, int ranks, int nodes) {
  JobPlan plan;
  plan.options.ranks = ranks;
  plan.options.nodes = nodes;
  plan.options.placement = placement;
  place_ranks(plan);
  return plan;
}

TEST(JobPlan, EveryPlacementIsEvenAndLeavesNoNodeEmpty) {
  for (const Placement placement : {Placement::kBlock, Placement::kRound, Placement::kRandom}) {
    for (int ranks = 1; ranks <= 40; ++ranks) {
      for (int nodes = 1; nodes <= ranks; ++nodes) {
        const JobPlan plan = placed(placement, ranks, nodes);
        int placed_ranks = 0;
        for (int node = 0; node < nodes; ++node) {
          const auto here = static_cast<int>(plan.ranks_on(node).size());
          ASSERT_GE(here, ranks / nodes);
          ASSERT_LE(here, ranks / nodes + 1);
          placed_ranks += here;
          for (const int rank : plan.ranks_on(node)) ASSERT_EQ(plan.node_of(rank), node);
        }
        ASSERT_EQ(placed_ranks, ranks);
      }
    }
  }
}

TEST(JobPlan, Placements) {
  EXPECT_EQ(placed(Placement::kBlock, 5, 2).nodes_of_ranks, (std::vector<int>{0, 0, 1, 1, 1}));
  EXPECT_EQ(placed(Placement::kRound, 5, 2).nodes_of_ranks, (std::vector<int>{0, 1, 0, 1, 0}));
  const JobPlan random = placed(Placement::kRandom, 40, 4);
  EXPECT_EQ(random.nodes_of_ranks, placed(Placement::kRandom, 40, 4).nodes_of_ranks);
  EXPECT_NE(random.nodes_of_ranks, placed(Placement::kBlock, 40, 4).nodes_of_ranks);
}

TEST(JobPlan, DescriptorsNeeded) {
  JobPlan plan = placed(Placement::kBlock, 40, 1);
  const int on_one_node = descriptors_needed(plan);
  EXPECT_GT(on_one_node, 40);
  plan.options.tag_output = true;
  EXPECT_EQ(descriptors_needed(plan), on_one_node + 80);
  EXPECT_LT(descriptors_needed(placed(Placement::kBlock, 40, 4)), on_one_node);
  EXPECT_GT(descriptors_needed(placed(Placement::kBlock, 40, 40)), 40);
}

}  // namespace
}  // namespace esp_run
