// Tables of the ranks that were met.
#include "core/rank_map.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/peer_table.hpp"
#include "core/rank_list.hpp"

namespace espalier {
namespace {

// Neighbours, multiples that fall on one slot, and the largest ranks there are.
constexpr Rank kStrides[] = {1, 256, 1 << 20};

TEST(RankMap, FindsWhatWasPutInAndNothingElse) {
  for (const Rank stride : kStrides) {
    RankMap map;
    for (std::uint32_t n = 0; n < 1000; ++n) map.insert(static_cast<Rank>(n) * stride, n);
    for (std::uint32_t n = 0; n < 1000; ++n) {
      EXPECT_EQ(map.find(static_cast<Rank>(n) * stride), n);
      EXPECT_EQ(map.find(static_cast<Rank>(n) * stride + 1),
                stride == 1 && n < 999 ? n + 1 : RankMap::kNone);
    }
    EXPECT_EQ(map.find(kNoRank), RankMap::kNone);
    EXPECT_LE(map.bytes(), 1000U * 4 * 8) << "follows what was met, not how large ranks are";
  }
}

TEST(PeerTable, EntriesStayWhereTheyAreAndAreVisitedAsTheyWereMet) {
  PeerTable<int> table;
  int& first = table.meet(700'000, std::make_unique<int>(0));
  for (int n = 1; n < 100; ++n) table.meet(1000 - n, std::make_unique<int>(n));
  EXPECT_EQ(table.find(700'000), &first);
  EXPECT_EQ(table.find(1000), nullptr);
  std::vector<Rank> visited;
  table.for_each([&](Rank rank, int& value) {
    visited.push_back(rank);
    // Who is met during the visit is visited, too.
    if (value == 99) table.meet(5, std::make_unique<int>(-1));
  });
  ASSERT_EQ(visited.size(), 101U);
  EXPECT_EQ(visited[0], 700'000);
  for (std::size_t n = 1; n < 100; ++n) EXPECT_EQ(visited[n], 1000 - static_cast<Rank>(n));
  EXPECT_EQ(visited[100], 5);
  EXPECT_FALSE(table.all_of([](int value) { return value >= 0; }));
}

TEST(RankList, KnowsThePositionOfEach) {
  const RankList neighbours = {7, 8, 9}, scattered = {7, 8, 300};
  EXPECT_EQ(neighbours.index_of(9), 2U);
  EXPECT_EQ(scattered.index_of(300), 2U);
  for (const RankList& list : {neighbours, scattered, RankList()}) {
    for (const Rank stranger : {kNoRank, 6, 10}) EXPECT_FALSE(list.contains(stranger));
  }
}

}  // namespace
}  // namespace espalier
