// Choice of algorithm, shape, segments and windows.
#include "coll/choice/choose.hpp"
#include "tests/unit/plan_cases.hpp"

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

PlanRequest resolved(const PlanRequest& request, const esp_coll_options& options = kAuto) {
  const Result<PlanRequest> result = resolve(options, request);
  if (result.ok()) return result.value();
  ADD_FAILURE() << result.error().text;
  return request;
}

std::string refusal(const esp_coll_options& options) {
  const Result<PlanRequest> result = resolve(options, base(Collective::kBcast, 4, 64));
  if (result.ok()) return "accepted";
  EXPECT_EQ(result.error().status.code(), ESP_ERR_ARGUMENT);
  return result.error().text;
}

TEST(Choose, Algorithms) {
  EXPECT_EQ(resolved(base(Collective::kBcast, 8, 8)).algorithm, ESP_ALGORITHM_PUBLISH);
  EXPECT_EQ(resolved(base(Collective::kReduce, 8, 8)).algorithm, ESP_ALGORITHM_TREE);
  EXPECT_EQ(resolved(base(Collective::kReduce, 8, 8)).shape, ESP_SHAPE_FLAT);
  EXPECT_EQ(resolved(base(Collective::kReduce, 17, 8)).shape, ESP_SHAPE_KNOMIAL);
  EXPECT_EQ(resolved(base(Collective::kReduce, 17, 8)).radix, 4);
  EXPECT_EQ(resolved(base(Collective::kBarrier, 8, 0)).algorithm, ESP_ALGORITHM_TREE);
  EXPECT_EQ(resolved(base(Collective::kAllreduce, 8, 16384)).algorithm, ESP_ALGORITHM_PUBLISH);
  EXPECT_EQ(resolved(base(Collective::kAllreduce, 64, 16384)).algorithm, ESP_ALGORITHM_TREE);
  EXPECT_EQ(resolved(base(Collective::kAllreduce, 8, 16392)).algorithm, ESP_ALGORITHM_SPREAD);
  PlanRequest ordered = base(Collective::kAllreduce, 8, 1 << 20);
  ordered.commutative = false;
  EXPECT_EQ(resolved(ordered).algorithm, ESP_ALGORITHM_TREE);
}

// One hop for little; for much everybody at work, or every head where nodes have several members.
TEST(Choose, AllreduceBetweenNodes) {
  const TeamNodes apart = TeamNodes::of(std::vector<std::int32_t>{0, 1, 2, 3});
  const TeamNodes pairs = TeamNodes::of(std::vector<std::int32_t>{0, 0, 1, 1});
  const auto chosen = [](const TeamNodes& nodes, std::uint64_t bytes, bool commutative = true) {
    PlanRequest request = base(Collective::kAllreduce, 4, bytes);
    request.commutative = commutative;
    request.nodes.nodes = &nodes;
    return resolved(request);
  };
  EXPECT_GT(chosen(apart, 131064).nodes.exchange_radix, 0);
  EXPECT_EQ(chosen(apart, 131072).algorithm, ESP_ALGORITHM_SPREAD);
  EXPECT_EQ(chosen(apart, 180000, false).nodes.exchange_radix, 0)
      << "a head would receive too much";
  EXPECT_EQ(chosen(apart, 1 << 20).segment_bytes, 131072U);
  EXPECT_EQ(chosen(apart, 1 << 20, false).algorithm, ESP_ALGORITHM_TREE);
  EXPECT_GT(chosen(pairs, 524288).nodes.exchange_radix, 0);
  EXPECT_EQ(chosen(pairs, 524296).nodes.exchange_radix, 0);
  for (const bool commutative : {true, false}) {
    const PlanRequest large = chosen(pairs, 1 << 20, commutative);
    EXPECT_EQ(large.algorithm, ESP_ALGORITHM_TREE);
    EXPECT_TRUE(large.nodes.follow);
    EXPECT_TRUE(large.nodes.spread);
  }
  EXPECT_FALSE(chosen(pairs, 131072).nodes.spread);
  EXPECT_EQ(chosen(pairs, 1 << 20).segment_bytes, 262144U) << "a quarter";
  // One of rank order cannot follow nodes that it goes to and fro between.
  const TeamNodes mixed = TeamNodes::of(std::vector<std::int32_t>{0, 1, 0, 1});
  EXPECT_TRUE(chosen(mixed, 1 << 20).nodes.spread);
  EXPECT_FALSE(chosen(mixed, 1 << 20, false).nodes.spread);
}

