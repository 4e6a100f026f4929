#include <gtest/gtest.h>

#include <vector>

#include "core/crc32c.hpp"
#include "core/prng.hpp"
#include "net/multicast/packet.hpp"

namespace espalier::multicast {
namespace {

constexpr Membership kReader = {0x1122334455667788, 9, 8, false};

Header some_data() {
  Header header;
  header.kind = Kind::kData;
  header.flags = kAsk;
  header.bytes = 20;
  header.epoch = kReader.epoch;
  header.group = kReader.group;
  header.source = 5;
  header.sequence = {3};
  header.stable = {0xfffffffe};
  header.tag = 0x8877665544332211;
  return header;
}

Header some(Kind kind, std::uint16_t bytes) {
  Header header = some_data();
  header.kind = kind;
  header.flags = 0;
  header.bytes = bytes;
  return header;
}

std::vector<std::byte> written(const Header& header) {
  std::vector<std::byte> packet(kHeaderBytes + header.bytes, std::byte{0x77});
  write(header, packet);
  return packet;
}

Refused parsed(const Header& header, bool mail) {
  Header read;
  return parse(written(header), kReader, mail, read);
}

TEST(MulticastPacket, IsReadAsItWasWritten) {
  const auto packet = written(some_data());
  Header read;
  ASSERT_EQ(parse(packet, kReader, false, read), Refused::kNo);
  EXPECT_EQ(read, some_data());
  EXPECT_EQ(payload_of(packet).size(), 20U);
  EXPECT_EQ(payload_of(packet).data(), packet.data() + kHeaderBytes);
  EXPECT_EQ(tag_of(packet), some_data().tag);
}

TEST(MulticastPacket, HasAFixedLayout) {
  const auto packet = written(some_data());
  const auto at = [&](std::size_t i) { return static_cast<unsigned>(packet[i]); };
  EXPECT_EQ(at(4), kPacketVersion);
  EXPECT_EQ(at(5), 1U | kAsk);
  EXPECT_EQ(at(6), 20U);
  EXPECT_EQ(at(8), 0x88U);   // epoch, the lowest byte first
  EXPECT_EQ(at(16), 9U);     // group
  EXPECT_EQ(at(20), 5U);     // source
  EXPECT_EQ(at(24), 3U);     // sequence
  EXPECT_EQ(at(28), 0xfeU);  // stable
  EXPECT_EQ(at(32), 0x11U);  // tag
  EXPECT_EQ(at(40), 0x77U);  // payload
}

TEST(MulticastPacket, EveryFlippedBitIsNoticed) {
  const auto packet = written(some_data());
  for (std::size_t bit = 0; bit < 8 * packet.size(); ++bit) {
    auto damaged = packet;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    Header read;
    EXPECT_NE(parse(damaged, kReader, false, read), Refused::kNo) << bit;
  }
}

TEST(MulticastPacket, MayBeUnsummedByMailAndWhereThePortVouches) {
  Header header = some_data();
  header.flags |= kUnsummed;
  const auto packet = written(header);
  Header read;
  EXPECT_EQ(parse(packet, kReader, false, read), Refused::kChecksum);
  ASSERT_EQ(parse(packet, kReader, true, read), Refused::kNo);
  EXPECT_EQ(read, some_data());
  Membership vouched = kReader;
  vouched.intact = true;
  EXPECT_EQ(parse(packet, vouched, false, read), Refused::kNo);
}

TEST(MulticastPacket, OfOthersIsRefused) {
  Header header = some_data();
  ++header.epoch;
  EXPECT_EQ(parsed(header, false), Refused::kEpoch);
  header = some_data();
  ++header.group;
  EXPECT_EQ(parsed(header, false), Refused::kAddress);
  for (const Rank source : {-1, 8}) {
    header = some_data();
    header.source = source;
    EXPECT_EQ(parsed(header, false), Refused::kAddress);
  }
  auto packet = written(some_data());
  packet.pop_back();
  Header read;
  EXPECT_NE(parse(packet, kReader, true, read), Refused::kNo);
  EXPECT_EQ(parse({packet.data(), 39}, kReader, true, read), Refused::kShort);
}

TEST(MulticastPacket, WhatNoSenderWritesIsRefused) {
  EXPECT_EQ(parsed(some(Kind::kProbe, 0), false), Refused::kNo);
  EXPECT_EQ(parsed(some(Kind::kProbe, 1), false), Refused::kFlags);
  // By mail alone, and of one length.
  for (const auto& [kind, bytes] :
       {std::pair(Kind::kAck, 12), std::pair(Kind::kNack, 24), std::pair(Kind::kReport, 16),
        std::pair(Kind::kEnd, 0), std::pair(Kind::kDone, 0)}) {
    const auto length = static_cast<std::uint16_t>(bytes);
    EXPECT_EQ(parsed(some(kind, length), true), Refused::kNo);
    EXPECT_EQ(parsed(some(kind, length), false), Refused::kFlags);
    EXPECT_EQ(parsed(some(kind, length + 1), true), Refused::kFlags);
    Header asks = some(kind, length);
    asks.flags = kAsk;
    EXPECT_EQ(parsed(asks, true), Refused::kFlags);
  }
  EXPECT_EQ(parsed(some(Kind::kNack, 0), true), Refused::kFlags);
  EXPECT_EQ(parsed(some(Kind::kNack, kRangeBytes * (kRangesMax + 1)), true), Refused::kFlags);
  EXPECT_EQ(parsed(some(static_cast<Kind>(0), 0), true), Refused::kFlags);
  EXPECT_EQ(parsed(some(static_cast<Kind>(8), 0), true), Refused::kFlags);
  // The numbers of a packet that is stable, and of one beyond every window.
  Header header = some_data();
  header.stable = header.sequence + 1;
  EXPECT_EQ(parsed(header, false), Refused::kFlags);
  header.sequence = header.stable + kWindowMax + 1;
  EXPECT_EQ(parsed(header, false), Refused::kFlags);
}

TEST(MulticastPacket, PayloadsAreReadAsTheyWereWritten) {
  std::vector<std::byte> bytes(2 * kRangeBytes);
  const Range ranges[] = {{{0xffffffff}, 3}, {{7}, 1}};
  write_range(bytes.data(), ranges[0]);
  write_range(bytes.data() + kRangeBytes, ranges[1]);
  EXPECT_EQ(read_range(bytes, 0), ranges[0]);
  EXPECT_EQ(read_range(bytes, 1), ranges[1]);
  const SubtreeState state = {3, 17, 5};
  write_state(bytes.data(), state);
  EXPECT_EQ(read_state(bytes), state);
  rdma::ArrivalBits arrived;
  arrived.set(0);
  arrived.set(127);
  write_arrived(bytes.data(), arrived);
  EXPECT_EQ(read_arrived(bytes), arrived);
}

TEST(MulticastPacket, NothingAtRandomIsTaken) {
  Prng prng(11);
  for (int round = 0; round < 10'000; ++round) {
    std::vector<std::byte> bytes(prng.below(80));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.next());
    Header read;
    EXPECT_NE(parse(bytes, kReader, prng.chance(0.5), read), Refused::kNo);
  }
}

}  // namespace
}  // namespace espalier::multicast
