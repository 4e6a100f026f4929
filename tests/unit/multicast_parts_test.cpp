#include <gtest/gtest.h>

#include "net/multicast/group.hpp"
#include "net/multicast/inheritance.hpp"
#include "net/multicast/subtree.hpp"

namespace espalier::multicast {
namespace {

constexpr Rank kRanks[] = {10, 20, 30, 40, 50};
using Members = std::vector<std::uint32_t>;

TEST(MulticastSubtree, SaysTheLeastAndWhoHoldsItBack) {
  Subtree tree;
  tree.rebuild(Members{1, 2}, kRanks, {0});
  ASSERT_EQ(tree.children().size(), 2U);
  EXPECT_TRUE(tree.children()[0].probe);
  EXPECT_TRUE(Subtree::acknowledge(*tree.find(1), {7}, {40, 3, 40}));
  EXPECT_TRUE(Subtree::acknowledge(*tree.find(2), {5}, {30, 9, 50}));
  EXPECT_FALSE(Subtree::acknowledge(*tree.find(2), {4}, {10, 0, kNoRank}));
  EXPECT_EQ(tree.find(3), nullptr);
  const Merged merged = tree.merged({{9}, {10, 4, 10}});
  EXPECT_EQ(merged.acked, Sequence{5});
  EXPECT_EQ(merged.state, (SubtreeState{30, 9, 50}));
  const Merged own = tree.merged({{2}, {10, 11, 10}});
  EXPECT_EQ(own.acked, Sequence{2});
  EXPECT_EQ(own.state, (SubtreeState{10, 11, 10}));
}

TEST(MulticastSubtree, KeepsWhatItKnowsOfThoseWhoStay) {
  Subtree tree;
  tree.rebuild(Members{1, 2}, kRanks, {0});
  EXPECT_TRUE(Subtree::acknowledge(*tree.find(1), {7}, {20, 0, kNoRank}));
  tree.find(1)->wants.add({8});
  tree.find(1)->probe = false;
  tree.rebuild(Members{1, 3, 4}, kRanks, {3});
  EXPECT_EQ(tree.find(1)->acked, Sequence{7});
  EXPECT_TRUE(tree.find(1)->wants.has({8}));
  EXPECT_FALSE(tree.find(1)->probe);
  EXPECT_EQ(tree.find(2), nullptr);
  EXPECT_EQ(tree.find(3)->acked, Sequence{3});
  EXPECT_EQ(tree.find(3)->rank, 40);
  EXPECT_TRUE(tree.find(3)->probe);
}

TEST(MulticastSubtree, ForgetsWhatIsWantedOfWhatHasCome) {
  Subtree tree;
  tree.rebuild(Members{1}, kRanks, {0xfffffffe});
  Child& child = *tree.find(1);
  for (const std::uint32_t at : {0xfffffffeU, 0U, 2U}) child.wants.add({at});
  EXPECT_TRUE(Subtree::acknowledge(child, {1}, {20, 0, kNoRank}));
  EXPECT_FALSE(child.wants.has({0xfffffffe}));
  EXPECT_FALSE(child.wants.has({0}));
  EXPECT_TRUE(child.wants.has({2}));
  tree.settle({3});
  EXPECT_FALSE(child.wants.any());
  EXPECT_EQ(child.acked, Sequence{3});
}

TEST(MulticastInheritance, EndsAtTheFirstPacketThatNobodyHolds) {
  Inheritance left(4);
  DeadMembers dead = {0};
  rdma::ArrivalBits early;
  left.report(1, 1, {5}, early);
  EXPECT_FALSE(left.complete(1, dead));
  early.set(0);  // 5
  early.set(3);  // 8
  left.report(2, 1, {4}, early);
  early = {};
  early.set(3);  // 6
  left.report(3, 0, {2}, early);
  EXPECT_FALSE(left.complete(1, dead)) << "one does not know of all deaths";
  left.report(3, 1, {2}, early);
  ASSERT_TRUE(left.complete(1, dead));
  EXPECT_EQ(left.end(dead), Sequence{7});
  EXPECT_EQ(left.holder({3}, 1, dead), 2U);
  EXPECT_EQ(left.holder({5}, 1, dead), 2U);
  EXPECT_EQ(left.holder({6}, 1, dead), 3U);
  EXPECT_EQ(left.holder({7}, 1, dead), Inheritance::kNobody);
  EXPECT_EQ(left.holder({4}, 1, dead), Inheritance::kNobody);
  EXPECT_TRUE(dead.add(2));
  EXPECT_EQ(left.end(dead), Sequence{5});
}

TEST(MulticastInheritance, TellsEverySurvivorOnce) {
  Inheritance left(4);
  const DeadMembers dead = {0};
  left.owe_all(1, dead);
  EXPECT_EQ(left.next_owed(), 2U);
  EXPECT_EQ(left.next_owed(), 2U);
  left.told(2);
  EXPECT_EQ(left.next_owed(), 3U);
  left.owe_nobody();
  EXPECT_EQ(left.next_owed(), Inheritance::kNobody);
}

TEST(MulticastGroup, WindowsShareThePacketsForArrivals) {
  EXPECT_EQ(Group::window_for(0, 1), 1U);
  EXPECT_EQ(Group::window_for(512, 1), kWindowMax);
  for (std::uint32_t depth = 6; depth < 600; ++depth) {
    for (std::uint32_t sources = 1; 6 * sources <= depth; ++sources) {
      const std::uint32_t window = Group::window_for(depth, sources);
      // Held, waiting, repeated for all, and probes.
      EXPECT_LE(sources * (2 * window + std::max(window / 2, 1U) + 3), depth);
    }
  }
}

}  // namespace
}  // namespace espalier::multicast
