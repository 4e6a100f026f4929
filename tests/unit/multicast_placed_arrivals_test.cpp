// What a receiver has of large segments (net/multicast/placed_arrivals.hpp), alone.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <map>

#include "net/multicast/placed_arrivals.hpp"

namespace espalier::multicast {
namespace {

constexpr LaneName kArrivalsLane = {9, 3, 10, std::byte{0xB1}};
constexpr std::uint32_t kPlacedBytes = 4;

// A queue of places as a port has it.
struct PlaceQueue {
  explicit PlaceQueue(std::uint32_t spare) : arrivals(options(spare), counts) {}
  static PlacedOptions options(std::uint32_t spare) {
    PlacedOptions made;
    made.lane = kArrivalsLane;
    made.packet_bytes = kPlacedBytes;
    made.packets_max = 16;
    made.spare_packets = spare;
    return made;
  }
  std::byte* add(std::uint32_t segment, std::uint64_t bytes, bool registered = true) {
    EXPECT_TRUE(arrivals.announce({segment}, bytes));
    memory[segment].assign(bytes, std::byte{0});
    arrivals.give({segment}, {memory[segment].data(), 0, registered});
    post();
    return memory[segment].data();
  }
  void post() {
    for (Place place; arrivals.next_place(place); arrivals.posted(place)) places.push_back(place);
  }
  void arrive(std::uint32_t segment, std::uint32_t packet) {
    ASSERT_FALSE(places.empty());
    const Place place = places.front();
    places.pop_front();
    std::array<std::byte, kLaneHeaderBytes> header;
    write(kArrivalsLane, {{segment}, packet, kPlacedBytes}, header);
    std::memset(place.memory, content(segment, packet), kPlacedBytes);
    arrivals.placed(place.token, LaneHeader(header), kPlacedBytes);
  }
  void flush() {
    while (!places.empty()) {
      const Place place = places.front();
      places.pop_front();
      std::memset(place.memory, 0xFF, kPlacedBytes);
      arrivals.returned(place.token);
    }
  }
  bool repair(std::uint32_t segment, std::uint32_t packet) {
    const std::array<std::byte, kPlacedBytes> payload = [&] {
      std::array<std::byte, kPlacedBytes> made;
      made.fill(static_cast<std::byte>(content(segment, packet)));
      return made;
    }();
    return arrivals.repaired({segment}, packet, payload);
  }
  std::vector<PacketRange> missing() {
    std::vector<PacketRange> found;
    arrivals.front_missing([&](const PacketRange& range) { found.push_back(range); });
    return found;
  }
  static int content(std::uint32_t segment, std::uint32_t packet) {
    return static_cast<int>(16 * (segment + 1) + packet);
  }
  void expect_right(std::uint32_t segment, std::uint32_t packets) {
    for (std::uint32_t i = 0; i < packets * kPlacedBytes; ++i) {
      EXPECT_EQ(std::to_integer<int>(memory[segment][i]), content(segment, i / kPlacedBytes)) << i;
    }
  }

