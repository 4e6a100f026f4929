// Connections of those who are not of the job, and of members that do not keep to the protocol.
#include <fmt/format.h>

#include <memory>

#include "raw_peer.hpp"

namespace espalier::test {
namespace {

using net::FrameHeader;
using net::FrameKind;

TEST(TcpStrangers, GarbageIsRefusedAfterTheFirstMessage) {
  LoneRank rank;
  for (const std::size_t size : {32U, 33U, 1000U, 100'000U}) {
    RawPeer stranger(rank);
    Prng prng(size);
    Bytes noise(size);
    for (std::byte& b : noise) b = static_cast<std::byte>(prng.next());
    stranger.send(noise);
    EXPECT_TRUE(stranger.becomes_closed()) << size << " bytes";
  }
  RawPeer browser(rank);
  browser.send(text_bytes("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_TRUE(browser.becomes_closed());
  EXPECT_EQ(rank.counters.strangers.value(), 5U);
  EXPECT_EQ(rank.link->strangers(), 0U);
  EXPECT_TRUE(rank.wire->state(1).ok());
}

TEST(TcpStrangers, AreLoggedOncePerSecond) {
  LoneRank rank;
  const auto knock = [&] {
    RawPeer stranger(rank);
    stranger.send(Bytes(32));
    ASSERT_TRUE(stranger.becomes_closed());
  };
  for (int i = 0; i < 20; ++i) knock();
  ASSERT_EQ(rank.logged.size(), 1U);
  EXPECT_NE(rank.logged[0].find("127.0.0.1:"), std::string::npos) << rank.logged[0];
  EXPECT_NE(rank.logged[0].find("does not speak this protocol"), std::string::npos);
  rank.clock.advance_ns(1'000'000'000);
  knock();
  ASSERT_EQ(rank.logged.size(), 2U);
  EXPECT_NE(rank.logged[1].find("20 since"), std::string::npos) << rank.logged[1];
}

TEST(TcpStrangers, SilenceAndHalfAHelloEndAfterSomeSeconds) {
  LoneRank rank;
  RawPeer silent(rank), slow(rank);
  slow.send(Bytes(17));
  rank.look();
  EXPECT_EQ(rank.link->strangers(), 2U);
  EXPECT_NE(rank.link->deadline_ns(), 0U);
  rank.clock.advance_ns(2'900'000'000);
  rank.look();
  EXPECT_EQ(rank.link->strangers(), 2U);
  slow.send(Bytes(14));  // not yet a message
  rank.clock.advance_ns(200'000'000);
  EXPECT_TRUE(silent.becomes_closed());
  EXPECT_TRUE(slow.becomes_closed());
  EXPECT_EQ(rank.link->strangers(), 0U);
}

// Who connects to a rank that is stopped meanwhile has all its time when that goes on.
TEST(TcpStrangers, HaveTheirTimeWhileTheRankIsThere) {
  LoneRank rank(AttendedClock::kMostNs);
  RawPeer silent(rank);
  rank.look();
  EXPECT_EQ(rank.link->strangers(), 1U);
  rank.clock.advance_ns(3'600 * kNanosecondsPerSecond);
  rank.look();
  EXPECT_EQ(rank.link->strangers(), 1U);
  for (int i = 0; i < 30; ++i, rank.look(1)) rank.clock.advance_ns(100'000'000);
  EXPECT_TRUE(silent.becomes_closed());
  EXPECT_EQ(rank.link->strangers(), 0U);
}

TEST(TcpStrangers, WhoJustLeavesIsNotWorthAMessage) {
  LoneRank rank;
  for (int i = 0; i < 10; ++i) RawPeer scanner(rank);
  rank.look(50);
  EXPECT_EQ(rank.link->strangers(), 0U);
  EXPECT_EQ(rank.counters.strangers.value(), 0U);
  EXPECT_TRUE(rank.logged.empty());
}

TEST(TcpStrangers, WhoLeavesInTheMiddleOfAMessageIsCounted) {
  LoneRank rank;
  for (int i = 0; i < 3; ++i) {
    RawPeer probe(rank);
    probe.send(Bytes(5));
  }
  rank.look(50);
  EXPECT_EQ(rank.link->strangers(), 0U);
  EXPECT_EQ(rank.counters.strangers.value(), 3U);
  ASSERT_EQ(rank.logged.size(), 1U);
  EXPECT_NE(rank.logged[0].find("5 bytes of a message, then: it closed the connection"),
            std::string::npos)
      << rank.logged[0];
}

TEST(TcpStrangers, TheWrongSecretIsRefused) {
  LoneRank rank;
  net::SipKey wrong = rank.link->contact().secret;
  wrong[15] ^= std::byte{1};
  RawPeer stranger(rank);
  stranger.shake_hands(wrong);
  EXPECT_FALSE(stranger.proven) << "the link proves that it knows the right secret";
  // Who ignores that and pretends.
  RawPeer bold(rank);
  const auto hello = net::Handshake::initiator(1, 0, wrong, {});
  bold.send(hello.reply());
  (void)bold.receive(32);
  bold.send(stranger.said[0]);
  EXPECT_TRUE(bold.becomes_closed());
  EXPECT_EQ(rank.link->describe(1), "not connected");
}

TEST(TcpStrangers, AHandshakeThatWasOverheardIsOfNoUse) {
  LoneRank rank;
  std::vector<Bytes> heard;
  {
    RawPeer member(rank);
    member.shake_hands();
    ASSERT_TRUE(member.proven);
    heard = member.said;
    ASSERT_TRUE(rank.until([&] { return rank.link->socket_of(1) >= 0; }));
    LoneRank other;  // It does not work elsewhere, either.
    RawPeer elsewhere(other);
    elsewhere.send(heard[0]);
    (void)elsewhere.receive(32);
    elsewhere.send(heard[1]);
    EXPECT_TRUE(elsewhere.becomes_closed());
    EXPECT_EQ(other.counters.strangers.value(), 1U);
  }
  RawPeer thief(rank);
  thief.send(heard[0]);
  (void)thief.receive(32);
  thief.send(heard[1]);
  EXPECT_TRUE(thief.becomes_closed());
  EXPECT_EQ(rank.counters.strangers.value(), 1U);
}

TEST(TcpStrangers, CannotUseUpDescriptorsNorKeepMembersOut) {
  LoneRank rank;
  std::vector<std::unique_ptr<RawPeer>> crowd;
  for (int i = 0; i < 150; ++i) crowd.push_back(std::make_unique<RawPeer>(rank));
  rank.look(50);
  EXPECT_EQ(rank.link->strangers(), net::TcpLink::kStrangersMax);
  RawPeer member(rank);
  for (int patience = 0; patience < 2; ++patience) {  // 150 strangers, 64 at a time
    rank.clock.advance_ns(3'000'000'000);
    rank.look(50);
    EXPECT_LE(rank.link->strangers(), net::TcpLink::kStrangersMax);
  }
  member.shake_hands();
  EXPECT_TRUE(member.proven);
}

// ---- members ----

struct Offence {
  const char* says;  // the reason
  Bytes bytes;
};

FrameHeader segment(std::uint32_t ordinal, std::uint32_t total, std::uint64_t bytes) {
  FrameHeader header;
  header.flow = 77;
  header.ordinal = ordinal;
  header.total = total;
  header.bytes = bytes;
  return header;
}

std::vector<Offence> offences() {
  const auto changed = [](FrameHeader header, std::size_t at, std::uint32_t value) {
    Bytes bytes = bytes_of(header);
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return bytes;
  };
  FrameHeader goodbye;
  goodbye.kind = FrameKind::kGoodbye;
  Bytes after = bytes_of(goodbye);
  const Bytes more = bytes_of(segment(0, 1, 0));
  after.insert(after.end(), more.begin(), more.end());
  Bytes twice = more;
  twice.insert(twice.end(), more.begin(), more.end());
  return {
      {"bad frame: mark", Bytes(net::kFrameHeaderBytes)},
      {"bad frame: bytes", changed(segment(0, 1, 8), 24, ~0U)},
      {"bad frame: ordinal", bytes_of(segment(3, 3, 0))},
      {"bad frame: flags", changed(segment(0, 1, 8), 3, 0x12)},
      {"bad frame: flags", changed(segment(0, 1, 0), 3, 0x10)},  // padding before nothing
      {"came without permission", bytes_of(segment(kEagerSegments, 20, 0))},
      {"came twice", twice},
      {"a frame after the goodbye", after},
  };
}

TEST(TcpMembers, WhoBreaksTheProtocolIsLostWithTheReason) {
  for (const Offence& offence : offences()) {
    SCOPED_TRACE(offence.says);
    LoneRank rank;
    RawPeer member(rank);
    member.shake_hands();
    ASSERT_TRUE(member.proven);
    Message waiting(1, 0, FlowId(1, 0, 5), 100, 1);
    (void)waiting.receive(*rank.wire);
    member.send(offence.bytes);
    ASSERT_TRUE(rank.until([&] { return waiting.received.complete(); }));
    EXPECT_EQ(waiting.received.status.code(), ESP_ERR_NETWORK);
    EXPECT_EQ(waiting.received.status.rank(), 1);
    EXPECT_NE(rank.link->describe(1).find(offence.says), std::string::npos)
        << rank.link->describe(1);
    EXPECT_TRUE(member.becomes_closed());
    // It is not let in again.
    RawPeer again(rank);
    again.shake_hands();
    EXPECT_FALSE(again.proven);
    EXPECT_TRUE(again.becomes_closed());
  }
}

// The memory of early segments: what the rule allows, and back to nothing.
TEST(TcpMembers, EarlySegmentsTakeWhatTheRuleAllows) {
  LoneRank rank;
  RawPeer member(rank);
  member.shake_hands();
  ASSERT_TRUE(member.proven);
  constexpr std::uint64_t kBytes = 100'000;
  for (std::uint32_t ordinal = 0; ordinal < kEagerSegments; ++ordinal) {
    member.send(bytes_of(segment(ordinal, 20, kBytes)));
    member.send(Bytes(kBytes));
  }
  ASSERT_TRUE(rank.until([&] { return rank.counters.unexpected.value() == kEagerSegments; }));
  rank.look();
  EXPECT_LE(rank.wire->held_bytes(), kEagerSegments * 2 * kBytes);
  std::vector<std::byte> target(kBytes);
  for (std::uint32_t ordinal = 0; ordinal < kEagerSegments; ++ordinal) {
    RecvProbe op;
    op.dst = target.data();
    op.bytes = kBytes;
    FlowId flow;
    flow.key = 77;
    op.posted = rank.wire->recv({1, flow, ordinal, 20, 0}, 16, op);
    ASSERT_TRUE(rank.until([&] { return op.complete(); }));
    EXPECT_TRUE(op.status.ok());
  }
  EXPECT_EQ(rank.wire->held_bytes(), 0U);
}

// Members whose bytes are all over the place: a link neither crashes nor hangs nor keeps memory.
TEST(TcpMembers, NoiseAfterTheHandshakeIsRefused) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    LoneRank rank;
    RawPeer member(rank);
    member.shake_hands();
    ASSERT_TRUE(member.proven);
    Prng prng(seed);
    for (int frames = 0; frames < 50 && !member.is_closed(); ++frames) {
      FrameHeader header =
          segment(static_cast<std::uint32_t>(prng.below(20)), 20, prng.below(3000));
      header.kind = static_cast<FrameKind>(prng.between(1, 4));
      if (header.kind == FrameKind::kControl) {
        header = FrameHeader{.kind = FrameKind::kControl, .bytes = prng.below(1000)};
      } else if (header.kind != FrameKind::kSegment) {
        header = FrameHeader{.kind = header.kind, .flow = prng.below(4), .ordinal = 1};
      }
      header.flow = header.kind == FrameKind::kControl ? 0 : prng.below(5);
      Bytes bytes = bytes_of(header);
      if (prng.chance(0.05)) bytes[prng.below(bytes.size())] ^= std::byte{4};
      bytes.resize(bytes.size() + header.bytes);
      member.send(bytes);
      if (prng.chance(0.2)) (void)rank.wire->progress();
    }
    member.close();
    Message waiting(1, 0, FlowId(1, 0, 5), 100, 1);
    (void)waiting.receive(*rank.wire);
    ASSERT_TRUE(rank.until([&] { return waiting.received.complete(); })) << "seed " << seed;
    EXPECT_FALSE(waiting.received.status.ok());
  }
}

}  // namespace
}  // namespace espalier::test
