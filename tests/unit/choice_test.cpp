// Choices that were measured, predictions, and what is said of both.
#include <gtest/gtest.h>

#include "coll/choice/explain.hpp"

namespace espalier {
namespace {

constexpr esp_coll_options kAuto = ESP_COLL_OPTIONS_INIT;

PlanRequest base(Collective collective, std::int32_t size, std::uint64_t bytes) {
  PlanRequest request;
  request.collective = collective;
  request.size = size;
  request.elements = bytes / 8;
  request.element_bytes = 8;
  return request;
}

Tuning with(const std::string& rows) {
  Tuning tuning;
  tuning.cores = CoreClass::kOwn;
  auto profile = Profile::parse("espalier profile 1\nmade today\n" + rows, "there");
  EXPECT_TRUE(profile.ok()) << profile.error().text;
  if (profile.ok()) tuning.profile = std::make_shared<const Profile>(std::move(*profile));
  return tuning;
}

PlanRequest resolved(const PlanRequest& request, const Tuning& tuning,
                     const esp_coll_options& options = kAuto) {
  auto result = resolve(options, request, tuning);
  EXPECT_TRUE(result.ok());
  return result.ok() ? *result : request;
}

TEST(Choice, ARowGoesBeforeTheRules) {
  const Tuning tuning = with(
      "allreduce 8 1 - - 0     -    - - -    - - - -\n"
      "allreduce 8 1 - - 32768 ring - - 4096 8 - - -\n"
      "bcast     8 1 - - 0     tree binary - 8192 - - - -\n");
  const PlanRequest large = resolved(base(Collective::kAllreduce, 8, 1 << 20), tuning);
  EXPECT_EQ(large.algorithm, ESP_ALGORITHM_RING);
  EXPECT_EQ(large.segment_bytes, 4096U);
  EXPECT_EQ(large.window_send, 8);
  EXPECT_EQ(large.reason.line, 4);
  const PlanRequest small = resolved(base(Collective::kAllreduce, 8, 64), tuning);
  EXPECT_EQ(small.algorithm, ESP_ALGORITHM_PUBLISH) << "the row leaves it to the rules";
  EXPECT_EQ(small.reason.line, 3);
  const PlanRequest tree = resolved(base(Collective::kBcast, 8, 1 << 20), tuning);
  EXPECT_EQ(tree.shape, ESP_SHAPE_BINARY);
  EXPECT_EQ(tree.segment_bytes, 8192U);
  EXPECT_EQ(resolved(base(Collective::kReduce, 8, 64), tuning).reason.line, 0);
}

TEST(Choice, WhatTheCallNamesStays) {
  const Tuning tuning = with("allreduce 8 1 - - 0 ring - - 4096 - - - -\n");
  esp_coll_options options = kAuto;
  options.algorithm = ESP_ALGORITHM_HALVING;
  EXPECT_EQ(resolved(base(Collective::kAllreduce, 8, 1 << 20), tuning, options).algorithm,
            ESP_ALGORITHM_HALVING);
  options = kAuto;
  options.segment_bytes = 512;
  const PlanRequest cut = resolved(base(Collective::kAllreduce, 8, 1 << 20), tuning, options);
  EXPECT_EQ(cut.segment_bytes, 512U);
  EXPECT_EQ(cut.reason.line, 0);
  Tuning preferred = tuning;
  preferred.preferred_algorithm = ESP_ALGORITHM_SPREAD;
  EXPECT_EQ(resolved(base(Collective::kAllreduce, 8, 1 << 20), preferred).algorithm,
            ESP_ALGORITHM_SPREAD);
}

TEST(Choice, SettingsGoBeforeARow) {
  Tuning tuning = with("bcast 8 1 - - 0 tree chain - 4096 5 - - -\n");
  EXPECT_EQ(resolved(base(Collective::kBcast, 8, 1 << 20), tuning).segment_bytes, 4096U);
  tuning.segments_are_set = tuning.windows_are_set = true;
  tuning.segment_bytes_min = tuning.segment_bytes_max = 512;
  tuning.window_send = 3;
  const PlanRequest set = resolved(base(Collective::kBcast, 8, 1 << 20), tuning);
  EXPECT_EQ(set.segment_bytes, 512U);
  EXPECT_EQ(set.window_send, 3);
  EXPECT_EQ(set.shape, ESP_SHAPE_CHAIN);
}

// An operator that needs the order of ranks; a team that is no power of two.
TEST(Choice, ARowThatDoesNotFitIsNone) {
  const Tuning tuning = with(
      "allreduce 8 1 - - 0 ring     - - - - - - -\n"
      "allgather 6 1 - - 0 doubling - - - - - - -\n");
  PlanRequest ordered = base(Collective::kAllreduce, 8, 1 << 20);
  ordered.commutative = false;
  EXPECT_EQ(resolved(ordered, tuning).algorithm, ESP_ALGORITHM_TREE);
  EXPECT_EQ(resolved(base(Collective::kAllgather, 6, 64), tuning).algorithm, ESP_ALGORITHM_PUBLISH);
}

// Of several nodes trees follow the nodes as they do without a profile.
TEST(Choice, TreesOfARowFollowNodes) {
  const TeamNodes nodes = TeamNodes::of(std::vector<std::int32_t>{0, 0, 1, 1, 2, 2, 3, 3});
  Tuning tuning = with("bcast 8 4 tcp - 0 tree binomial - 65536 - - - -\n");
  tuning.network = NetworkClass::kTcp;
  PlanRequest request = base(Collective::kBcast, 8, 8 << 20);
  request.nodes.nodes = &nodes;
  const PlanRequest tree = resolved(request, tuning);
  EXPECT_TRUE(tree.nodes.follow);
  EXPECT_EQ(tree.shape, ESP_SHAPE_BINOMIAL);
  EXPECT_EQ(resolved(request, Tuning{}).shape, ESP_SHAPE_CHAIN);
  tuning.network = NetworkClass::kRdma;
  EXPECT_EQ(resolved(request, tuning).reason.line, 0) << "it was measured over tcp";
}

// One reader would copy all blocks, one after the other.
TEST(Choice, LargeBlocksOfAGatherAreWrittenByTheirSenders) {
  Tuning own;
  own.cores = CoreClass::kOwn;
  const auto path = [](Collective collective, std::int32_t ranks, std::uint64_t bytes,
                       const Tuning& tuning) {
    return resolved(base(collective, ranks, bytes), tuning).transfer.path;
  };
  EXPECT_EQ(path(Collective::kGather, 8, 1 << 20, own), Path::kPush);
  EXPECT_EQ(path(Collective::kGather, 8, 4096, own), Path::kAny);
  EXPECT_EQ(path(Collective::kGather, 2, 1 << 20, own), Path::kAny) << "one writer or one reader";
  EXPECT_EQ(path(Collective::kGather, 8, 1 << 20, {}), Path::kAny);
  EXPECT_EQ(path(Collective::kScatter, 8, 1 << 20, own), Path::kAny);
  own.transfer.path = Path::kCopy;
  EXPECT_EQ(path(Collective::kGather, 8, 1 << 20, own), Path::kCopy);
}

TEST(Choice, TheShortPathEndsWhereSomethingElseIsBetter) {
  const auto end = [](Collective collective, std::int32_t ranks, const Tuning& tuning,
                      std::uint64_t most = 16384) {
    return short_end(base(collective, ranks, 0), most, tuning);
  };
  Tuning own;
  own.cores = CoreClass::kOwn;
  EXPECT_EQ(end(Collective::kBcast, 8, own), 16385U);
  EXPECT_EQ(end(Collective::kAllreduce, 4, own), 16385U);
  EXPECT_EQ(end(Collective::kAllreduce, 16, own), 4097U);
  EXPECT_EQ(end(Collective::kAllreduce, 16, Tuning{}), 16385U);
  EXPECT_EQ(end(Collective::kAlltoall, 16, own), 1025U);
  EXPECT_EQ(end(Collective::kScan, 16, own), 113U);
  EXPECT_EQ(end(Collective::kGather, 16, own), 16385U);
  EXPECT_EQ(end(Collective::kAllgatherv, 16, own), 16385U);
  EXPECT_EQ(end(Collective::kScatter, 16, own), 1025U);
  EXPECT_EQ(end(Collective::kReduceScatterBlock, 16, own), 1025U);
  EXPECT_EQ(end(Collective::kReduceScatter, 16, own), 16385U) << "of all blocks";
  EXPECT_EQ(end(Collective::kGatherv, 16, own), 0U) << "only pairs know their lengths";
  const Tuning tuning = with(
      "allreduce 16 1 - - 0    short  - - - - - - -\n"
      "allreduce 16 1 - - 8192 spread - - - - - - -\n"
      "bcast     16 1 - - 0    -      - - - - - - -\n"
      "bcast     16 1 - - 512  tree   - - - - - - -\n"
      "reduce    16 1 - - 0    tree   - - - - - - -\n");
  EXPECT_EQ(end(Collective::kAllreduce, 16, tuning), 8192U);
  EXPECT_EQ(end(Collective::kBcast, 16, tuning), 512U);
  EXPECT_EQ(end(Collective::kReduce, 16, tuning), 0U);
  EXPECT_EQ(end(Collective::kBcast, 3, tuning), 16385U) << "nothing similar was measured";
}

std::optional<double> predicted(Collective collective, std::int32_t size, std::uint64_t bytes,
                                esp_algorithm algorithm, const TeamNodes* nodes = nullptr) {
  esp_coll_options options = kAuto;
  options.algorithm = algorithm;
  PlanRequest request = base(collective, size, bytes);
  request.nodes.nodes = nodes;
  const NetworkClass network = nodes != nullptr ? NetworkClass::kTcp : NetworkClass::kAny;
  return predict(resolved(request, {}, options), Costs::typical(network, CoreClass::kOwn));
}

// With one cost alone the longest path is what textbooks say.
TEST(Predict, CountsTheLongestPath) {
  Costs costs;
  costs.inside.latency = 1;
  const auto steps = [&](Collective collective, std::int32_t size, esp_algorithm algorithm,
                         esp_shape shape = ESP_SHAPE_AUTO) {
    esp_coll_options options = kAuto;
    options.algorithm = algorithm;
    options.shape = shape;
    return predict(resolved(base(collective, size, 8), {}, options), costs).value_or(-1);
  };
  EXPECT_EQ(steps(Collective::kBcast, 16, ESP_ALGORITHM_PUBLISH), 1);
  EXPECT_EQ(steps(Collective::kBcast, 16, ESP_ALGORITHM_TREE, ESP_SHAPE_BINOMIAL), 4);
  EXPECT_EQ(steps(Collective::kBcast, 16, ESP_ALGORITHM_TREE, ESP_SHAPE_CHAIN), 15);
  EXPECT_EQ(steps(Collective::kAllreduce, 16, ESP_ALGORITHM_DOUBLING), 4);
  EXPECT_EQ(steps(Collective::kAllgather, 16, ESP_ALGORITHM_RING), 15);
  EXPECT_EQ(steps(Collective::kAllgather, 16, ESP_ALGORITHM_BRUCK), 4);
  EXPECT_EQ(steps(Collective::kAlltoall, 16, ESP_ALGORITHM_BRUCK), 4);
}

// The root of a linear gather takes block after block; of a port everything goes one by one.
TEST(Predict, OneThingAtATime) {
  Costs costs;
  costs.inside.copy_per_byte = 1;
  costs.pull_bytes = 1 << 30;
  const auto gather = resolved(base(Collective::kGather, 5, 800), {});
  EXPECT_DOUBLE_EQ(predict(gather, costs).value_or(0), 4 * 800 + 800)
      << "each sender copies, the root copies four, its own while they do";
  Costs wire;
  wire.between.port_per_byte = 1;
  const TeamNodes nodes = TeamNodes::of(std::vector<std::int32_t>{0, 1, 2});
  PlanRequest scatter = base(Collective::kScatter, 3, 800);
  scatter.nodes.nodes = &nodes;
  EXPECT_DOUBLE_EQ(predict(resolved(scatter, {}), wire).value_or(0), 1600);
}

TEST(Predict, OrdersWhatIsKnownToDiffer) {
  const auto time = [](esp_algorithm algorithm, std::uint64_t bytes) {
    return predicted(Collective::kAllreduce, 16, bytes, algorithm).value_or(0);
  };
  EXPECT_LT(time(ESP_ALGORITHM_SPREAD, 4 << 20), time(ESP_ALGORITHM_TREE, 4 << 20));
  EXPECT_LT(time(ESP_ALGORITHM_DOUBLING, 8), time(ESP_ALGORITHM_RING, 8));
  EXPECT_LT(time(ESP_ALGORITHM_RING, 4 << 20), time(ESP_ALGORITHM_DOUBLING, 4 << 20));
  const TeamNodes nodes = TeamNodes::of(std::vector<std::int32_t>{0, 0, 0, 0, 1, 1, 1, 1});
  EXPECT_LT(predicted(Collective::kBcast, 8, 1 << 20, ESP_ALGORITHM_AUTO, &nodes),
            predicted(Collective::kBcast, 8, 1 << 20, ESP_ALGORITHM_PUBLISH, &nodes));
}

// Every algorithm of every regular collective, so that each plan completes here, too.
TEST(Predict, EveryPlan) {
  int plans = 0;
  for (std::size_t c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    if (is_irregular(collective) || traits_of(collective).neighbors) continue;
    for (const std::int32_t size : {1, 2, 5, 8}) {
      for (int a = ESP_ALGORITHM_SHORT + 1; a < ESP_ALGORITHM_COUNT; ++a) {
        const auto algorithm = static_cast<esp_algorithm>(a);
        if (!exists(algorithm, base(collective, size, 8))) continue;
        for (const std::uint64_t bytes : {8ULL, 500'000ULL}) {
          const auto ns = predicted(collective, size, bytes, algorithm);
          ASSERT_TRUE(ns) << collective_name(collective) << ' ' << algorithm_name(algorithm);
          EXPECT_TRUE(size == 1 || *ns > 0);
          ++plans;
        }
      }
    }
  }
  EXPECT_GT(plans, 150);
  EXPECT_FALSE(predicted(Collective::kAlltoallv, 4, 8, ESP_ALGORITHM_AUTO)) << "lengths differ";
}

TEST(Explain, SaysWhatWhyAndWhatComesNext) {
  Tuning rules;
  rules.cores = CoreClass::kOwn;
  const PlanRequest request = base(Collective::kAllreduce, 16, 1 << 20);
  std::string text = explain(kAuto, request, rules, false);
  EXPECT_EQ(text.find("allreduce of 1048576 bytes by 16 ranks on one node, own cores: spread"), 0U)
      << text;
  EXPECT_NE(text.find("each rank combines its share; predicted "), std::string::npos) << text;
  EXPECT_NE(text.find("; next "), std::string::npos) << text;
  text = explain(kAuto, base(Collective::kAllreduce, 4, 64), rules, true);
  EXPECT_NE(text.find("short: lines of shared memory"), std::string::npos) << text;
  EXPECT_NE(text.find("; next publish"), std::string::npos) << text;
  const Tuning measured = with("allreduce 16 1 - own 0 ring - - - - 31.25 spread 40\n");
  text = explain(kAuto, request, measured, false);
  EXPECT_NE(text.find("ring"), std::string::npos) << text;
  EXPECT_NE(text.find("as in there:3; measured 31.2 us at 0 bytes by 16 ranks; next spread, 40.0 "
                      "us there"),
            std::string::npos)
      << text;
  const Tuning left = with("allreduce 16 1 - own 0 - - - - 7 - - -\n");
  text = explain(kAuto, request, left, false);
  EXPECT_NE(text.find("as in there:3, windows of 7 and "), std::string::npos) << text;
  EXPECT_NE(text.find("; predicted "), std::string::npos) << text;
  const Tuning no_plan = with("allgather 16 1 - own 0 Bruck - 65 - - - - -\n");
  text = explain(kAuto, base(Collective::kAllgather, 16, 64), no_plan, false);
  EXPECT_NE(text.find("own cores: publish"), std::string::npos) << text;
  esp_coll_options impossible = kAuto;
  impossible.algorithm = ESP_ALGORITHM_BRUCK;
  text = explain(impossible, request, rules, false);
  EXPECT_NE(text.find("allreduce has no Bruck algorithm"), std::string::npos) << text;
}

}  // namespace
}  // namespace espalier
