#include "net/rdma/packet_header.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/crc32c.hpp"
#include "core/prng.hpp"

namespace espalier::rdma {
namespace {

constexpr Identity kMe = {0x1122334455667788, 3, 8};

PacketHeader some_header() {
  PacketHeader header;
  header.flags = kData;
  header.bytes = 20;
  header.epoch = kMe.epoch;
  header.from = 5;
  header.to = kMe.rank;
  header.sequence = {0xfffffffe};
  header.ack.expected = {0x80000001};
  header.ack.limit = {0x80000011};
  header.ack.held_ns = 1234;
  header.ack.arrived.set(0);
  header.ack.arrived.set(127);
  return header;
}

std::vector<std::byte> packet_of(const PacketHeader& header) {
  std::vector<std::byte> packet(packet_length(header), std::byte{0x77});
  write_packet(header, packet);
  return packet;
}

// As somebody would who knows the checksum.
void sign(std::vector<std::byte>& packet) {
  const std::uint32_t sum = crc32c(std::span<const std::byte>(packet).subspan(4));
  for (std::size_t i = 0; i < 4; ++i) packet[i] = static_cast<std::byte>(sum >> (8 * i));
}

Refused parse(const std::vector<std::byte>& packet) {
  PacketHeader header;
  return parse_packet(packet, kMe, header);
}

TEST(PacketHeader, IsReadAsItWasWritten) {
  const PacketHeader header = some_header();
  const auto packet = packet_of(header);
  PacketHeader read;
  ASSERT_EQ(parse_packet(packet, kMe, read), Refused::kNo);
  EXPECT_EQ(read, header);
  EXPECT_EQ(sequence_of(packet), header.sequence);
  EXPECT_EQ(payload_of(packet).size(), header.bytes);
  EXPECT_EQ(payload_of(packet).data(), packet.data() + kPacketHeaderBytes);
  EXPECT_FALSE(says_goodbye(packet));
}

// Without a checksum only where the network has one.
TEST(PacketHeader, MayBeUnsummedWhereThePortVouches) {
  PacketHeader header = some_header();
  header.flags |= kUnsummed;
  auto packet = packet_of(header);
  EXPECT_EQ(parse(packet), Refused::kChecksum);
  Identity vouched = kMe;
  vouched.intact = true;
  PacketHeader read;
  ASSERT_EQ(parse_packet(packet, vouched, read), Refused::kNo);
  EXPECT_EQ(read, some_header()) << "how it was protected is of no concern above";
  packet[1] = std::byte{1};  // The checksum's place is empty then.
  EXPECT_EQ(parse_packet(packet, vouched, read), Refused::kChecksum);
  packet = packet_of(some_header());
  EXPECT_EQ(parse_packet(packet, vouched, read), Refused::kNo);
  packet.back() ^= std::byte{1};
  EXPECT_EQ(parse_packet(packet, vouched, read), Refused::kChecksum) << "those that have one";
}

TEST(PacketHeader, HasAFixedLayout) {
  const auto packet = packet_of(some_header());
  const auto at = [&](std::size_t i) { return static_cast<unsigned>(packet[i]); };
  EXPECT_EQ(at(4), kPacketVersion);
  EXPECT_EQ(at(5), unsigned{kData} | kSelective);
  EXPECT_EQ(at(6), 20U);
  EXPECT_EQ(at(8), 0x88U);   // epoch, the lowest byte first
  EXPECT_EQ(at(16), 5U);     // from
  EXPECT_EQ(at(20), 3U);     // to
  EXPECT_EQ(at(24), 0xfeU);  // sequence
  EXPECT_EQ(at(28), 0x01U);  // expected
  EXPECT_EQ(at(32), 0x11U);  // limit
  EXPECT_EQ(at(36), 0xd2U);  // held
  EXPECT_EQ(at(40), 0x77U);  // payload
  EXPECT_EQ(at(59), 0x77U);
  EXPECT_EQ(at(60), 0x01U);  // arrived, the first
  EXPECT_EQ(at(75), 0x80U);  // arrived, the last
  EXPECT_EQ(packet.size(), 76U);
}

// Nearly all packets: nothing is missing.
TEST(PacketHeader, SaysNothingOfPacketsBeyondAGapWhereThereIsNone) {
  PacketHeader header = some_header();
  header.ack.arrived = {};
  const auto packet = packet_of(header);
  EXPECT_EQ(packet.size(), kPacketHeaderBytes + header.bytes);
  PacketHeader read = some_header();
  ASSERT_EQ(parse_packet(packet, kMe, read), Refused::kNo);
  EXPECT_EQ(read, header);
}

TEST(PacketHeader, ASelectiveAcknowledgementOfNothingIsRefused) {
  auto packet = packet_of(some_header());
  for (std::size_t i = 60; i < 76; ++i) packet[i] = std::byte{0};
  sign(packet);
  EXPECT_EQ(parse(packet), Refused::kFlags);
}

TEST(PacketHeader, EveryFlippedBitIsNoticed) {
  const auto packet = packet_of(some_header());
  for (std::size_t bit = 0; bit < 8 * packet.size(); ++bit) {
    auto damaged = packet;
    damaged[bit / 8] ^= std::byte{1} << bit % 8;
    ASSERT_EQ(parse(damaged), Refused::kChecksum) << "bit " << bit;
  }
}

TEST(PacketHeader, EveryOtherLengthIsNoticed) {
  const auto packet = packet_of(some_header());
  for (std::size_t length = 0; length < packet.size() + 8; ++length) {
    if (length == packet.size()) continue;
    auto cut = packet;
    cut.resize(length);
    EXPECT_NE(parse(cut), Refused::kNo) << length;
    if (length < kPacketHeaderBytes) continue;
    sign(cut);
    EXPECT_EQ(parse(cut), Refused::kShort) << length;
  }
}

TEST(PacketHeader, SaysWhatIsWrong) {
  const auto refused = [](auto&& change) {
    PacketHeader header = some_header();
    change(header);
    return parse(packet_of(header));
  };
  EXPECT_EQ(refused([](PacketHeader& h) { h.epoch ^= std::uint64_t{1} << 63; }), Refused::kEpoch);
  EXPECT_EQ(refused([](PacketHeader& h) { h.to = 4; }), Refused::kAddress);
  EXPECT_EQ(refused([](PacketHeader& h) { h.from = 8; }), Refused::kAddress);
  EXPECT_EQ(refused([](PacketHeader& h) { h.from = -1; }), Refused::kAddress);
  EXPECT_EQ(refused([](PacketHeader& h) { h.from = 3; }), Refused::kAddress);
  auto packet = packet_of(some_header());
  packet[4] = std::byte{kPacketVersion + 1};
  sign(packet);
  EXPECT_EQ(parse(packet), Refused::kVersion);
}

TEST(PacketHeader, OnlyPossibleFlagsAreTaken) {
  for (unsigned flags = 0; flags < 256; ++flags) {
    for (const bool bare : {false, true}) {
      PacketHeader header = some_header();
      header.bytes = bare ? 0 : 20;
      if ((flags & kSelective) == 0) header.ack.arrived = {};
      auto packet = packet_of(header);
      packet[5] = static_cast<std::byte>(flags);
      sign(packet);
      const unsigned kind = flags & ~unsigned{kSelective};
      const bool stream = (kind & ~7U) == 0;
      const bool right = kind == kLetter || (kind == kRefusal && bare) ||
                         (stream && ((flags & kGoodbye) != 0 ? bare && (flags & kData) != 0
                                                             : bare || (flags & kData) != 0));
      const Refused wrong = (flags & kUnsummed) != 0 ? Refused::kChecksum : Refused::kFlags;
      EXPECT_EQ(parse(packet), right ? Refused::kNo : wrong) << flags << " " << bare;
    }
  }
}

// Noise, with and without a right checksum: what is taken is what a sender could have written.
TEST(PacketHeader, Fuzz) {
  Prng prng(7);
  int taken = 0;
  for (int i = 0; i < 200'000; ++i) {
    PacketHeader original = some_header();
    if (prng.chance(0.5)) original.ack.arrived = {};
    auto packet = packet_of(original);
    if (prng.chance(0.3)) packet.resize(prng.below(100));
    for (std::uint64_t n = prng.below(6); n > 0 && !packet.empty(); --n) {
      packet[prng.below(packet.size())] = static_cast<std::byte>(prng.next());
    }
    if (packet.size() >= 4 && prng.chance(0.8)) sign(packet);
    PacketHeader header;
    if (parse_packet(packet, kMe, header) != Refused::kNo) continue;
    ++taken;
    auto again = packet;
    write_packet(header, again);
    ASSERT_EQ(again, packet);
  }
  EXPECT_GT(taken, 10'000);
}

TEST(ArrivalBits, ShiftAcrossWords) {
  ArrivalBits bits;
  bits.set(0);
  bits.set(64);
  EXPECT_EQ(bits.width(), 65U);
  bits.set(127);
  EXPECT_EQ(bits.width(), 128U);
  EXPECT_TRUE(bits.shift());
  EXPECT_FALSE(bits.shift());
  EXPECT_TRUE(bits.test(62));
  EXPECT_TRUE(bits.test(125));
  EXPECT_FALSE(bits.test(127));
  EXPECT_FALSE(bits.test(128));
  for (int i = 0; i < 126; ++i) (void)bits.shift();
  EXPECT_FALSE(bits.any());
  EXPECT_EQ(bits.width(), 0U);
}

TEST(Sequence, ComparesAcrossTheWrap) {
  const Sequence last{0xffffffff};
  EXPECT_TRUE(last.before(last + 1));
  EXPECT_FALSE((last + 1).before(last));
  EXPECT_EQ(last + 3 - last, 3);
  EXPECT_EQ(last - (last + 3), -3);
  EXPECT_FALSE(last.before(last));
}

}  // namespace
}  // namespace espalier::rdma
