// How members lie on nodes: the tables, and the rules that do without.
#include "coll/team/team_nodes.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>
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
  std::vector<MemberLocality> places = {{0, 1, 3, 9}, {0, 0, 1, 8}, {0, 0, 0, 5}, {0, 1, 2, 7},
                                        {0, 1, 3, 9}, {0, 0, 1, 8}, {0, 0, 0, 5}, {0, 1, 2, 7}};
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
  places[4] = kBoundNowhere;
  const TeamNodes half = TeamNodes::of(node_of, places);
  EXPECT_EQ(half.inner[0].begin, (std::vector<std::int32_t>{0, 4, 6, 8}));
  places[7] = {0, 1, -1, -1};
  places[6] = {0, -1, 0, 0};
  EXPECT_TRUE(TeamNodes::of(node_of, places).inner.empty());
  // Bound to cores of their own: no level either.
  for (std::size_t m = 0; m < places.size(); ++m) places[m].fill(static_cast<std::int32_t>(m));
  EXPECT_TRUE(TeamNodes::of(node_of, places).inner.empty());
}

std::vector<LocalityLevel> levels_of(const TeamNodes& nodes) {
  std::vector<LocalityLevel> levels;
  for (const LocalityGroups& groups : nodes.inner) levels.push_back(groups.level);
  return levels;
}

// Whether sockets contain NUMA nodes or NUMA nodes sockets.
TEST(TeamNodesTest, CoarseLevelsAreOutside) {
  using enum LocalityLevel;
  const std::vector<std::int32_t> one(8, 0);
  std::vector<MemberLocality> places;
  for (std::int32_t m = 0; m < 8; ++m) places.push_back({0, m % 2, m % 4, m});
  const TeamNodes sockets = TeamNodes::of(one, places);
  EXPECT_EQ(levels_of(sockets), (std::vector{kSocket, kNuma}));
  EXPECT_EQ(order_of(sockets), (std::vector<std::int32_t>{0, 4, 2, 6, 1, 5, 3, 7}));
  EXPECT_EQ(sockets.in_one_memory, 0U);
  for (MemberLocality& place : places) std::swap(place[1], place[2]);
  const TeamNodes numas = TeamNodes::of(one, places);
  EXPECT_EQ(levels_of(numas), (std::vector{kNuma, kSocket}));
  EXPECT_EQ(order_of(numas), order_of(sockets));
  EXPECT_EQ(numas.in_one_memory, 1U) << "sockets of one NUMA node";
  // One memory for all sockets, and an L3 over two NUMA nodes.
  for (MemberLocality& place : places) place[2] = 0;
  EXPECT_EQ(levels_of(TeamNodes::of(one, places)), (std::vector{kSocket}));
  for (std::int32_t m = 0; m < 8; ++m) places[static_cast<std::size_t>(m)] = {0, 0, m % 4, m % 2};
  EXPECT_EQ(levels_of(TeamNodes::of(one, places)), (std::vector{kCache, kNuma}));
}

// Levels that cross: the inner one is cut by the outer one.
TEST(TeamNodesTest, CrossingLevels) {
  std::vector<MemberLocality> places;
  for (std::int32_t m = 0; m < 12; ++m) places.push_back({0, m % 2, m % 3, 0});
  const TeamNodes crossed = TeamNodes::of(std::vector<std::int32_t>(12, 0), places);
  ASSERT_EQ(crossed.inner.size(), 2U);
  EXPECT_EQ(crossed.inner[0].begin, (std::vector<std::int32_t>{0, 6, 12}));
  EXPECT_EQ(crossed.inner[1].begin, (std::vector<std::int32_t>{0, 2, 4, 6, 8, 10, 12}));
}

// A node whose members are not bound has no say in which level is outside.
TEST(TeamNodesTest, OrderOfLevelsBesideUnboundNodes) {
  std::vector<std::int32_t> node_of;
  std::vector<MemberLocality> places;
  for (std::int32_t m = 0; m < 16; ++m) {
    node_of.push_back(m / 8);
    places.push_back(m < 8 ? MemberLocality{0, m, -1, -1} : MemberLocality{0, m % 2, m % 4, m});
  }
  const TeamNodes nodes = TeamNodes::of(node_of, places);
  EXPECT_EQ(levels_of(nodes), (std::vector{LocalityLevel::kSocket, LocalityLevel::kNuma}));
}

TEST(TeamNodesTest, HeadsAreInTheDeepestSubgroups) {
  // Node 0: a member alone in its socket, and a socket of three. Node 1: two sockets of two.
  const std::vector<std::int32_t> node_of = {0, 0, 0, 0, 1, 1, 1, 1};
  std::vector<MemberLocality> places;
  for (const std::int32_t socket : {0, 1, 1, 1, 0, 1, 0, 1}) places.push_back({0, socket, 0, 0});
  const TeamNodes nodes = TeamNodes::of(node_of, places);
  EXPECT_EQ(nodes.head(0), 1);
  EXPECT_EQ(nodes.head(1), 4);
  ASSERT_EQ(nodes.inner.size(), 1U);
  EXPECT_TRUE(nodes.inner[0].heads.empty()) << "the first of each";
}

}  // namespace
}  // namespace espalier
