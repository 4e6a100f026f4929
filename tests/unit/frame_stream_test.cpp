#include "net/rdma/frame_stream.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <vector>

#include "core/prng.hpp"

namespace espalier::rdma {
namespace {

net::FrameHeader segment(std::uint32_t ordinal, std::uint64_t bytes) {
  net::FrameHeader header;
  header.flow = 9;
  header.ordinal = ordinal;
  header.total = ordinal + 1;
  header.bytes = bytes;
  return header;
}

struct Taker final : net::FrameSink {
  std::byte* begin(Rank from, const net::FrameHeader& header) noexcept override {
    EXPECT_EQ(from, 4);
    memory.emplace_back(header.bytes);
    if (stop != nullptr) {
      stop->stop();
      return nullptr;
    }
    return memory.back().data();
  }
  void end(Rank, const net::FrameHeader& header, std::byte* payload) noexcept override {
    headers.push_back(header);
    payloads.emplace_back(payload, payload + header.bytes);
  }
  void lost(Rank, const Status&) noexcept override {}

  FrameReader* stop = nullptr;
  std::deque<std::vector<std::byte>> memory;
  std::vector<net::FrameHeader> headers;
  std::vector<std::vector<std::byte>> payloads;
};

struct Packets {
  Packet& add(std::uint32_t capacity) {
    memory.emplace_back(capacity);
    Packet& packet = packets.emplace_back();
    packet.data = memory.back().data();
    packet.capacity = capacity;
    return packet;
  }
  std::deque<std::vector<std::byte>> memory;
  std::deque<Packet> packets;
};

std::span<const std::byte> bytes_of(const Packet& packet) {
  return {packet.data, packet.bytes};
}

TEST(FrameStream, FramesOfAllSizesPassThroughPacketsOfAllSizes) {
  Prng prng(5);
  for (int round = 0; round < 200; ++round) {
    const auto capacity = static_cast<std::uint32_t>(net::kFrameHeaderBytes + prng.below(300));
    Packets packets;
    std::vector<std::vector<std::byte>> sent;
    Packet* packet = &packets.add(capacity);
    for (std::uint32_t i = 0; i < 20; ++i) {
      sent.emplace_back(prng.below(prng.chance(0.3) ? 1000 : 50));
      for (std::byte& byte : sent.back()) byte = static_cast<std::byte>(prng.next());
      FramePost post(segment(i, sent.back().size()), sent.back().data());
      while (!post.pack(*packet)) packet = &packets.add(capacity);
    }
    Taker taker;
    FrameReader reader;
    for (const Packet& p : packets.packets) {
      const auto wrong = reader.take(4, bytes_of(p), 1 << 20, taker);
      ASSERT_FALSE(wrong) << wrong->text;
    }
    ASSERT_EQ(taker.payloads, sent);
    for (std::uint32_t i = 0; i < 20; ++i) EXPECT_EQ(taker.headers[i].ordinal, i);
  }
}

TEST(FrameStream, AHeaderIsNeverCut) {
  Packets packets;
  constexpr std::uint32_t kFirst = net::kFrameHeaderBytes + 30;
  Packet& packet = packets.add(kFirst + net::kFrameHeaderBytes);
  const std::array<std::byte, 30> payload = {};
  FramePost first(segment(0, payload.size()), payload.data());
  EXPECT_TRUE(first.pack(packet));
  EXPECT_EQ(packet.bytes, kFirst);
  FramePost second(segment(1, 0), nullptr);
  EXPECT_FALSE(second.pack(packet, 1)) << "a byte is too few";
  EXPECT_EQ(packet.bytes, kFirst);
  EXPECT_TRUE(second.pack(packet));
  EXPECT_EQ(packet.bytes, packet.capacity);
}

TEST(FrameStream, AWithdrawnPostKeepsWhatIsLeft) {
  for (const std::uint64_t bytes : {std::uint64_t{150}, std::uint64_t{2000}}) {
    std::vector<std::byte> payload(bytes);
    for (std::size_t i = 0; i < bytes; ++i) payload[i] = static_cast<std::byte>(i);
    const auto right = payload;
    Packets packets;
    FramePost post(segment(0, bytes), payload.data());
    EXPECT_FALSE(post.pack(packets.add(100)));
    ASSERT_TRUE(post.keep_copy());
    payload.assign(bytes, std::byte{0xee});
    while (!post.pack(packets.add(100))) {
    }
    Taker taker;
    FrameReader reader;
    for (const Packet& p : packets.packets) {
      EXPECT_FALSE(reader.take(4, bytes_of(p), 1 << 20, taker));
    }
    ASSERT_EQ(taker.payloads.size(), 1U);
    EXPECT_EQ(taker.payloads[0], right);
  }
}

TEST(FrameStream, APayloadCanGoElsewhereHalfWay) {
  std::vector<std::byte> payload(150, std::byte{7}), elsewhere(150);
  Packets packets;
  FramePost post(segment(0, 150), payload.data());
  EXPECT_FALSE(post.pack(packets.add(100)));
  EXPECT_TRUE(post.pack(packets.add(100)));
  Taker taker;
  FrameReader reader;
  EXPECT_FALSE(reader.take(4, bytes_of(packets.packets[0]), 1000, taker));
  reader.redirect(elsewhere.data());
  std::fill(taker.memory[0].begin(), taker.memory[0].end(), std::byte{0});
  EXPECT_FALSE(reader.take(4, bytes_of(packets.packets[1]), 1000, taker));
  EXPECT_EQ(elsewhere, payload);
  EXPECT_EQ(taker.memory[0][149], std::byte{0});  // not touched any more
}

TEST(FrameStream, NonsenseIsRefusedAndNamed) {
  Taker taker;
  std::vector<std::byte> noise(100, std::byte{0x33});
  FrameReader a;
  auto wrong = a.take(4, noise, 1000, taker);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->status.code(), ESP_ERR_NETWORK);
  FrameReader b;
  wrong = b.take(4, std::span<const std::byte>(noise).first(10), 1000, taker);
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->text.find("header"), std::string::npos);
  net::FrameHeader goodbye;
  goodbye.kind = net::FrameKind::kGoodbye;
  FrameReader c;
  wrong = c.take(4, net::frame_bytes(goodbye), 1000, taker);
  ASSERT_TRUE(wrong);
  FrameReader d;  // too large
  EXPECT_TRUE(d.take(4, net::frame_bytes(segment(0, 1001)), 1000, taker));
  EXPECT_TRUE(taker.headers.empty());
}

TEST(FrameStream, TheSinkMayStopTheStream) {
  Packets packets;
  Packet& packet = packets.add(500);
  std::vector<std::byte> payload(10);
  for (std::uint32_t i = 0; i < 3; ++i) {
    FramePost post(segment(i, 10), payload.data());
    EXPECT_TRUE(post.pack(packet));
  }
  FrameReader reader;
  Taker taker;
  taker.stop = &reader;
  EXPECT_FALSE(reader.take(4, bytes_of(packet), 1000, taker));
  EXPECT_TRUE(taker.headers.empty());
  EXPECT_EQ(taker.memory.size(), 1U);
}

}  // namespace
}  // namespace espalier::rdma
