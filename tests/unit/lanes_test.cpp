// net/groups/lanes.hpp: what no source says in its packets, or what comes too late.
#include "net/groups/lanes.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "core/clock.hpp"

namespace espalier::net {
namespace {

using multicast::PlacedKind;
using multicast::PlacedMessage;

constexpr std::uint32_t kGroup = 5, kLanePacket = 1024 - 40 - 28 - 24;

class NoPorts final : public GroupPorts {
 public:
  Result<std::unique_ptr<multicast::GroupPort>> open(std::uint32_t, Rank) override {
    return error(ESP_ERR_UNSUPPORTED, "none");
  }
};

// Rank 0 of three, with memory for one segment at a time.
class Receiver final : public GroupHost, private Lanes::Stream {
 public:
  Receiver() {
    options_.ports = &ports_;
    options_.ranks = 3;
    options_.rank = 0;
    options_.packet_bytes = 1024;
    options_.lane_places = 16;
    const Lanes::Context context{*this,   clock_, counters_, options_, *this,
                                 nullptr, 1,      kGroup,    members_, 4};
    lanes.emplace(context);
  }
  std::byte* begin_segment(FrameArrival& arrival, const FrameHeader& header) noexcept override {
    arrival.header = header;
    begun.push_back(header);
    return memory.data();
  }
  void end_segment(FrameArrival& arrival) noexcept override { ended.push_back(arrival.header); }
  bool tell(Rank, std::uint32_t, GroupWord word, std::span<const std::byte>) noexcept override {
    EXPECT_EQ(word, GroupWord::kLanes);
    return true;
  }
  Posted post_relayed(Rank, OutgoingFrame&) noexcept override { return Posted::kDone; }
  void withdraw_relayed(Rank, OutgoingFrame&) noexcept override {}
  void lose_peer(Rank, Error) noexcept override {}
  BufferPool& pool() noexcept override { return pool_; }

  // A message of rank 1's, with a header as of a segment that has `total` segments in its flow.
  bool hear(const PlacedMessage& message, std::uint32_t total, std::uint32_t lane = kGroup) {
    const multicast::PlacedHead head =
        multicast::head_of({options_.epoch, lane, 1, std::byte{0x4C}}, message);
    FrameHeader header;
    header.kind = FrameKind::kPlaced;
    header.total = total;
    header.flow = total > 0 ? 77 : 0;
    header.bytes = head.size() + message.rest.size();
    std::byte* place = nullptr;
    if (!lanes->begin(1, header, place)) return false;
    std::memcpy(place, head.data(), head.size());
    if (!message.rest.empty()) {
      std::memcpy(place + head.size(), message.rest.data(), message.rest.size());
    }
    const bool right = lanes->end(1, header);
    (void)lanes->progress();
    return right;
  }

  std::vector<std::byte> memory = std::vector<std::byte>(1 << 16);
  std::vector<FrameHeader> begun, ended;
  std::optional<Lanes> lanes;

 private:
  bool publish(const FrameHeader&, std::span<const std::byte>,
               std::span<const std::byte>) noexcept override {
    return true;
  }
  const std::vector<Rank> members_ = {0, 1, 2};
  NoPorts ports_;
  SteadyClock clock_;
  Counters counters_;
  FrameGroupsOptions options_;
  BufferPool pool_{1 << 20};
};

TEST(Lanes, WithoutAPortAllComesByRepairs) {
  Receiver receiver;
  const std::vector<std::byte> payload(kLanePacket, std::byte{3}), tail(5, std::byte{4});
  EXPECT_TRUE(receiver.hear({PlacedKind::kAnnounce, {0}, 2 * kLanePacket + 5, {}}, 9));
  ASSERT_EQ(receiver.begun.size(), 1U);
  EXPECT_EQ(receiver.begun[0].kind, FrameKind::kSegment);
  EXPECT_EQ(receiver.begun[0].bytes, 2 * kLanePacket + 5);
  EXPECT_EQ(receiver.begun[0].flow, 77U);
  EXPECT_FALSE(receiver.lanes->idle());
  EXPECT_TRUE(receiver.hear({PlacedKind::kSent, {0}, 0, tail}, 0));
  for (const std::uint64_t packet : {1U, 0U}) {
    EXPECT_TRUE(receiver.hear({PlacedKind::kRepair, {0}, packet, payload}, 0));
  }
  ASSERT_EQ(receiver.ended.size(), 1U);
  EXPECT_TRUE(receiver.lanes->idle());
  EXPECT_EQ(receiver.memory[2 * kLanePacket - 1], std::byte{3});
  EXPECT_EQ(receiver.memory[2 * kLanePacket + 4], std::byte{4});
  EXPECT_EQ(receiver.memory[2 * kLanePacket + 5], std::byte{0});
}

TEST(Lanes, WhatNoSourceSaysIsRefused) {
  const PlacedMessage announcement{PlacedKind::kAnnounce, {0}, 5000, {}};
  const std::vector<std::byte> payload(kLanePacket), much(kLanePacket + 1);
  const auto refuses = [](const PlacedMessage& message, std::uint32_t total,
                          std::uint32_t lane = kGroup) {
    return !Receiver().hear(message, total, lane);
  };
  EXPECT_FALSE(refuses(announcement, 1));
  EXPECT_TRUE(refuses(announcement, 0)) << "of no segment";
  EXPECT_TRUE(refuses(announcement, 1, kGroup + 1)) << "of another lane";
  EXPECT_TRUE(refuses({PlacedKind::kAnnounce, {1}, 5000, {}}, 1)) << "not the next one";
  EXPECT_TRUE(refuses({PlacedKind::kAnnounce, {0}, 16 * kLanePacket + 1, {}}, 1)) << "too long";
  EXPECT_TRUE(refuses({PlacedKind::kSent, {0}, 0, {}}, 0)) << "not announced";
  EXPECT_TRUE(refuses({PlacedKind::kRepair, {0}, 0, payload}, 0)) << "likewise";
  EXPECT_TRUE(refuses({PlacedKind::kRepair, {0}, 0, much}, 0)) << "longer than a packet";
  EXPECT_TRUE(refuses({PlacedKind::kState, {0}, 0, {}}, 0)) << "it is mail";
  Receiver receiver;
  std::byte* place = nullptr;
  FrameHeader header;
  header.kind = FrameKind::kPlaced;
  EXPECT_TRUE(receiver.lanes->begin(1, header, place)) << "the lane is to be opened";
  EXPECT_FALSE(receiver.lanes->begin(0, header, place)) << "from this member itself";
  EXPECT_FALSE(receiver.lanes->begin(3, header, place)) << "from no member";
  header.bytes = 23;
  EXPECT_FALSE(receiver.lanes->begin(1, header, place)) << "shorter than a message";
}

TEST(Lanes, OfTheDeadNothingIsTaken) {
  Receiver receiver;
  EXPECT_TRUE(receiver.hear({PlacedKind::kAnnounce, {0}, 5000, {}}, 1));
  receiver.lanes->stop_arrivals(1);
  receiver.lanes->member_lost(1);
  EXPECT_TRUE(receiver.lanes->idle());
  EXPECT_FALSE(receiver.hear({PlacedKind::kSent, {0}, 0, {}}, 0));
  receiver.lanes->member_lost(2);
  std::byte* place = nullptr;
  FrameHeader header;
  header.kind = FrameKind::kPlaced;
  EXPECT_FALSE(receiver.lanes->begin(2, header, place));
  EXPECT_TRUE(receiver.ended.empty());
}

}  // namespace
}  // namespace espalier::net
