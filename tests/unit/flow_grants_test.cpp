#include "core/flow_grants.hpp"

#include <gtest/gtest.h>

namespace espalier {
namespace {

struct Grants : private Pool<FlowGrant>, FlowGrants {
  explicit Grants(std::size_t most = 1 << 20)
      : Pool<FlowGrant>({64, most}), FlowGrants(entries()) {}

 private:
  Pool<FlowGrant>& entries() noexcept { return *this; }
};

SegmentId segment(std::uint32_t ordinal, std::uint32_t total, std::uint64_t flow = 1) {
  return {3, FlowId(1, 0, flow), ordinal, total, 0};
}
std::uint64_t key(std::uint64_t flow = 1) {
  return FlowId(1, 0, flow).key;
}

TEST(FlowGrants, TheFirstSegmentsNeedNone) {
  Grants grants;
  EXPECT_TRUE(grants.may_send(3, segment(kEagerSegments - 1, 100)));
  EXPECT_FALSE(grants.may_send(3, segment(kEagerSegments, 100)));
  EXPECT_TRUE(grants.arrived(3, key(), kEagerSegments - 1, 100));
  EXPECT_FALSE(grants.arrived(3, key(), kEagerSegments, 100));
  EXPECT_EQ(grants.posted(segment(kEagerSegments - 1, 100), 16), 0U);
  EXPECT_EQ(grants.count(), 0U);
}

// Whatever the window: the limits that the receiver tells cover its posts in time, the sender is
// never ahead of them, and both forget the flow with its last segment.
TEST(FlowGrants, BothSidesAgreeUntilTheLastSegment) {
  for (const std::uint32_t window : {1U, 2U, 3U, 7U, 16U, 64U}) {
    for (const std::uint32_t total : {17U, 18U, 25U, 100U}) {
      Grants sender, receiver;
      std::uint32_t posted = 0, sent = 0, notices = 0;
      while (sent < total) {
        for (; posted < total && posted < sent + window; ++posted) {
          const std::uint32_t limit = receiver.posted(segment(posted, total), window);
          if (limit == 0) continue;
          ++notices;
          ASSERT_EQ(limit, posted + 1);
          ASSERT_TRUE(sender.note(3, key(), limit));
        }
        const std::uint32_t before = sent;
        while (sent < total && sender.may_send(3, segment(sent, total))) {
          sender.sent(3, segment(sent, total));
          ASSERT_TRUE(receiver.arrived(3, key(), sent, total));
          ASSERT_TRUE(sent < kEagerSegments || sent < posted);
          ++sent;
        }
        ASSERT_GT(sent, before) << "stuck: window " << window << ", total " << total;
      }
      EXPECT_EQ(sender.count(), 0U);
      EXPECT_EQ(receiver.count(), 0U);
      EXPECT_LE(notices, total - kEagerSegments);
    }
  }
}

TEST(FlowGrants, AReceivePostedAgainGrantsNothingNew) {
  Grants grants;
  EXPECT_EQ(grants.posted(segment(17, 18), 8), 18U);
  EXPECT_EQ(grants.posted(segment(17, 18), 8), 0U);
  EXPECT_TRUE(grants.arrived(3, key(), 16, 18));
  EXPECT_TRUE(grants.arrived(3, key(), 17, 18));
  EXPECT_FALSE(grants.arrived(3, key(), 17, 18)) << "more came than were granted";
}

TEST(FlowGrants, WithoutMemoryBothSidesSaySo) {
  Grants grants(64);
  for (std::uint64_t flow = 0; flow < 64; ++flow) {
    EXPECT_EQ(grants.posted(segment(17, 18, flow), 8), 18U);
  }
  EXPECT_EQ(grants.posted(segment(17, 18, 64), 8), FlowGrants::kNoMemory);
  EXPECT_FALSE(grants.note(3, key(64), 18));
  EXPECT_EQ(grants.posted(segment(17, 18, 5), 8), 0U) << "it is known";
  grants.forget(3);
  EXPECT_EQ(grants.posted(segment(17, 18, 64), 8), 18U);
}

TEST(FlowGrants, WhatWasPromisedToALostPeerIsForgotten) {
  Grants grants;
  for (std::uint64_t flow = 0; flow < 100; ++flow) {
    EXPECT_EQ(grants.posted(segment(17, 18, flow), 8), 18U);
    ASSERT_TRUE(grants.note(4, key(flow), 18));
  }
  grants.forget(3);
  EXPECT_EQ(grants.count(), 100U);
  EXPECT_FALSE(grants.arrived(3, key(5), 16, 18));
  grants.forget(4);
  EXPECT_EQ(grants.count(), 0U);
}

}  // namespace
}  // namespace espalier
