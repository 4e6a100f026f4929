// Every closed form against a number worked out by hand, and the relations the sources state.
#include "tools/esp-sim/closed_forms.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace espalier::closed_forms {
namespace {

// A message of s bytes takes 1000 + 2 * 100 + s.
constexpr LogGP kModel = {.latency = 1000, .overhead = 100, .gap = 50, .per_byte = 1};

TEST(Logarithms, ExactAtPowers) {
  EXPECT_EQ(floor_log(1, 2), 0u);
  EXPECT_EQ(floor_log(7, 2), 2u);
  EXPECT_EQ(floor_log(8, 2), 3u);
  EXPECT_EQ(floor_log(80, 3), 3u);
  EXPECT_EQ(floor_log(81, 3), 4u);
  EXPECT_EQ(ceil_log(1, 2), 0u);
  EXPECT_EQ(ceil_log(2, 2), 1u);
  EXPECT_EQ(ceil_log(8, 2), 3u);
  EXPECT_EQ(ceil_log(9, 2), 4u);
  EXPECT_EQ(ceil_log(81, 3), 4u);
  EXPECT_EQ(ceil_log(82, 3), 5u);
}

TEST(LogGPModel, Message) {
  EXPECT_EQ(kModel.message(0), 1200);
  EXPECT_EQ(kModel.message(300), 1500);
  EXPECT_EQ(kModel.between(0), 100);    // the processor
  EXPECT_EQ(kModel.between(300), 300);  // the card
  EXPECT_EQ((LogGP{.overhead = 10, .gap = 50}).between(1), 50);
}

TEST(Trees, OneSegment) {
  EXPECT_EQ(flat_bcast(kModel, 1, 300), 0);
  EXPECT_EQ(flat_bcast(kModel, 2, 300), 1500);
  EXPECT_EQ(flat_bcast(kModel, 5, 300), 1500 + 3 * 300);
  EXPECT_EQ(flat_bcast(kModel, 5, 8), 1208 + 3 * 100);
  EXPECT_EQ(chain_bcast(kModel, 5, 300), 4 * 1500);
  EXPECT_EQ(kary_bcast(kModel, 4, 2, 300), 2 * (1000 + 2 * 400 + 100));
  EXPECT_EQ(kary_bcast(kModel, 9, 3, 0), 2 * (1000 + 3 * 100 + 100));
  EXPECT_EQ(binomial_bcast(kModel, 8, 300), 3 * 1500);
  EXPECT_EQ(binomial_bcast(kModel, 9, 300), 4 * 1500);
  EXPECT_EQ(knomial_bcast(kModel, 8, 2, 300), binomial_bcast(kModel, 8, 300));
  EXPECT_EQ(knomial_bcast(kModel, 16, 4, 300), 2 * (1500 + 2 * 300));
}

TEST(Pipelines, Chain) {
  EXPECT_EQ(pipelined_chain(10.0, 1, 5), 0);
  EXPECT_EQ(pipelined_chain(10.0, 5, 3), 60);
  EXPECT_EQ(pipelined_chain(kModel, 5, 3, 900), 6 * 1500);
  EXPECT_EQ(pipelined_chain(kModel, 5, 1, 300), chain_bcast(kModel, 5, 300));
  // Two hops of 1500, then two more segments at the card's pace of 300.
  EXPECT_EQ(chain_in_loggp(kModel, 3, 3, 900), 2 * 1500 + 2 * 300);
  // Small segments: an inner rank's processor receives and sends, 200.
  EXPECT_EQ(chain_in_loggp(kModel, 3, 3, 24), 2 * 1208 + 2 * 200);
  EXPECT_EQ(chain_in_loggp(kModel, 2, 3, 24), 1208 + 2 * 100);
  EXPECT_EQ(chain_in_loggp(kModel, 5, 1, 300), chain_bcast(kModel, 5, 300));
}

// The formula for the best number of segments against trying all of them.
TEST(Pipelines, BestSegmentsOfAChain) {
  EXPECT_EQ(pipelined_chain_best_segments(kModel, 2, 1e6), 1);
  const double best = pipelined_chain_best_segments(kModel, 14, 1e6);
  EXPECT_EQ(best, 100);  // sqrt(12 * 1e6 / 1200)
  std::uint64_t tried = 1;
  for (std::uint64_t s = 1; s < 1000; ++s) {
    if (pipelined_chain(kModel, 14, s, 1e6) < pipelined_chain(kModel, 14, tried, 1e6)) tried = s;
  }
  EXPECT_EQ(tried, 100u);
}

// Many segments: the chain's length does not matter any more (strong scaling is flat).
TEST(Pipelines, ChainIsFlatForManySegments) {
  const double ranks_32 = pipelined_chain(10.0, 32, 100000);
  EXPECT_NEAR(pipelined_chain(10.0, 1024, 100000) / ranks_32, 1, 0.01);
}

TEST(Pipelines, ChainOfChains) {
  const Hops path[] = {{3, 10}, {1, 20}, {2, 15}};
  EXPECT_EQ(chain_of_chains(path, 5), 30 + 20 + 30 + 4 * 20);
  const Hops equal[] = {{3, 10}, {1, 10}};
  EXPECT_EQ(chain_of_chains(equal, 7), pipelined_chain(10.0, 5, 7));
  const Hops unused[] = {{3, 10}, {0, 99}};
  EXPECT_EQ(chain_of_chains(unused, 7), pipelined_chain(10.0, 4, 7));
  EXPECT_EQ(chain_of_chains({}, 3), 0);
}

TEST(Pipelines, BinaryTree) {
  EXPECT_EQ(pipelined_binary(kModel, 8, 4, 1200), 3 * 1100 + 2 * (3 + 3) * 400);
}

TEST(Barriers, UpAndDown) {
  EXPECT_EQ(chain_barrier(kModel, 3), 4 * 1200);
  EXPECT_EQ(binomial_barrier(kModel, 8), 6 * 1200);
  EXPECT_EQ(binomial_barrier(kModel, 1), 0);
  EXPECT_EQ(binomial_reduce(kModel, 8, 300, 0.5), 3 * (1500 + 150));
  EXPECT_EQ(binomial_reduce_one_pass(kModel, 8, 300, 0.5), 3 * 1500 + (2 + 3 + 4) * 150);
}

TEST(Gathers, ScatterAndAllgather) {
  EXPECT_EQ(binomial_scatter(kModel, 8, 10), 3 * 1200 + 70);
  EXPECT_EQ(ring_allgather(kModel, 8, 300), 7 * 1500);
  EXPECT_EQ(bruck_allgather(kModel, 8, 10), 3 * 1200 + 70);
  EXPECT_EQ(bruck_allgather(kModel, 13, 10), 4 * 1200 + 120);
}

TEST(Gathers, Alltoall) {
  EXPECT_EQ(direct_alltoall(kModel, 8, 300), 7 * 1500);
  EXPECT_EQ(overlapped_alltoall(kModel, 8, 300), 1500 + 6 * 300);
  EXPECT_EQ(overlapped_alltoall(kModel, 8, 10), 1210 + 6 * 200) << "two overheads of 100";
  EXPECT_EQ(bruck_alltoall(kModel, 8, 2, 10), 3 * (1200 + 4 * 10));
  EXPECT_EQ(bruck_alltoall(kModel, 9, 3, 10), 2 * 2 * (1200 + 3 * 10));
  EXPECT_EQ(bruck_alltoall(kModel, 7, 2, 10), 3 * (1200 + 4 * 10));
}

// In units of (L + 2 o) / G: 0.80 at 8 ranks, 0.647, 0.442, 0.321 at 16, 64, 256.
TEST(Gathers, AlltoallCrossover) {
  const double unit = 1200;
  EXPECT_NEAR(alltoall_crossover_bytes(kModel, 8) / unit, 0.80, 0.001);
  EXPECT_NEAR(alltoall_crossover_bytes(kModel, 16) / unit, 0.647, 0.001);
  EXPECT_NEAR(alltoall_crossover_bytes(kModel, 64) / unit, 0.442, 0.001);
  EXPECT_NEAR(alltoall_crossover_bytes(kModel, 256) / unit, 0.321, 0.001);
  for (const std::uint64_t ranks : {8u, 64u}) {
    const double bytes = alltoall_crossover_bytes(kModel, ranks);
    EXPECT_NEAR(bruck_alltoall(kModel, ranks, 2, bytes), direct_alltoall(kModel, ranks, bytes),
                1e-6);
  }
}

TEST(Multicast, Models) {
  const MulticastModel direct = {.setup_ns = 1000,
                                 .read_ns_per_byte = 0.1,
                                 .chunk_bytes = 1000,
                                 .multicast_unit_bytes = 500,
                                 .multicast_overhead_fit = 20};
  EXPECT_NEAR(ring_bcast(direct, 5, 10000), 4 * 2000, 1e-6);
  EXPECT_NEAR(ring_bcast_pipelined(direct, 5, 10000), 13 * 1100, 1e-6);
  EXPECT_NEAR(knomial_bcast(direct, 16, 4, 10000), 2 * 2000, 1e-6);
  EXPECT_NEAR(knomial_bcast_pipelined(direct, 16, 4, 10000), 10 * 2 * 1100, 1e-6);
  EXPECT_NEAR(direct.multicast_overhead_ns(16), std::log(16) * 50, 1e-9);
  EXPECT_NEAR(multicast_bcast(direct, 16, 10000), 20 * (1050 + std::log(16) * 50), 1e-6);
  MulticastModel staged = direct;
  staged.stage_ns_per_byte = 1;
  EXPECT_NEAR(ring_bcast(staged, 5, 10000), 10000 + 4 * 2000, 1e-6);
  EXPECT_NEAR(knomial_bcast(staged, 16, 4, 10000), 10000 + 2 * 2000, 1e-6);
  EXPECT_NEAR(multicast_bcast(staged, 16, 10000), 1000 + multicast_bcast(direct, 16, 10000), 1e-6);
}

// The figure's shape: ring linear in the nodes, k-nomial logarithmic, multicast nearly flat.
TEST(Multicast, Shapes) {
  const MulticastModel ri2 = {.setup_ns = 1500,
                              .read_ns_per_byte = 0.08,
                              .chunk_bytes = 512 << 10,
                              .multicast_unit_bytes = 4 << 10,
                              .multicast_overhead_fit = 20};
  const double bytes = 2 << 20;
  EXPECT_NEAR(ring_bcast(ri2, 17, bytes) / ring_bcast(ri2, 9, bytes), 2, 1e-9);
  EXPECT_NEAR(knomial_bcast(ri2, 16, 2, bytes) - knomial_bcast(ri2, 8, 2, bytes),
              knomial_bcast(ri2, 2, 2, bytes), 1e-6);
  EXPECT_LT(multicast_bcast(ri2, 16, bytes) / multicast_bcast(ri2, 2, bytes), 1.1);
}

TEST(Copies, InsideANode) {
  const CopyModel model = {
      .call_ns = 1000, .per_byte_ns = 0.5, .contention_per_reader = 0.1, .notify_ns = 100};
  EXPECT_EQ(model.contention(0), 0);
  EXPECT_EQ(model.contention(1), 1);
  EXPECT_DOUBLE_EQ(model.copy(2000, 3), 2000 * 1.2);
  EXPECT_DOUBLE_EQ(linear_pull_bcast(model, 4, 2000), 100 + 2400 + 200);
  EXPECT_DOUBLE_EQ(pipelined_pull_bcast(model, 2, 1, 4, 8000), 5 * (100 + 2000));
}

TEST(Copies, Hierarchy) {
  const CopyModel node = {.call_ns = 1000, .per_byte_ns = 0.5, .notify_ns = 100};
  // Network: 2 * (1200 + 2000) = 6400 per segment; copies: 100 + 2000.
  EXPECT_DOUBLE_EQ(hierarchical_bcast(kModel, node, 2, 3, 4, 5, 10000), 7 * 6400 + 2000);
  // Copies are slower than the network: they set the pace.
  const CopyModel slow = {.call_ns = 9900, .per_byte_ns = 0, .notify_ns = 100};
  EXPECT_DOUBLE_EQ(hierarchical_bcast(kModel, slow, 2, 3, 4, 5, 10000), 7 * 10000 + 9900);
  // One rank per node: nobody copies.
  EXPECT_DOUBLE_EQ(hierarchical_bcast(kModel, node, 2, 3, 1, 5, 10000), 7 * 6400);
  EXPECT_EQ(ring_allgather_remote_reads(8, 8, 6), 8u * 47);
}

}  // namespace
}  // namespace espalier::closed_forms
