#include "net/frame.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

namespace espalier::net {
namespace {

// Where the fields stand. The mark tells frames of this version from everything else.
constexpr std::size_t kMarkAt = 0, kKindAt = 2, kFlagsAt = 3, kSignatureAt = 4, kFlowAt = 8,
                      kOrdinalAt = 16, kTotalAt = 20, kFlowBytesAt = 24, kBytesAt = 32;
constexpr std::uint16_t kMark = 0xE501;  // its low byte is the version
constexpr std::uint8_t kSynchronousFlag = 1;

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

// The first field that a frame of this kind does not use and that is not 0, nullptr: none.
const char* unused_field(const FrameHeader& h) noexcept {
  const bool segment = h.kind == FrameKind::kSegment;
  const bool of_flow = segment || h.kind == FrameKind::kGrant || h.kind == FrameKind::kTaken;
  if (!of_flow && h.flow != 0) return "flow";
  if (!of_flow && h.ordinal != 0) return "ordinal";
  if (!segment && h.synchronous) return "flags";
  if (!segment && h.signature != 0) return "signature";
  if (!segment && h.total != 0) return "total";
  if (!segment && h.flow_bytes != 0) return "flow_bytes";
  if (!segment && h.kind != FrameKind::kControl && h.bytes != 0) return "bytes";
  return nullptr;
}

}  // namespace

FrameBytes frame_bytes(const FrameHeader& header) noexcept {
  FrameBytes bytes = {};
  put(bytes, kMarkAt, kMark);
  put(bytes, kKindAt, static_cast<std::uint8_t>(header.kind));
  put(bytes, kFlagsAt, header.synchronous ? kSynchronousFlag : std::uint8_t{0});
  put(bytes, kSignatureAt, header.signature);
  put(bytes, kFlowAt, header.flow);
  put(bytes, kOrdinalAt, header.ordinal);
  put(bytes, kTotalAt, header.total);
  put(bytes, kFlowBytesAt, header.flow_bytes);
  put(bytes, kBytesAt, header.bytes);
  return bytes;
}

Result<FrameHeader> parse_frame(std::span<const std::byte, kFrameHeaderBytes> bytes,
                                std::uint64_t limit) noexcept {
  const auto mark = get<std::uint16_t>(bytes, kMarkAt);
  if (mark != kMark) return wrong("mark", mark);
  const auto kind = get<std::uint8_t>(bytes, kKindAt);
  if (kind < static_cast<std::uint8_t>(FrameKind::kSegment) ||
      kind > static_cast<std::uint8_t>(FrameKind::kGoodbye)) {
    return wrong("kind", kind);
  }
  const auto flags = get<std::uint8_t>(bytes, kFlagsAt);
  if ((flags & ~kSynchronousFlag) != 0) return wrong("flags", flags);
  FrameHeader header;
  header.kind = static_cast<FrameKind>(kind);
  header.synchronous = flags != 0;
  header.signature = get<std::uint32_t>(bytes, kSignatureAt);
  header.flow = get<std::uint64_t>(bytes, kFlowAt);
  header.ordinal = get<std::uint32_t>(bytes, kOrdinalAt);
  header.total = get<std::uint32_t>(bytes, kTotalAt);
  header.flow_bytes = get<std::uint64_t>(bytes, kFlowBytesAt);
  header.bytes = get<std::uint64_t>(bytes, kBytesAt);
  if (const char* field = unused_field(header)) return wrong(field, "is set");
  if (header.kind == FrameKind::kSegment) {
    if (header.ordinal >= header.total) return wrong("ordinal", header.ordinal);
    if (header.bytes > limit) return wrong("bytes", header.bytes);
    if (header.flow_bytes < header.bytes) return wrong("flow_bytes", header.flow_bytes);
  }
  if (header.kind == FrameKind::kControl && header.bytes > kControlBytes) {
    return wrong("bytes", header.bytes);
  }
  if (header.kind == FrameKind::kGrant && header.ordinal == 0)
    return wrong("ordinal", header.ordinal);
  return header;
}

}  // namespace espalier::net
