// What members say about placed segments (docs/multicast.md, "Large segments"): packets on the
// lane, messages in the source's reliable stream, and mail up the source's tree.
//
// A packet's header, kLaneHeaderBytes:
//    0  version    kPlacedVersion
//    4  bytes      of the payload
//    8  epoch      of the job: packets of an earlier life are foreign
//   16  lane       its number in the job
//   20  source     whose it is
//   24  segment    its number on the lane
//   28  packet     its number in the segment
//
// A message, kPlacedMessageBytes, and what its kind has behind it:
//    0  first byte the layer above's, which tells these messages from its others
//    1  kind
//    4  lane
//    8  source
//   12  segment
//   16  value      see PlacedKind
//
// Numbers are little-endian. Bytes from elsewhere are not trusted: parse() refuses what no sender
// of this version writes, before anything of it is used. Values. path: data
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "net/multicast/packet.hpp"
#include "net/multicast/placing_port.hpp"

namespace espalier::multicast {

inline constexpr std::uint32_t kPlacedVersion = 1;
inline constexpr std::size_t kPlacedMessageBytes = 24;
inline constexpr std::uint32_t kPlacedPacketsMax = 1U << 20;  // of a segment

// Which lane; equal on all members.
struct LaneName {
  std::uint64_t epoch = 0;
  std::uint32_t lane = 0;
  Rank source = kNoRank;
  std::byte first = {};  // byte of messages
  friend bool operator==(const LaneName&, const LaneName&) = default;
};

struct LanePacket {
  Sequence segment;
  std::uint32_t packet = 0;
  std::uint32_t bytes = 0;
};
void write(const LaneName& lane, const LanePacket& packet,
           std::span<std::byte, kLaneHeaderBytes> header) noexcept;
// False: it is not of this lane.
bool parse(LaneHeader header, const LaneName& lane, LanePacket& packet) noexcept;

enum class PlacedKind : std::uint8_t {
  // In the source's stream:
  kAnnounce = 1,  // the segment has `value` bytes
  kRepair,        // packet `value` of the segment, with its payload
  kSent,          // all packets of the segment have been sent; with the bytes that fill no packet
  // By mail, from a subtree to the one above it:
  kState,    // it has places for all segments before `segment`, and has all of those before `value`
  kMissing,  // ranges of packets of the segment are missing there
};

struct PlacedMessage {
  PlacedKind kind = PlacedKind::kAnnounce;
  Sequence segment;
  std::uint64_t value = 0;
  std::span<const std::byte> rest;  // behind the head
};
using PlacedHead = std::array<std::byte, kPlacedMessageBytes>;
PlacedHead head_of(const LaneName& lane, const PlacedMessage& message) noexcept;
// `mail`: where it came from. False: it is none of this lane, or one that no sender writes.
bool parse(std::span<const std::byte> bytes, const LaneName& lane, bool mail,
           PlacedMessage& message) noexcept;

// Of a message that begins with the layer above's byte: whose it is. False: it is too short.
struct LaneOfMessage {
  std::uint32_t lane = 0;
  Rank source = kNoRank;
};
bool lane_of(std::span<const std::byte> bytes, LaneOfMessage& found) noexcept;

// Packets that are missing.
struct PacketRange {
  std::uint32_t first = 0, count = 0;
  friend bool operator==(const PacketRange&, const PacketRange&) = default;
};
inline constexpr std::size_t kPacketRangeBytes = 8;
inline constexpr std::size_t kPacketRangesMax = 16;  // of one message
void write_packets(std::byte* at, const PacketRange& range) noexcept;
PacketRange read_packets(std::span<const std::byte> rest, std::size_t number) noexcept;

// What a source says in its reliable stream: every message arrives at all receivers that live, in
// the order of the calls, or the source has died.
class PlacedStream {
 public:
  // Copies it. False: no room, try again after progress.
  virtual bool publish(std::span<const std::byte> head,
                       std::span<const std::byte> payload) noexcept = 0;

 protected:
  ~PlacedStream() = default;
};

}  // namespace espalier::multicast
