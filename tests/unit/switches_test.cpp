// Maps of switches: what is read of them, what is refused and why, and the distances between nodes.
#include "core/switches.hpp"

#include <gtest/gtest.h>

#include "core/topology.hpp"
#include "tests/unit/temporary_folder.hpp"

namespace espalier {
namespace {

SwitchMap parsed(std::string_view text) {
  auto map = SwitchMap::parse(text);
  EXPECT_TRUE(map.ok()) << (map.ok() ? "" : map.error().text);
  return map.ok() ? *map : SwitchMap();
}

std::string refusal(const std::string& setting) {
  const auto map = SwitchMap::load(setting);
  if (map.ok()) return "no error";
  EXPECT_EQ(map.error().status.code(), ESP_ERR_CONFIG);
  return map.error().text;
}

int between(const SwitchMap& map, std::string_view a, std::string_view b) {
  const auto at = [&](std::string_view node) {
    return Location{{.node_hash = hash_text(node)}, {}, map.find(node).value()};
  };
  EXPECT_EQ(distance(at(a), at(b)), distance(at(b), at(a)));
  return distance(at(a), at(b));
}

constexpr const char* kPods = R"(# two pods
SwitchName=leaf0 Nodes=n[00-03] LinkSpeed=100
SwitchName=leaf1 Nodes=n[04-05,07],n06   # in any order
switchname=leaf2 nodes=n08,n09

SwitchName=pod0 Switches=leaf[0-1]
SwitchName=pod1 Switches=leaf2 Nodes=login
SwitchName=top Switches=pod[0-1]
)";

TEST(Switches, DistancesFromSevenOn) {
  const SwitchMap map = parsed(kPods);
  EXPECT_EQ(between(map, "n00", "n00"), 5) << "one node, unbound";
  EXPECT_EQ(between(map, "n00", "n03"), kDistanceOtherNode);
  EXPECT_EQ(between(map, "n06", "n07"), kDistanceOtherNode);
  EXPECT_EQ(between(map, "n03", "n04"), 8);
  EXPECT_EQ(between(map, "n03", "n08"), 9);
  EXPECT_EQ(between(map, "login", "n09"), 8) << "a node at the pod's own switch";
  EXPECT_EQ(between(map, "login", "n00"), 9);
  const Location known{{.node_hash = 1}, {}, *map.find("n00")};
  const Location first{{.node_hash = 2}, {}, map.alone(1)};
  const Location second{{.node_hash = 3}, {}, map.alone(2)};
  EXPECT_EQ(distance(known, first), 10);
  EXPECT_EQ(distance(first, second), 10);
  EXPECT_FALSE(map.find("n10").has_value());
  EXPECT_FALSE(map.find("n0").has_value());
}

TEST(Switches, UnknownOnesSeparateNobody) {
  const Location here{{.node_hash = 1}, {}}, there{{.node_hash = 2}, {}};
  EXPECT_EQ(distance(here, there), kDistanceOtherNode);
}

TEST(Switches, OneLineAndFilesSayTheSame) {
  const SwitchMap line = parsed("SwitchName=a Nodes=x[1-2]; SwitchName=b Nodes=y1,y2;");
  EXPECT_EQ(between(line, "x1", "x2"), 7);
  EXPECT_EQ(between(line, "x1", "y2"), 8) << "no switch above them";
  const TemporaryFolder folder;
  auto file = SwitchMap::load(folder.write("map", kPods));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->find("n05"), parsed(kPods).find("n05"));
  EXPECT_NE(file->digest(), line.digest());
  EXPECT_TRUE(SwitchMap::load("")->empty());
  EXPECT_EQ(SwitchMap::load("")->digest(), 0U);
}

TEST(Switches, NamesWithDomainsAndSuffixes) {
  const SwitchMap map = parsed("SwitchName=a Nodes=r[0-1]n[8-10]-ib,host.one.org,h2");
  for (const char* node : {"r0n8-ib", "r1n10-ib", "r1n9-ib.cluster.org", "host.one.org", "h2.x"}) {
    EXPECT_TRUE(map.find(node).has_value()) << node;
  }
  for (const char* node : {"r0n08-ib", "r2n8-ib", "r0n8", "host", "", "."}) {
    EXPECT_FALSE(map.find(node).has_value()) << node;
  }
}

// Of four levels the outermost is left out: what it separates is as far as pods are.
TEST(Switches, MoreLevelsThanAreKept) {
  const SwitchMap map = parsed(
      "SwitchName=a Nodes=n1;SwitchName=b Nodes=n2;SwitchName=p1 Switches=a;SwitchName=p2 "
      "Switches=b;SwitchName=q1 Switches=p1;SwitchName=q2 Switches=p2;SwitchName=t Switches=q1,q2");
  EXPECT_EQ(between(map, "n1", "n2"), 10);
}

TEST(Switches, WhatIsRefused) {
  EXPECT_EQ(refusal("SwitchName=a Nodes=n[0-3]; SwitchName=b Nodes=n3"), "node n3 is there twice");
  EXPECT_EQ(refusal("SwitchName=a Nodes=n1; SwitchName=a Nodes=n2"), "switch a is there twice");
  EXPECT_EQ(refusal("SwitchName=a Switches=b"), "there is no switch b");
  EXPECT_EQ(refusal("SwitchName=a Nodes=n1; SwitchName=b Switches=a; SwitchName=c Switches=a"),
            "switch a is below two others");
  EXPECT_EQ(refusal("SwitchName=a Switches=b; SwitchName=b Switches=a"),
            "switches are below each other in a circle");
  for (const char* bad :
       {"SwitchName=a", "Nodes=n1", "SwitchName=a Node=n1", "SwitchName=a Nodes=", "a=b",
        "SwitchName=a Nodes=n1 Nodes=n2", "SwitchName= Nodes=n1", "SwitchName=a Nodes n1"}) {
    EXPECT_NE(refusal(bad).find("is not SwitchName=NAME with Nodes=LIST or Switches=LIST"),
              std::string::npos)
        << bad;
  }
  for (const char* bad : {"n[", "n[]", "n[1-]", "n[-1]", "n[3-1]", "n[a]", "n]", "n1,,n2",
                          "n[0-99999999]", "n[0-9999][0-9999]", "n[1-2-3]"}) {
    EXPECT_NE(refusal(std::string("SwitchName=a Nodes=") + bad).find("is no name"),
              std::string::npos)
        << bad;
  }
  EXPECT_NE(refusal("/nonexistent/map").find("neither a file that can be read nor a map"),
            std::string::npos);
  const TemporaryFolder folder;
  const std::string garbage = folder.write("garbage", "this is no map");
  EXPECT_EQ(refusal(garbage).find(garbage + ": "), 0U);
}

}  // namespace
}  // namespace espalier
