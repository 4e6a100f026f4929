// Datagrams: what was got is said by the data that goes the other way, and by packets of its own
// only where there is none.
#include <gtest/gtest.h>

#include "tests/harness/rdma_world.hpp"
#include "tests/harness/traffic.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t kRounds = 200;

TEST(DatagramAcknowledgements, TravelWithData) {
  RdmaWorld world(2, datagrams_alone());
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    Message there(0, 1, FlowId(1, 1, round), 1000, round);
    Message back(1, 0, FlowId(1, 2, round), 1000, round);
    for (Message* m : {&there, &back}) ASSERT_NO_FATAL_FAILURE(carry(world, *m));
  }
  for (const Rank r : {0, 1}) {
    const rdma::DatagramLinkCounts& counts = world.datagrams(r).counts();
    EXPECT_GE(counts.data_sent, kRounds);
    EXPECT_LE(counts.answers_sent, kRounds / 20);
    EXPECT_EQ(counts.data_again, 0u);
  }
}

TEST(DatagramAcknowledgements, TravelAloneWhereNothingIsSaid) {
  RdmaWorld world(2, datagrams_alone());
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    Message there(0, 1, FlowId(1, 1, round), 1000, round);
    ASSERT_NO_FATAL_FAILURE(carry(world, there));
  }
  EXPECT_GT(world.datagrams(1).counts().answers_sent, 0u);
  EXPECT_EQ(world.datagrams(0).counts().data_again, 0u);
}

}  // namespace
}  // namespace espalier::test
