// The machines that ship, and where the ranks of a job sit on them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "net/sim/machine.hpp"
#include "tests/unit/temporary_folder.hpp"

namespace espalier::sim {
namespace {

Machine machine(const std::string& name) {
  auto loaded = load_machine(name);
  EXPECT_TRUE(loaded.ok()) << loaded.error().text;
  return loaded.value();
}

Map make_map(const Machine& m, std::uint32_t ranks, std::uint32_t per_node,
             Placement placement = Placement::kByCore, std::uint64_t seed = 1) {
  auto map = Map::create(m, ranks, per_node, placement, seed);
  EXPECT_TRUE(map.ok()) << map.error().text;
  return map.value();
}

std::vector<std::uint64_t> cores(const Map& map) {
  std::vector<std::uint64_t> result;
  for (std::uint32_t rank = 0; rank < map.ranks(); ++rank) result.push_back(map.core(rank));
  return result;
}

TEST(ShippedMachines, AllParseAndSayWhereTheirNumbersComeFrom) {
  const std::vector<std::string> names = shipped_machines();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  const std::set<std::string> known(names.begin(), names.end());
  for (const char* name : {"cori", "flat", "ig", "parapluie", "psg", "ri2", "stampede2", "stremi",
                           "supermuc-ng", "zoot"}) {
    EXPECT_TRUE(known.count(name)) << name;
  }
  for (const std::string& name : names) {
    const auto loaded = load_machine(name);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text;
    EXPECT_EQ(loaded.value().name, name);
    EXPECT_NE(loaded.value().title, name);
    const std::size_t published = static_cast<std::size_t>(
        std::count_if(loaded.value().origins.begin(), loaded.value().origins.end(),
                      [](const Origin& o) { return o.kind == Origin::Kind::kPublished; }));
    EXPECT_EQ(published == 0, name == "flat") << "machines of the sources have published figures";
  }
}

TEST(ShippedMachines, SizesOfTheSources) {
  EXPECT_EQ(machine("cori").cores(), 7u * 384 * 32);
  EXPECT_EQ(machine("stampede2").cores(), 1736u * 48);
  EXPECT_EQ(machine("zoot").cores(), 16u);
  EXPECT_EQ(machine("ig").cores(), 48u);
  EXPECT_EQ(machine("stremi").cores(), 768u);
  EXPECT_EQ(machine("parapluie").cores(), 768u);
  EXPECT_EQ(machine("supermuc-ng").cores(), 6336u * 48);
  EXPECT_GE(machine("flat").cores(), 1048576u);
}

TEST(ShippedMachines, AreTheFilesOfTheFolder) {
  const auto from_file =
      load_machine(std::string(ESPALIER_SOURCE_DIR) + "/net/sim/machines/cori.machine");
  ASSERT_TRUE(from_file.ok());
  EXPECT_EQ(from_file.value().title, machine("cori").title);
  EXPECT_EQ(from_file.value().origins.size(), machine("cori").origins.size());
}

// tests/experiments/calibrate_test.py checks that calibrate.py writes this file.
TEST(LoadMachine, CalibratedFile) {
  const auto loaded =
      load_machine(std::string(ESPALIER_SOURCE_DIR) + "/tests/experiments/calibrated.machine");
  ASSERT_TRUE(loaded.ok()) << loaded.error().text;
  const Machine& m = loaded.value();
  EXPECT_EQ(m.cores(), 2u);
  EXPECT_EQ(m.levels[0].latency_ns, 50);
  EXPECT_EQ(m.levels[0].overhead_recv_ns, 100);
  EXPECT_NEAR(m.levels[0].ns_per_byte, 2000.0 / 65536, 1e-4);
}

TEST(LoadMachine, NamesTheNearestAndTheFileThatIsMissing) {
  const auto unknown = load_machine("corri");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().text.find("there is no machine \"corri\"; the nearest is \"cori\" "),
            0u);
  const auto missing = load_machine("./nowhere.machine");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().text,
            "cannot read the machine file ./nowhere.machine: No such file or directory");
  const TemporaryFolder folder;
  const auto folder_itself = load_machine(folder.path());
  ASSERT_FALSE(folder_itself.ok());
  EXPECT_NE(folder_itself.error().text.find("cannot read the machine file"), std::string::npos);
}

