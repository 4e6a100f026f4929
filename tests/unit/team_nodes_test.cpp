// How members lie on nodes: the tables, and the rules that do without.
#include "coll/team/team_nodes.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace espalier {
namespace {

std::vector<std::int32_t> order_of(const TeamNodes& nodes) {
  std::vector<std::int32_t> order;
  for (std::int32_t p = 0; p < nodes.size(); ++p) order.push_back(nodes.member_at(p));
  return order;
}

// Whether by a rule or by a table: every placement of up to seven members on three nodes.
TEST(TeamNodesTest, AllPlacements) {
  for (std::size_t members = 1; members <= 7; ++members) {
    std::vector<std::int32_t> node_of(members, 0);
    for (std::size_t next = 0; next < members;) {
      const TeamNodes nodes = TeamNodes::of(node_of);
      std::map<std::int32_t, std::vector<std::int32_t>> by_node;  // in the order of appearance
      std::vector<std::int32_t> first;
      for (std::size_t m = 0; m < members; ++m) {
        auto& mates = by_node[node_of[m]];
        if (mates.empty()) first.push_back(node_of[m]);
        mates.push_back(static_cast<std::int32_t>(m));
      }
      ASSERT_EQ(nodes.count(), static_cast<std::int32_t>(first.size()));
      std::int32_t position = 0;
      for (std::int32_t node = 0; node < nodes.count(); ++node) {
        const auto& mates = by_node[first[static_cast<std::size_t>(node)]];
        ASSERT_EQ(nodes.members(node), static_cast<std::int32_t>(mates.size()));
        for (std::int32_t place = 0; place < nodes.members(node); ++place, ++position) {
          const std::int32_t member = mates[static_cast<std::size_t>(place)];
          ASSERT_EQ(nodes.member(node, place), member);
          ASSERT_EQ(nodes.member_at(position), member);
          ASSERT_EQ(nodes.position_of(member), position);
          ASSERT_EQ(nodes.node_of(member), node);
          ASSERT_EQ(nodes.place(member), place);
        }
      }
      for (next = 0; next < members && ++node_of[next] == 3; ++next) node_of[next] = 0;
    }
  }
}

TEST(TeamNodesTest, RegularPlacementsNeedNoTable) {
  std::vector<std::int32_t> by_core, by_node, shuffled;
  for (std::int32_t m = 0; m < 4096; ++m) {
    by_core.push_back(m / 64);
    by_node.push_back(m % 64);
    shuffled.push_back(m * 37 % 4096 / 64);
  }
  EXPECT_LE(TeamNodes::of(by_core).bytes(), 128 * sizeof(std::int32_t));
  EXPECT_LE(TeamNodes::of(by_node).bytes(), 128 * sizeof(std::int32_t));
  EXPECT_GE(TeamNodes::of(shuffled).bytes(), 4096 * 2 * sizeof(std::int32_t));
}

TEST(TeamNodesTest, Placements) {
  const TeamNodes by_node = TeamNodes::of(std::vector<std::int32_t>{7, 3, 7, 3, 9});
  EXPECT_EQ(by_node.count(), 3);
  EXPECT_EQ(order_of(by_node), (std::vector<std::int32_t>{0, 2, 1, 3, 4}));
  EXPECT_EQ(by_node.begin, (std::vector<std::int32_t>{0, 2, 4, 5}));
  EXPECT_EQ(by_node.place(3), 1);
  EXPECT_EQ(by_node.member(1, 1), 3);
  EXPECT_EQ(by_node.largest, 2);
  EXPECT_FALSE(by_node.in_order());
  EXPECT_TRUE(by_node.together(0, 2));
  EXPECT_TRUE(TeamNodes::of(std::vector<std::int32_t>{5, 5, 2}).in_order());
}

TEST(TeamNodesTest, InnerLevels) {
  const std::vector<std::int32_t> node_of = {0, 0, 1, 1, 0, 0, 1, 1};
  std::vector<MemberLocality> places = {{1, 3, 9}, {0, 1, 8}, {0, 0, 5}, {1, 2, 7},
                                        {1, 3, 9}, {0, 1, 8}, {0, 0, 5}, {1, 2, 7}};
  const TeamNodes two = TeamNodes::of(node_of, places);
  EXPECT_EQ(order_of(two), (std::vector<std::int32_t>{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(two.begin, (std::vector<std::int32_t>{0, 4, 8}));
  ASSERT_EQ(two.inner.size(), 1U) << "NUMA nodes and caches separate nobody further";
  EXPECT_EQ(two.inner[0].level, LocalityLevel::kSocket);
  EXPECT_EQ(two.inner[0].begin, (std::vector<std::int32_t>{0, 2, 4, 6, 8}));
  EXPECT_EQ(two.largest, 4);
  EXPECT_EQ(two.largest_group, 2);
  EXPECT_EQ(two.shared_levels(1, 5), 1U);
  EXPECT_EQ(two.shared_levels(1, 4), 0U);
  // A member that may run anywhere: no levels in its node, as before in the other.
  places[4] = {-1, -1, -1};
  const TeamNodes half = TeamNodes::of(node_of, places);
  EXPECT_EQ(half.inner[0].begin, (std::vector<std::int32_t>{0, 4, 6, 8}));
  places[7] = {1, -1, -1};
  places[6] = {-1, 0, 0};
  EXPECT_TRUE(TeamNodes::of(node_of, places).inner.empty());
  // Bound to cores of their own: no level either.
  for (std::size_t m = 0; m < places.size(); ++m) places[m].fill(static_cast<std::int32_t>(m));
  EXPECT_TRUE(TeamNodes::of(node_of, places).inner.empty());
}

}  // namespace
}  // namespace espalier
