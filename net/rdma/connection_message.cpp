#include "net/rdma/connection_message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "net/rdma/bytes.hpp"

namespace espalier::rdma {

void write_head(const MessageHead& head, std::byte* at) noexcept {
  at[0] = static_cast<std::byte>(head.kind);
  at[1] = static_cast<std::byte>(head.keep);
  store(at + 2, head.credits);
  store(at + 4, head.number);
}

Result<MessageHead> parse_head(std::span<const std::byte> message) noexcept {
  if (message.size() < MessageHead::kBytes) {
    return error(ESP_ERR_NETWORK, fmt::format("a message of {} bytes", message.size()));
  }
  const auto kind = static_cast<unsigned>(message[0]);
  const auto keep = static_cast<unsigned>(message[1]);
  if (kind < 1 || kind > static_cast<unsigned>(MessageKind::kFetched))
    return error(ESP_ERR_NETWORK, fmt::format("message kind {}", kind));
  MessageHead head;
  head.kind = static_cast<MessageKind>(kind);
  if (keep > (head.kind == MessageKind::kFrames ? KnownHeaders::kSlots : 0)) {
    return error(ESP_ERR_NETWORK,
                 fmt::format("message kind {} with a header to keep in slot {}", kind, keep - 1));
  }
  head.keep = static_cast<std::uint8_t>(keep);
  head.credits = load<std::uint16_t>(&message[2]);
  head.number = load<std::uint32_t>(&message[4]);
  return head;
}

void write_announcement(const Announcement& announcement, std::byte* at) noexcept {
  store(at, announcement.slot);
  store(at + 4, announcement.serial);
  store(at + 8, announcement.memory.address);
  store(at + 16, std::uint64_t{announcement.memory.key});
  const net::FrameBytes frame = net::frame_bytes(announcement.frame);
  std::memcpy(at + 24, frame.data(), frame.size());
}

Result<Announcement> parse_announcement(std::span<const std::byte, Announcement::kBytes> bytes,
                                        std::uint64_t payload_max) noexcept {
  auto frame = net::parse_frame(bytes.subspan<24, net::kFrameHeaderBytes>(), payload_max);
  if (!frame) return frame.error();
  const auto slot = load<std::uint32_t>(&bytes[0]);
  const auto key = load<std::uint64_t>(&bytes[16]);
  if (slot > Placement::kSlotMax || key > 0xffffffffU) {
    return error(ESP_ERR_NETWORK, fmt::format("an announcement with slot {}, key {}", slot, key));
  }
  Announcement announcement;
  announcement.slot = slot;
  announcement.serial = load<std::uint32_t>(&bytes[4]);
  announcement.memory = {load<std::uint64_t>(&bytes[8]), static_cast<std::uint32_t>(key)};
  announcement.frame = *frame;
  return announcement;
}

}  // namespace espalier::rdma
