// Plans as values: equal requests, size, refusals, printing, structural rules.
#include "coll/plan/plan.hpp"

#include "coll/choice/choose.hpp"
#include "tests/unit/plan_cases.hpp"

namespace espalier {
namespace {

using plan_check::call;
using plan_check::make_plans;

std::string refusal(const PlanRequest& request, esp_status code) {
  const Result<Plan> plan = make_plan(request);
  if (plan.ok()) return "accepted";
  EXPECT_EQ(plan.error().status.code(), code) << plan.error().text;
  return plan.error().text;
}

void expect_refusal(const PlanRequest& request, esp_status code, const std::string& text) {
  const std::string got = refusal(request, code);
  EXPECT_NE(got.find(text), std::string::npos) << got;
}

TEST(Plan, EqualRequestsGiveEqualPlans) {
  for (const Collective collective :
       {Collective::kBarrier, Collective::kBcast, Collective::kReduce, Collective::kAllreduce}) {
    for (const plan_check::ShapeCase& shape : plan_check::shape_cases()) {
      PlanRequest request = call(collective, 13, 5);
      request.shape = shape.shape;
      request.radix = shape.radix;
      EXPECT_EQ(make_plans(request), make_plans(request));
    }
  }
}

// The same vertices and edges, whatever the message: only the indices grow. (One element is one
// segment, and then the second of two trees carries none.)
TEST(Plan, SizeDependsOnDegreeNotOnSegments) {
  for (const Collective collective :
       {Collective::kBcast, Collective::kReduce, Collective::kAllreduce}) {
    for (int algorithm = ESP_ALGORITHM_TREE; algorithm < ESP_ALGORITHM_COUNT; ++algorithm) {
      PlanRequest request = call(collective, 16, 1);
      request.algorithm = static_cast<esp_algorithm>(algorithm);
      if (!make_plan(request)) continue;
      request.elements = 1;
      const std::vector<Plan> small = make_plans(request);
      request.elements = (1ull << 30) / request.element_bytes;
      const std::vector<Plan> large = make_plans(request);
      for (std::size_t rank = 0; rank < small.size(); ++rank) {
        ASSERT_EQ(small[rank].vertices.size(), large[rank].vertices.size());
        for (std::size_t id = 0; id < small[rank].vertices.size(); ++id) {
          const Vertex& a = small[rank].vertices[id];
          const Vertex& b = large[rank].vertices[id];
          EXPECT_EQ(a.action, b.action);
          EXPECT_EQ(a.operands, b.operands);
          EXPECT_EQ(a.feeds, b.feeds);
          EXPECT_EQ(a.needs.size(), b.needs.size());
        }
      }
    }
  }
}

TEST(Plan, MessagesBeyond32Bits) {
  PlanRequest request = call(Collective::kBcast, 4, 1);
  request.element_bytes = 16;
  request.elements = 3ull << 32;  // 192 GiB
  request.segment_bytes = 1 << 20;
  const Plan plan = make_plans(request)[0];
  const Vertex& send = plan.vertices[0];
  EXPECT_EQ(send.indices.count, 192u * 1024);
  EXPECT_EQ(plan.offset_bytes(send, send.indices.count - 1, send.src), (192ull << 30) - (1 << 20));
  EXPECT_EQ(plan.length_elements(send, send.indices.count - 1), (1u << 20) / 16);

  request.collective = Collective::kAllreduce;
  request.algorithm = ESP_ALGORITHM_SPREAD;
  request.rank = 3;
  const Result<Plan> spread = make_plan(request);
  ASSERT_TRUE(spread.ok());
  const Vertex& publish = spread.value().vertices[3];
  ASSERT_EQ(publish.action, Action::kPublish);
  EXPECT_EQ(spread.value().offset_bytes(publish, 0, publish.src), 3 * (48ull << 30));
  EXPECT_EQ(publish.needs[0].distance(publish.indices.inner), -2 * 48 * 1024);
}

TEST(Plan, TheTransferStandsOnAllThatSendsOrReceives) {
  Neighbors near;
  near.sources = near.destinations = {0, 1, 2, 3};
  near.source_edges = near.destination_edges = {0, 0, 0, 0};
  for (std::size_t c = 0; c < kCollectives; ++c) {
    for (int a = ESP_ALGORITHM_TREE; a < ESP_ALGORITHM_COUNT; ++a) {
      PlanRequest request = call(static_cast<Collective>(c), 4, 100);
      request.algorithm = static_cast<esp_algorithm>(a);
      if (!has_algorithm(request.collective, request.algorithm)) continue;
      if (traits_of(request.collective).neighbors) {
        EXPECT_EQ(make_plan(request).error().text,
                  std::string(collective_name(request.collective)) + " without a graph");
        request.neighbors = &near;
      }
      request.transfer = {Path::kPush, 3, 4096};
      for (const Plan& plan : make_plans(request)) {
        for (const Vertex& v : plan.vertices) {
          EXPECT_EQ(v.transfer, is_local(v.action) ? Transfer{} : request.transfer);
        }
      }
      Tuning tuning;
      tuning.transfer = request.transfer;
      request.transfer = {};
      auto chosen = resolve(ESP_COLL_OPTIONS_INIT, request, tuning);
      ASSERT_TRUE(chosen.ok());
      EXPECT_EQ(chosen->transfer, tuning.transfer);
    }
  }
}

TEST(Plan, SegmentsAreWholeElements) {
  PlanRequest request = call(Collective::kBcast, 2, 1);
  request.element_bytes = 24;
  request.elements = 10;
  request.segment_bytes = 100;
  EXPECT_EQ(make_plans(request)[0].piece_elements, 4u);
  EXPECT_EQ(make_plans(request)[0].vertices[0].indices.count, 3u);
  request.segment_bytes = 5;  // at least one element
  EXPECT_EQ(make_plans(request)[0].vertices[0].indices.count, 10u);
  request.segment_bytes = 1 << 20;  // no longer than the message: scratch slots are this long
  EXPECT_EQ(make_plans(request)[0].piece_elements, 10u);
}

TEST(Plan, AloneCopiesOrDoesNothing) {
  EXPECT_TRUE(make_plans(call(Collective::kBcast, 1, 3))[0].vertices.empty());
  EXPECT_TRUE(make_plans(call(Collective::kBarrier, 1, 3))[0].vertices.empty());
  for (const Collective collective : {Collective::kReduce, Collective::kAllreduce}) {
    const Plan plan = make_plans(call(collective, 1, 3))[0];
    ASSERT_EQ(plan.vertices.size(), 1u);
    EXPECT_EQ(plan.vertices[0].action, Action::kCombine);
    EXPECT_EQ(plan.vertices[0].operands, (std::vector<Operand>{{.place = Place::kInput}}));
  }
}

TEST(Plan, RefusesNonsense) {
  const PlanRequest good = call(Collective::kReduce, 4, 1);
  const auto with = [&](auto member, auto value) {
    PlanRequest request = good;
    request.*member = value;
    return request;
  };
  expect_refusal(with(&PlanRequest::size, 0), ESP_ERR_ARGUMENT, "team size 0");
  expect_refusal(with(&PlanRequest::rank, 4), ESP_ERR_ARGUMENT, "rank 4 is not in a team of 4");
  expect_refusal(with(&PlanRequest::root, -1), ESP_ERR_ARGUMENT, "root -1 is not in a team of 4");
  expect_refusal(with(&PlanRequest::window_send, 65), ESP_ERR_ARGUMENT, "window 65");
  expect_refusal(with(&PlanRequest::window_recv, 0), ESP_ERR_ARGUMENT, "window 0");
  expect_refusal(with(&PlanRequest::segment_bytes, 0), ESP_ERR_ARGUMENT, "segments of 0 bytes");
  expect_refusal(with(&PlanRequest::element_bytes, 0u), ESP_ERR_ARGUMENT, "elements of 0 bytes");
  expect_refusal(with(&PlanRequest::elements, 1ull << 61), ESP_ERR_ARGUMENT, "address space");
  expect_refusal(with(&PlanRequest::elements, 1ull << 40), ESP_ERR_ARGUMENT, "use longer ones");
  expect_refusal(with(&PlanRequest::shape, ESP_SHAPE_AUTO), ESP_ERR_ARGUMENT, "tree shape 0");
  expect_refusal(with(&PlanRequest::algorithm, ESP_ALGORITHM_AUTO), ESP_ERR_ARGUMENT,
                 "unknown algorithm 0");
  expect_refusal(with(&PlanRequest::variant, ESP_VARIANT_COUNT), ESP_ERR_ARGUMENT,
                 "unknown variant 3");
  PlanRequest knomial = with(&PlanRequest::shape, ESP_SHAPE_KNOMIAL);
  knomial.radix = 1;
  expect_refusal(knomial, ESP_ERR_ARGUMENT, "radix 1 of a k-nomial tree is below 2");
}

TEST(Plan, RefusesWhatDoesNotExist) {
  PlanRequest request = call(Collective::kReduce, 4, 1);
  request.algorithm = ESP_ALGORITHM_PUBLISH;
  expect_refusal(request, ESP_ERR_UNSUPPORTED, "reduce has no publish algorithm");
  request.algorithm = ESP_ALGORITHM_SPREAD;
  expect_refusal(request, ESP_ERR_UNSUPPORTED, "reduce has no spread algorithm");
  request.algorithm = ESP_ALGORITHM_SHORT;
  expect_refusal(request, ESP_ERR_UNSUPPORTED, "no plan");
  request.collective = Collective::kAllreduce;
  request.algorithm = ESP_ALGORITHM_SPREAD;
  request.commutative = false;
  expect_refusal(request, ESP_ERR_UNSUPPORTED, "does not commute");
  request.commutative = true;
  request.variant = ESP_VARIANT_BLOCKING;
  expect_refusal(request, ESP_ERR_UNSUPPORTED, "allreduce by spread has the event variant alone");
  request = call(Collective::kPointToPoint, 2, 1);
  expect_refusal(request, ESP_ERR_UNSUPPORTED, "point-to-point");
}

// Refusals do not depend on the rank, or some members would wait for others.
TEST(Plan, RefusesTreesTooWideOnEveryRank) {
  PlanRequest request = call(Collective::kBcast, 100'000, 1);
  request.shape = ESP_SHAPE_FLAT;
  for (const std::int32_t rank : {0, 1, 99'999}) {
    request.rank = rank;
    expect_refusal(request, ESP_ERR_UNSUPPORTED, "use another shape");
  }
  request.size = 100;
  request.rank = 50;
  EXPECT_TRUE(make_plan(request).ok());
  request.variant = ESP_VARIANT_WAITALL;
  expect_refusal(request, ESP_ERR_UNSUPPORTED, "limited to 64 children");
}

TEST(PlanPrinting, Text) {
  PlanRequest request = call(Collective::kAllreduce, 7, 20);
  request.shape = ESP_SHAPE_KARY;
  request.radix = 3;
  EXPECT_EQ(
      make_plans(request)[1].to_text(),
      R"(allreduce of 79 elements of 8 bytes, rank 1 of 7: tree(k-ary 3) event, 20 segments of 32 B
  v0: view from 2 x20 channel 0 window 5 needs v1[i-5]
  v1: combine scratch = input op v0 x20 window 5 needs v0, v2[i-3]
  v2: send scratch to 0 x20 channel 0 window 3 needs v1
  v3: recv output from 0 x20 channel 2 window 5
  v4: send output to 2 x20 channel 2 window 3 needs v3, v4[i-3]
)");
  request.algorithm = ESP_ALGORITHM_SPREAD;
  EXPECT_EQ(
      make_plans(request)[1].to_text(),
      R"(allreduce of 79 elements of 8 bytes, rank 1 of 7: spread, 7 blocks of 3 segments of 32 B
  v0: send input to 0 by -1 until 2 x18 blocks 0 by -1 channel 0 window 3
  v1: view from 2 by +1 until 0 x18 block 1 channel 0 window 5 needs v2[i-5]
  v2: combine output = accumulator op v1 x18 block 1 window 5 needs v1, v2[i-3]
  v3: publish output to 6 ranks x3 block 1 channel 1 window 3 needs v2[i+15], v3[i-3]
  v4: recv output from 0 x3 block 0 channel 1 window 5
  v5: recv output from 2 by +1 until 6 x15 blocks 2 by +1 channel 1 window 5
)");
}

TEST(PlanPrinting, Graphviz) {
  PlanRequest request = call(Collective::kReduce, 3, 2);
  request.shape = ESP_SHAPE_CHAIN;
  request.variant = ESP_VARIANT_BLOCKING;
  EXPECT_EQ(make_plans(request)[1].to_graphviz(), R"(digraph plan {
  label="reduce, rank 1 of 3: tree(chain) blocking, 2 segments of 32 B";
  rankdir=LR;
  node [shape=box];
  v0 [label="view from 2\nx2 channel 0 window 1"];
  v1 [label="combine scratch = input op v0\nx2 window 1"];
  v2 [label="synchronous send scratch to 0\nx2 channel 0 window 1"];
  v1 -> v0 [label="[i-1]", style=dashed];
  v2 -> v0 [label="[i-1]", style=dashed];
  v0 -> v1;
  v2 -> v1 [label="[i-1]", style=dashed];
  v1 -> v2;
}
)");
}

TEST(PlanPrinting, CollectivesHaveNames) {
  EXPECT_STREQ(collective_name(Collective::kBarrier), "barrier");
  EXPECT_STREQ(collective_name(Collective::kPointToPoint), "point-to-point");
}

// Each structural rule, broken.
TEST(PlanDeathTest, StructuralRules) {
  PlanRequest request = call(Collective::kReduce, 3, 20);
  request.shape = ESP_SHAPE_CHAIN;
  const Plan good = make_plans(request)[1];  // v0 view, v1 combine, v2 send
  const auto broken = [&](auto&& change) {
    Plan plan = good;
    change(plan.vertices);
    plan.finish();
  };
  using Vertices = std::vector<Vertex>;
  EXPECT_DEATH(broken([](Vertices& v) { v[0].window = 65; }), "window");
  EXPECT_DEATH(broken([](Vertices& v) { v[0].steps = 0; }), "steps");
  EXPECT_DEATH(broken([](Vertices& v) { v[0].peer.first = 1; }), "peer");
  EXPECT_DEATH(broken([](Vertices& v) { v[0].dst = Place::kOutput; }), "dst");
  EXPECT_DEATH(broken([](Vertices& v) { v[1].needs.clear(); }), "invariant violated");
  EXPECT_DEATH(broken([](Vertices& v) { v[0].needs.clear(); }), "follows");
  EXPECT_DEATH(broken([](Vertices& v) { v[1].needs.pop_back(); }), "follows");
  EXPECT_DEATH(broken([](Vertices& v) { v[0].needs.push_back({2, 0}); }), "back");
  EXPECT_DEATH(broken([](Vertices& v) { v[1].operands.pop_back(); }), "releases");
}

}  // namespace
}  // namespace espalier