TEST(LoadMachine, ErrorsNameTheFileAsGiven) {
  const TemporaryFolder folder;
  const std::string path = folder.write("bad.machine", "# fine\nnonsense\n");
  const auto loaded = load_machine(path);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().text.find(path + ":2: "), 0u);
}

TEST(Placements, Names) {
  for (const Placement p :
       {Placement::kByCore, Placement::kByNode, Placement::kRandom, Placement::kBySocket}) {
    EXPECT_EQ(parse_placement(placement_name(p)).value(), p);
  }
  EXPECT_EQ(parse_placement("nodes").error().text,
            "there is no placement \"nodes\": write core, node, random or socket");
}

TEST(MapTest, ByCoreFillsNodes) {
  const Machine stremi = machine("stremi");  // 24 cores per node
  const Map map = make_map(stremi, 50, 0);
  for (std::uint32_t rank = 0; rank < 50; ++rank) EXPECT_EQ(map.core(rank), rank);
}

TEST(MapTest, ByNodeDealsRanksRound) {
  const Machine stremi = machine("stremi");
  // 50 ranks need 3 nodes of 24.
  const Map map = make_map(stremi, 50, 0, Placement::kByNode);
  EXPECT_EQ(map.core(0), 0u);
  EXPECT_EQ(map.core(1), 24u);
  EXPECT_EQ(map.core(2), 48u);
  EXPECT_EQ(map.core(3), 1u);
  EXPECT_EQ(map.core(49), 24u + 16);
}

TEST(MapTest, BySocketDealsANodesRanksRoundItsSockets) {
  const Machine ig = machine("ig");  // 8 sockets of 6 cores
  const Map full = make_map(ig, 48, 0, Placement::kBySocket);
  for (std::uint32_t r = 0; r < 48; ++r) EXPECT_EQ(full.core(r), r % 8 * 6 + r / 8);
  // 5 ranks of each node sit on cores 0, 9, 19, 28 and 38: three of them on the first socket.
  const Map uneven = make_map(machine("supermuc-ng"), 10, 5, Placement::kBySocket);
  EXPECT_EQ(cores(uneven), (std::vector<std::uint64_t>{0, 28, 9, 38, 19, 48, 76, 57, 86, 67}));
  const auto none = Map::create(machine("flat"), 4, 0, Placement::kBySocket, 1);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().text, "nodes of flat have no sockets");
}

TEST(MapTest, FewRanksPerNodeLieEvenly) {
  const Machine m = machine("supermuc-ng");
  const Map two = make_map(m, 4, 2);  // as the source ran: one rank per socket
  EXPECT_EQ(cores(two), (std::vector<std::uint64_t>{0, 24, 48, 72}));
  const Map five = make_map(m, 5, 5);
  EXPECT_EQ(cores(five), (std::vector<std::uint64_t>{0, 9, 19, 28, 38}));
}

TEST(MapTest, EveryRankHasACoreOfItsOwn) {
  for (const char* name : {"cori", "stremi", "supermuc-ng"}) {
    const Machine m = machine(name);
    for (const Placement placement :
         {Placement::kByCore, Placement::kByNode, Placement::kRandom, Placement::kBySocket}) {
      for (const std::uint32_t per_node : {0u, 1u, 2u, 5u, 20u}) {
        const Map map = make_map(m, 31, per_node, placement);
        std::vector<std::uint64_t> used = cores(map);
        std::sort(used.begin(), used.end());
        EXPECT_EQ(std::adjacent_find(used.begin(), used.end()), used.end());
        EXPECT_LT(used.back(), m.cores());
      }
    }
  }
}

