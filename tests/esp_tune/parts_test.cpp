// What is measured, who takes part in a race, and who wins.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tools/esp-tune/call.hpp"
#include "tools/esp-tune/candidates.hpp"
#include "tools/esp-tune/options.hpp"
#include "tools/esp-tune/places.hpp"
#include "tools/esp-tune/race.hpp"
#include "tools/esp-tune/tuner.hpp"

namespace esp_tune {
namespace {

using espalier::Collective;
using espalier::CoreClass;
using espalier::NetworkClass;

std::set<std::string> names(const std::vector<esp_coll_options>& candidates) {
  std::set<std::string> result;
  for (const esp_coll_options& options : candidates) {
    EXPECT_TRUE(result.insert(short_name(options)).second) << "twice: " << short_name(options);
  }
  return result;
}

TEST(Candidates, OfTeams) {
  using Names = std::set<std::string>;
  EXPECT_EQ(names(first_candidates(Collective::kBcast, 2)),
            (Names{"rules", "tree/flat", "publish"}));
  EXPECT_EQ(names(first_candidates(Collective::kScan, 8)), (Names{"rules", "ring", "doubling"}));
  // XOR is for 2^n ranks.
  EXPECT_EQ(names(first_candidates(Collective::kAlltoall, 6)),
            (Names{"rules", "ring", "one-factor", "Bruck", "Bruck/4", "tree"}));
  EXPECT_EQ(names(first_candidates(Collective::kAlltoall, 4)).count("XOR"), 1U);
  const Names trees = names(first_candidates(Collective::kReduce, 8));
  EXPECT_EQ(trees, (Names{"rules", "tree/flat", "tree/chain", "tree/binomial", "tree/binary",
                          "tree/two-tree", "tree/k-nomial4", "tree/k-ary4"}));
}

TEST(Candidates, EveryAlgorithmOfEveryOperationTakesPart) {
  for (const Collective collective : tunable_operations()) {
    const auto candidates = first_candidates(collective, 8);
    ASSERT_FALSE(candidates.empty());
    EXPECT_TRUE(is_rules(candidates[0]));
    for (int k = ESP_ALGORITHM_TREE; k < ESP_ALGORITHM_COUNT; ++k) {
      const auto algorithm = static_cast<esp_algorithm>(k);
      const bool is_there =
          std::any_of(candidates.begin(), candidates.end(),
                      [&](const esp_coll_options& o) { return o.algorithm == algorithm; });
      EXPECT_EQ(is_there, has_algorithm(collective, algorithm))
          << collective_name(collective) << " " << espalier::algorithm_name(algorithm);
    }
  }
}

TEST(Candidates, SegmentsWhereThereAreSeveral) {
  const esp_coll_options rules = ESP_COLL_OPTIONS_INIT;
  EXPECT_TRUE(variations(Collective::kBcast, 4, 4096, rules).empty());
  EXPECT_TRUE(variations(Collective::kBarrier, 4, 0, rules).empty());
  EXPECT_EQ(names(variations(Collective::kBcast, 4, 65536, rules)),
            (std::set<std::string>{"rules/4K", "rules/16K", "rules/64K"}));
  esp_coll_options bruck = rules;
  bruck.algorithm = ESP_ALGORITHM_BRUCK;
  EXPECT_TRUE(variations(Collective::kAlltoall, 4, 65536, bruck).empty());
  EXPECT_EQ(names(variations(Collective::kAlltoall, 4, 8, rules)),
            (std::set<std::string>{"rules/w1"}));
  EXPECT_EQ(names(variations(Collective::kAlltoall, 18, 8, rules)),
            (std::set<std::string>{"rules/w1", "rules/w4", "rules/w64"}));
}

TEST(Race, Medians) {
  EXPECT_DOUBLE_EQ((Runner{ESP_COLL_OPTIONS_INIT, {4, 1, 3, 2, 5}, false}.median()), 3);
  EXPECT_DOUBLE_EQ((Runner{ESP_COLL_OPTIONS_INIT, {4, 1, 3, 2}, false}.median()), 2.5);
  EXPECT_DOUBLE_EQ((Runner{ESP_COLL_OPTIONS_INIT, {7}, false}.median()), 7);
}

std::vector<Runner> runners(const std::vector<std::vector<double>>& times) {
  std::vector<Runner> result;
  for (const auto& us : times) result.push_back({ESP_COLL_OPTIONS_INIT, us, us.empty()});
  return result;
}

TEST(Race, WhoIsFarBehindFallsOutButNeverTheRules) {
  auto all = runners({{30, 30, 30}, {10, 10, 10}, {19, 19, 60}, {21, 21, 21}});
  drop_slow(all, 2);
  EXPECT_FALSE(all[0].out);
  EXPECT_FALSE(all[1].out);
  EXPECT_FALSE(all[2].out);
  EXPECT_TRUE(all[3].out);
}

TEST(Race, ANamedOneWinsByMoreThanNoise) {
  const auto won = [](const std::vector<std::vector<double>>& times) {
    return judge(runners(times)).chosen;
  };
  EXPECT_EQ(won({{10, 10, 10, 10}, {8, 8, 8, 8}}), 1U);
  EXPECT_EQ(won({{10, 10, 10, 10}, {8, 8, 8, 8}, {7, 7, 7, 7}}), 2U);
  EXPECT_EQ(won({{10, 10, 10, 10}, {9.6, 9.6, 9.6, 9.6}}), 0U) << "less than 5 %";
  // Rounds that were slow for both prove nothing against it; each other's do.
  EXPECT_EQ(won({{10, 90, 10, 50, 10}, {8, 80, 8, 9, 12}}), 1U);
  EXPECT_EQ(won({{10, 90, 10, 10, 10}, {8, 8, 8, 12, 12}}), 0U);
  EXPECT_EQ(won({{10, 10, 10, 10}, {}}), 0U) << "refused";
  EXPECT_EQ(won({{10, 10, 10, 10}}), 0U);
}

TEST(Race, TheNextOneIsTheFastestOfTheOthers) {
  const auto next = [](const std::vector<std::vector<double>>& times) {
    return judge(runners(times)).next;
  };
  EXPECT_EQ(next({{10, 10}, {8, 8}, {9, 9}}), std::optional<std::size_t>(2));
  EXPECT_EQ(next({{10, 10}, {8, 8}, {12, 12}}), std::optional<std::size_t>(0));
  EXPECT_EQ(next({{10, 10}, {12, 12}, {11, 11}}), std::optional<std::size_t>(2));
  EXPECT_EQ(next({{10, 10}, {}}), std::nullopt);
}

TEST(Sizes, AreThoseThatFit) {
  EXPECT_EQ(sizes_of(Collective::kBarrier, 8, {8}), (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(sizes_of(Collective::kBcast, 8, {8, 64 << 20}),
            (std::vector<std::uint64_t>{8, 64 << 20}));
  EXPECT_EQ(sizes_of(Collective::kAlltoall, 8, {8, 64 << 20}), (std::vector<std::uint64_t>{8}));
  EXPECT_EQ(sizes_of(Collective::kAllreduce, 8, {}).back(), 4U << 20);
  EXPECT_EQ(sizes_of(Collective::kAllgather, 8, {}).back(), 2U << 20);
}

TEST(Sizes, BetweenTwo) {
  EXPECT_EQ(size_between(8, 32), 16U);
  EXPECT_EQ(size_between(8, 16), 0U);
  EXPECT_EQ(size_between(2048, 8192), 4096U);
  EXPECT_EQ(size_between(8, 8 << 10), 256U);
  EXPECT_EQ(size_between(0, 8), 0U);
}

TEST(Places, OnOneNode) {
  const auto places = places_of({0, 0, 0, 0, 0, 0}, {}, NetworkClass::kAny, CoreClass::kShared);
  ASSERT_EQ(places.size(), 3U);
  EXPECT_EQ(places[0].members, (std::vector<int>{0, 1}));
  EXPECT_EQ(places[1].members, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(places[2].members.size(), 6U);
  EXPECT_EQ(places[2].where.ranks, 6);
  EXPECT_EQ(places[2].where.nodes, 1);
  EXPECT_EQ(places[2].where.cores, CoreClass::kShared);
  EXPECT_EQ(places[2].where.network, NetworkClass::kAny);
}

TEST(Places, OnSeveralNodes) {
  const std::vector<int> by_block = {0, 0, 0, 0, 1, 1, 1, 1};
  const auto places = places_of(by_block, {2, 4, 5}, NetworkClass::kTcp, CoreClass::kOwn);
  ASSERT_EQ(places.size(), 3U);
  EXPECT_EQ(places[0].members, (std::vector<int>{0, 4}));
  EXPECT_EQ(places[0].where.nodes, 2);
  EXPECT_EQ(places[0].where.network, NetworkClass::kTcp);
  EXPECT_EQ(places[0].where.cores, CoreClass::kAny);
  EXPECT_EQ(places[1].members, (std::vector<int>{0, 1, 4, 5}));
  EXPECT_EQ(places[2].members, (std::vector<int>{0, 1, 2, 3, 4})) << "not evenly";
  // One of each of as many nodes; rank 0 takes part wherever it is.
  const auto few = places_of({0, 1, 2, 3, 0, 1, 2, 3}, {2}, NetworkClass::kTcp, CoreClass::kOwn);
  EXPECT_EQ(few[0].members, (std::vector<int>{0, 1}));
  // Nodes that are not alike.
  const auto uneven = places_of({0, 1, 1, 1}, {4}, NetworkClass::kRdma, CoreClass::kOwn);
  EXPECT_EQ(uneven[0].members, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(uneven[0].where.nodes, 2);
}

TEST(Places, WhatAJobsReportSays) {
  const std::string cpus = "cpus         2 for 8 ranks of this machine: a waiting rank ";
  const std::string peers =
      "peers\n  rank 0    pid 11       on a                this rank\n"
      "  rank 1    pid 12       on a                shm with CMA (rc: no)\n";
  EXPECT_EQ(cores_of(cpus + "gives its core away at once\n"), CoreClass::kShared);
  EXPECT_EQ(cores_of(cpus + "looks for a while before it sleeps\n"), CoreClass::kOwn);
  EXPECT_EQ(network_of(peers), NetworkClass::kAny);
  EXPECT_EQ(network_of(peers + "  rank 2    pid 13       on b                tcp, not yet\n"),
            NetworkClass::kTcp);
  EXPECT_EQ(network_of(peers + "  rank 2    pid 13       on b                rc, connected\n"),
            NetworkClass::kRdma);
}

}  // namespace
}  // namespace esp_tune
