// Steps and bytes of every algorithm against the formulas of docs/algorithms.md.
//
// A step: every vertex takes part in at most one transfer (a publication is read by all at once).
#include <algorithm>
#include <numeric>

#include "tests/unit/plan_cases.hpp"

namespace espalier::plan_check {
namespace {

using Count = std::uint64_t;

Count log2_floor(Count x) {
  Count result = 0;
  while (x >>= 1) ++result;
  return result;
}

// D of the table: the depth of a rotated tree over p >= 2 ranks. `half` is for the two-tree.
Count depth(const ShapeCase& shape, Count p, int half = 0) {
  const Count k = shape.shape == ESP_SHAPE_KARY || shape.shape == ESP_SHAPE_KNOMIAL
                      ? static_cast<Count>(shape.radix)
                      : 2;
  Count result = 0;
  switch (shape.shape) {
    case ESP_SHAPE_FLAT:
      return 1;
    case ESP_SHAPE_CHAIN:
      return p - 1;
    case ESP_SHAPE_DOUBLE_LEADER:
      return p == 2 ? 1 : 2;
    case ESP_SHAPE_BINARY:
    case ESP_SHAPE_KARY:  // the least D with 1 + k + ... + k^D >= p
      for (Count level = 1, ranks = 1; ranks < p; ++result) ranks += level *= k;
      return result;
    case ESP_SHAPE_BINOMIAL:
    case ESP_SHAPE_KNOMIAL:  // the largest D with 1 + k + ... + k^(D-1) <= p - 1
      for (Count place = 1, repunit = 1; repunit <= p - 1; ++result) repunit += place *= k;
      return result;
    default:
      if (half == 0) return 1 + log2_floor(p - 1);
      return p == 2 ? 1 : 1 + log2_floor(p);
  }
}

// Children of the root of a rotated tree.
Count root_degree(const ShapeCase& shape, Count p) {
  switch (shape.shape) {
    case ESP_SHAPE_FLAT:
      return p - 1;
    case ESP_SHAPE_BINARY:
    case ESP_SHAPE_KARY:
      return std::min<Count>(shape.shape == ESP_SHAPE_BINARY ? 2 : static_cast<Count>(shape.radix),
                             p - 1);
    case ESP_SHAPE_BINOMIAL:
    case ESP_SHAPE_KNOMIAL: {
      const Count k = shape.shape == ESP_SHAPE_BINOMIAL ? 2 : static_cast<Count>(shape.radix);
      Count sum = 0;
      for (Count place = 1; place < p; place *= k) sum += std::min(k - 1, (p - 1) / place);
      return sum;
    }
    default:
      return 1;
  }
}

// Steps of one pass of s segments through the tree (both trees).
Count pass(const ShapeCase& shape, Count p, Count s) {
  if (shape.shape != ESP_SHAPE_TWO_TREE || s == 1) return depth(shape, p) + s - 1;
  return std::max(depth(shape, p, 0) + (s + 1) / 2, depth(shape, p, 1) + s / 2) - 1;
}

Count round_trip(const ShapeCase& shape, Count p, Count s) {
  if (shape.shape != ESP_SHAPE_TWO_TREE || s == 1) return 2 * depth(shape, p) + s - 1;
  return std::max(2 * depth(shape, p, 0) + (s + 1) / 2, 2 * depth(shape, p, 1) + s / 2) - 1;
}

Count message_bytes(const PlanRequest& r) {
  return r.elements * r.element_bytes;
}

Count total(const std::vector<Count>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), Count{0});
}

Report run(const PlanRequest& request) {
  const Report report = check(make_plans(request), request, {.order = Order::kRounds});
  EXPECT_EQ(report.error, "") << describe(request);
  return report;
}

