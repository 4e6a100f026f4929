#include "bootstrap/team_ids.hpp"

#include <gtest/gtest.h>

#include <set>

namespace espalier {
namespace {

// Every rank gives out numbers of its own.
TEST(TeamIds, AreUsedOnce) {
  std::set<std::uint32_t> used;
  for (const Rank me : {0, 1, 6}) {
    TeamIds ids(me, 7);
    for (std::uint32_t groups = 1; groups <= 7; ++groups) {
      const std::uint32_t first = ids.reserve(7);
      ASSERT_TRUE(ids.has(first, groups));
      for (std::uint32_t i = 0; i < groups; ++i) {
        EXPECT_TRUE(used.insert(ids.id(first, i)).second);
        EXPECT_LT(ids.id(first, i), 1U << FlowId::kTeamBits);
      }
      ids.return_unused(first, 7, groups);
    }
  }
  EXPECT_FALSE(used.contains(0));
}

// Splits cost as many numbers as they make teams, however large the parent.
TEST(TeamIds, LargeJobsSplitOften) {
  constexpr std::uint32_t kRanks = 4096, kNodes = 64;
  TeamIds ids(5, kRanks);
  std::uint32_t splits = 0;
  for (;; ++splits) {
    const std::uint32_t first = ids.reserve(kRanks);
    const bool enough = ids.has(first, kNodes);
    if (first != 0) ids.return_unused(first, kRanks, enough ? kNodes : 0);
    if (!enough) break;
    ASSERT_LT(ids.id(first, kNodes - 1), 1U << FlowId::kTeamBits);
  }
  EXPECT_EQ(splits, (kRanks - 1) / kNodes);
  // What a large split had no room for is there for small ones.
  const std::uint32_t first = ids.reserve(1);
  EXPECT_TRUE(ids.has(first, 1));
}

TEST(TeamIds, WhatWasReservedMeanwhileStays) {
  TeamIds ids(0, 4);
  const std::uint32_t a = ids.reserve(4), b = ids.reserve(1);
  ids.return_unused(a, 4, 1);
  EXPECT_GT(ids.reserve(1), b);
}

}  // namespace
}  // namespace espalier