// Steps of two where a message costs as much as the way; beyond 7 messages of a head it is a tree.
TEST(Choose, ExchangeBetweenNodes) {
  const auto radix = [](std::int32_t nodes, std::uint64_t bytes, std::int32_t most) {
    std::vector<std::int32_t> of;
    for (std::int32_t m = 0; m < nodes; ++m) of.push_back(m);
    const TeamNodes placed = TeamNodes::of(of);
    PlanRequest request = base(Collective::kAllreduce, nodes, bytes);
    request.nodes.nodes = &placed;
    Tuning tuning;
    tuning.exchange_radix = most;
    const auto made = resolve(kAuto, request, tuning);
    EXPECT_TRUE(made.ok());
    return made.value().nodes.exchange_radix;
  };
  EXPECT_EQ(radix(8, 8, 8), 8);
  EXPECT_EQ(radix(8, 8, 2), 2);
  EXPECT_EQ(radix(16, 8, 8), 8) << "4 x 4, 6 messages";
  EXPECT_EQ(radix(11, 8, 8), 0) << "10 messages";
  EXPECT_EQ(radix(64, 8, 2), 2);
  EXPECT_EQ(radix(64, 8, 8), 0) << "8 x 8, 14 messages";
  EXPECT_EQ(radix(1000, 8, 2), 0);
  EXPECT_EQ(radix(8, 131072, 2), 2) << "3 messages";
  EXPECT_EQ(radix(8, 131072, 8), 0) << "7 messages are more than 512 KiB";
}

// Every head gets a segment, of 64 KiB at least; beyond 16 nodes a tree costs a head less.
TEST(Choose, SpreadOverHeads) {
  const auto chosen = [](std::int32_t nodes, std::uint64_t bytes, std::uint64_t segment_bytes = 0) {
    std::vector<std::int32_t> of;
    for (std::int32_t m = 0; m < 2 * nodes; ++m) of.push_back(m / 2);
    static TeamNodes placed;
    placed = TeamNodes::of(of);
    PlanRequest request = base(Collective::kAllreduce, 2 * nodes, bytes);
    request.nodes.nodes = &placed;
    esp_coll_options options = ESP_COLL_OPTIONS_INIT;
    options.segment_bytes = segment_bytes;
    return resolved(request, options);
  };
  EXPECT_TRUE(chosen(8, 1 << 20).nodes.spread);
  EXPECT_EQ(chosen(8, 1 << 20).segment_bytes, 131072U);
  EXPECT_TRUE(chosen(16, 1 << 20).nodes.spread);
  EXPECT_EQ(chosen(16, 1 << 20).segment_bytes, 65536U);
  EXPECT_FALSE(chosen(16, (1 << 20) - 8).nodes.spread);
  EXPECT_FALSE(chosen(17, 64 << 20).nodes.spread);
  EXPECT_FALSE(chosen(8, 1 << 20, 262144).nodes.spread) << "segments are the caller's";
  EXPECT_TRUE(chosen(8, 1 << 20, 16384).nodes.spread);
}

// Spread over two, everybody sends as much as in an exchange, in twice as many steps.
TEST(Choose, AllreduceOfTwoNodes) {
  const TeamNodes two = TeamNodes::of(std::vector<std::int32_t>{0, 1});
  const auto chosen = [&](std::uint64_t bytes) {
    PlanRequest request = base(Collective::kAllreduce, 2, bytes);
    request.nodes.nodes = &two;
    return resolved(request);
  };
  EXPECT_GT(chosen(524288).nodes.exchange_radix, 0);
  EXPECT_EQ(chosen(524296).algorithm, ESP_ALGORITHM_SPREAD);
}

