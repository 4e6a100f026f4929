#include <gtest/gtest.h>

#include <algorithm>

#include "core/prng.hpp"
#include "net/multicast/tree.hpp"

namespace espalier::multicast {
namespace {

constexpr std::uint32_t kNobody = GroupTree::kNobody;

// Every living member is the child of its parent and of nobody else, and reaches the root.
void check(const GroupTree& tree, std::uint32_t members, std::uint32_t source,
           const DeadMembers& dead) {
  const std::uint32_t root = tree.root(source, dead);
  std::vector<std::uint32_t> parents(members, kNobody), children;
  for (std::uint32_t member = 0; member < members; ++member) {
    if (dead.has(member)) continue;
    tree.children(source, member, dead, children);
    for (const std::uint32_t child : children) {
      EXPECT_FALSE(dead.has(child));
      EXPECT_EQ(parents[child], kNobody) << "child of two";
      parents[child] = member;
    }
  }
  for (std::uint32_t member = 0; member < members; ++member) {
    if (dead.has(member)) continue;
    EXPECT_EQ(tree.parent(source, member, dead), parents[member]);
    EXPECT_EQ(parents[member] == kNobody, member == root);
    std::uint32_t at = member, steps = 0;
    while (at != root && at != kNobody && ++steps <= members) at = parents[at];
    EXPECT_EQ(at, root);
  }
}

TEST(MulticastTree, IsOneWhoeverIsTheSourceAndWhoeverIsDead) {
  Prng prng(5);
  for (const std::uint32_t members : {1U, 2U, 3U, 7U, 16U, 33U}) {
    for (const std::uint32_t degree : {1U, 2U, 4U}) {
      const GroupTree tree(members, degree);
      for (int round = 0; round < 20; ++round) {
        DeadMembers dead;
        for (std::uint32_t i = 0; i < members; ++i) {
          if (round > 0 && prng.chance(0.3)) (void)dead.add(i);
        }
        check(tree, members, static_cast<std::uint32_t>(prng.below(members)), dead);
      }
    }
  }
}

TEST(MulticastTree, IsNumberedFromTheSource) {
  const GroupTree tree(10, 3);
  const DeadMembers dead;
  std::vector<std::uint32_t> children;
  tree.children(8, 8, dead, children);
  EXPECT_EQ(children, (std::vector<std::uint32_t>{9, 0, 1}));
  EXPECT_EQ(tree.parent(8, 8, dead), kNobody);
  EXPECT_EQ(tree.parent(8, 2, dead), 9U);
}

TEST(MulticastTree, OrphansGoToTheGrandparentAndThoseOfTheSourceToItsSuccessor) {
  const GroupTree tree(7, 2);
  DeadMembers dead = {1};
  EXPECT_EQ(tree.parent(0, 3, dead), 0U);
  EXPECT_TRUE(dead.add(0));
  EXPECT_FALSE(dead.add(0));
  EXPECT_EQ(tree.root(0, dead), 2U);
  EXPECT_EQ(tree.parent(0, 3, dead), 2U);
  EXPECT_EQ(tree.parent(0, 2, dead), kNobody);
  EXPECT_EQ(tree.root(0, DeadMembers{0, 1, 2, 3, 4, 5, 6}), kNobody);
}

}  // namespace
}  // namespace espalier::multicast