TEST(MapTest, RandomPermutesByCoreAndFollowsTheSeed) {
  const Machine cori = machine("cori");
  std::vector<std::uint64_t> by_core = cores(make_map(cori, 100, 8));
  const auto random = [&](std::uint64_t seed) {
    return cores(make_map(cori, 100, 8, Placement::kRandom, seed));
  };
  EXPECT_NE(random(1), by_core);
  EXPECT_EQ(random(1), random(1));
  EXPECT_NE(random(1), random(2));
  std::vector<std::uint64_t> sorted = random(3);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, by_core);
}

TEST(MapTest, WhatDoesNotFit) {
  const Machine zoot = machine("zoot");
  const auto text = [&](std::uint32_t ranks, std::uint32_t per_node) {
    return Map::create(zoot, ranks, per_node, Placement::kByCore, 1).error().text;
  };
  EXPECT_EQ(text(0, 0), "a job needs at least 1 rank");
  EXPECT_EQ(text(17, 0), "17 ranks with 16 per node need 2 nodes, but zoot has 1");
  EXPECT_EQ(text(4, 17), "17 ranks per node, but a node of zoot has 16 cores");
  EXPECT_EQ(text(3, 2), "3 ranks with 2 per node need 2 nodes, but zoot has 1");
}

// Levels by hand. Zoot: node 4 sockets, socket 2 caches, cache 2 cores.
TEST(MapTest, LevelBetweenOnZoot) {
  const Machine zoot = machine("zoot");
  const Map map = make_map(zoot, 16, 0);
  const auto level = [&](std::uint32_t a, std::uint32_t b) {
    EXPECT_EQ(map.level_between(a, b), map.level_between(b, a));
    return zoot.levels[map.level_between(a, b)].name;
  };
  EXPECT_EQ(level(0, 1), "cache");
  EXPECT_EQ(level(1, 2), "socket");
  EXPECT_EQ(level(0, 3), "socket");
  EXPECT_EQ(level(3, 4), "node");
  EXPECT_EQ(level(0, 15), "node");
  EXPECT_EQ(level(14, 15), "cache");
}

// Cori: 384 nodes of 32 cores form a group.
TEST(MapTest, LevelBetweenOnCori) {
  const Machine cori = machine("cori");
  const Map map = make_map(cori, 384 * 32 + 1, 0);
  const auto level = [&](std::uint32_t a, std::uint32_t b) {
    return cori.levels[map.level_between(a, b)].name;
  };
  EXPECT_EQ(level(0, 15), "socket");
  EXPECT_EQ(level(0, 16), "node");
  EXPECT_EQ(level(31, 32), "group");
  EXPECT_EQ(level(0, 384 * 32 - 1), "group");
  EXPECT_EQ(level(0, 384 * 32), "cluster");
  EXPECT_EQ(map.unit(384 * 32, static_cast<std::size_t>(cori.find_level("group"))), 1u);
  EXPECT_EQ(map.unit(33, static_cast<std::size_t>(cori.find_level("node"))), 1u);
  EXPECT_EQ(map.unit(33, static_cast<std::size_t>(cori.find_level("socket"))), 2u);
}

TEST(MapTest, LevelBetweenFollowsThePlacement) {
  const Machine ig = machine("ig");
  // Ma, section 4.5: cross-socket placement puts rank r on core (r mod 8) 6 + r / 8. Here by hand:
  // cores 0 and 6 share a board, cores 0 and 24 do not.
  const Map map = make_map(ig, 48, 0);
  EXPECT_EQ(ig.levels[map.level_between(0, 5)].name, "socket");
  EXPECT_EQ(ig.levels[map.level_between(0, 6)].name, "board");
  EXPECT_EQ(ig.levels[map.level_between(0, 24)].name, "node");
  const Map dealt = make_map(machine("stremi"), 48, 0, Placement::kByNode);
  EXPECT_EQ(dealt.level_between(0, 1), 0u);  // neighbours are on different nodes
  EXPECT_EQ(machine("stremi").levels[dealt.level_between(0, 2)].name, "numa");
}

}  // namespace
}  // namespace espalier::sim
