// Broadcast models: numbers worked out by hand, and the shapes of the published figure.
#include "coll/choice/broadcast_models.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace espalier::broadcast_models {
namespace {

// 1 us, 10 GB/s: 10,000 bytes take 1 us, too.
Model round_model() {
  return {
      .setup = 1e-6, .bandwidth = 10e9, .chunk_bytes = 1000, .packet_bytes = 500, .group_fit = 20};
}
constexpr double kBytes = 10000;
constexpr double kUs = 1e-6;

// The published machine, RI2; t_s is assumed.
Model ri2_model() {
  return {.setup = 0.3e-6,
          .bandwidth = 12.5e9,
          .chunk_bytes = 512 << 10,
          .packet_bytes = 4 << 10,
          .group_fit = 20};
}
constexpr double kTwoMb = 2 << 20;

TEST(BroadcastModels, ByHand) {
  const Model model = round_model();
  EXPECT_NEAR(ring(model, 5, kBytes), 8 * kUs, 1e-15);
  EXPECT_NEAR(pipelined_ring(model, 5, kBytes), 13 * 1.1 * kUs, 1e-15);
  EXPECT_NEAR(knomial(model, 16, 4, kBytes), 2 * 2 * kUs, 1e-15);
  EXPECT_NEAR(knomial(model, 17, 4, kBytes), 3 * 2 * kUs, 1e-15);
  EXPECT_NEAR(knomial(model, 9, 3, kBytes), 2 * 2 * kUs, 1e-15);
  EXPECT_NEAR(pipelined_knomial(model, 16, 4, kBytes), 10 * 2 * 1.1 * kUs, 1e-15);
  EXPECT_NEAR(group_overhead(model, 16), 2.772588722239781 / 20 * kUs, 1e-18);
  EXPECT_NEAR(multicast(model, 16, kBytes), 20 * (1.05 + 2.772588722239781 / 20) * kUs, 1e-15);
  // Three messages of 1 us a round, two rounds, each set up once.
  EXPECT_NEAR(knomial_by_one_card(model, 16, 4, kBytes), 2 * (1 + 3) * kUs, 1e-15);
}

// What is staged is copied as a whole first, but for multicast, which waits for one chunk alone.
TEST(BroadcastModels, Staged) {
  const Model direct = round_model();
  Model staged = direct;
  staged.stage_bandwidth = 1e9;
  EXPECT_NEAR(ring(staged, 5, kBytes) - ring(direct, 5, kBytes), 10 * kUs, 1e-15);
  EXPECT_NEAR(knomial(staged, 9, 2, kBytes) - knomial(direct, 9, 2, kBytes), 10 * kUs, 1e-15);
  EXPECT_NEAR(knomial_by_one_card(staged, 9, 3, kBytes) - knomial_by_one_card(direct, 9, 3, kBytes),
              10 * kUs, 1e-15);
  EXPECT_NEAR(multicast(staged, 9, kBytes) - multicast(direct, 9, kBytes), 1 * kUs, 1e-15);
}

TEST(BroadcastModels, OneNodeTakesNoTime) {
  Model model = round_model();
  model.stage_bandwidth = 1e9;
  EXPECT_EQ(ring(model, 1, kBytes), 0);
  EXPECT_EQ(pipelined_ring(model, 1, kBytes), 0);
  EXPECT_EQ(knomial(model, 1, 2, kBytes), 0);
  EXPECT_EQ(pipelined_knomial(model, 1, 2, kBytes), 0);
  EXPECT_EQ(knomial_by_one_card(model, 1, 2, kBytes), 0);
  EXPECT_EQ(multicast(model, 1, kBytes), 0);
}

using Form = double (*)(const Model&, std::uint64_t, double);
constexpr Form kForms[] = {
    ring,
    pipelined_ring,
    [](const Model& m, std::uint64_t n, double bytes) { return knomial(m, n, 2, bytes); },
    [](const Model& m, std::uint64_t n, double bytes) { return pipelined_knomial(m, n, 2, bytes); },
    [](const Model& m, std::uint64_t n, double bytes) { return best_knomial(m, n, bytes).seconds; },
    multicast,
};

TEST(BroadcastModels, NoFormFallsWithNodesOrBytesOrSetup) {
  for (const Form form : kForms) {
    for (std::uint64_t n = 2; n < 300; ++n) {
      EXPECT_LE(form(ri2_model(), n, kTwoMb), form(ri2_model(), n + 1, kTwoMb)) << n;
      EXPECT_LT(form(ri2_model(), n, kTwoMb), form(ri2_model(), n, 2 * kTwoMb)) << n;
      Model slow = ri2_model();
      slow.setup *= 2;
      EXPECT_LT(form(ri2_model(), n, kTwoMb), form(slow, n, kTwoMb)) << n;
      slow = ri2_model();
      slow.bandwidth /= 2;
      EXPECT_LT(form(ri2_model(), n, kTwoMb), form(slow, n, kTwoMb)) << n;
    }
  }
}

TEST(BroadcastModels, RingIsLinearKnomialLogarithmicMulticastNearlyFlat) {
  const Model model = ri2_model();
  EXPECT_NEAR(ring(model, 65, kTwoMb) / ring(model, 2, kTwoMb), 64, 1e-9);
  const double round = knomial(model, 2, 2, kTwoMb);
  for (std::uint64_t log = 1; log <= 10; ++log) {
    EXPECT_NEAR(knomial(model, std::uint64_t{1} << log, 2, kTwoMb),
                static_cast<double>(log) * round, 1e-12);
  }
  EXPECT_LT(multicast(model, 64, kTwoMb) / multicast(model, 2, kTwoMb), 1.3);
  EXPECT_LT(multicast(model, 4096, kTwoMb) / multicast(model, 2, kTwoMb), 1.6);
}

TEST(BroadcastModels, TheBestRadixCountsAllMessagesOfARound) {
  const Model model = ri2_model();
  EXPECT_EQ(best_knomial(model, 2, kTwoMb).k, 2U);
  EXPECT_EQ(best_knomial(model, 16, kTwoMb).k, 2U);
  EXPECT_EQ(best_knomial(model, 16, kTwoMb).seconds, knomial(model, 16, 2, kTwoMb));
  // Setting up counts and bytes do not: one round.
  EXPECT_EQ(best_knomial(model, 16, 8).k, 16U);
  // Nine nodes take two rounds of two messages instead of four of one; of long messages, the same.
  EXPECT_EQ(best_knomial(model, 9, kTwoMb).k, 3U);
}

TEST(BroadcastModels, MulticastPaysFromSomeNodesOnAndNotWithTwo) {
  const Model model = ri2_model();
  EXPECT_GT(multicast(model, 2, kTwoMb), best_knomial(model, 2, kTwoMb).seconds);
  const std::uint64_t from = multicast_pays_from(model, kTwoMb, 64);
  EXPECT_GT(from, 2U);
  EXPECT_LE(from, 8U);
  for (std::uint64_t n = from; n <= 1024; ++n) {
    EXPECT_LT(multicast(model, n, kTwoMb), best_knomial(model, n, kTwoMb).seconds) << n;
  }
  EXPECT_GT(multicast(model, from - 1, kTwoMb), best_knomial(model, from - 1, kTwoMb).seconds);
  Model slow = model;  // every packet costs what eight take on the wire
  slow.setup = 2.6e-6;
  EXPECT_EQ(multicast_pays_from(slow, kTwoMb, 16), 0U);
}

TEST(BroadcastModels, SeveralSources) {
  EXPECT_NEAR(overlap(4, 10e-6, 32e-6), 0.2, 1e-12);
  EXPECT_NEAR(concurrent(4, 10e-6, 0.2), 32e-6, 1e-18);
  EXPECT_EQ(overlap(1, 10e-6, 10e-6), 0);
}

}  // namespace
}  // namespace espalier::broadcast_models