// Everything that is chosen has a plan.
TEST(Choose, EveryChoiceHasAPlan) {
  for (const Collective collective :
       {Collective::kBarrier, Collective::kBcast, Collective::kReduce, Collective::kAllreduce}) {
    for (std::int32_t size = 1; size <= 64; ++size) {
      for (std::uint64_t bytes = 0; bytes < 1ull << 33; bytes = bytes * 5 + 8) {
        for (const bool commutative : {false, true}) {
          PlanRequest request = base(collective, size, bytes);
          request.commutative = commutative;
          const Result<Plan> plan = make_plan(resolved(request));
          ASSERT_TRUE(plan.ok()) << plan.error().text;
        }
      }
    }
  }
}

TEST(Choose, SegmentsGrowWithTheMessage) {
  EXPECT_EQ(resolved(base(Collective::kBcast, 8, 8)).segment_bytes, 16u << 10);
  EXPECT_EQ(resolved(base(Collective::kBcast, 8, 64 << 10)).segment_bytes, 16u << 10);
  EXPECT_EQ(resolved(base(Collective::kBcast, 8, 256 << 10)).segment_bytes, 32u << 10);
  EXPECT_EQ(resolved(base(Collective::kBcast, 8, 1 << 30)).segment_bytes, 64u << 10);
  // Of a block, in a spread.
  EXPECT_EQ(resolved(base(Collective::kAllreduce, 8, 1 << 20)).segment_bytes, 32u << 10);
}

TEST(Choose, KeepsWhatTheCallerFixed) {
  esp_coll_options options = kAuto;
  options.algorithm = ESP_ALGORITHM_TREE;
  options.shape = ESP_SHAPE_KARY;
  options.radix = 5;
  options.segment_bytes = 777;
  options.window_send = 3;
  options.window_recv = 2;
  options.variant = ESP_VARIANT_WAITALL;
  const PlanRequest request = resolved(base(Collective::kBcast, 8, 1 << 20), options);
  EXPECT_EQ(request.algorithm, ESP_ALGORITHM_TREE);
  EXPECT_EQ(request.shape, ESP_SHAPE_KARY);
  EXPECT_EQ(request.radix, 5);
  EXPECT_EQ(request.segment_bytes, 777u);
  EXPECT_EQ(request.window_send, 3);
  EXPECT_EQ(request.window_recv, 2);
  EXPECT_EQ(request.variant, ESP_VARIANT_WAITALL);
  options.algorithm = ESP_ALGORITHM_SHORT;  // not a plan, but for the caller to see
  EXPECT_EQ(resolved(base(Collective::kBcast, 8, 8), options).algorithm, ESP_ALGORITHM_SHORT);
}

TEST(Choose, AShapeOrAVariantAsksForATree) {
  esp_coll_options options = kAuto;
  options.shape = ESP_SHAPE_CHAIN;
  EXPECT_EQ(resolved(base(Collective::kBcast, 8, 8), options).algorithm, ESP_ALGORITHM_TREE);
  options = kAuto;
  options.variant = ESP_VARIANT_BLOCKING;
  EXPECT_EQ(resolved(base(Collective::kAllreduce, 8, 1 << 20), options).algorithm,
            ESP_ALGORITHM_TREE);
}

TEST(Choose, ReceivesExceedSends) {
  for (int window = 0; window <= 64; ++window) {
    esp_coll_options options = kAuto;
    options.window_send = window;
    PlanRequest request = resolved(base(Collective::kBcast, 8, 8), options);
    EXPECT_TRUE(request.window_recv > request.window_send || request.window_send == 64);
    EXPECT_LE(request.window_recv, 64);
    options = kAuto;
    options.window_recv = window;
    request = resolved(base(Collective::kBcast, 8, 8), options);
    EXPECT_TRUE(request.window_recv > request.window_send || request.window_recv == 1);
    EXPECT_GE(request.window_send, 1);
  }
}

