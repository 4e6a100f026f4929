#include "net/rdma/frame_stream.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "core/copy.hpp"

namespace espalier::rdma {

bool FramePost::pack(Packet& packet, std::uint32_t keep_free) noexcept {
  const std::uint32_t end = packet.capacity - keep_free;
  ESP_ASSERT_SLOW(packet.bytes <= end);
  if (!begun) {
    if (end - packet.bytes < head.size()) return false;
    std::memcpy(packet.data + packet.bytes, head.data(), head.size());
    packet.bytes += static_cast<std::uint32_t>(head.size());
    begun = true;
  }
  const std::uint64_t room = end - packet.bytes;
  const std::uint64_t part = std::min(room, bytes - packed);
  if (part > 0) copy_bytes(packet.data + packet.bytes, payload + packed, part);
  packet.bytes += static_cast<std::uint32_t>(part);
  packed += part;
  return packed == bytes;
}

bool FramePost::keep_copy() noexcept {
  const std::uint64_t rest = bytes - packed;
  if (rest <= kInlineBytes) {
    keep_inline();
    return true;
  }
  copy.reset(new (std::nothrow) std::byte[rest]);
  if (copy == nullptr) return false;
  copy_bytes(copy.get(), payload + packed, rest);
  payload = copy.get();
  bytes = rest;
  packed = 0;
  return true;
}

void FramePost::keep_inline() noexcept {
  bytes -= packed;
  ESP_ASSERT(bytes <= kInlineBytes);
  if (bytes > 0) std::memmove(small.data(), payload + std::exchange(packed, 0), bytes);
  payload = small.data();
  packed = 0;
}

std::optional<Error> FrameReader::take(Rank from, std::span<const std::byte> bytes,
                                       std::uint64_t payload_max, net::FrameSink& sink) {
  while (!stopped_) {
    if (!inside_) {
      if (bytes.empty()) return {};
      if (bytes.size() < net::kFrameHeaderBytes) {
        return error(ESP_ERR_NETWORK, "bad packet: it ends inside a frame's header", from);
      }
      auto header = net::parse_frame(bytes.first<net::kFrameHeaderBytes>(), payload_max);
      if (!header) return header.error();
      if (header->kind == net::FrameKind::kGoodbye) {
        return error(ESP_ERR_NETWORK, "bad packet: a goodbye among frames", from);
      }
      bytes = bytes.subspan(net::kFrameHeaderBytes);
      header_ = *header;
      come_ = 0;
      inside_ = true;
      payload_ = sink.begin(from, header_);
      if (stopped_) break;
      ESP_ASSERT(payload_ != nullptr || header_.bytes == 0);
    }
    const std::uint64_t part = std::min<std::uint64_t>(bytes.size(), header_.bytes - come_);
    if (part > 0) copy_bytes(payload_ + come_, bytes.data(), part);
    come_ += part;
    bytes = bytes.subspan(part);
    if (come_ < header_.bytes) return {};
    inside_ = false;
    sink.end(from, header_, payload_);
  }
  return {};
}

void FrameReader::redirect(std::byte* payload) noexcept {
  ESP_ASSERT(inside_);
  if (come_ > 0) copy_bytes(payload, payload_, come_);
  payload_ = payload;
}

}  // namespace espalier::rdma
