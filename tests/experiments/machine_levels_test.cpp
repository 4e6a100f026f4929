// How machines group the ranks of a job.
#include "tools/esp-sim/machine_levels.hpp"

#include <gtest/gtest.h>

namespace espalier::sim {
namespace {

std::vector<std::int32_t> groups(const char* name, std::uint32_t ranks, std::uint32_t per_node,
                                 Placement placement = Placement::kByCore) {
  const auto machine = load_machine(name);
  EXPECT_TRUE(machine.ok()) << name;
  const auto map = Map::create(machine.value(), ranks, per_node, placement, 1);
  EXPECT_TRUE(map.ok()) << map.error().text;
  std::vector<std::int32_t> result;
  for (const TreeLevel& level : machine_levels(machine.value(), map.value(), ESP_SHAPE_CHAIN)) {
    if (level.ranks > 0) result.push_back(level.ranks);
  }
  return result;
}

using Groups = std::vector<std::int32_t>;

TEST(MachineLevels, FollowTheMachine) {
  EXPECT_EQ(groups("cori", 1024, 0), (Groups{16, 32}));
  EXPECT_EQ(groups("stampede2", 1536, 0), (Groups{24, 48}));
  EXPECT_EQ(groups("stremi", 768, 0), (Groups{6, 12, 24}));
  EXPECT_EQ(groups("zoot", 16, 0), (Groups{2, 4}));  // the node holds all
  EXPECT_EQ(groups("ig", 48, 0), (Groups{6, 24}));
  EXPECT_EQ(groups("flat", 100, 0), Groups{});
}

TEST(MachineLevels, FewerRanksPerNode) {
  EXPECT_EQ(groups("supermuc-ng", 64, 2), Groups{2});  // one per socket
  EXPECT_EQ(groups("cori", 64, 8), (Groups{4, 8}));
  EXPECT_EQ(groups("cori", 60, 6), (Groups{3, 6}));
}

TEST(MachineLevels, LastGroupsMayBeSmaller) {
  EXPECT_EQ(groups("cori", 1000, 0), (Groups{16, 32}));
  EXPECT_EQ(groups("cori", 20, 0), Groups{16});
}

// Five ranks on two sockets lie as 3 and 2: not equal runs.
TEST(MachineLevels, UnequalRunsAreLeftOut) {
  EXPECT_EQ(groups("cori", 50, 5), Groups{5});
}

TEST(MachineLevels, DealtRanksHaveNone) {
  EXPECT_EQ(groups("cori", 1024, 0, Placement::kByNode), Groups{});
  EXPECT_EQ(groups("cori", 1024, 0, Placement::kRandom), Groups{});
}

}  // namespace
}  // namespace espalier::sim