TEST(Choose, RefusesBadOptions) {
  const auto with = [](auto member, auto value) {
    esp_coll_options options = kAuto;
    options.*member = value;
    return refusal(options);
  };
  EXPECT_EQ(with(&esp_coll_options::radix, -1), "option radix: -1 is not in 0..2147483647");
  EXPECT_EQ(with(&esp_coll_options::window_send, 65), "option window_send: 65 is not in 0..64");
  EXPECT_EQ(with(&esp_coll_options::window_recv, -1), "option window_recv: -1 is not in 0..64");
  EXPECT_EQ(with(&esp_coll_options::shape, ESP_SHAPE_COUNT), "option shape: 9 is not in 0..8");
  EXPECT_EQ(with(&esp_coll_options::algorithm, ESP_ALGORITHM_COUNT),
            "option algorithm: 12 is not in 0..11");
  EXPECT_EQ(with(&esp_coll_options::variant, ESP_VARIANT_COUNT),
            "option variant: 3 is not in 0..2");
  EXPECT_NE(with(&esp_coll_options::struct_size, std::size_t{0}).find("struct_size"),
            std::string::npos);
  esp_coll_options options = kAuto;
  options.shape = ESP_SHAPE_KNOMIAL;
  options.radix = 1;
  EXPECT_NE(refusal(options).find("radix of 2 or more"), std::string::npos);
}

// Every segment there has a frame, and a frame costs system calls.
Tuning over_sockets() {
  Tuning tuning;
  tuning.network_hop_bytes_min = tuning.network_bytes_max;
  return tuning;
}

TEST(Choose, SegmentsOfMessagesBetweenNodesAreLarge) {
  const auto pieces = [&](std::uint64_t bytes, const Tuning& tuning) {
    return flow_partition(bytes, 1 << 20, tuning, true).pieces;
  };
  EXPECT_EQ(pieces(64 << 10, {}), 1U);
  EXPECT_EQ(pieces(256 << 10, {}), 4U);
  EXPECT_EQ(pieces(256 << 10, over_sockets()), 1U);
  EXPECT_EQ(pieces(1 << 20, over_sockets()), 4U);
  EXPECT_EQ(pieces(4 << 20, {}), 16U);
  EXPECT_EQ(flow_partition(4 << 20, 48 << 10, over_sockets(), true).piece_elements, 48U << 10);
}

TEST(Choose, SegmentsOfCollectivesBetweenNodes) {
  const auto segment = [](const std::vector<std::int32_t>& node_of, std::uint64_t bytes,
                          const Tuning& tuning) {
    const TeamNodes nodes = TeamNodes::of(node_of);
    PlanRequest request =
        base(Collective::kBcast, static_cast<std::int32_t>(node_of.size()), bytes);
    request.nodes.nodes = &nodes;
    return resolve(kAuto, request, tuning).value().segment_bytes;
  };
  EXPECT_EQ(segment({0, 0, 1, 1}, 256 << 10, {}), 64U << 10) << "a quarter";
  EXPECT_EQ(segment({0, 0, 1, 1}, 256 << 10, over_sockets()), 256U << 10);
  EXPECT_EQ(segment({0, 1, 2, 3}, 256 << 10, over_sockets()), 64U << 10);
  EXPECT_EQ(segment({0, 1, 2, 3}, 64 << 20, over_sockets()), 256U << 10);
}

TEST(Choose, SegmentsOfAMessageCoverIt) {
  const Tuning tuning;
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4096}, std::uint64_t{4097},
        std::uint64_t{100'000}, std::uint64_t{1} << 20, (std::uint64_t{1} << 32) + 5}) {
    const Partition parts = flow_partition(bytes, 48 << 10, tuning);
    EXPECT_LE(parts.piece_elements, std::uint64_t{48 << 10});
    EXPECT_LE(bytes, parts.pieces * parts.piece_elements);
    EXPECT_TRUE(parts.pieces == 1 || bytes > (parts.pieces - 1) * parts.piece_elements);
    Tuning tiny;
    tiny.segment_bytes_min = tiny.segment_bytes_max = 1 << 10;
    EXPECT_EQ(flow_partition(bytes, 48 << 10, tiny).piece_elements, 1U << 10) << bytes;
    EXPECT_EQ(parts.pieces == 1, bytes <= tuning.flow_segment_bytes_min) << bytes;
  }
}

}  // namespace
}  // namespace espalier
