// What replaces packets that destroyed queue pairs may have taken along
// (net/verbs/spare_packets.hpp).
#include "net/verbs/spare_packets.hpp"

#include <gtest/gtest.h>

namespace espalier::verbs {
namespace {

TEST(SparePackets, OneForEachQueuePairThatMayHaveTakenOne) {
  SparePackets spares(512, 3);
  EXPECT_EQ(spares.queue_pair_destroyed(false), 512u);
  EXPECT_EQ(spares.queue_pair_destroyed(false), 513u);
  EXPECT_EQ(spares.left(), 1u);
}

TEST(SparePackets, NoneWhereTheDeviceHasGivenAllBack) {
  SparePackets spares(8, 1);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(spares.queue_pair_destroyed(true), std::nullopt);
  EXPECT_EQ(spares.queue_pair_destroyed(false), 8u);
}

TEST(SparePackets, EachIsGivenOutOnce) {
  SparePackets spares(8, 2);
  EXPECT_TRUE(spares.queue_pair_destroyed(false).has_value());
  EXPECT_TRUE(spares.queue_pair_destroyed(false).has_value());
  EXPECT_EQ(spares.queue_pair_destroyed(false), std::nullopt);
  EXPECT_EQ(spares.left(), 0u);
  EXPECT_EQ(SparePackets().queue_pair_destroyed(false), std::nullopt);
}

}  // namespace
}  // namespace espalier::verbs
