#include "net/frame.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "core/assert.hpp"
#include "core/wire.hpp"

namespace espalier::net {
namespace {

// Where the fields stand. The mark tells frames of this version from everything else.
constexpr std::size_t kMarkAt = 0, kKindAt = 2, kFlagsAt = 3, kSignatureAt = 4, kFlowAt = 8,
                      kOrdinalAt = 16, kTotalAt = 20, kBytesAt = 24;
constexpr std::uint16_t kMark = 0xE503;  // its low byte is the version
constexpr std::uint8_t kSynchronousFlag = 1;
constexpr unsigned kPaddingShift = 4;  // steps of padding, in the flags

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

template <typename T>
void put(FrameBytes& bytes, std::size_t at, T value) noexcept {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

template <typename T>
T get(std::span<const std::byte, kFrameHeaderBytes> bytes, std::size_t at) noexcept {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <typename Found>
Error wrong(const char* field, Found found) {
  return error(ESP_ERR_NETWORK, fmt::format("bad frame: {} {}", field, found));
}

// Which fields a kind uses besides kind and mark. Segments use all.
struct Uses {
  bool flow = false, ordinal = false, total = false, bytes = false, signature = false;
};

Uses uses_of(FrameKind kind) noexcept {
  switch (kind) {
    case FrameKind::kSegment:
    case FrameKind::kAway:
    case FrameKind::kInstead:
      return {true, true, true, true, true};
    case FrameKind::kGrant:
    case FrameKind::kTaken:
    case FrameKind::kDeclined:
    case FrameKind::kGone:
      return {.flow = true, .ordinal = true};
    case FrameKind::kControl:
      return {.bytes = true};
    case FrameKind::kGoodbye:
      return {};
    case FrameKind::kMessage:
      return {.flow = true, .ordinal = true, .total = true, .bytes = true};
    case FrameKind::kPut:
      return {.flow = true, .ordinal = true, .bytes = true};
    case FrameKind::kRefused:
      return {.ordinal = true};
    case FrameKind::kGet:
      return {.flow = true, .ordinal = true, .total = true};
    case FrameKind::kAtomic:
      return {.flow = true, .ordinal = true, .total = true, .bytes = true};
    case FrameKind::kAnswer:
      return {.total = true, .bytes = true};
    case FrameKind::kGroup:
      return {.flow = true, .ordinal = true, .bytes = true};
    case FrameKind::kRelayed:
    case FrameKind::kPlaced:
      return {true, true, true, true, true};
  }
  return {};
}

// The first field that a frame of this kind does not use and that is not 0, nullptr: none.
const char* unused_field(const FrameHeader& h) noexcept {
  if (h.kind == FrameKind::kSegment) [[likely]]
    return nullptr;
  const Uses uses = uses_of(h.kind);
  if (!uses.flow && h.flow != 0) return "flow";
  if (!uses.ordinal && h.ordinal != 0) return "ordinal";
  if (h.synchronous && h.kind != FrameKind::kInstead) return "flags";
  if (!uses.signature && h.signature != 0) return "signature";
  if (!uses.total && h.total != 0) return "total";
  if (!uses.bytes && h.bytes != 0) return "bytes";
  return nullptr;
}

constexpr bool within(std::uint64_t value, std::uint64_t least, std::uint64_t most) noexcept {
  return least <= value && value <= most;
}

// The first field whose value no sender of this version writes, nullptr: none.
const char* wrong_field(const FrameHeader& h, std::uint64_t limit) noexcept {
  switch (h.kind) {
    case FrameKind::kSegment:
    case FrameKind::kInstead:
      if (h.ordinal >= h.total) return "ordinal";
      return h.bytes > limit ? "bytes" : nullptr;
    case FrameKind::kAway:
      if (h.ordinal >= h.total) return "ordinal";
      return h.bytes != kAwayBytes ? "bytes" : nullptr;
    case FrameKind::kGrant:
      return h.ordinal == 0 ? "ordinal" : nullptr;
    case FrameKind::kControl:
      return h.bytes > kControlBytes ? "bytes" : nullptr;
    case FrameKind::kMessage:
      if (h.ordinal >= kOwnMessagesEnd) return "ordinal";
      if (h.total > (h.ordinal < kMessageIds ? 0 : kContextMax)) return "total";
      return h.bytes > kMessageBytes ? "bytes" : nullptr;
    case FrameKind::kRefused:
      return h.ordinal >= kMessageIds ? "ordinal" : nullptr;
    case FrameKind::kPut:
      return within(h.bytes, 1, kAccessBytesMax) ? nullptr : "bytes";
    case FrameKind::kGet:
      return within(h.total, 1, kAccessBytesMax) ? nullptr : "total";
    case FrameKind::kAtomic:
      if (!within(h.total, 1, 2)) return "total";
      return h.bytes != kOperandBytes ? "bytes" : nullptr;
    case FrameKind::kAnswer:
      if (h.total > 1) return "total";
      return h.bytes > (h.total == 0 ? kAccessBytesMax : 0) ? "bytes" : nullptr;
    case FrameKind::kGroup:
      if (h.flow >> FlowId::kTeamBits != 0) return "flow";
      return h.bytes > kGroupBytes ? "bytes" : nullptr;
    case FrameKind::kRelayed:
      if (h.ordinal >= h.total) return "ordinal";
      return within(h.bytes, kRelayPrefixBytes, limit + kRelayPrefixBytes) ? nullptr : "bytes";
    case FrameKind::kPlaced:
      if (h.total == 0 && h.flow != 0) return "flow";
      if (h.total == 0 && h.signature != 0) return "signature";
      if (h.total == 0 ? h.ordinal != 0 : h.ordinal >= h.total) return "ordinal";
      return h.bytes > kGroupBytes ? "bytes" : nullptr;
    case FrameKind::kTaken:
    case FrameKind::kDeclined:
    case FrameKind::kGone:
    case FrameKind::kGoodbye:
      return nullptr;
  }
  return "kind";
}

}  // namespace

FrameBytes frame_bytes(const FrameHeader& header) noexcept {
  static_assert(kBytesAt + sizeof(std::uint32_t) == kFrameHeaderBytes);
  static_assert(kSegmentBytesMax <= UINT32_MAX);
  ESP_ASSERT(header.bytes <= UINT32_MAX);
  FrameBytes bytes;
  put(bytes, kMarkAt, kMark);
  put(bytes, kKindAt, static_cast<std::uint8_t>(header.kind));
  static_assert(kPaddingMax / kPaddingStep < 1u << (8 - kPaddingShift));
  ESP_ASSERT(header.padding <= kPaddingMax && header.padding % kPaddingStep == 0);
  const auto steps = static_cast<unsigned>(header.padding / kPaddingStep);
  put(bytes, kFlagsAt,
      static_cast<std::uint8_t>(steps << kPaddingShift |
                                (header.synchronous ? kSynchronousFlag : 0U)));
  put(bytes, kSignatureAt, header.signature);
  put(bytes, kFlowAt, header.flow);
  put(bytes, kOrdinalAt, header.ordinal);
  put(bytes, kTotalAt, header.total);
  put(bytes, kBytesAt, static_cast<std::uint32_t>(header.bytes));
  return bytes;
}

Result<FrameHeader> parse_frame(std::span<const std::byte, kFrameHeaderBytes> bytes,
                                std::uint64_t limit, Padding padding) noexcept {
  const auto mark = get<std::uint16_t>(bytes, kMarkAt);
  if (mark != kMark) return wrong("mark", mark);
  const auto kind = get<std::uint8_t>(bytes, kKindAt);
  if (kind < static_cast<std::uint8_t>(FrameKind::kSegment) ||
      kind > static_cast<std::uint8_t>(FrameKind::kGone)) {
    return wrong("kind", kind);
  }
  const auto flags = get<std::uint8_t>(bytes, kFlagsAt);
  const unsigned padded = padding == Padding::kAllowed ? flags >> kPaddingShift : 0;
  if (flags != (padded << kPaddingShift | (flags & kSynchronousFlag))) return wrong("flags", flags);
  FrameHeader header;
  header.kind = static_cast<FrameKind>(kind);
  header.synchronous = (flags & kSynchronousFlag) != 0;
  header.padding = static_cast<std::uint8_t>(padded * kPaddingStep);
  header.signature = get<std::uint32_t>(bytes, kSignatureAt);
  header.flow = get<std::uint64_t>(bytes, kFlowAt);
  header.ordinal = get<std::uint32_t>(bytes, kOrdinalAt);
  header.total = get<std::uint32_t>(bytes, kTotalAt);
  header.bytes = get<std::uint32_t>(bytes, kBytesAt);
  if (header.padding > 0 && header.bytes == 0) return wrong("flags", flags);
  if (const char* field = unused_field(header)) return wrong(field, "is set");
  if (const char* field = wrong_field(header, limit)) return wrong(field, "is out of range");
  return header;
}

}  // namespace espalier::net
