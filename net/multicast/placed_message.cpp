#include "net/multicast/placed_message.hpp"

#include "net/rdma/bytes.hpp"

namespace espalier::multicast {
namespace {

using rdma::load;
using rdma::store;

constexpr std::size_t kLaneVersionAt = 0, kLaneBytesAt = 4, kLaneEpochAt = 8, kLaneNumberAt = 16;
constexpr std::size_t kLaneSourceAt = 20, kLaneSegmentAt = 24, kLanePacketAt = 28;
static_assert(kLanePacketAt + sizeof(std::uint32_t) == kLaneHeaderBytes);

constexpr std::size_t kSayFirstAt = 0, kSayKindAt = 1, kSayLaneAt = 4, kSaySourceAt = 8;
constexpr std::size_t kSaySegmentAt = 12, kSayValueAt = 16;
static_assert(kSayValueAt + sizeof(std::uint64_t) == kPlacedMessageBytes);

// Value and length are what senders of this kind write.
bool possible_message(const PlacedMessage& message) noexcept {
  const std::size_t rest = message.rest.size();
  switch (message.kind) {
    case PlacedKind::kAnnounce:
      return rest == 0 && message.value > 0;
    case PlacedKind::kRepair:
      return rest > 0 && message.value < kPlacedPacketsMax;
    case PlacedKind::kSent:
      return message.value == 0;
    case PlacedKind::kState:
      return rest == 0 && message.value <= ~std::uint32_t{0};
    case PlacedKind::kMissing:
      return message.value == 0 && rest > 0 && rest % kPacketRangeBytes == 0 &&
             rest / kPacketRangeBytes <= kPacketRangesMax;
  }
  return false;
}

bool possible_ranges(const PlacedMessage& message) noexcept {
  if (message.kind != PlacedKind::kMissing) return true;
  for (std::size_t i = 0; i < message.rest.size() / kPacketRangeBytes; ++i) {
    const PacketRange range = read_packets(message.rest, i);
    if (range.count == 0 || range.first >= kPlacedPacketsMax) return false;
    if (range.count > kPlacedPacketsMax - range.first) return false;
  }
  return true;
}

}  // namespace

void write(const LaneName& lane, const LanePacket& packet,
           std::span<std::byte, kLaneHeaderBytes> header) noexcept {
  std::byte* at = header.data();
  store(at + kLaneVersionAt, kPlacedVersion);
  store(at + kLaneBytesAt, packet.bytes);
  store(at + kLaneEpochAt, lane.epoch);
  store(at + kLaneNumberAt, lane.lane);
  store(at + kLaneSourceAt, lane.source);
  store(at + kLaneSegmentAt, packet.segment.value);
  store(at + kLanePacketAt, packet.packet);
}

bool parse(LaneHeader header, const LaneName& lane, LanePacket& packet) noexcept {
  const std::byte* at = header.data();
  packet.bytes = load<std::uint32_t>(at + kLaneBytesAt);
  packet.segment.value = load<std::uint32_t>(at + kLaneSegmentAt);
  packet.packet = load<std::uint32_t>(at + kLanePacketAt);
  return load<std::uint32_t>(at + kLaneVersionAt) == kPlacedVersion &&
         load<std::uint64_t>(at + kLaneEpochAt) == lane.epoch &&
         load<std::uint32_t>(at + kLaneNumberAt) == lane.lane &&
         load<Rank>(at + kLaneSourceAt) == lane.source;
}

PlacedHead head_of(const LaneName& lane, const PlacedMessage& message) noexcept {
  PlacedHead head = {};
  store(head.data() + kSayFirstAt, lane.first);
  store(head.data() + kSayKindAt, static_cast<std::uint8_t>(message.kind));
  store(head.data() + kSayLaneAt, lane.lane);
  store(head.data() + kSaySourceAt, lane.source);
  store(head.data() + kSaySegmentAt, message.segment.value);
  store(head.data() + kSayValueAt, message.value);
  return head;
}

bool parse(std::span<const std::byte> bytes, const LaneName& lane, bool mail,
           PlacedMessage& message) noexcept {
  LaneOfMessage of;
  if (!lane_of(bytes, of) || of.lane != lane.lane || of.source != lane.source) return false;
  const std::byte* at = bytes.data();
  if (at[kSayFirstAt] != lane.first) return false;
  message.kind = static_cast<PlacedKind>(load<std::uint8_t>(at + kSayKindAt));
  message.segment.value = load<std::uint32_t>(at + kSaySegmentAt);
  message.value = load<std::uint64_t>(at + kSayValueAt);
  message.rest = bytes.subspan(kPlacedMessageBytes);
  const bool by_mail = message.kind == PlacedKind::kState || message.kind == PlacedKind::kMissing;
  return by_mail == mail && possible_message(message) && possible_ranges(message);
}

bool lane_of(std::span<const std::byte> bytes, LaneOfMessage& found) noexcept {
  if (bytes.size() < kPlacedMessageBytes) return false;
  found.lane = load<std::uint32_t>(bytes.data() + kSayLaneAt);
  found.source = load<Rank>(bytes.data() + kSaySourceAt);
  return true;
}

void write_packets(std::byte* at, const PacketRange& range) noexcept {
  store(at, range.first);
  store(at + 4, range.count);
}

PacketRange read_packets(std::span<const std::byte> rest, std::size_t number) noexcept {
  const std::byte* at = rest.data() + number * kPacketRangeBytes;
  return {load<std::uint32_t>(at), load<std::uint32_t>(at + 4)};
}

}  // namespace espalier::multicast
