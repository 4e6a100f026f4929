#include "core/topology.hpp"

#include <gtest/gtest.h>
#include <hwloc.h>

#include <cstring>

#include "tests/unit/temporary_folder.hpp"

namespace espalier {
namespace {

// The machines of Ma's thesis (process distance, section 4.4.1) and two more.
constexpr const char* kZoot = "[numa(memory=32GB)] pack:4 l2:2 core:2 pu:1";
constexpr const char* kIg = "group:2 pack:4 [numa(memory=16GB)] l3:1 l2:6 core:1 pu:1";
constexpr const char* kParapluie = "pack:2 group:2 [numa(memory=12GB)] l3:1 core:6 pu:1";
constexpr const char* kThreads = "pack:2 [numa] l3:1 core:2 pu:2";

Machine machine(const char* description) {
  auto made = machine_from_hwloc(description);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().text);
  return made.ok() ? made.value() : Machine{};
}

int between(const Machine& m, std::size_t a, std::size_t b) {
  const int there = distance(m.cpus.at(a), m.cpus.at(b));
  EXPECT_EQ(there, distance(m.cpus.at(b), m.cpus.at(a)));
  return there;
}

TEST(Topology, Zoot) {
  const Machine m = machine(kZoot);
  ASSERT_EQ(m.cpus.size(), 16u);
  EXPECT_EQ(m.package_count(), 4);
  EXPECT_EQ(m.numa_count(), 1);
  EXPECT_EQ(m.llc_count(), 8);
  EXPECT_EQ(m.l3_bytes, 0u);
  EXPECT_EQ(between(m, 0, 1), 1);  // the same L2
  EXPECT_EQ(between(m, 0, 2), 2);  // the other die of the socket
  EXPECT_EQ(between(m, 0, 4), 3);  // another socket, one memory controller
  EXPECT_EQ(between(m, 3, 15), 3);
}

TEST(Topology, Ig) {
  const Machine m = machine(kIg);
  ASSERT_EQ(m.cpus.size(), 48u);
  EXPECT_EQ(m.board_count(), 2);
  EXPECT_EQ(m.numa_count(), 8);
  EXPECT_EQ(between(m, 0, 5), 1);   // the same L3
  EXPECT_EQ(between(m, 0, 12), 5);  // another socket of the board
  EXPECT_EQ(between(m, 0, 24), 6);  // the other board
  EXPECT_EQ(between(m, 23, 24), 6);
  EXPECT_EQ(between(m, 6, 23), 5);
}

TEST(Topology, Parapluie) {
  const Machine m = machine(kParapluie);
  ASSERT_EQ(m.cpus.size(), 24u);
  EXPECT_EQ(m.board_count(), 1) << "groups inside of packages are not boards";
  EXPECT_EQ(between(m, 0, 5), 1);
  EXPECT_EQ(between(m, 0, 6), 4);  // the other die: same socket, another memory controller
  EXPECT_EQ(between(m, 0, 12), 5);
}

// Every pair, counted: the whole distance matrix of IG and Zoot.
TEST(Topology, DistanceHistograms) {
  const auto histogram = [](const Machine& m) {
    std::vector<int> counts(8);
    for (const Locality& a : m.cpus) {
      for (const Locality& b : m.cpus) counts[static_cast<std::size_t>(distance(a, b))] += a != b;
    }
    return counts;
  };
  // Zoot: 1 partner in the L2, 2 in the socket, 12 elsewhere. IG: 5 in the L3, 18 on the board, 24.
  EXPECT_EQ(histogram(machine(kZoot)), (std::vector<int>{0, 16, 32, 192, 0, 0, 0, 0}));
  EXPECT_EQ(histogram(machine(kIg)), (std::vector<int>{0, 240, 0, 0, 0, 864, 1152, 0}));
}

TEST(Topology, WithoutAnyCacheOnlyTheCoreIsShared) {
  const Machine m = machine("pack:1 [numa] core:2 pu:2");
  EXPECT_EQ(between(m, 0, 1), 1);
  EXPECT_EQ(between(m, 0, 2), 2);
}

TEST(Topology, NumbersAreTheKernelsOrThoseOfTheFirstCpu) {
  const Machine m = machine(kThreads);
  ASSERT_EQ(m.cpus.size(), 8u);
  EXPECT_EQ(m.cpus[7],
            (Locality{.cpu = 7, .core = 6, .llc = 4, .numa = 1, .package = 1, .board = 0}));
  EXPECT_EQ(m.core_count(), 4);
}

TEST(Topology, ASetOfCpusIsWhereAllOfThemAre) {
  const Machine m = machine(kThreads);
  const int one_core[] = {2, 3};
  EXPECT_EQ(common_locality(m, one_core),
            (Locality{.cpu = -1, .core = 2, .llc = 0, .numa = 0, .package = 0, .board = 0}));
  const int both_packages[] = {0, 7};
  EXPECT_EQ(common_locality(m, both_packages), (Locality{.board = 0}));
  EXPECT_EQ(common_locality(m, {}), Locality{});
  // Unbound ranks share the board, nothing nearer.
  EXPECT_EQ(distance(common_locality(m, both_packages), common_locality(m, both_packages)), 5);
  EXPECT_EQ(distance(Locality{}, Locality{}), 5);
}

TEST(Topology, EmulatedMachinesDealOutCores) {
  const Machine m = machine(kThreads);
  EXPECT_TRUE(m.emulated);
  EXPECT_EQ(locality_of_rank(m, 0).cpu, 0);
  EXPECT_EQ(locality_of_rank(m, 1).cpu, 2);
  EXPECT_EQ(locality_of_rank(m, 3).cpu, 6);
  EXPECT_EQ(locality_of_rank(m, 5).cpu, 2);
}

TEST(Topology, OtherNodesAreFarthest) {
  const Machine m = machine(kThreads);
  const Location here{host_identity("node0"), m.cpus[0]};
  const Location there{host_identity("node1"), m.cpus[0]};
  EXPECT_EQ(distance(here, there), kDistanceOtherNode);
  EXPECT_EQ(distance(here, here), 1);
  // A card carries the bytes.
  Location copy;
  std::memcpy(&copy, &here, sizeof copy);
  EXPECT_EQ(copy, here);
}

TEST(Topology, BadDescriptionsAreExplained) {
  const auto text = [](const std::string& description) {
    const auto made = load_machine(description);
    if (made.ok()) return std::string("no error");
    EXPECT_EQ(made.error().status.code(), ESP_ERR_CONFIG);
    return made.error().text;
  };
  EXPECT_EQ(text("/nonexistent/machine.xml"),
            "TOPOLOGY: there is no file /nonexistent/machine.xml");
  EXPECT_EQ(text("machine.xml"), "TOPOLOGY: there is no file machine.xml");
  EXPECT_NE(text("pack:2 cow:1").find("neither a file nor an hwloc synthetic description"),
            std::string::npos);
  const TemporaryFolder folder;
  const std::string garbage = folder.write("garbage.xml", "this is not XML");
  EXPECT_NE(text(garbage).find(garbage), std::string::npos);
}

TEST(Topology, XmlFilesSayTheSameAsWhatTheyWereMadeFrom) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/ig.xml";
  hwloc_topology_t topology = nullptr;
  ASSERT_EQ(hwloc_topology_init(&topology), 0);
  ASSERT_EQ(hwloc_topology_set_synthetic(topology, kIg), 0);
  ASSERT_EQ(hwloc_topology_load(topology), 0);
  ASSERT_EQ(hwloc_topology_export_xml(topology, path.c_str(), 0), 0);
  hwloc_topology_destroy(topology);

