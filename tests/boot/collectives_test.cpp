// The root's merging of fences, without processes: every order of contributions and deaths.
#include "tools/esp-run/collectives.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace esp_run {
namespace {

// Ranks 0, 1 on node 0; 2 on node 1; 3, 4 on node 2.
Collectives five_ranks_on_three_nodes() {
  return Collectives({0, 0, 1, 2, 2});
}

Collectives::Contribution data(std::string text, std::uint64_t id = 1) {
  return {id, FenceStatus::kComplete, std::move(text)};
}

TEST(Collectives, CompletesInWhateverOrderNodesArrive) {
  std::vector<int> order{0, 1, 2};
  do {
    Collectives collectives = five_ranks_on_three_nodes();
    EXPECT_TRUE(collectives.contribute(order[0], {}, data(std::to_string(order[0]))).empty());
    EXPECT_TRUE(collectives.contribute(order[1], {}, data(std::to_string(order[1]))).empty());
    const auto done = collectives.contribute(order[2], {}, data(std::to_string(order[2])));
    ASSERT_EQ(done.size(), 1U);
    EXPECT_EQ(done[0].data, "012");
    EXPECT_EQ(done[0].status, FenceStatus::kComplete);
    EXPECT_EQ(done[0].answers.size(), 3U);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Collectives, ListsAreApartAndTheirOrderDoesNotMatter) {
  Collectives collectives = five_ranks_on_three_nodes();
  EXPECT_TRUE(collectives.contribute(0, {0, 3}, data("a", 7)).empty());
  EXPECT_TRUE(collectives.contribute(0, {1, 2}, data("b", 8)).empty());
  const auto first = collectives.contribute(2, {3, 0}, data("c", 9));
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].data, "ac");
  EXPECT_EQ(first[0].answers[0].id, 7U);
  EXPECT_EQ(first[0].answers[1].id, 9U);
  EXPECT_EQ(collectives.contribute(1, {1, 2}, data("d")).size(), 1U);
}

TEST(Collectives, FencesOfOneListFollowOneAnother) {
  Collectives collectives({0, 1});
  EXPECT_TRUE(collectives.contribute(0, {}, data("a", 1)).empty());
  EXPECT_TRUE(collectives.contribute(0, {}, data("b", 2)).empty());
  const auto first = collectives.contribute(1, {}, data("A", 1));
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].data, "aA");
  const auto second = collectives.contribute(1, {}, data("B", 2));
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].data, "bB");
}

TEST(Collectives, LastParticipantOfANodeDiesAndTheOthersAreReleased) {
  Collectives collectives = five_ranks_on_three_nodes();
  EXPECT_TRUE(collectives.contribute(0, {}, data("a")).empty());
  EXPECT_TRUE(collectives.contribute(2, {}, data("c")).empty());
  const auto done = collectives.rank_ended(2);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, FenceStatus::kPartial);
  EXPECT_EQ(done[0].answers.size(), 2U);
}

TEST(Collectives, ANodeWithSurvivorsIsStillWaitedFor) {
  Collectives collectives = five_ranks_on_three_nodes();
  EXPECT_TRUE(collectives.contribute(0, {}, data("a")).empty());
  EXPECT_TRUE(collectives.contribute(1, {}, data("b")).empty());
  EXPECT_TRUE(collectives.rank_ended(3).empty());
  const auto done = collectives.contribute(2, {}, data("c"));
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, FenceStatus::kPartial);
}

TEST(Collectives, TheDeadOfEarlierTimesDoNotCount) {
  Collectives collectives = five_ranks_on_three_nodes();
  EXPECT_TRUE(collectives.rank_ended(2).empty());
  EXPECT_TRUE(collectives.contribute(0, {}, data("a")).empty());
  const auto done = collectives.contribute(2, {}, data("c"));
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, FenceStatus::kComplete);
}

TEST(Collectives, ADeathAfterTheContributionKeepsItsData) {
  Collectives collectives = five_ranks_on_three_nodes();
  EXPECT_TRUE(collectives.contribute(1, {}, data("b")).empty());
  EXPECT_TRUE(collectives.rank_ended(2).empty());
  EXPECT_TRUE(collectives.contribute(0, {}, data("a")).empty());
  const auto done = collectives.contribute(2, {}, data("c"));
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].data, "abc");
  EXPECT_EQ(done[0].status, FenceStatus::kComplete);
}

TEST(Collectives, ALossWithinANodeMakesTheFencePartial) {
  Collectives collectives({0, 1});
  EXPECT_TRUE(collectives.contribute(0, {}, {1, FenceStatus::kPartial, ""}).empty());
  const auto done = collectives.contribute(1, {}, data("b"));
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, FenceStatus::kPartial);
}

TEST(Collectives, UnknownRanksAreIgnored) {
  Collectives collectives({0, 1});
  EXPECT_TRUE(collectives.rank_ended(17).empty());
  EXPECT_TRUE(collectives.rank_ended(-1).empty());
  EXPECT_EQ(collectives.contribute(0, {0, 99, -5}, data("a")).size(), 1U);
}

}  // namespace
}  // namespace esp_run
