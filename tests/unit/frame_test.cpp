// Headers of frames: what is written is read back, and nothing else is taken for a frame.
#include "net/frame.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "core/atomic_word.hpp"
#include "core/prng.hpp"
#include "core/wire.hpp"

namespace espalier::net {
namespace {

constexpr std::uint64_t kLimit = 1 << 20;

std::vector<FrameHeader> samples() {
  FrameHeader segment;
  segment.signature = 0x12345678;
  segment.flow = 0x1122334455667788;
  segment.ordinal = 41;
  segment.total = 42;
  segment.bytes = kLimit;
  FrameHeader synchronous = segment;
  synchronous.synchronous = true;
  FrameHeader empty;
  empty.total = 1;
  FrameHeader grant;
  grant.kind = FrameKind::kGrant;
  grant.flow = ~0ULL;
  grant.ordinal = ~0U;
  FrameHeader taken = grant;
  taken.kind = FrameKind::kTaken;
  taken.ordinal = 0;
  FrameHeader control;
  control.kind = FrameKind::kControl;
  control.bytes = kControlBytes;
  FrameHeader goodbye;
  goodbye.kind = FrameKind::kGoodbye;
  FrameHeader message;
  message.kind = FrameKind::kMessage;
  message.flow = ~0ULL;
  message.ordinal = kMessageIds - 1;
  message.bytes = kMessageBytes;
  FrameHeader refused;
  refused.kind = FrameKind::kRefused;
  refused.ordinal = kMessageIds - 1;
  FrameHeader put;
  put.kind = FrameKind::kPut;
  put.ordinal = ~0U;
  put.flow = 1ULL << 40;
  put.bytes = kAccessBytesMax;
  FrameHeader get = put;
  get.kind = FrameKind::kGet;
  get.total = static_cast<std::uint32_t>(std::exchange(get.bytes, 0));
  FrameHeader atomic = put;
  atomic.kind = FrameKind::kAtomic;
  atomic.total = static_cast<std::uint32_t>(AtomicKind::kCompareSwap);
  atomic.bytes = kOperandBytes;
  FrameHeader answer;
  answer.kind = FrameKind::kAnswer;
  answer.bytes = kAccessBytesMax;
  FrameHeader freed;
  freed.kind = FrameKind::kAnswer;
  freed.total = 1;
  FrameHeader group;
  group.kind = FrameKind::kGroup;
  group.flow = (1ULL << FlowId::kTeamBits) - 1;
  group.ordinal = 6;
  group.bytes = kGroupBytes;
  FrameHeader relayed = segment;
  relayed.kind = FrameKind::kRelayed;
  relayed.bytes = kLimit + kRelayPrefixBytes;
  FrameHeader announced = segment;
  announced.kind = FrameKind::kPlaced;
  announced.bytes = kGroupBytes;
  FrameHeader placed;
  placed.kind = FrameKind::kPlaced;
  return {segment, synchronous, empty,  grant,  taken, control, goodbye, message,   refused,
          put,     get,         atomic, answer, freed, group,   relayed, announced, placed};
}

std::vector<FrameHeader> samples_of_devices() {
  const std::vector<FrameHeader> others = samples();
  FrameHeader away = others[0], instead = others[1], declined = others[4], gone = others[4];
  away.kind = FrameKind::kAway;
  away.bytes = kAwayBytes;
  instead.kind = FrameKind::kInstead;
  declined.kind = FrameKind::kDeclined;
  gone.kind = FrameKind::kGone;
  return {away, instead, declined, gone};
}

TEST(Frame, ReadsBackWhatWasWritten) {
  std::vector<FrameHeader> all = samples();
  for (const FrameHeader& header : samples_of_devices()) all.push_back(header);
  for (const FrameHeader& header : all) {
    auto parsed = parse_frame(frame_bytes(header), kLimit);
    ASSERT_TRUE(parsed.ok()) << parsed.error().text;
    EXPECT_EQ(*parsed, header);
  }
}

// Little-endian, at fixed places: what another build of this version reads.
TEST(Frame, TheLayoutIsFixed) {
  const FrameBytes bytes = frame_bytes(samples()[1]);
  constexpr unsigned kExpected[kFrameHeaderBytes] = {
      0x03, 0xe5, 1,  1, 0x78, 0x56, 0x34, 0x12, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33,
      0x22, 0x11, 41, 0, 0,    0,    42,   0,    0,    0,    0,    0,    0x10, 0};
  for (std::size_t i = 0; i < kFrameHeaderBytes; ++i) {
    EXPECT_EQ(std::to_integer<unsigned>(bytes[i]), kExpected[i]) << "byte " << i;
  }
}

// In streams only; on a packet it is an error.
TEST(Frame, PaddingIsInTheFlags) {
  FrameHeader header = samples()[0];
  for (std::size_t padding = 0; padding <= kPaddingMax; padding += kPaddingStep) {
    header.padding = static_cast<std::uint8_t>(padding);
    const FrameBytes bytes = frame_bytes(header);
    EXPECT_EQ(std::to_integer<unsigned>(bytes[3]) >> 4, padding / 4);
    auto parsed = parse_frame(bytes, kLimit, Padding::kAllowed);
    ASSERT_TRUE(parsed.ok()) << parsed.error().text;
    EXPECT_EQ(*parsed, header);
    EXPECT_EQ(parse_frame(bytes, kLimit).ok(), padding == 0);
  }
  // Before nothing.
  for (const std::size_t i : {2u, 3u, 4u, 6u}) {
    FrameBytes bytes = frame_bytes(samples()[i]);
    bytes[3] |= std::byte{0x10};
    EXPECT_FALSE(parse_frame(bytes, kLimit, Padding::kAllowed).ok()) << i;
  }
  for (const unsigned flags : {0x02U, 0x12U, 0xf8U, 0xffU}) {
    FrameBytes bytes = frame_bytes(samples()[0]);
    bytes[3] = static_cast<std::byte>(flags);
    EXPECT_FALSE(parse_frame(bytes, kLimit, Padding::kAllowed).ok()) << flags;
  }
}

void expect_refused(FrameBytes bytes, const char* field) {
  auto parsed = parse_frame(bytes, kLimit);
  ASSERT_FALSE(parsed.ok()) << field;
  EXPECT_EQ(parsed.error().status.code(), ESP_ERR_NETWORK);
  EXPECT_NE(parsed.error().text.find(field), std::string::npos) << parsed.error().text;
}

template <typename T>
FrameBytes with(FrameHeader header, std::size_t at, T value) {
  FrameBytes bytes = frame_bytes(header);
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

TEST(Frame, RefusesEveryFieldOutOfRange) {
  const auto all = samples();
  const FrameHeader segment = all[0], grant = all[3], taken = all[4], control = all[5],
                    goodbye = all[6];
  expect_refused(FrameBytes{}, "mark");
  expect_refused(with(segment, 0, std::uint8_t{1}), "mark");  // another version
  expect_refused(with(segment, 2, std::uint8_t{0}), "kind");
  expect_refused(with(segment, 2, std::uint8_t{19}), "kind");
  expect_refused(with(segment, 2, std::uint8_t{255}), "kind");
  for (const unsigned flags : {2U, 3U, 128U, 255U}) {
    expect_refused(with(segment, 3, static_cast<std::uint8_t>(flags)), "flags");
  }
  expect_refused(with(segment, 16, std::uint32_t{42}), "ordinal");
  expect_refused(with(segment, 20, std::uint32_t{0}), "ordinal");
  expect_refused(with(segment, 24, std::uint32_t{kLimit + 1}), "bytes");
  expect_refused(with(segment, 24, ~0U), "bytes");
  expect_refused(with(grant, 16, std::uint32_t{0}), "ordinal");
  expect_refused(with(control, 24, std::uint32_t{kControlBytes + 1}), "bytes");
  for (const FrameHeader& header : {grant, taken, control, goodbye}) {
    expect_refused(with(header, 3, std::uint8_t{1}), "flags");
    expect_refused(with(header, 4, std::uint32_t{1}), "signature");
    expect_refused(with(header, 20, std::uint32_t{1}), "total");
  }
  for (const FrameHeader& header : {grant, taken, goodbye}) {
    expect_refused(with(header, 24, std::uint32_t{1}), "bytes");
  }
  for (const FrameHeader& header : {control, goodbye}) {
    expect_refused(with(header, 8, std::uint64_t{1}), "flow");
    expect_refused(with(header, 16, std::uint32_t{1}), "ordinal");
  }
}

TEST(Frame, RefusesWhatDevicesDoNotWrite) {
  const FrameHeader away = samples_of_devices()[0], instead = samples_of_devices()[1];
  expect_refused(with(away, 24, std::uint32_t{kAwayBytes - 1}), "bytes");
  expect_refused(with(away, 3, std::uint8_t{1}), "flags");
  expect_refused(with(away, 16, away.total), "ordinal");
  expect_refused(with(instead, 16, instead.total), "ordinal");
  for (const std::size_t at : {2u, 3u}) {
    const FrameHeader answer = samples_of_devices()[at];
    expect_refused(with(answer, 24, std::uint32_t{1}), "bytes");
    expect_refused(with(answer, 20, std::uint32_t{1}), "total");
  }
}

TEST(Frame, RefusesWhatGroupsDoNotWrite) {
  const auto all = samples();
  const FrameHeader group = all[14], relayed = all[15];
  expect_refused(with(group, 8, std::uint64_t{1} << FlowId::kTeamBits), "flow");
  expect_refused(with(group, 24, static_cast<std::uint32_t>(kGroupBytes + 1)), "bytes");
  expect_refused(with(group, 3, std::uint8_t{1}), "flags");
  expect_refused(with(group, 4, std::uint32_t{1}), "signature");
  expect_refused(with(group, 20, std::uint32_t{1}), "total");
  expect_refused(with(relayed, 3, std::uint8_t{1}), "flags");
  expect_refused(with(relayed, 20, std::uint32_t{41}), "ordinal");
  expect_refused(with(relayed, 24, static_cast<std::uint32_t>(kRelayPrefixBytes - 1)), "bytes");
  expect_refused(with(relayed, 24, static_cast<std::uint32_t>(kLimit + kRelayPrefixBytes + 1)),
                 "bytes");
  const FrameHeader announced = all[16], placed = all[17];
  expect_refused(with(announced, 16, std::uint32_t{42}), "ordinal");
  expect_refused(with(announced, 24, static_cast<std::uint32_t>(kGroupBytes + 1)), "bytes");
  expect_refused(with(placed, 4, std::uint32_t{1}), "signature");
  expect_refused(with(placed, 8, std::uint64_t{1}), "flow");
  expect_refused(with(placed, 16, std::uint32_t{1}), "ordinal");
}

TEST(Frame, RefusesWhatRemoteAccessDoesNotWrite) {
  const auto all = samples();
  const FrameHeader message = all[7], refused = all[8], put = all[9], get = all[10],
                    atomic = all[11], answer = all[12], freed = all[13];
  expect_refused(with(message, 16, std::uint32_t{kOwnMessagesEnd}), "ordinal");
  expect_refused(with(message, 24, std::uint32_t{kMessageBytes + 1}), "bytes");
  expect_refused(with(refused, 16, std::uint32_t{kMessageIds}), "ordinal");
  expect_refused(with(put, 24, std::uint32_t{0}), "bytes");
  expect_refused(with(put, 24, std::uint32_t{kAccessBytesMax + 1}), "bytes");
  expect_refused(with(get, 20, std::uint32_t{0}), "total");
  expect_refused(with(get, 20, std::uint32_t{kAccessBytesMax + 1}), "total");
  expect_refused(with(atomic, 20, std::uint32_t{0}), "total");
  expect_refused(with(atomic, 20, std::uint32_t{3}), "total");
  expect_refused(with(atomic, 24, std::uint32_t{8}), "bytes");
  expect_refused(with(answer, 20, std::uint32_t{2}), "total");
  expect_refused(with(answer, 24, std::uint32_t{kAccessBytesMax + 1}), "bytes");
  expect_refused(with(freed, 24, std::uint32_t{1}), "bytes");
  for (const FrameHeader& header : {message, refused, put, get, atomic, answer}) {
    expect_refused(with(header, 3, std::uint8_t{1}), "flags");
    expect_refused(with(header, 4, std::uint32_t{1}), "signature");
  }
  for (const FrameHeader& header : {message, refused, put}) {
    expect_refused(with(header, 20, std::uint32_t{1}), "total");
  }
  for (const FrameHeader& header : {refused, get}) {
    expect_refused(with(header, 24, std::uint32_t{1}), "bytes");
  }
  FrameHeader own = message;
  own.ordinal = kTagEager;
  expect_refused(with(own, 20, kContextMax + 1), "total");
  expect_refused(with(answer, 8, std::uint64_t{1}), "flow");
  expect_refused(with(answer, 16, std::uint32_t{1}), "ordinal");
}

// What is taken for a frame is one that frame_bytes() could have written, byte for byte.
TEST(Frame, MutatedHeadersAreRefusedOrMeanWhatTheySay) {
  const auto all = samples();
  std::uint64_t taken = 0;
  for (std::uint64_t seed = 1; seed <= 200'000; ++seed) {
    Prng prng(seed);
    FrameBytes bytes = frame_bytes(all[prng.below(all.size())]);
    for (std::uint64_t n = 1 + prng.below(4); n > 0; --n) {
      std::byte& at = bytes[prng.below(bytes.size())];
      at = prng.chance(0.5) ? at ^ static_cast<std::byte>(1U << prng.below(8))
                            : static_cast<std::byte>(prng.below(256));
    }
    auto parsed = parse_frame(bytes, kLimit, prng.chance(0.5) ? Padding::kAllowed : Padding::kNone);
    if (!parsed) continue;
    ++taken;
    ASSERT_EQ(frame_bytes(*parsed), bytes) << "seed " << seed;
    ASSERT_LE(parsed->bytes, kLimit + kRelayPrefixBytes) << "seed " << seed;
  }
  EXPECT_GT(taken, 10'000U) << "the fuzzer does not reach what it is for";
}

TEST(Frame, NoiseIsRefused) {
  Prng prng(7);
  for (int n = 0; n < 200'000; ++n) {
    FrameBytes bytes;
    for (std::byte& b : bytes) b = static_cast<std::byte>(prng.next());
    ASSERT_FALSE(parse_frame(bytes, kLimit, Padding::kAllowed).ok());
  }
}

}  // namespace
}  // namespace espalier::net
