#include "net/rdma/packet_header.hpp"

#include <bit>
#include <concepts>
#include <cstring>

#include "core/crc32c.hpp"
#include "core/plant.hpp"
#include "net/rdma/bytes.hpp"

namespace espalier::rdma {
namespace {

constexpr std::size_t kChecksumAt = 0, kVersionAt = 4, kFlagsAt = 5, kBytesAt = 6, kEpochAt = 8;
constexpr std::size_t kFromAt = 16, kToAt = 20, kSequenceAt = 24, kExpectedAt = 28, kLimitAt = 32;
constexpr std::size_t kHeldAt = 36;
static_assert(kHeldAt + sizeof(std::uint32_t) == kPacketHeaderBytes);

template <std::integral T>
void store(std::span<std::byte> packet, std::size_t at, T value) noexcept {
  rdma::store(packet.data() + at, value);
}

template <std::integral T>
T load(std::span<const std::byte> packet, std::size_t at) noexcept {
  return rdma::load<T>(packet.data() + at);
}

std::uint32_t checksum(std::span<const std::byte> packet) noexcept {
  return crc32c(packet.subspan(kChecksumAt + sizeof(std::uint32_t)));
}

bool possible(PacketHeader header) noexcept {
  header.flags &= static_cast<std::uint8_t>(~(kUnsummed | kSelective));
  if (header.flags == kLetter) return true;
  const bool bare = header.bytes == 0;
  if (header.flags == kRefusal) return bare;
  if ((header.flags & ~(kData | kGoodbye | kProbe)) != 0) return false;
  const bool data = (header.flags & kData) != 0;
  const bool goodbye = (header.flags & kGoodbye) != 0;
  return data ? bare || !goodbye : bare && !goodbye;
}

bool among(Rank rank, std::uint32_t ranks) noexcept {
  return rank >= 0 && static_cast<std::uint32_t>(rank) < ranks;
}

}  // namespace

std::size_t packet_length(const PacketHeader& header) noexcept {
  return kPacketHeaderBytes + header.bytes + (header.ack.arrived.any() ? sizeof(ArrivalBits) : 0);
}

void write_packet(const PacketHeader& header, std::span<std::byte> packet) noexcept {
  ESP_ASSERT(packet.size() == packet_length(header));
  ESP_ASSERT_SLOW(possible(header));
  store(packet, kVersionAt, kPacketVersion);
  const bool selective = header.ack.arrived.any();
  store(packet, kFlagsAt, static_cast<std::uint8_t>(header.flags | (selective ? kSelective : 0)));
  store(packet, kBytesAt, header.bytes);
  store(packet, kEpochAt, header.epoch);
  store(packet, kFromAt, header.from);
  store(packet, kToAt, header.to);
  store(packet, kSequenceAt, header.sequence.value);
  store(packet, kExpectedAt, header.ack.expected.value);
  store(packet, kLimitAt, header.ack.limit.value);
  store(packet, kHeldAt, header.ack.held_ns);
  if (selective) [[unlikely]] {
    store(packet, kPacketHeaderBytes + header.bytes, header.ack.arrived.words[0]);
    store(packet, kPacketHeaderBytes + header.bytes + 8, header.ack.arrived.words[1]);
  }
  const bool summed = (header.flags & kUnsummed) == 0;
  store(packet, kChecksumAt, summed ? checksum(packet) : std::uint32_t{0});
}

Refused parse_packet(std::span<const std::byte> packet, const Identity& me,
                     PacketHeader& header) noexcept {
  if (packet.size() < kPacketHeaderBytes) return Refused::kShort;
  header.flags = load<std::uint8_t>(packet, kFlagsAt);
  const bool summed = (header.flags & kUnsummed) == 0;
  const std::uint32_t sum = load<std::uint32_t>(packet, kChecksumAt);
  const bool sound = summed ? sum == checksum(packet) : me.intact && sum == 0;
  if (!ESP_PLANT(40, sound, true)) return Refused::kChecksum;
  const bool selective = (header.flags & kSelective) != 0;
  header.flags &= static_cast<std::uint8_t>(~(kUnsummed | kSelective));
  if (load<std::uint8_t>(packet, kVersionAt) != kPacketVersion) return Refused::kVersion;
  header.bytes = load<std::uint16_t>(packet, kBytesAt);
  header.epoch = load<std::uint64_t>(packet, kEpochAt);
  header.from = load<Rank>(packet, kFromAt);
  header.to = load<Rank>(packet, kToAt);
  header.sequence.value = load<std::uint32_t>(packet, kSequenceAt);
  header.ack.expected.value = load<std::uint32_t>(packet, kExpectedAt);
  header.ack.limit.value = load<std::uint32_t>(packet, kLimitAt);
  header.ack.held_ns = load<std::uint32_t>(packet, kHeldAt);
  header.ack.arrived = {};
  const std::size_t end = kPacketHeaderBytes + header.bytes;
  if (packet.size() != end + (selective ? sizeof(ArrivalBits) : 0)) return Refused::kShort;
  if (selective) [[unlikely]] {
    header.ack.arrived.words = {load<std::uint64_t>(packet, end),
                                load<std::uint64_t>(packet, end + 8)};
    if (!header.ack.arrived.any()) return Refused::kFlags;
  }
  if (ESP_PLANT(41, header.epoch != me.epoch, false)) return Refused::kEpoch;
  const bool ours = header.to == me.rank && header.from != me.rank && among(header.from, me.ranks);
  if (!ours) return Refused::kAddress;
  return possible(header) ? Refused::kNo : Refused::kFlags;
}

Sequence sequence_of(std::span<const std::byte> packet) noexcept {
  return Sequence{load<std::uint32_t>(packet, kSequenceAt)};
}

std::span<const std::byte> payload_of(std::span<const std::byte> packet) noexcept {
  return packet.subspan(kPacketHeaderBytes, load<std::uint16_t>(packet, kBytesAt));
}

bool says_goodbye(std::span<const std::byte> packet) noexcept {
  return (load<std::uint8_t>(packet, kFlagsAt) & kGoodbye) != 0;
}

}  // namespace espalier::rdma
