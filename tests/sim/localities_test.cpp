// How machines group the ranks of a job, for plans that follow it.
#include "tools/esp-sim/localities.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace espalier::sim {
namespace {

TeamNodes localities(const char* name, std::uint32_t ranks, std::uint32_t per_node = 0,
                     Placement placement = Placement::kByCore) {
  auto machine = load_machine(name);
  EXPECT_TRUE(machine.ok()) << name;
  auto map = Map::create(*machine, ranks, per_node, placement, 1);
  EXPECT_TRUE(map.ok()) << map.error().text;
  return localities_of(*machine, *map);
}

// Nodes, and the groups of each level inside them, from the outside to the inside.
using Groups = std::vector<std::pair<LocalityLevel, std::size_t>>;
void expect_groups(const TeamNodes& localities, std::int32_t nodes, const Groups& inside) {
  EXPECT_EQ(localities.count(), nodes);
  Groups found;
  for (const LocalityGroups& groups : localities.inner) {
    found.emplace_back(groups.level, groups.begin.size() - 1);
  }
  EXPECT_EQ(found, inside);
}

constexpr auto kBoard = LocalityLevel::kBoard;
constexpr auto kSocket = LocalityLevel::kSocket;
constexpr auto kNuma = LocalityLevel::kNuma;
constexpr auto kCache = LocalityLevel::kCache;

TEST(Places, FollowTheMachine) {
  expect_groups(localities("cori", 1024), 32, {{kSocket, 64}});
  expect_groups(localities("stampede2", 1536), 32, {{kSocket, 64}});
  expect_groups(localities("stremi", 768), 32, {{kSocket, 64}, {kNuma, 128}});
  expect_groups(localities("zoot", 16), 1, {{kSocket, 4}, {kCache, 8}});
  expect_groups(localities("flat", 100), 100, {});
}

TEST(Places, BoardsAreOutsideOfSockets) {
  expect_groups(localities("ig", 48), 1, {{kBoard, 2}, {kSocket, 8}});
}

// As far as they separate the nodes of the job.
TEST(Places, GroupsAndSwitchesAroundNodes) {
  const TeamNodes behind = localities("stampede2", 40, 1);
  ASSERT_EQ(behind.outer.size(), 1U);
  EXPECT_EQ(behind.outer[0].begin, (std::vector<std::int32_t>{0, 28, 40}));
  EXPECT_TRUE(localities("stampede2", 28, 1).outer.empty());
  EXPECT_TRUE(localities("stremi", 768).outer.empty());
  EXPECT_EQ(localities("cori", 1000, 1, Placement::kRandom).outer[0].begin,
            (std::vector<std::int32_t>{0, 384, 768, 1000}));
}

TEST(Places, FewerRanksPerNode) {
  expect_groups(localities("supermuc-ng", 64, 2), 32, {});  // one per socket
  expect_groups(localities("cori", 64, 8), 8, {{kSocket, 16}});
  const TeamNodes uneven = localities("cori", 10, 5);
  expect_groups(uneven, 2, {{kSocket, 4}});
  EXPECT_EQ(uneven.inner.front().begin, (std::vector<std::int32_t>{0, 3, 5, 8, 10}));
}

TEST(Places, LastGroupsMayBeSmaller) {
  expect_groups(localities("cori", 1000), 32, {{kSocket, 63}});
  expect_groups(localities("cori", 20), 1, {{kSocket, 2}});
}

// Any placement has its groups; only one at random needs a table.
TEST(Places, DealtRanks) {
  const TeamNodes in_order = localities("cori", 1024),
                  dealt = localities("cori", 1024, 0, Placement::kByNode);
  const TeamNodes random = localities("cori", 1024, 0, Placement::kRandom);
  expect_groups(dealt, 32, {{kSocket, 64}});
  expect_groups(random, 32, {{kSocket, 64}});
  EXPECT_TRUE(dealt.together(0, 32));
  EXPECT_EQ(dealt.bytes(), in_order.bytes());
  EXPECT_GE(random.bytes(), in_order.bytes() + 1024 * 2 * sizeof(std::int32_t));
}

}  // namespace
}  // namespace espalier::sim
