// net/multicast/placed_patches.hpp: which copies put a segment right, and in which order.
#include "net/multicast/placed_patches.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace espalier::multicast::played {
namespace {

constexpr std::uint32_t kEach = 10, kPackets = 8;

std::vector<PlacedPatch> all_of(PlacedPatches& patches, std::uint64_t bytes) {
  std::vector<PlacedPatch> all;
  for (PlacedPatch patch; patches.next(bytes, kEach, patch); patches.done()) all.push_back(patch);
  return all;
}
void expect(const PlacedPatch& is, bool fetches, std::uint64_t from, std::uint64_t to,
            std::uint64_t bytes) {
  EXPECT_EQ(is.fetches, fetches);
  EXPECT_EQ(is.from, from);
  EXPECT_EQ(is.to, to);
  EXPECT_EQ(is.bytes, bytes);
}

TEST(PlacedPatches, AShiftBehindALossIsOneRun) {
  PlacedPatches patches;
  patches.reset(kPackets);
  for (std::uint32_t packet = 3; packet < kPackets; ++packet) {
    EXPECT_TRUE(patches.add_stray(packet, packet - 1));
  }
  patches.add_beside(2);
  patches.add_tail();
  const std::vector<PlacedPatch> all = all_of(patches, kPackets * kEach + 4);
  ASSERT_EQ(all.size(), 2u);
  expect(all[0], true, 20, 30, 50);
  expect(all[1], false, 20, 20, 64);
  EXPECT_FALSE(patches.any());
}

TEST(PlacedPatches, WhatLiesApartIsStoredApart) {
  PlacedPatches patches;
  patches.reset(kPackets);
  patches.add_beside(0);
  patches.add_beside(1);
  patches.add_beside(5);
  patches.add_tail();
  const std::vector<PlacedPatch> all = all_of(patches, kPackets * kEach + 1);
  ASSERT_EQ(all.size(), 3u);
  expect(all[0], false, 0, 0, 20);
  expect(all[1], false, 50, 50, 10);
  expect(all[2], false, 80, 80, 1);
}

TEST(PlacedPatches, TooManyRunsAreRefused) {
  PlacedPatches patches;
  patches.reset(200);
  std::uint32_t kept = 0;
  while (patches.add_stray(2 * kept + 1, 2 * kept)) ++kept;
  EXPECT_EQ(kept, 32u);
  EXPECT_TRUE(patches.add_stray(2 * kept, 2 * kept - 1)) << "it goes on with the last one";
  EXPECT_EQ(all_of(patches, 200 * kEach).size(), 2 * kept);
}

TEST(PlacedPatches, OfPlacesThatArePostedAgainNothingIsKept) {
  PlacedPatches patches;
  patches.reset(kPackets);
  for (std::uint32_t packet = 1; packet < 6; ++packet) {
    EXPECT_TRUE(patches.add_stray(packet, packet + 1));
  }
  std::vector<std::uint32_t> dropped;
  patches.drop_strays(4, [&](std::uint32_t packet) { dropped.push_back(packet); });
  EXPECT_EQ(dropped, (std::vector<std::uint32_t>{3, 4, 5}));
  const std::vector<PlacedPatch> all = all_of(patches, kPackets * kEach);
  ASSERT_EQ(all.size(), 2u);
  expect(all[0], true, 20, 10, 20);
  patches.drop_strays(0, [](std::uint32_t) { ADD_FAILURE(); });
}

}  // namespace
}  // namespace espalier::multicast::played