  const auto made = load_machine(path);
  ASSERT_TRUE(made.ok()) << made.error().text;
  EXPECT_TRUE(made.value().emulated);
  EXPECT_EQ(made.value().cpus, machine(kIg).cpus);
}

TEST(Topology, ThisMachineIsReadAlikeInBothWays) {
  const auto by_hwloc = machine_from_hwloc("");
  const auto by_sysfs = machine_from_sysfs();
  ASSERT_TRUE(by_hwloc.ok() && by_sysfs.ok());
  const Machine& a = by_hwloc.value();
  const Machine& b = by_sysfs.value();
  if (a.emulated) GTEST_SKIP() << "HWLOC_* variables replace this machine";
  ASSERT_EQ(a.cpus.size(), b.cpus.size());
  for (std::size_t i = 0; i < a.cpus.size(); ++i) {
    EXPECT_EQ(a.cpus[i].cpu, b.cpus[i].cpu);
    EXPECT_EQ(a.cpus[i].core, b.cpus[i].core);
    EXPECT_EQ(a.cpus[i].package, b.cpus[i].package);
  }
  EXPECT_EQ(a.page_bytes, b.page_bytes);
  const Locality place = locality_of_rank(a, 0);
  EXPECT_EQ(place, common_locality(a, affinity_cpus()));
  EXPECT_NE(place.board, kUnknownLocality);
  EXPECT_EQ(current_locality(), common_locality(b, affinity_cpus()));
}

