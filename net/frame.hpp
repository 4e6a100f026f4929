// Frame: what travels between two ranks of different machines: a header of fixed layout and a
// payload.
//
// The protocol above (net/frame_wire.hpp) knows frames; links (net/link.hpp) carry them. Numbers
// are little-endian; the layout is in docs/wire-protocol.md. Bytes from elsewhere are not trusted:
// parse_frame() refuses what no sender of this version writes, before anything of it is used.
// Values. path: data
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/active_message.hpp"
#include "core/status.hpp"

namespace espalier::net {

enum class FrameKind : std::uint8_t {
  kSegment = 1,  // a segment of a flow, its bytes are the payload
  kGrant,        // flow, ordinal: segments below this ordinal may come
  kTaken,        // flow, ordinal: a synchronous segment has been taken
  kControl,      // payload: a message of the layers above, at most kControlBytes
  kGoodbye,      // a link's own: nothing more comes. Never reaches the sink
  // Of remote access (net/remote_access.hpp). An answer answers the oldest open request.
  kMessage,  // flow: argument, ordinal: id, total: context; payload: an active message
  kRefused,  // ordinal: id of messages that nobody takes
  kPut,      // ordinal: region, flow: offset; payload: what goes there
  kGet,      // ordinal: region, flow: offset, total: how much
  kAtomic,   // ordinal: region, flow: offset, total: AtomicKind; payload: two operands
  kAnswer,   // total: 0, or 1 when the region was freed; payload: of a get, or the old value
  // Of groups of the network (net/groups).
  kGroup,    // flow: team, ordinal: GroupWord; payload: at most kGroupBytes
  kRelayed,  // as kSegment; payload: kRelayPrefixBytes that name the source, and the segment
  // In packets of a group alone. Payload: a message of a placed segment (net/groups/lanes.hpp), or
  // nothing: the source's lane is to be opened. With an announcement the rest is the segment's.
  kPlaced,
  // Of segments in memory of devices (net/frame_wire_away.cpp). kTaken answers the first, too.
  kAway,      // as kSegment; payload: kAwayBytes that say where the receiver may get it
  kDeclined,  // flow, ordinal: the receiver of such a segment wants its bytes
  kInstead,   // as kSegment: the bytes of one that was declined
  kGone,      // flow, ordinal: one that was declined does not come
};

inline constexpr std::size_t kFrameHeaderBytes = 28;
inline constexpr std::size_t kPaddingStep = 4, kPaddingMax = 60;
inline constexpr std::size_t kControlBytes = 1024;
inline constexpr std::uint64_t kSegmentBytesMax = 64 << 20;  // payload of one segment
inline constexpr std::uint64_t kAccessBytesMax = 128 << 10;  // of one put or get
inline constexpr std::uint64_t kOperandBytes = 16;           // of an atomic
inline constexpr std::uint64_t kGroupBytes = 64 << 10;       // a packet of a group, by mail
// The source's rank, 4 bytes, and 4 that are 0: so segments stay aligned.
inline constexpr std::uint64_t kRelayPrefixBytes = 8;
// Address, 8 bytes; key, 4; the segment's bytes, 4.
inline constexpr std::uint64_t kAwayBytes = 16;

// Of the guest of a wire.
constexpr bool is_of_guest(FrameKind kind) noexcept {
  return FrameKind::kMessage <= kind && kind <= FrameKind::kAnswer;
}
constexpr bool is_of_group(FrameKind kind) noexcept {
  return FrameKind::kGroup <= kind && kind <= FrameKind::kPlaced;
}
constexpr bool is_of_away(FrameKind kind) noexcept {
  return FrameKind::kAway <= kind && kind <= FrameKind::kGone;
}

// Names are those of segments; what others use of it stands at their kinds.
struct FrameHeader {
  FrameKind kind = FrameKind::kSegment;
  bool synchronous = false;     // kSegment, kInstead: the sender waits for kTaken
  std::uint32_t signature = 0;  // kSegment: of the call (core/wire.hpp)
  std::uint64_t flow = 0;
  std::uint32_t ordinal = 0;
  std::uint32_t total = 0;  // kSegment: segments of the flow
  std::uint64_t bytes = 0;  // of the payload, below 4 GiB
  // Bytes without a meaning between header and payload, in streams; in steps of 4.
  std::uint8_t padding = 0;

  friend bool operator==(const FrameHeader&, const FrameHeader&) = default;
};

using FrameBytes = std::array<std::byte, kFrameHeaderBytes>;

FrameBytes frame_bytes(const FrameHeader& header) noexcept;
// Of frames in a stream it is allowed before any payload.
enum class Padding : std::uint8_t { kNone, kAllowed };
// An error that names the field that is wrong; fields that the kind does not use must be 0.
// `limit`: largest payload of a segment.
Result<FrameHeader> parse_frame(std::span<const std::byte, kFrameHeaderBytes> bytes,
                                std::uint64_t limit, Padding padding = Padding::kNone) noexcept;

}  // namespace espalier::net
