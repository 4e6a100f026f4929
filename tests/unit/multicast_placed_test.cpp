// The parts of large segments (net/multicast/placed_*.hpp), each alone.
#include <gtest/gtest.h>

#include <array>
#include <deque>

#include "net/multicast/packet_bits.hpp"
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

}  // namespace
}  // namespace espalier::multicast