  PlacedCounts counts;
  PlacedArrivals arrivals;
  std::map<std::uint32_t, std::vector<std::byte>> memory;
  std::deque<Place> places;
};

TEST(MulticastPlacedArrivals, NothingIsCopiedWithoutLoss) {
  PlaceQueue queue(4);
  queue.add(0, 5 * kPlacedBytes);
  EXPECT_EQ(queue.arrivals.posted_to(), Sequence{1});
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_FALSE(queue.arrivals.front_whole());
    queue.arrive(0, i);
  }
  EXPECT_TRUE(queue.arrivals.front_whole()) << "it has no tail to wait for";
  queue.expect_right(0, 5);
  EXPECT_EQ(queue.counts.placed, 5U);
  EXPECT_EQ(queue.counts.misplaced, 0U);
  queue.arrivals.drop_front();
  EXPECT_TRUE(queue.arrivals.empty());
  EXPECT_TRUE(queue.arrivals.sent({0}, {})) << "late news of it";
  EXPECT_TRUE(queue.repair(0, 1));
}

TEST(MulticastPlacedArrivals, TheBytesThatFillNoPacketComeWithTheNews) {
  PlaceQueue queue(4);
  std::byte* memory = queue.add(0, kPlacedBytes + 3);
  queue.arrive(0, 0);
  EXPECT_FALSE(queue.arrivals.front_whole());
  const std::array<std::byte, 3> tail = {std::byte{7}, std::byte{8}, std::byte{9}};
  EXPECT_FALSE(queue.arrivals.sent({0}, std::span(tail).first(2)));
  EXPECT_TRUE(queue.arrivals.sent({0}, tail));
  EXPECT_FALSE(queue.arrivals.sent({0}, tail));
  EXPECT_TRUE(queue.arrivals.front_whole());
  EXPECT_EQ(memory[kPlacedBytes + 2], std::byte{9});
  EXPECT_FALSE(queue.arrivals.sent({1}, {}));
}

// 1 is lost: 2 comes into its place, 3 into that of 2, ...
TEST(MulticastPlacedArrivals, WhatCameElsewhereIsPutInItsPlace) {
  PlaceQueue queue(2);
  queue.add(0, 5 * kPlacedBytes);
  for (const std::uint32_t packet : {0U, 2U, 3U, 4U}) queue.arrive(0, packet);
  EXPECT_EQ(queue.counts.misplaced, 3U);
  EXPECT_EQ(queue.counts.dropped, 0U) << "two at a time wait for their places";
  EXPECT_TRUE(queue.arrivals.sent({0}, {}));
  EXPECT_EQ(queue.arrivals.front_in_queue(), 1U);
  queue.flush();
  queue.arrivals.post_again();
  queue.post();
  EXPECT_TRUE(queue.places.empty()) << "of what was sent nothing is waited for";
  EXPECT_EQ(queue.missing(), (std::vector<PacketRange>{{1, 1}}));
  EXPECT_TRUE(queue.missing().empty()) << "it is asked for once";
  EXPECT_FALSE(queue.arrivals.front_whole());
  EXPECT_TRUE(queue.repair(0, 1));
  EXPECT_TRUE(queue.repair(0, 1));
  EXPECT_TRUE(queue.arrivals.front_whole());
  EXPECT_EQ(queue.counts.repairs, 1U);
  queue.expect_right(0, 5);
}

TEST(MulticastPlacedArrivals, WithoutSpareMemoryItIsMissing) {
  PlaceQueue queue(1);
  queue.add(0, 5 * kPlacedBytes);
  for (const std::uint32_t packet : {2U, 3U, 4U, 0U}) queue.arrive(0, packet);
  EXPECT_EQ(queue.counts.dropped, 2U);
  EXPECT_TRUE(queue.arrivals.sent({0}, {}));
  queue.flush();
  EXPECT_EQ(queue.missing(), (std::vector<PacketRange>{{1, 1}, {3, 2}}));
  EXPECT_TRUE(queue.repair(0, 4) && queue.repair(0, 3) && queue.repair(0, 1));
  queue.expect_right(0, 5);
}

TEST(MulticastPlacedArrivals, ARepairWaitsForAPlaceThatIsInUse) {
  PlaceQueue queue(1);
  queue.add(0, 3 * kPlacedBytes);
  queue.arrive(0, 0);
  EXPECT_FALSE(queue.repair(0, 1)) << "nobody misses what is not all sent";
  EXPECT_TRUE(queue.arrivals.sent({0}, {}));
  EXPECT_FALSE(queue.arrivals.needs_flush({0}, 1));
  EXPECT_TRUE(queue.repair(0, 1));
  EXPECT_TRUE(queue.arrivals.needs_flush({0}, 2));
  EXPECT_FALSE(queue.arrivals.needs_flush({0}, 1));
  queue.flush();
  EXPECT_TRUE(queue.repair(0, 2));
  EXPECT_TRUE(queue.arrivals.front_whole());
  queue.expect_right(0, 3);
}

TEST(MulticastPlacedArrivals, ALateCopyDisturbsTheNextSegmentUntilItsPlacesAreInOrder) {
  PlaceQueue queue(4);
  queue.add(0, 2 * kPlacedBytes);
  queue.add(1, 3 * kPlacedBytes);
  queue.arrive(0, 0);
  queue.arrive(0, 1);
  EXPECT_FALSE(queue.arrivals.disturbed());
  queue.arrive(0, 1);
  EXPECT_EQ(queue.counts.duplicates, 1U);
  EXPECT_TRUE(queue.arrivals.disturbed());
  EXPECT_TRUE(queue.arrivals.front_whole());
  queue.flush();
  queue.arrivals.post_again();
  EXPECT_FALSE(queue.arrivals.disturbed());
  queue.post();
  queue.arrivals.drop_front();
  for (std::uint32_t i = 0; i < 3; ++i) queue.arrive(1, i);
  EXPECT_EQ(queue.counts.placed, 5U);
  EXPECT_TRUE(queue.arrivals.front_whole());
  queue.expect_right(1, 3);
}

TEST(MulticastPlacedArrivals, StrangersUseUpPlacesAndNothingElse) {
  PlaceQueue queue(4);
  queue.add(0, 2 * kPlacedBytes);
  std::array<std::byte, kLaneHeaderBytes> header;
  LaneName other = kArrivalsLane;
  ++other.lane;
  write(other, {{0}, 0, kPlacedBytes}, header);
  queue.arrivals.placed(queue.places.front().token, LaneHeader(header), kPlacedBytes);
  queue.places.pop_front();
  write(kArrivalsLane, {{0}, 0, kPlacedBytes}, header);
  queue.arrivals.placed(queue.places.front().token, LaneHeader(header), kPlacedBytes - 1);
  queue.places.pop_front();
  EXPECT_EQ(queue.counts.foreign, 2U);
  EXPECT_TRUE(queue.arrivals.sent({0}, {}));
  EXPECT_EQ(queue.missing(), (std::vector<PacketRange>{{0, 2}}));
}

TEST(MulticastPlacedArrivals, MemoryThatIsNotRegisteredIsFilledByRepairs) {
  PlaceQueue queue(0);
  queue.add(0, 2 * kPlacedBytes, false);
  EXPECT_TRUE(queue.places.empty());
  EXPECT_EQ(queue.arrivals.posted_to(), Sequence{1});
  EXPECT_TRUE(queue.arrivals.sent({0}, {}));
  EXPECT_EQ(queue.missing(), (std::vector<PacketRange>{{0, 2}}));
  EXPECT_TRUE(queue.repair(0, 0) && queue.repair(0, 1));
  EXPECT_TRUE(queue.arrivals.front_whole());
  queue.expect_right(0, 2);
}

TEST(MulticastPlacedArrivals, GoesOnInOtherMemory) {
  PlaceQueue queue(4);
  std::byte* before = queue.add(0, 3 * kPlacedBytes);
  queue.arrive(0, 0);
  queue.flush();
  std::vector<std::byte> other(3 * kPlacedBytes);
  queue.arrivals.move({0}, {other.data(), 0, true});
  std::memset(before, 0xEE, 3 * kPlacedBytes);
  queue.arrivals.post_again();
  queue.post();
  ASSERT_EQ(queue.places.size(), 2U) << "from the first that has not come";
  queue.arrive(0, 1);
  queue.arrive(0, 2);
  EXPECT_TRUE(queue.arrivals.front_whole());
  queue.memory[0].swap(other);
  queue.expect_right(0, 3);
  for (const std::byte is : other) EXPECT_EQ(is, std::byte{0xEE});
}

TEST(MulticastPlacedArrivals, ALaneThatIsGoneLeavesTheRestToRepairs) {
  PlaceQueue queue(4);
  queue.add(0, 3 * kPlacedBytes);
  queue.arrive(0, 2);
  queue.arrivals.no_places();
  EXPECT_EQ(queue.arrivals.in_queue(), 0U);
  EXPECT_TRUE(queue.arrivals.sent({0}, {}));
  EXPECT_EQ(queue.missing(), (std::vector<PacketRange>{{0, 2}}));
  EXPECT_TRUE(queue.repair(0, 0) && queue.repair(0, 1));
  EXPECT_TRUE(queue.arrivals.front_whole());
  queue.expect_right(0, 3);
}

TEST(MulticastPlacedArrivals, RefusesSegmentsThatNoSourceAnnounces) {
  PlaceQueue queue(1);
  EXPECT_FALSE(queue.arrivals.announce({1}, 4)) << "not the next";
  EXPECT_FALSE(queue.arrivals.announce({0}, 0));
  EXPECT_FALSE(queue.arrivals.announce({0}, 16 * kPlacedBytes + 1));
  for (std::uint32_t i = 0; i <= kSegmentsAhead; ++i) {
    EXPECT_TRUE(queue.arrivals.announce({i}, 16 * kPlacedBytes));
  }
  EXPECT_FALSE(queue.arrivals.announce({kSegmentsAhead + 1}, 4)) << "too many";
  EXPECT_FALSE(queue.arrivals.given({0}));
  EXPECT_EQ(queue.arrivals.posted_to(), Sequence{0});
  // Places are in the order of segments.
  std::vector<std::byte> memory(16 * kPlacedBytes);
  queue.arrivals.give({1}, {memory.data(), 0, true});
  queue.post();
  EXPECT_TRUE(queue.places.empty());
}

}  // namespace
}  // namespace espalier::multicast
