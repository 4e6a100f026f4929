// The machine format: values, and the exact complaint about every kind of bad line.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "net/sim/machine.hpp"
#include "net/sim/machine_text.hpp"
#include "net/sim/machine_values.hpp"

namespace espalier::sim {
namespace {

// A small correct machine; tests replace one line of it. Lines are numbered from 1.
constexpr const char* kLines[] = {
    /* 1*/ "title = A test",
    /* 2*/ "[level cluster]",
    /* 3*/ "arity = 1         # assumed: the machine",
    /* 4*/ "carrier = device  # published: a paper",
    /* 5*/ "latency = 1.5 us  # published: a paper",
    /* 6*/ "overhead = 0.2 us # assumed: a guess",
    /* 7*/ "gap = 100 ns      # assumed: a guess",
    /* 8*/ "lane = nic        # assumed: a guess",
    /* 9*/ "[level node]",
    /*10*/ "arity = 4         # measured: by counting",
    /*11*/ "carrier = pull    # assumed: a guess",
    /*12*/ "latency = 50 ns   # assumed: a guess",
    /*13*/ "overhead_send = 10 ns # assumed: a guess",
    /*14*/ "overhead_recv = 20 ns # assumed: a guess",
    /*15*/ "bandwidth = 5 GB/s # assumed: a guess",
    /*16*/ "[level core]",
    /*17*/ "arity = 8         # assumed: a guess",
    /*18*/ "[lane nic]",
    /*19*/ "per = node        # assumed: a guess",
    /*20*/ "bandwidth = 80 Gbit/s # published: a paper",
    /*21*/ "duplex = yes      # assumed: a guess",
    /*22*/ "[cma]",
    /*23*/ "call = 1 us       # assumed: a guess",
    /*24*/ "page = 0.1 us     # assumed: a guess",
    /*25*/ "reader = 50 ns    # assumed: a guess",
    /*26*/ "[compute]",
    /*27*/ "reduce = 4 GB/s   # assumed: a guess",
};

// The file with line `number` replaced (0: none); empty replacement: a blank line.
std::string file_with(std::size_t number, const std::string& replacement) {
  std::string text;
  for (std::size_t i = 0; i < std::size(kLines); ++i) {
    text += i + 1 == number ? replacement : std::string(kLines[i]);
    text += '\n';
  }
  return text;
}

std::string complaint(const std::string& text) {
  const auto machine = parse_machine(text, "m.machine");
  if (machine.ok()) return "no complaint";
  EXPECT_EQ(machine.error().status.code(), ESP_ERR_ARGUMENT);
  return machine.error().text;
}

std::string complaint(std::size_t number, const std::string& replacement) {
  return complaint(file_with(number, replacement));
}

TEST(MachineValues, Times) {
  EXPECT_EQ(parse_nanoseconds("0 ns"), 0.0);
  EXPECT_EQ(parse_nanoseconds("1.5 us"), 1500.0);
  EXPECT_EQ(parse_nanoseconds("2  ms"), 2e6);
  EXPECT_EQ(parse_nanoseconds("1 s"), 1e9);
  for (const char* bad : {"", "5", "us", "-1 us", "1us", "1 US", "1 GB/s", "nan us", "1e999 us"}) {
    EXPECT_FALSE(parse_nanoseconds(bad)) << bad;
  }
}

TEST(MachineValues, Bandwidths) {
  EXPECT_EQ(parse_ns_per_byte("1 GB/s"), 1.0);
  EXPECT_EQ(parse_ns_per_byte("8 Gbit/s"), 1.0);
  EXPECT_EQ(parse_ns_per_byte("2 MB/s"), 500.0);
  EXPECT_EQ(parse_ns_per_byte("1 TB/s"), 1e-3);
  EXPECT_EQ(parse_ns_per_byte("1 B/s"), 1e9);
  for (const char* bad : {"", "0 GB/s", "-1 GB/s", "1 GiB/s", "1 Gb/s", "1 us", "GB/s"}) {
    EXPECT_FALSE(parse_ns_per_byte(bad)) << bad;
  }
}

TEST(MachineValues, Bytes) {
  EXPECT_EQ(parse_bytes("0 B"), 0u);
  EXPECT_EQ(parse_bytes("16 KiB"), 16384u);
  EXPECT_EQ(parse_bytes("0.5 MiB"), 524288u);
  for (const char* bad : {"", "16", "16 KB", "-1 B", "0.5 B", "1e99 MiB"}) {
    EXPECT_FALSE(parse_bytes(bad)) << bad;
  }
}

TEST(MachineValues, Counts) {
  EXPECT_EQ(parse_count("1"), 1u);
  EXPECT_EQ(parse_count("4294967295"), 4294967295u);
  for (const char* bad : {"", "0", "-1", "4294967296", "1.5", "one"}) {
    EXPECT_FALSE(parse_count(bad)) << bad;
  }
}

TEST(MachineParse, GoodFile) {
  const auto parsed = parse_machine(file_with(0, ""), "some/where/small.machine");
  ASSERT_TRUE(parsed.ok()) << parsed.error().text;
  const Machine& m = parsed.value();
  EXPECT_EQ(m.name, "small");
  EXPECT_EQ(m.title, "A test");
  ASSERT_EQ(m.levels.size(), 3u);
  const Level& cluster = m.levels[0];
  EXPECT_EQ(cluster.name, "cluster");
  EXPECT_EQ(cluster.carrier, Carrier::kDevice);
  EXPECT_EQ(cluster.latency_ns, 1500);
  EXPECT_EQ(cluster.overhead_send_ns, 200);
  EXPECT_EQ(cluster.overhead_recv_ns, 200);
  EXPECT_EQ(cluster.gap_ns, 100);
  EXPECT_EQ(cluster.lane, 1u);
  EXPECT_EQ(cluster.ns_per_byte, 0.1);  // its lane's
  const Level& node = m.levels[1];
  EXPECT_EQ(node.carrier, Carrier::kPull);
  EXPECT_EQ(node.overhead_send_ns, 10);
  EXPECT_EQ(node.overhead_recv_ns, 20);
  EXPECT_EQ(node.gap_ns, 0);
  EXPECT_EQ(node.ns_per_byte, 0.2);
  EXPECT_EQ(node.lane, 0u);
  ASSERT_EQ(m.lanes.size(), 1u);
  EXPECT_EQ(m.lanes[0].per, "node");
  EXPECT_EQ(m.lanes[0].ns_per_byte, 0.1);
  EXPECT_TRUE(m.lanes[0].duplex);
  EXPECT_EQ(m.cma.call_ns, 1000);
  EXPECT_EQ(m.cma.page_ns, 100);
  EXPECT_EQ(m.cma.reader_ns, 50);
  EXPECT_EQ(m.reduce_ns_per_byte, 0.25);
  EXPECT_EQ(m.cores(), 32u);
  EXPECT_EQ(m.units(1), 4u);
  EXPECT_EQ(m.cores_per_unit(0), 32u);
  EXPECT_EQ(m.cores_per_unit(1), 8u);
  EXPECT_EQ(m.cores_per_unit(2), 1u);
  EXPECT_EQ(m.find_level("node"), 1);
  EXPECT_EQ(m.find_level("socket"), -1);
}

TEST(MachineParse, Device) {
  const auto without = parse_machine(file_with(0, ""), "m.machine");
  ASSERT_TRUE(without.ok());
  EXPECT_FALSE(without.value().device.any());
  const std::string section =
      "[device]\nto_host = 4 GB/s # assumed: x\nto_device = 8 GB/s # assumed: x\n"
      "latency = 8 us # assumed: x\npost = 2 us # assumed: x\nlaunch = 5 us # assumed: x\n";
  const std::string text = file_with(0, "") + section;
  EXPECT_EQ(complaint(text), "m.machine:28: [device] has no \"reduce\"");
  const auto parsed = parse_machine(text + "reduce = 100 GB/s # assumed: x\n", "m.machine");
  ASSERT_TRUE(parsed.ok()) << parsed.error().text;
  const DeviceCost& device = parsed.value().device;
  EXPECT_TRUE(device.any());
  EXPECT_EQ(device.to_host_ns_per_byte, 0.25);
  EXPECT_EQ(device.to_device_ns_per_byte, 0.125);
  EXPECT_EQ(device.latency_ns, 8000);
  EXPECT_EQ(device.post_ns, 2000);
  EXPECT_EQ(device.launch_ns, 5000);
  EXPECT_EQ(device.reduce_ns_per_byte, 0.01);
  EXPECT_EQ(complaint(text + "to_hosts = 1 GB/s # assumed: x\n"),
            "m.machine:34: [device] has no key \"to_hosts\"; the nearest known one is "
            "\"to_host\" (known: to_host, to_device, latency, post, launch, reduce, peer, "
            "peer_lanes, peer_across or peer_latency)");
}

TEST(MachineParse, DevicesThatReachOthers) {
  const std::string text =
      file_with(0, "") +
      "[device]\nto_host = 4 GB/s # assumed: x\nto_device = 8 GB/s # assumed: x\n"
      "latency = 8 us # assumed: x\npost = 2 us # assumed: x\nlaunch = 5 us # assumed: x\n"
      "reduce = 100 GB/s # assumed: x\n";
  const auto without = parse_machine(text, "m.machine");
  ASSERT_TRUE(without.ok());
  EXPECT_FALSE(without.value().device.reaches_peers());
  const std::string nvlink = "peer = 20 GB/s # assumed: x\npeer_lanes = own # assumed: x\n";
  const auto least = parse_machine(text + nvlink, "m.machine");
  ASSERT_TRUE(least.ok()) << least.error().text;
  EXPECT_TRUE(least.value().device.reaches_peers());
  EXPECT_EQ(least.value().device.peer.ns_per_byte, 0.05);
  EXPECT_EQ(least.value().device.peer.across_ns_per_byte, 0.05);
  EXPECT_EQ(least.value().device.peer.latency_ns, 8000);
  EXPECT_TRUE(least.value().device.peer.own_lanes);
  const auto all = parse_machine(text +
                                     "peer = 4 GB/s # assumed: x\npeer_lanes = host # assumed: x\n"
                                     "peer_across = 2 GB/s # assumed: x\n"
                                     "peer_latency = 3 us # assumed: x\n",
                                 "m.machine");
  ASSERT_TRUE(all.ok()) << all.error().text;
  EXPECT_EQ(all.value().device.peer.ns_per_byte, 0.25);
  EXPECT_EQ(all.value().device.peer.across_ns_per_byte, 0.5);
  EXPECT_EQ(all.value().device.peer.latency_ns, 3000);
  EXPECT_FALSE(all.value().device.peer.own_lanes);
}

TEST(MachineParse, PeerComplaints) {
  const std::string text =
      file_with(0, "") +
      "[device]\nto_host = 4 GB/s # assumed: x\nto_device = 8 GB/s # assumed: x\n"
      "latency = 8 us # assumed: x\npost = 2 us # assumed: x\nlaunch = 5 us # assumed: x\n"
      "reduce = 100 GB/s # assumed: x\n";
  EXPECT_EQ(complaint(text + "peer = 4 GB/s # assumed: x\n"),
            "m.machine:28: [device] has no \"peer_lanes\"");
  EXPECT_EQ(complaint(text + "peer_latency = 4 us # assumed: x\n"),
            "m.machine:28: [device] has no \"peer\"");
  EXPECT_EQ(complaint(text + "peer = 0 GB/s # assumed: x\npeer_lanes = own # assumed: x\n"),
            "m.machine:35: peer = \"0 GB/s\" is not a bandwidth: write a number above 0 and B/s, "
            "kB/s, MB/s, GB/s, TB/s, Mbit/s or Gbit/s, as in \"8 GB/s\"");
  EXPECT_EQ(complaint(text + "peer = 4 GB/s # assumed: x\npeer_lanes = nvlink # assumed: x\n"),
            "m.machine:36: peer_lanes = \"nvlink\" is neither host (PCIe: those to and from the "
            "host) nor own (NVLink)");
  EXPECT_EQ(complaint(text + "peer = 5 GB/s # assumed: x\npeer_lanes = host # assumed: x\n"),
            "m.machine:35: peer = \"5 GB/s\" is faster than the lanes that it takes, 4 GB/s: write "
            "that, or peer_lanes = own");
  EXPECT_EQ(complaint(text + "peer = 4 GB/s # assumed: x\npeer_across = 5 GB/s # assumed: x\n"
                             "peer_lanes = host # assumed: x\n"),
            "m.machine:36: peer_across = \"5 GB/s\" is faster than the lanes that it takes, 4 "
            "GB/s: write that, or peer_lanes = own");
}

TEST(MachineParse, Multicast) {
  const auto without = parse_machine(file_with(0, ""), "m.machine");
  ASSERT_TRUE(without.ok());
  EXPECT_FALSE(without.value().multicast.any());
  EXPECT_EQ(without.value().multicast.packets(5000), 1U);
  EXPECT_EQ(without.value().multicast.extra_ns(5000, 100), 0.0);
  const std::string section =
      "[multicast]\npacket = 4 KiB # assumed: x\nsetup = 0.1 us # assumed: x\n";
  const auto parsed =
      parse_machine(file_with(0, "") + section + "growth = 50 ns # assumed: x\n", "m.machine");
  ASSERT_TRUE(parsed.ok()) << parsed.error().text;
  const MulticastCost& cost = parsed.value().multicast;
  EXPECT_TRUE(cost.any());
  EXPECT_EQ(cost.packet_bytes, 4096U);
  EXPECT_EQ(cost.setup_ns, 100);
  EXPECT_EQ(cost.growth_ns, 50);
  EXPECT_EQ(cost.packets(0), 1U);
  EXPECT_EQ(cost.packets(4096), 1U);
  EXPECT_EQ(cost.packets(4097), 2U);
  EXPECT_DOUBLE_EQ(cost.extra_ns(4097, 1), 200);
  EXPECT_DOUBLE_EQ(cost.extra_ns(4097, 16), 2 * (100 + 50 * std::log(16.0)));
  EXPECT_EQ(complaint(file_with(0, "") + section), "no complaint");
}

TEST(MachineParse, MulticastComplaints) {
  const std::string text = file_with(0, "") + "[multicast]\n";
  EXPECT_EQ(complaint(text), "m.machine:28: [multicast] has no \"packet\"");
  EXPECT_EQ(complaint(text + "packet = 4 KiB # assumed: x\n"),
            "m.machine:28: [multicast] has no \"setup\"");
  EXPECT_EQ(complaint(text + "packet = 0 B # assumed: x\nsetup = 1 us # assumed: x\n"),
            "m.machine:29: packet = \"0 B\" carries nothing: leave [multicast] out where the "
            "network has no groups");
  EXPECT_EQ(complaint(text + "packets = 1 B # assumed: x\n"),
            "m.machine:29: [multicast] has no key \"packets\"; the nearest known one is "
            "\"packet\" (known: packet, setup or growth)");
}

TEST(MachineParse, Origins) {
  const auto parsed = parse_machine(file_with(0, ""), "small.machine");
  ASSERT_TRUE(parsed.ok());
  const std::vector<Origin>& origins = parsed.value().origins;
  ASSERT_EQ(origins.size(), 20u);  // every line with '#'
  EXPECT_EQ(origins[2].parameter, "level cluster: latency");
  EXPECT_EQ(origins[2].kind, Origin::Kind::kPublished);
  EXPECT_EQ(origins[2].text, "a paper");
  EXPECT_EQ(origins[6].parameter, "level node: arity");
  EXPECT_STREQ(origin_name(origins[6].kind), "measured");
  EXPECT_EQ(origins[19].parameter, "compute: reduce");
}

TEST(MachineParse, FormComplaints) {
  EXPECT_EQ(complaint(5, "latency 1.5 us"),
            "m.machine:5: \"latency 1.5 us\" is neither \"[section]\" nor \"key = value  # "
            "origin\"");
  EXPECT_EQ(complaint(5, "latency = # assumed: x"),
            "m.machine:5: \"latency =\" is neither \"[section]\" nor \"key = value  # origin\"");
  EXPECT_EQ(complaint(9, "[level node"),
            "m.machine:9: \"[level node\" does not end with ']': a section is \"[level NAME]\", "
            "\"[lane NAME]\", \"[cma]\", \"[multicast]\", \"[device]\" or \"[compute]\"");
  EXPECT_EQ(complaint(9, "[level cluster]"),
            "m.machine:9: [level cluster] is there already, in line 2: give each section once");
  EXPECT_EQ(complaint(7, "latency = 1 us # assumed: x"),
            "m.machine:7: \"latency\" is set already, in line 5: give each key once");
}

TEST(MachineParse, OriginComplaints) {
  const std::string wanted =
      "add \"# published: WHERE\", \"# measured: ON WHAT\" or \"# assumed: WHY\"";
  EXPECT_EQ(complaint(5, "latency = 1 us"),
            "m.machine:5: \"latency = 1 us\" has no origin: " + wanted);
  EXPECT_EQ(complaint(5, "latency = 1 us # somewhere"),
            "m.machine:5: \"latency = 1 us\" has no origin: " + wanted);
  EXPECT_EQ(complaint(5, "latency = 1 us # guessed: x"),
            "m.machine:5: \"latency = 1 us\" has no origin: " + wanted);
  EXPECT_EQ(
      complaint(5, "latency = 1 us # assumed:"),
      "m.machine:5: \"latency = 1 us\" is assumed, but the reason is missing after the colon");
  EXPECT_EQ(complaint(5, "latency = 1 us # published: "),
            "m.machine:5: \"latency = 1 us\" is published, but the source is missing after the "
            "colon");
  EXPECT_EQ(complaint(5, "latency = 1 us # measured:"),
            "m.machine:5: \"latency = 1 us\" is measured, but what it was measured on is missing "
            "after the colon");
}

TEST(MachineParse, UnknownWords) {
  EXPECT_EQ(complaint(9, "[levle node]"),
            "m.machine:9: there is no section [levle node]; the nearest known kind is \"level\" "
            "(known: level, lane, cma, multicast, device or compute)");
  EXPECT_EQ(complaint(9, "[level nod]"),
            "m.machine:9: there is no level \"nod\"; the nearest known one is \"node\" (from the "
            "outside: cluster, group, switch, node, board, socket, numa, cache or core)");
  EXPECT_EQ(complaint(9, "[level]"), "m.machine:9: [level] needs a name: \"[level NAME]\"");
  EXPECT_EQ(complaint(22, "[cma x]"), "m.machine:22: [cma x] takes no name: write \"[cma]\"");
  EXPECT_EQ(complaint(5, "latncy = 1 us # assumed: x"),
            "m.machine:5: [level cluster] has no key \"latncy\"; the nearest known one is "
            "\"latency\" (known: arity, carrier, pull_from, latency, overhead, overhead_send, "
            "overhead_recv, gap, bandwidth or lane)");
  EXPECT_EQ(complaint(17, "latency = 1 us # assumed: x"),
            "m.machine:17: [level core] has no key \"latency\"; the nearest known one is \"arity\" "
            "(known: arity)");
  EXPECT_EQ(complaint(1, "titel = x"),
            "m.machine:1: the top of the file has no key \"titel\"; the nearest known one is "
            "\"title\" (known: title)");
}

TEST(MachineParse, BadValues) {
  EXPECT_EQ(complaint(5, "latency = 5 # assumed: x"),
            "m.machine:5: latency = \"5\" is not a time: write a number and ns, us, ms or s, as in "
            "\"1.3 us\"");
  EXPECT_EQ(complaint(15, "bandwidth = 0 GB/s # assumed: x"),
            "m.machine:15: bandwidth = \"0 GB/s\" is not a bandwidth: write a number above 0 and "
            "B/s, kB/s, MB/s, GB/s, TB/s, Mbit/s or Gbit/s, as in \"8 GB/s\"");
  EXPECT_EQ(
      complaint(10, "arity = 0 # assumed: x"),
      "m.machine:10: arity = \"0\" is not a count: write a whole number from 1 to 4294967295");
  EXPECT_EQ(complaint(4, "carrier = nic # assumed: x"),
            "m.machine:4: carrier = \"nic\" is not a carrier: write device, copy or pull");
  EXPECT_EQ(complaint(21, "duplex = both # assumed: x"),
            "m.machine:21: duplex = \"both\" is neither yes nor no");
}

TEST(MachineParse, PullFrom) {
  const auto parsed = parse_machine(file_with(1, "title = A test"), "m.machine");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed.value().levels[1].pull_from_bytes, 0u);
  const std::string lines = "carrier = pull # assumed: x\npull_from = 16 KiB # assumed: x";
  const auto from = parse_machine(file_with(11, lines), "m.machine");
  ASSERT_TRUE(from.ok()) << from.error().text;
  EXPECT_EQ(from.value().levels[1].pull_from_bytes, 16384u);
  EXPECT_EQ(
      complaint(7, "pull_from = 16 # assumed: x"),
      "m.machine:7: pull_from = \"16\" is not a size: write a whole number and B, KiB or MiB, "
      "as in \"16 KiB\"");
  EXPECT_EQ(complaint(7, "pull_from = 16 KiB # assumed: x"),
            "m.machine:7: pull_from belongs to carrier pull: smaller messages are copied");
}

TEST(MachineParse, MissingKeys) {
  EXPECT_EQ(complaint(5, ""), "m.machine:2: [level cluster] has no \"latency\"");
  EXPECT_EQ(complaint(6, ""), "m.machine:2: [level cluster] has no \"overhead\"");
  EXPECT_EQ(complaint(13, ""), "m.machine:9: [level node] has no \"overhead_send\"");
  EXPECT_EQ(complaint(15, ""), "m.machine:9: [level node] has no \"bandwidth\"");
  EXPECT_EQ(complaint(17, ""), "m.machine:16: [level core] has no \"arity\"");
  EXPECT_EQ(complaint(19, ""), "m.machine:18: [lane nic] has no \"per\"");
  EXPECT_EQ(complaint(24, ""), "m.machine:22: [cma] has no \"page\"");
  EXPECT_EQ(complaint(27, ""), "m.machine:26: [compute] has no \"reduce\"");
  EXPECT_EQ(complaint(7, ""), "no complaint");  // gap: 0
  EXPECT_EQ(complaint(1, ""), "no complaint");  // title: the name
}

TEST(MachineParse, WhatDoesNotFitTogether) {
  EXPECT_EQ(
      complaint(13, "overhead = 5 ns # assumed: x"),
      "m.machine:13: \"overhead\" stands for \"overhead_send\" and \"overhead_recv\": give it "
      "or both of them");
  EXPECT_EQ(complaint(3, "arity = 2 # assumed: x"),
            "m.machine:3: [level cluster] is the outermost level, the machine itself: its arity is "
            "1, not 2");
  EXPECT_EQ(complaint(17, "arity = 4294967295 # assumed: x"),
            "m.machine:16: 17179869180 cores in all: at most 4294967295 can be numbered");
  EXPECT_EQ(complaint(8, "lane = nik # assumed: x"),
            "m.machine:8: there is no [lane nik]; the nearest is [lane nic]");
  EXPECT_EQ(complaint(19, "per = nde # assumed: x"),
            "m.machine:19: there is no [level nde]; the nearest is [level node]");
  EXPECT_EQ(complaint(7, "bandwidth = 11 GB/s # assumed: x"),
            "m.machine:7: one transfer of [level cluster] cannot be faster than its lane \"nic\", "
            "10 GB/s");
}

TEST(MachineParse, Structure) {
  EXPECT_EQ(complaint("[level node]\n"), "m.machine:1: [level node] has no \"arity\"");
  EXPECT_EQ(complaint(""),
            "m.machine:0: the innermost level is missing: end the levels with "
            "[level core]");
  const std::string core = "[level core]\narity = 1 # assumed: x\n";
  EXPECT_EQ(complaint(core), "m.machine:2: there is no [level node], by which ranks are placed");
  const std::string node =
      "[level node]\narity = 1 # assumed: x\ncarrier = copy # assumed: x\nlatency = 0 ns # "
      "assumed: x\noverhead = 0 ns # assumed: x\nbandwidth = 1 GB/s # assumed: x\n";
  EXPECT_EQ(complaint(node),
            "m.machine:1: the innermost level is missing: end the levels with [level core]");
  EXPECT_EQ(
      complaint(core + node),
      "m.machine:3: [level node] stands below [level core] of line 1; levels go from the "
      "outside to the inside: cluster, group, switch, node, board, socket, numa, cache, core");
  EXPECT_EQ(complaint(node + core), "m.machine:8: there is no section [compute] with reduce");
  const std::string compute = "[compute]\nreduce = 1 GB/s # assumed: x\n";
  EXPECT_EQ(complaint(node + core + compute), "no complaint");
  const std::string lane =
      "[lane x]\nper = node # assumed: x\nbandwidth = 1 GB/s # assumed: x\nduplex = no # assumed: "
      "x\n";
  EXPECT_EQ(complaint(node + core + compute + lane),
            "m.machine:11: no level uses [lane x]: add \"lane = x\" to one, or remove it");
  std::string pull = node;
  pull.replace(pull.find("copy"), 4, "pull");
  EXPECT_EQ(complaint(pull + core + compute),
            "m.machine:3: carrier pull needs a section [cma] with call, page and reader");
}

TEST(MachineParse, LinesAndComments) {
  const std::string text = "# a comment\r\n\n   # another\n" + file_with(0, "");
  EXPECT_EQ(complaint(text), "no complaint");
  EXPECT_EQ(complaint(text + "rubbish"),
            "m.machine:31: \"rubbish\" is neither \"[section]\" nor \"key = value  # origin\"");
}

}  // namespace
}  // namespace espalier::sim
