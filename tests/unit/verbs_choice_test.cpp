// Which device, port and GID are taken, and what is said where none can be (net/verbs/choice.hpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/verbs/choice.hpp"
#include "net/verbs/verbs.hpp"

namespace espalier::verbs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr GidBytes kLinkLocal = {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x77, 0, 0xFF, 0xFE, 0, 0, 1};
constexpr GidBytes kGlobal = {0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr GidBytes kIpv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 77, 0, 1};

int chosen(const std::vector<Gid>& table, LinkLayer link = LinkLayer::kEthernet, int wanted = -1) {
  const auto gid = choose_gid(table, link, wanted);
  return gid ? gid.value().index : -1;
}

TEST(VerbsGid, RoceTakesVersion2AndIpv4First) {
  const Gid v1{0, GidType::kRoceV1, kLinkLocal}, local{1, GidType::kRoceV2, kLinkLocal},
      v1_ipv4{2, GidType::kRoceV1, kIpv4}, ipv4{3, GidType::kRoceV2, kIpv4},
      global{4, GidType::kRoceV2, kGlobal};
  EXPECT_EQ(chosen({v1, local, v1_ipv4, ipv4, global}), 3);
  EXPECT_EQ(chosen({v1, local, v1_ipv4, global}), 4);
  EXPECT_EQ(chosen({v1, local, v1_ipv4}), 1);
  EXPECT_EQ(chosen({v1, local, ipv4}, LinkLayer::kEthernet, 0), 0);  // Asked for.

  const auto none = choose_gid(std::vector{v1, v1_ipv4}, LinkLayer::kEthernet, -1);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().text, HasSubstr("no GID of RoCE version 2"));
  const auto absent = choose_gid(std::vector{v1}, LinkLayer::kEthernet, 9);
  ASSERT_FALSE(absent.ok());
  EXPECT_THAT(absent.error().text, HasSubstr("no GID of index 9"));
}

TEST(VerbsGid, InfinibandTakesTheFirst) {
  const Gid first{0, GidType::kInfiniband, kLinkLocal}, second{1, GidType::kInfiniband, kGlobal};
  EXPECT_EQ(chosen({first, second}, LinkLayer::kInfiniband), 0);
}

TEST(VerbsGid, IsShownAsAnAddress) {
  EXPECT_EQ(gid_text(kIpv4), "10.77.0.1");
  EXPECT_EQ(gid_text(kGlobal), "2001:db8::1");
}

PortInfo port(const char* device, int number, std::vector<int> cpus) {
  PortInfo info;
  info.device = device;
  info.port = number;
  info.state = "active";
  info.mtu_bytes = 4096;
  info.gid = {1, GidType::kRoceV2, kIpv4};
  info.cpus = std::move(cpus);
  info.atomics = true;
  return info;
}

class VerbsPorts : public ::testing::Test {
 protected:
  VerbsPorts() {
    auto loaded = load_machine("pack:2 [numa] l3:1 core:2 pu:1");
    EXPECT_TRUE(loaded.ok());
    machine_ = *loaded;
    ports_.push_back(port("left0", 1, {0, 1}));
    ports_.push_back(port("right0", 1, {2, 3}));
    ports_.push_back(port("right0", 2, {2, 3}));
    ports_.push_back(port("down0", 1, {2, 3}));
    ports_.back().why_not = "its link is down";
  }
  std::vector<std::string> chosen(const char* device, int cpu = 0, int node_rank = 0) {
    Options options;
    options.device = device;
    const auto found = choose_ports(
        ports_, options, machine_,
        {.place = machine_.cpus[static_cast<std::size_t>(cpu)], .node_rank = node_rank});
    if (!found) return {found.error().text};
    std::vector<std::string> names;
    for (const PortInfo& info : found.value()) names.push_back(info.name());
    return names;
  }

  Machine machine_;
  std::vector<PortInfo> ports_;
};

TEST(VerbsPort, OfAnotherKindIsNotUsable) {
  EXPECT_EQ(why_not_kind(Transport::kInfiniband, LinkLayer::kInfiniband), "");
  EXPECT_EQ(why_not_kind(Transport::kInfiniband, LinkLayer::kEthernet), "");
  for (const Transport transport : {Transport::kInfiniband, Transport::kOther}) {
    EXPECT_THAT(why_not_kind(transport, LinkLayer::kUnknown), HasSubstr("neither"));
  }
  EXPECT_THAT(why_not_kind(Transport::kOther, LinkLayer::kEthernet), HasSubstr("neither"));
  EXPECT_THAT(why_not_kind(Transport::kIwarp, LinkLayer::kEthernet), HasSubstr("iWARP"));
  PortInfo info = port("efa0", 1, {});
  info.link = LinkLayer::kUnknown;
  info.why_not = why_not_kind(Transport::kOther, info.link);
  EXPECT_EQ(describe(info), "efa0:1: not usable, it is neither InfiniBand nor RoCE");
}

TEST(VerbsPort, GoesIntoThePartitionOfItsFirstFullKey) {
  const auto index = [](const std::vector<std::uint16_t>& table) {
    const auto chosen = choose_partition(table);
    return chosen ? static_cast<int>(chosen.value()) : -1;
  };
  EXPECT_EQ(index({0xffff}), 0);
  EXPECT_EQ(index({0x7fff, 0x8001}), 1);
  EXPECT_EQ(index({0x7fff, 0, 0x8001, 0xffff}), 2);
  EXPECT_EQ(index({0, 0x0001, 0x7fff}), 1);
  EXPECT_EQ(index({0, 0}), -1);
  EXPECT_EQ(index({}), -1);
}