template <typename Use>
void for_each_case(Collective collective, Use&& use) {
  for (const ShapeCase& shape : shape_cases()) {
    for (std::int32_t size = 2; size <= 40; ++size) {
      for (const Count segments : {1, 2, 5, 12}) {
        PlanRequest request = call(collective, size, segments);
        request.shape = shape.shape;
        request.radix = shape.radix;
        request.root = size / 3;
        SCOPED_TRACE(describe(request));
        use(request, shape, static_cast<Count>(size), segments);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(PlanCosts, BcastTree) {
  for_each_case(Collective::kBcast, [](PlanRequest& r, const ShapeCase& shape, Count p, Count s) {
    const Report report = run(r);
    EXPECT_EQ(report.rounds, pass(shape, p, s));
    EXPECT_EQ(total(report.bytes_sent), (p - 1) * message_bytes(r));
    const auto root = static_cast<std::size_t>(r.root);
    EXPECT_EQ(report.bytes_sent[root], root_degree(shape, p) * message_bytes(r));
    for (std::size_t rank = 0; rank < p; ++rank) {
      EXPECT_EQ(report.bytes_received[rank], rank == root ? 0 : message_bytes(r));
    }
  });
}

TEST(PlanCosts, ReduceTree) {
  for_each_case(Collective::kReduce, [](PlanRequest& r, const ShapeCase& shape, Count p, Count s) {
    const Report report = run(r);
    EXPECT_EQ(report.rounds, pass(shape, p, s));
    const auto root = static_cast<std::size_t>(r.root);
    EXPECT_EQ(report.bytes_received[root], root_degree(shape, p) * message_bytes(r));
    for (std::size_t rank = 0; rank < p; ++rank) {
      EXPECT_EQ(report.bytes_sent[rank], rank == root ? 0 : message_bytes(r));
    }
    r.commutative = false;  // rank order: the same bytes, no more steps
    const Report ordered = run(r);
    EXPECT_LE(ordered.rounds, report.rounds);
    EXPECT_EQ(ordered.bytes_sent, report.bytes_sent);
    EXPECT_LE(ordered.bytes_received[root], (root_degree(shape, p) + 1) * message_bytes(r));
  });
}

TEST(PlanCosts, AllreduceTree) {
  for_each_case(Collective::kAllreduce,
                [](PlanRequest& r, const ShapeCase& shape, Count p, Count s) {
                  const Report report = run(r);
                  EXPECT_EQ(report.rounds, round_trip(shape, p, s));
                  EXPECT_EQ(total(report.bytes_sent), 2 * (p - 1) * message_bytes(r));
                  EXPECT_EQ(report.bytes_sent[0], root_degree(shape, p) * message_bytes(r));
                });
}

TEST(PlanCosts, BarrierTree) {
  for_each_case(Collective::kBarrier, [](PlanRequest& r, const ShapeCase& shape, Count p, Count) {
    const Report report = run(r);
    EXPECT_EQ(report.rounds, 2 * depth(shape, p));
    EXPECT_EQ(total(report.bytes_sent), 0u);
  });
}

TEST(PlanCosts, WaitallTakesTheStepsOfEventWhenNobodyIsLate) {
  for (const Collective collective : {Collective::kBcast, Collective::kReduce}) {
    for_each_case(collective, [](PlanRequest& r, const ShapeCase& shape, Count p, Count s) {
      r.variant = ESP_VARIANT_WAITALL;
      EXPECT_EQ(run(r).rounds, pass(shape, p, s));
    });
  }
}

// One transfer at a time: S (p - 1) from a flat root; in a chain every inner rank alternates.
TEST(PlanCosts, Blocking) {
  for (const Collective collective : {Collective::kBcast, Collective::kReduce}) {
    for_each_case(collective, [](PlanRequest& r, const ShapeCase& shape, Count p, Count s) {
      r.variant = ESP_VARIANT_BLOCKING;
      const Count rounds = run(r).rounds;
      EXPECT_GE(rounds, root_degree(shape, p) * (shape.shape == ESP_SHAPE_TWO_TREE ? 1 : s));
      if (shape.shape == ESP_SHAPE_FLAT) {
        EXPECT_EQ(rounds, s * (p - 1));
      }
      if (shape.shape == ESP_SHAPE_CHAIN) {
        EXPECT_EQ(rounds, p == 2 ? s : p - 1 + 2 * (s - 1));
      }
    });
  }
}

TEST(PlanCosts, Publish) {
  for (std::int32_t size = 2; size <= 40; ++size) {
    const auto p = static_cast<Count>(size);
    for (const Count s : {1, 2, 5, 12}) {
      PlanRequest r = call(Collective::kBcast, size, s);
      r.algorithm = ESP_ALGORITHM_PUBLISH;
      r.root = size / 2;
      Report report = run(r);
      EXPECT_EQ(report.rounds, s);
      EXPECT_EQ(total(report.bytes_sent), message_bytes(r));
      EXPECT_EQ(total(report.bytes_received), (p - 1) * message_bytes(r));
      r.collective = Collective::kAllreduce;
      report = run(r);
      EXPECT_EQ(report.rounds, s + 1);
      EXPECT_EQ(report.bytes_sent, std::vector<Count>(p, message_bytes(r)));
      EXPECT_EQ(report.bytes_received[0], (p - 1) * message_bytes(r));
      EXPECT_EQ(report.bytes_received[1], message_bytes(r));
    }
  }
}

TEST(PlanCosts, Spread) {
  for (std::int32_t size = 2; size <= 40; ++size) {
    const auto p = static_cast<Count>(size);
    for (const Count s : {1, 2, 3, 7}) {  // segments per block
      PlanRequest r = call(Collective::kAllreduce, size, s * p);
      r.algorithm = ESP_ALGORITHM_SPREAD;
      r.elements = 4 * s * p;
      r.window_send = 8;
      r.window_recv = 16;
      const Report report = run(r);
      EXPECT_EQ(report.rounds, (2 * p - 3) * s + 1) << describe(r);
      // n = p blocks: sends p - 1 of others and publishes its own; receives 2 (p - 1) blocks.
      EXPECT_EQ(report.bytes_sent, std::vector<Count>(p, message_bytes(r)));
      EXPECT_EQ(report.bytes_received, std::vector<Count>(p, 2 * (p - 1) * message_bytes(r) / p));
    }
  }
}

}  // namespace
}  // namespace espalier::plan_check
