#include "core/host.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

#include "tests/unit/temporary_folder.hpp"

namespace espalier {
namespace {

TEST(CpuList, ReadsWhatTheKernelWrites) {
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list(""), std::vector<int>{});
  EXPECT_EQ(parse_cpu_list("5"), std::vector<int>{5});
  for (const char* bad : {"3-1", "a", "1-", "-1", "1,,2", "1 2", "0-99999999", "1-2-3"}) {
    EXPECT_FALSE(parse_cpu_list(bad).has_value()) << bad;
  }
}

TEST(CpuList, Writes) {
  EXPECT_EQ(format_cpu_list(std::vector<int>{0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(format_cpu_list({}), "");
}

TEST(Host, TextFiles) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_text_file(folder.write("a", "two words \n\n")), "two words");
  EXPECT_EQ(read_text_file(folder.write("b", "")), "");
  EXPECT_EQ(read_text_file(folder.path() + "/absent"), std::nullopt);
  EXPECT_EQ(read_text_file(folder.path()), std::nullopt);
}

TEST(Host, IdentityTellsNodesApart) {
  const HostIdentity here = host_identity("");
  EXPECT_EQ(here, host_identity(""));
  EXPECT_NE(here.boot_hash, 0u);
  EXPECT_NE(here.pid_namespace, 0u);
  EXPECT_TRUE(host_identity("node0").same_node(host_identity("node0")));
  EXPECT_FALSE(host_identity("node0").same_node(host_identity("node1")));
  HostIdentity rebooted = here;
  rebooted.boot_hash ^= 1;
  EXPECT_FALSE(here.same_node(rebooted));
}

TEST(Host, HashMatchesFnv1a) {
  EXPECT_EQ(hash_text(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hash_text("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash_text("foobar"), 0x85944171f73967e8u);
}

TEST(Host, AffinityIsThatOfTheThread) {
  const std::vector<int> before = affinity_cpus();
  ASSERT_FALSE(before.empty());
  std::vector<int> inside;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(before.back()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    inside = affinity_cpus();
  }).join();
  EXPECT_EQ(inside, std::vector<int>{before.back()});
  EXPECT_EQ(affinity_cpus(), before);
}

TEST(Cgroup, Version2TakesTheSmallestQuotaOfAllLevels) {
  const TemporaryFolder root;
  root.write("proc/self/cgroup", "0::/job/step\n");
  EXPECT_EQ(cgroup_cpu_quota(root.path()), std::nullopt);
  root.write("sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root.path()), std::nullopt);
  root.write("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root.path()), 1.5);
  root.write("sys/fs/cgroup/job/step/cpu.max", "50000 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root.path()), 0.5);
  root.write("sys/fs/cgroup/job/step/cpu.max", "garbage");
  EXPECT_EQ(cgroup_cpu_quota(root.path()), 1.5);
}

TEST(Cgroup, InAContainerTheRootOfTheMountCounts) {
  const TemporaryFolder root;
  root.write("proc/self/cgroup", "0::/\n");
  root.write("sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root.path()), 3.0);
}

TEST(Cgroup, Version1) {
  const TemporaryFolder root;
  root.write("proc/self/cgroup", "4:memory:/a\n3:cpu,cpuacct:/a/b\n0::/\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root.path()), std::nullopt);
  root.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "250000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root.path()), 2.5);
}

TEST(Host, UsableCpusAreAffinityCutToTheQuota) {
  EXPECT_EQ(usable_cpus(8, std::nullopt), 8);
  EXPECT_EQ(usable_cpus(8, 1.5), 2);
  EXPECT_EQ(usable_cpus(2, 16.0), 2);
  EXPECT_EQ(usable_cpus(4, 0.1), 1);
  EXPECT_EQ(usable_cpus(0, std::nullopt), 1);
  EXPECT_GE(usable_cpus(), 1);
}

}  // namespace
}  // namespace espalier