TEST_F(VerbsPorts, TheNearestIsFirst) {
  EXPECT_THAT(chosen("", 0), ElementsAre("left0:1", "right0:1", "right0:2"));
  EXPECT_THAT(chosen("", 2), ElementsAre("right0:1", "right0:2", "left0:1"));
}

TEST_F(VerbsPorts, RanksSpreadOverThoseThatAreEquallyNear) {
  EXPECT_THAT(chosen("", 2, 1), ElementsAre("right0:2", "right0:1", "left0:1"));
  EXPECT_THAT(chosen("", 2, 2), ElementsAre("right0:1", "right0:2", "left0:1"));
  EXPECT_THAT(chosen("", 0, 1), ElementsAre("left0:1", "right0:1", "right0:2"));
}

TEST_F(VerbsPorts, AFasterOneIsBetterThanANearerOne) {
  ports_[0].gbits = 25;
  ports_[1].gbits = ports_[2].gbits = 200;
  for (const int cpu : {0, 2}) {
    EXPECT_THAT(chosen("", cpu, 0), ElementsAre("right0:1", "right0:2", "left0:1"));
    EXPECT_THAT(chosen("", cpu, 1), ElementsAre("right0:2", "right0:1", "left0:1"));
  }
}

// Ports that do not reach each other are not dealt out: one kind of link, of address and, on
// InfiniBand, one subnet; whatever is near. The others are there if none of those can be opened.
TEST_F(VerbsPorts, RanksSpreadOverPortsThatReachEachOther) {
  ports_ = {port("local0", 1, {0, 1}), port("ipv4", 1, {0, 1}), port("global0", 1, {0, 1})};
  ports_[0].gid.bytes = kLinkLocal;
  ports_[2].gid.bytes = kGlobal;
  for (const int rank : {0, 1, 2}) {
    EXPECT_THAT(chosen("", 0, rank), ElementsAre("ipv4:1", "global0:1", "local0:1"));
  }
  ports_[1].cpus = {2, 3};
  EXPECT_THAT(chosen("", 0, 1), ElementsAre("ipv4:1", "global0:1", "local0:1"));

  // Packets of another size, or another partition, reach nobody there either.
  ports_ = {port("short0", 1, {0, 1}), port("long0", 1, {0, 1}), port("other0", 1, {0, 1})};
  ports_[0].mtu_bytes = 1024;
  ports_[1].partition_key = 0xFFFE;
  ports_[2].partition_key = 0xFFFF;
  for (const int rank : {0, 1, 2}) {
    EXPECT_THAT(chosen("", 0, rank), ElementsAre("long0:1", "other0:1", "short0:1"));
  }

  ports_ = {port("ethernet0", 1, {0, 1}), port("ib0", 1, {0, 1}), port("ib1", 1, {2, 3}),
            port("ib2", 1, {0, 1})};
  for (std::size_t i = 1; i < 4; ++i) {
    ports_[i].link = LinkLayer::kInfiniband;
    ports_[i].gid = {0, GidType::kInfiniband, kLinkLocal};
  }
  EXPECT_THAT(chosen("", 0, 0), ElementsAre("ib0:1", "ib2:1", "ib1:1", "ethernet0:1"));
  EXPECT_THAT(chosen("", 0, 1), ElementsAre("ib2:1", "ib0:1", "ib1:1", "ethernet0:1"));
  ports_[2].gid.bytes[1] = ports_[3].gid.bytes[1] = 0xC0;
  for (const int rank : {0, 1}) {
    EXPECT_THAT(chosen("", 0, rank), ElementsAre("ib0:1", "ib2:1", "ib1:1", "ethernet0:1"));
    EXPECT_THAT(chosen("", 2, rank), ElementsAre("ib0:1", "ib1:1", "ib2:1", "ethernet0:1"));
  }
  EXPECT_THAT(chosen("ethernet0,ib1", 0, 1), ElementsAre("ethernet0:1", "ib1:1"));
}

TEST_F(VerbsPorts, NamedOnesAreTakenInTheirOrder) {
  EXPECT_THAT(chosen("right0:2,left0"), ElementsAre("right0:2", "left0:1"));
  EXPECT_THAT(chosen("right0"), ElementsAre("right0:1", "right0:2"));
}

TEST_F(VerbsPorts, WhatCannotBeUsedIsExplained) {
  EXPECT_THAT(chosen("down0"), ElementsAre(HasSubstr("down0:1: its link is down")));
  EXPECT_THAT(chosen("right0:3"), ElementsAre(HasSubstr("there are: left0:1 right0:1")));
  for (const char* text : {":1", "left0:", "left0:x", "left0:0", "left0:1:2", "left0,,right0"}) {
    EXPECT_THAT(chosen(text), ElementsAre(HasSubstr("not of the form"))) << text;
  }
  ports_.clear();
  EXPECT_THAT(chosen(""), ElementsAre());
  EXPECT_THAT(chosen("left0"), ElementsAre(HasSubstr("there are: none")));
}

TEST_F(VerbsPorts, AreDescribed) {
  EXPECT_EQ(describe(ports_[0]), "left0:1 RoCE, active, MTU 4096, GID 1 (10.77.0.1)");
  EXPECT_EQ(describe(ports_[3]), "down0:1 RoCE: not usable, its link is down");
  ports_[0].link = LinkLayer::kInfiniband;
  ports_[0].lid = 7;
  ports_[0].atomics = false;
  EXPECT_THAT(describe(ports_[0]), HasSubstr("LID 7, no atomics"));
}

TEST(Verbs, WithoutADeviceThereIsAReason) {
  const auto ports = list_ports({});
  EXPECT_EQ(why_no_device().empty(), !ports.empty());
  EXPECT_EQ(open_adapter(port("nothing0", 1, {}), {}).ok(), false);
}

}  // namespace
}  // namespace espalier::verbs
