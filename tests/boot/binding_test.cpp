// --bind on machines that this one is not, and the environment of a rank.
#include "tools/esp-run/binding.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "tools/esp-run/binding_report.hpp"
#include "tools/esp-run/environment.hpp"
#include "tools/esp-run/exit_codes.hpp"

namespace esp_run {
namespace {

Topology machine(const char* description) {
  hwloc_topology_t raw = nullptr;
  EXPECT_EQ(hwloc_topology_init(&raw), 0);
  Topology topology(raw);
  EXPECT_EQ(hwloc_topology_set_synthetic(raw, description), 0);
  EXPECT_EQ(hwloc_topology_load(raw), 0);
  return topology;
}

std::vector<std::string> texts(const Topology& topology, Binding binding) {
  std::vector<std::string> result;
  for (const BindingPlace& place : binding_places(topology.get(), binding)) {
    result.push_back(place.name + ": " + place.cpus);
  }
  return result;
}

using Texts = std::vector<std::string>;

TEST(Binding, EveryLevelOfAMachine) {
  const Topology two_sockets = machine("pack:2 [numa] l3:2 core:2 pu:2");
  EXPECT_EQ(texts(two_sockets, Binding::kNone), Texts());
  EXPECT_EQ(texts(two_sockets, Binding::kSocket), (Texts{"socket 0: 0-7", "socket 1: 8-15"}));
  EXPECT_EQ(texts(two_sockets, Binding::kNuma),
            (Texts{"numa 0 of socket 0: 0-7", "numa 1 of socket 1: 8-15"}));
  EXPECT_EQ(texts(two_sockets, Binding::kL3),
            (Texts{"l3 0 of socket 0: 0-3", "l3 1 of socket 0: 4-7", "l3 2 of socket 1: 8-11",
                   "l3 3 of socket 1: 12-15"}));
  const Texts cores = texts(two_sockets, Binding::kCore);
  ASSERT_EQ(cores.size(), 8u);
  EXPECT_EQ(cores[5], "core 5 of socket 1: 10-11");
  const Texts threads = texts(two_sockets, Binding::kHwthread);
  ASSERT_EQ(threads.size(), 16u);
  EXPECT_EQ(threads[11], "hwthread 11 of socket 1: 11");
  const auto places = binding_places(two_sockets.get(), Binding::kL3);
  EXPECT_EQ(places[1].mask, CpuMask{0xf0});
}

TEST(Binding, WithinTheAllowedCpus) {
  const Topology some = machine("pack:2 l3:2 core:2 pu:1");
  hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
  hwloc_bitmap_list_sscanf(allowed, "1,6-7");
  ASSERT_EQ(hwloc_topology_restrict(some.get(), allowed, 0), 0);
  hwloc_bitmap_free(allowed);
  EXPECT_EQ(texts(some, Binding::kSocket), (Texts{"socket 0: 1", "socket 1: 6-7"}));
  EXPECT_EQ(texts(some, Binding::kL3), (Texts{"l3 0 of socket 0: 1", "l3 1 of socket 1: 6-7"}));
  EXPECT_EQ(all_cpus(some.get()), "1,6-7");
}

TEST(Binding, WhatIsNotThereIsRefusedWithWhatThereIs) {
  const Topology plain = machine("numa:1 core:2 pu:2");
  try {
    (void)binding_places(plain.get(), Binding::kL3);
    FAIL() << "there is no such cache";
  } catch (const LaunchError& refused) {
    EXPECT_STREQ(refused.what(),
                 "--bind l3: this machine shows none (it has 1 numa, 2 core, 4 hwthread)");
    EXPECT_EQ(refused.code(), kLauncherFailed);
  }
}

TEST(Binding, RanksGoRoundAndAreReportedOnce) {
  JobPlan plan;
  plan.options.ranks = 3;
  plan.options.nodes = 2;
  plan.options.binding = Binding::kCore;
  plan.node_names = {"here-node0", "here-node1"};
  plan.topology = machine("pack:1 core:2 pu:2");
  place_ranks(plan);
  EXPECT_EQ(binding_report(plan),
            "esp-run: rank 0 on here-node0: not bound, CPUs 0-3\n"
            "esp-run: rank 1 on here-node1: not bound, CPUs 0-3\n"
            "esp-run: rank 2 on here-node1: not bound, CPUs 0-3\n");
  plan.places = binding_places(plan.topology.get(), plan.options.binding);
  EXPECT_EQ(binding_report(plan),
            "esp-run: rank 0 on here-node0: bound to core 0 of socket 0, CPUs 0-1\n"
            "esp-run: rank 1 on here-node1: bound to core 1 of socket 0, CPUs 2-3\n"
            "esp-run: rank 2 on here-node1: bound to core 0 of socket 0, CPUs 0-1\n");
  EXPECT_EQ(crowding_note(plan), "--bind core: 3 ranks on 2 cores: some ranks share one");
  plan.options.ranks = 2;
  EXPECT_EQ(crowding_note(plan), "");
}

TEST(Environment, WhatIsAddedReplaces) {
  ASSERT_EQ(setenv("ESP_TEST_ONE", "outer", 1), 0);
  const std::vector<std::string> added{"ESP_TEST_TWO=first", "ESP_TEST_ONE=inner",
                                       "ESP_TEST_TWO=last"};
  const Environment environment(added);
  Texts found;
  for (char* const* variable = environment.data(); *variable != nullptr; ++variable) {
    const std::string text(*variable);
    if (text.starts_with("ESP_TEST_")) found.push_back(text);
  }
  EXPECT_EQ(found, (Texts{"ESP_TEST_ONE=inner", "ESP_TEST_TWO=last"}));
  unsetenv("ESP_TEST_ONE");
}

}  // namespace
}  // namespace esp_run
