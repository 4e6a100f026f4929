// The parts of large segments (net/multicast/placed_*.hpp), each alone.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <map>

#include "net/multicast/packet_bits.hpp"
#include "net/multicast/placed_arrivals.hpp"
#include "net/multicast/placed_tree.hpp"

namespace espalier::multicast {
namespace {

constexpr LaneName kTestLane = {9, 3, 10, std::byte{0xB1}};
constexpr Rank kChain[] = {10, 20, 30, 40, 50};

TEST(MulticastPacketBits, FindsWhatIsInAndWhatIsNot) {
  PacketBits bits;
  bits.reset(130);
  EXPECT_FALSE(bits.any());
  EXPECT_EQ(bits.next(0), 130U);
  for (const std::uint32_t at : {0U, 63U, 64U, 129U}) bits.add(at);
  bits.add(63);
  EXPECT_EQ(bits.count(), 4U);
  EXPECT_EQ(bits.next(1), 63U);
  EXPECT_EQ(bits.next(65), 129U);
  EXPECT_EQ(bits.next(63, false), 65U);
  EXPECT_EQ(bits.next(129, false), 130U);
  bits.remove(63);
  bits.remove(63);
  EXPECT_EQ(bits.count(), 3U);
  EXPECT_FALSE(bits.has(63));
  EXPECT_FALSE(bits.has(1000));
  bits.grow(200);
  EXPECT_EQ(bits.size(), 200U);
  EXPECT_TRUE(bits.has(129));
  EXPECT_EQ(bits.next(130), 200U);
  for (std::uint32_t i = 0; i < 200; ++i) bits.add(i);
  EXPECT_TRUE(bits.all());
  EXPECT_EQ(bits.next(0, false), 200U);
}

TEST(MulticastPlacedMessage, PacketsAreThoseOfOneLane) {
  std::array<std::byte, kLaneHeaderBytes> header;
  write(kTestLane, {{7}, 12, 4000}, header);
  LanePacket read;
  ASSERT_TRUE(parse(LaneHeader(header), kTestLane, read));
  EXPECT_EQ(read.segment, Sequence{7});
  EXPECT_EQ(read.packet, 12U);
  EXPECT_EQ(read.bytes, 4000U);
  // Version, epoch, lane and source.
  for (const std::size_t at : {0U, 8U, 15U, 16U, 20U}) {
    auto other = header;
    other[at] ^= std::byte{1};
    EXPECT_FALSE(parse(LaneHeader(other), kTestLane, read)) << at;
  }
}

TEST(MulticastPlacedMessage, RefusesWhatNoMemberSends) {
  const auto taken = [](const PlacedMessage& message, bool mail) {
    const PlacedHead head = head_of(kTestLane, message);
    std::vector<std::byte> bytes(head.begin(), head.end());
    bytes.insert(bytes.end(), message.rest.begin(), message.rest.end());
    PlacedMessage read;
    if (!parse(bytes, kTestLane, mail, read)) return false;
    return read.kind == message.kind && read.segment == message.segment &&
           read.value == message.value && read.rest.size() == message.rest.size();
  };
  std::array<std::byte, kPacketRangeBytes> range;
  write_packets(range.data(), {3, 4});
  EXPECT_EQ(read_packets(range, 0), (PacketRange{3, 4}));
  EXPECT_TRUE(taken({PlacedKind::kAnnounce, {1}, 5000, {}}, false));
  EXPECT_TRUE(taken({PlacedKind::kRepair, {1}, 2, range}, false));
  EXPECT_TRUE(taken({PlacedKind::kSent, {1}, 0, {}}, false));
  EXPECT_TRUE(taken({PlacedKind::kState, {2}, 1, {}}, true));
  EXPECT_TRUE(taken({PlacedKind::kMissing, {1}, 0, range}, true));

  EXPECT_FALSE(taken({PlacedKind::kAnnounce, {1}, 5000, {}}, true)) << "not by mail";
  EXPECT_FALSE(taken({PlacedKind::kState, {2}, 1, {}}, false)) << "not in the stream";
  EXPECT_FALSE(taken({PlacedKind::kAnnounce, {1}, 0, {}}, false));
  EXPECT_FALSE(taken({PlacedKind::kAnnounce, {1}, 5000, range}, false));
  EXPECT_FALSE(taken({PlacedKind::kRepair, {1}, 2, {}}, false));
  EXPECT_FALSE(taken({PlacedKind::kRepair, {1}, kPlacedPacketsMax, range}, false));
  EXPECT_FALSE(taken({PlacedKind::kSent, {1}, 1, {}}, false));
  EXPECT_FALSE(taken({PlacedKind::kState, {2}, std::uint64_t{1} << 32, {}}, true));
  EXPECT_FALSE(taken({PlacedKind::kMissing, {1}, 0, {}}, true));
  EXPECT_FALSE(taken({PlacedKind::kMissing, {1}, 0, std::span(range).first(7)}, true));
  EXPECT_FALSE(taken({static_cast<PlacedKind>(6), {1}, 0, {}}, true));
  for (const PacketRange bad : {PacketRange{0, 0}, PacketRange{kPlacedPacketsMax, 1},
                                PacketRange{1, kPlacedPacketsMax}, PacketRange{9, ~0U}}) {
    write_packets(range.data(), bad);
    EXPECT_FALSE(taken({PlacedKind::kMissing, {1}, 0, range}, true));
  }
  const std::array<std::byte, (kPacketRangesMax + 1)* kPacketRangeBytes> many = {};
  EXPECT_FALSE(taken({PlacedKind::kMissing, {1}, 0, many}, true));
}

TEST(MulticastPlacedMessage, SaysWhoseItIs) {
  PlacedHead head = head_of(kTestLane, {PlacedKind::kSent, {1}, 0, {}});
  LaneOfMessage lane;
  ASSERT_TRUE(lane_of(head, lane));
  EXPECT_EQ(lane.lane, 3U);
  EXPECT_EQ(lane.source, 10);
  EXPECT_FALSE(lane_of(std::span(head).first(kPlacedMessageBytes - 1), lane));
  PlacedMessage read;
  for (const std::size_t at : {0U, 4U, 8U}) {
    auto other = head;
    other[at] ^= std::byte{1};
    EXPECT_FALSE(parse(other, kTestLane, false, read)) << at;
  }
}

// ---- the tree ----

struct LaneBox final : MemberMail {
  bool post(Rank to, std::span<const std::byte> message) noexcept override {
    if (full) return false;
    letters.push_back({to, {message.begin(), message.end()}});
    return true;
  }
  // The only letter, as a message.
  PlacedMessage only(Rank to) {
    PlacedMessage read;
    EXPECT_EQ(letters.size(), 1U);
    if (letters.size() != 1) return read;
    last = letters.front().second;
    EXPECT_EQ(letters.front().first, to);
    EXPECT_TRUE(parse(last, kTestLane, true, read));
    letters.clear();
    return read;
  }
  std::deque<std::pair<Rank, std::vector<std::byte>>> letters;
  std::vector<std::byte> last;
  bool full = false;
};

std::vector<std::byte> says(std::uint32_t posted, std::uint32_t whole) {
  const PlacedHead head = head_of(kTestLane, {PlacedKind::kState, {posted}, whole, {}});
  return {head.begin(), head.end()};
}
std::vector<std::byte> misses(std::uint32_t segment, const PacketRange& range) {
  const PlacedHead head = head_of(kTestLane, {PlacedKind::kMissing, {segment}, 0, {}});
  std::vector<std::byte> message(head.begin(), head.end());
  message.resize(kPlacedMessageBytes + kPacketRangeBytes);
  write_packets(message.data() + kPlacedMessageBytes, range);
  return message;
}

// A chain: 10 (the source), 20, 30, 40, 50.
TEST(MulticastPlacedTree, SaysTheLeastOfItsSubtreeOnce) {
  PlacedTree tree(kTestLane, kChain, 30, 1, {0});
  EXPECT_EQ(tree.parent(), 20);
  LaneBox mail;
  EXPECT_TRUE(tree.tell(mail));
  EXPECT_TRUE(mail.letters.empty()) << "nothing is there yet";
  tree.set_own({{3}, {2}});
  EXPECT_TRUE(tree.tell(mail));
  EXPECT_TRUE(mail.letters.empty()) << "the member below has nothing";
  tree.mail_arrived(40, says(2, 1));
  mail.full = true;
  EXPECT_FALSE(tree.tell(mail));
  mail.full = false;
  EXPECT_TRUE(tree.tell(mail));
  const PlacedMessage said = mail.only(20);
  EXPECT_EQ(said.segment, Sequence{2});
  EXPECT_EQ(said.value, 1U);
  tree.mail_arrived(40, says(1, 0));
  EXPECT_TRUE(tree.tell(mail));
  EXPECT_TRUE(mail.letters.empty());
  EXPECT_EQ(tree.counts().states, 1U);
  tree.mail_arrived(60, says(2, 2));
  tree.mail_arrived(30, says(2, 2));
  EXPECT_EQ(tree.counts().refused, 2U);
}

TEST(MulticastPlacedTree, AsksOnceForAllBelow) {
  PlacedTree tree(kTestLane, kChain, 20, 1, {0});
  LaneBox mail;
  tree.set_own({{1}, {0}});
  EXPECT_TRUE(tree.tell(mail));
  mail.letters.clear();
  tree.want({0}, {4, 2});
  tree.mail_arrived(30, misses(0, {5, 3}));
  EXPECT_EQ(tree.counts().suppressed, 1U);
  EXPECT_TRUE(tree.tell(mail));
  const PlacedMessage asked = mail.only(10);
  ASSERT_EQ(asked.rest.size(), kPacketRangeBytes);
  EXPECT_EQ(read_packets(asked.rest, 0), (PacketRange{4, 4}));
  tree.mail_arrived(30, misses(0, {4, 4}));
  EXPECT_TRUE(tree.tell(mail));
  EXPECT_TRUE(mail.letters.empty()) << "it has been asked for";
  // What is on its way to all is not asked for, either.
  tree.repaired({0}, 7);
  tree.mail_arrived(30, misses(0, {7, 2}));
  EXPECT_TRUE(tree.tell(mail));
  EXPECT_EQ(read_packets(mail.only(10).rest, 0), (PacketRange{8, 1}));
  tree.mail_arrived(30, misses(1, {0, 1}));
  EXPECT_EQ(tree.counts().refused, 1U) << "it has no places for that segment";
}

TEST(MulticastPlacedTree, SaysAndAsksAgainAfterADeath) {
  PlacedTree tree(kTestLane, kChain, 30, 1, {0});
  LaneBox mail;
  tree.set_own({{1}, {0}});
  tree.mail_arrived(40, says(1, 0));
  tree.want({0}, {2, 1});
  EXPECT_TRUE(tree.tell(mail));
  EXPECT_EQ(mail.letters.size(), 2U);
  mail.letters.clear();
  tree.member_lost(20);
  EXPECT_EQ(tree.parent(), 10);
  EXPECT_TRUE(tree.tell(mail));
  ASSERT_EQ(mail.letters.size(), 2U);
  EXPECT_EQ(mail.letters.front().first, 10);
  mail.letters.clear();
  // Who is below now may have spoken before that was known.
  tree.mail_arrived(50, says(1, 1));
  tree.set_own({{1}, {1}});
  tree.member_lost(40);
  EXPECT_EQ(tree.merged(), (PlacedState{{1}, {1}}));
  tree.mail_arrived(40, says(1, 1));
  EXPECT_EQ(tree.counts().refused, 1U) << "of the dead nothing is taken";
  tree.member_lost(10);
  EXPECT_EQ(tree.parent(), kNoRank);
  EXPECT_TRUE(tree.tell(mail));
  EXPECT_TRUE(mail.letters.empty());
}

TEST(MulticastPlacedTree, TheSourceRepairsEachPacketOnce) {
  PlacedTree tree(kTestLane, kChain, 10, 2, {0});
  EXPECT_EQ(tree.parent(), kNoRank);
  tree.set_own({{2}, {2}});
  tree.mail_arrived(20, misses(0, {3, 2}));
  EXPECT_EQ(tree.next_wanted({0}, 100), 3U);
  EXPECT_EQ(tree.next_wanted({1}, 100), 100U);
  EXPECT_EQ(tree.next_wanted({0}, 2), 2U) << "the segment has no such packet";
  tree.repaired({0}, 3);
  tree.mail_arrived(30, misses(0, {2, 2}));
  EXPECT_EQ(tree.next_wanted({0}, 100), 2U);
  tree.repaired({0}, 2);
  tree.repaired({0}, 4);
  EXPECT_EQ(tree.next_wanted({0}, 100), 100U);
  EXPECT_EQ(tree.merged(), (PlacedState{{0}, {0}}));
  tree.mail_arrived(20, says(2, 1));
  tree.mail_arrived(30, says(1, 1));
  EXPECT_EQ(tree.merged(), (PlacedState{{1}, {1}}));
  tree.mail_arrived(20, misses(1, {0, 1}));
  EXPECT_EQ(tree.next_wanted({1}, 100), 0U);
  tree.mail_arrived(20, misses(0, {0, 1}));
  EXPECT_EQ(tree.next_wanted({0}, 100), 100U) << "that has arrived everywhere";
}

// ---- arrivals ----

constexpr std::uint32_t kPlacedBytes = 4;

// A queue of places as a port has it.
struct PlaceQueue {
  explicit PlaceQueue(std::uint32_t spare) : arrivals(options(spare), counts) {}
  static PlacedOptions options(std::uint32_t spare) {
    PlacedOptions made;
    made.lane = kTestLane;
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
    write(kTestLane, {{segment}, packet, kPlacedBytes}, header);
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
  LaneName other = kTestLane;
  ++other.lane;
  write(other, {{0}, 0, kPlacedBytes}, header);
  queue.arrivals.placed(queue.places.front().token, LaneHeader(header), kPlacedBytes);
  queue.places.pop_front();
  write(kTestLane, {{0}, 0, kPlacedBytes}, header);
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