TEST(Topology, SysfsOfAMachineWithTwoPackages) {
  const TemporaryFolder folder;
  const std::string cpus = "devices/system/cpu/";
  folder.write(cpus + "online", "0-3\n");
  for (int cpu = 0; cpu < 4; ++cpu) {
    const std::string base = cpus + "cpu" + std::to_string(cpu) + "/";
    const std::string siblings = cpu % 2 == 0 ? "0,2\n" : "1,3\n";  // packages are interleaved
    folder.write(base + "topology/core_cpus_list", std::to_string(cpu) + "\n");
    folder.write(base + "topology/physical_package_id", std::to_string(cpu % 2) + "\n");
    folder.write(base + "node" + std::to_string(cpu % 2) + "/x", "");
    folder.write(base + "cache/index0/level", "1\n");
    folder.write(base + "cache/index0/type", "Data\n");
    folder.write(base + "cache/index0/size", "32K\n");
    folder.write(base + "cache/index0/shared_cpu_list", std::to_string(cpu) + "\n");
    folder.write(base + "cache/index1/level", "3\n");
    folder.write(base + "cache/index1/type", "Unified\n");
    folder.write(base + "cache/index1/size", "8192K\n");
    folder.write(base + "cache/index1/coherency_line_size", "128\n");
    folder.write(base + "cache/index1/shared_cpu_list", siblings);
  }
  const auto made = machine_from_sysfs(folder.path());
  ASSERT_TRUE(made.ok()) << made.error().text;
  const Machine& m = made.value();
  EXPECT_EQ(m.cpus.at(3),
            (Locality{.cpu = 3, .core = 3, .llc = 1, .numa = 1, .package = 1, .board = 0}));
  EXPECT_EQ(between(m, 0, 2), 1);
  EXPECT_EQ(between(m, 0, 1), 5);
  EXPECT_EQ(m.l1_bytes, 32u << 10);
  EXPECT_EQ(m.l3_bytes, 8u << 20);
  EXPECT_EQ(m.cache_line_bytes, 128u);
  EXPECT_EQ(m.huge_page_bytes, 0u);
  EXPECT_FALSE(machine_from_sysfs(folder.path() + "/absent").ok());

  // Where its devices are.
  folder.write("class/net/eth0/device/numa_node", "1\n");
  folder.write("class/net/eth1/device/numa_node", "-1\n");
  folder.write("devices/system/node/node1/cpulist", "1,3\n");
  EXPECT_EQ(device_locality("class/net/eth0", folder.path()), Locality{}) << "not told of others";
  folder.write("devices/system/node/online", "0-1\n");
  const Locality adapter = device_locality("class/net/eth0", folder.path());
  EXPECT_EQ(adapter, (Locality{.numa = 1, .package = 1, .board = 0}));
  EXPECT_EQ(distance(m.cpus.at(3), adapter), 2);
  EXPECT_EQ(distance(m.cpus.at(2), adapter), 5);
  for (const char* unknown : {"class/net/eth1", "class/net/lo", ""}) {
    EXPECT_EQ(device_locality(unknown, folder.path()), Locality{}) << unknown;
  }
  EXPECT_EQ(numa_locality(2, folder.path()), Locality{});
  folder.write("devices/system/node/online", "1\n");
  EXPECT_EQ(device_locality("class/net/eth0", folder.path()), Locality{}) << "all are as near";
}

TEST(Topology, AnInterfaceSaysHowFastItIs) {
  const TemporaryFolder folder;
  folder.write("class/net/eth0/speed", "25000\n");
  folder.write("class/net/tap0/speed", "-1\n");
  EXPECT_EQ(interface_mbits("class/net/eth0", folder.path()), 25000U);
  for (const char* unknown : {"class/net/tap0", "class/net/lo", ""}) {
    EXPECT_EQ(interface_mbits(unknown, folder.path()), 0U) << unknown;
  }
}

TEST(Topology, DescriptionShowsTheDistances) {
  const std::string text = describe(machine(kZoot));
  EXPECT_NE(text.find("16 CPUs, 16 cores, 8 last-level caches, 1 NUMA nodes, 4 packages"),
            std::string::npos);
  EXPECT_NE(text.find("\n    0   .   1   2   2   3   3"), std::string::npos);
}

}  // namespace
}  // namespace espalier
