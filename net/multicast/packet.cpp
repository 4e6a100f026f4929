#include "net/multicast/packet.hpp"

#include "core/crc32c.hpp"
#include "core/plant.hpp"
#include "net/rdma/bytes.hpp"

namespace espalier::multicast {
namespace {

using rdma::load;
using rdma::store;

constexpr std::size_t kChecksumAt = 0, kVersionAt = 4, kKindAt = 5, kBytesAt = 6, kEpochAt = 8;
constexpr std::size_t kGroupAt = 16, kSourceAt = 20, kSequenceAt = 24, kStableAt = 28, kTagAt = 32;
static_assert(kTagAt + sizeof(std::uint64_t) == kHeaderBytes);
constexpr std::uint8_t kFlags = kAgain | kAsk | kUnsummed;

std::uint32_t sum_of(std::span<const std::byte> packet) noexcept {
  return crc32c(packet.subspan(kChecksumAt + sizeof(std::uint32_t)));
}

// Flags and length are what senders of this kind write.
bool possible_flags(Kind kind, std::uint8_t flags) noexcept {
  if (kind == Kind::kData) return true;
  return (flags & kAgain) == 0 && ((flags & kAsk) == 0 || kind == Kind::kProbe);
}

bool possible_length(Kind kind, std::size_t bytes) noexcept {
  switch (kind) {
    case Kind::kData:
      return true;
    case Kind::kNack:
      return bytes > 0 && bytes % kRangeBytes == 0 && bytes / kRangeBytes <= kRangesMax;
    case Kind::kAck:
      return bytes == kSubtreeStateBytes;
    case Kind::kReport:
      return bytes == sizeof(rdma::ArrivalBits);
    case Kind::kProbe:
    case Kind::kEnd:
    case Kind::kDone:
      return bytes == 0;
  }
  return false;
}

bool possible_numbers(const Header& header) noexcept {
  // Of a dead source the number of stable packets is not heard of any more.
  const std::int32_t reach = header.sequence - header.stable;
  return reach >= 0 && reach <= static_cast<std::int32_t>(kWindowMax);
}

}  // namespace

void write(const Header& header, std::span<std::byte> packet) noexcept {
  ESP_ASSERT(packet.size() == kHeaderBytes + header.bytes);
  std::byte* at = packet.data();
  store(at + kVersionAt, kPacketVersion);
  store(at + kKindAt, static_cast<std::uint8_t>(static_cast<unsigned>(header.kind) | header.flags));
  store(at + kBytesAt, header.bytes);
  store(at + kEpochAt, header.epoch);
  store(at + kGroupAt, header.group);
  store(at + kSourceAt, header.source);
  store(at + kSequenceAt, header.sequence.value);
  store(at + kStableAt, header.stable.value);
  store(at + kTagAt, header.tag);
  const bool summed = (header.flags & kUnsummed) == 0;
  store(at + kChecksumAt, summed ? sum_of(packet) : std::uint32_t{0});
}

Refused parse(std::span<const std::byte> packet, const Membership& me, bool mail,
              Header& header) noexcept {
  if (packet.size() < kHeaderBytes) return Refused::kShort;
  const std::byte* at = packet.data();
  const auto kind = load<std::uint8_t>(at + kKindAt);
  const auto sum = load<std::uint32_t>(at + kChecksumAt);
  const bool summed = (kind & kUnsummed) == 0;
  const bool sound = summed ? sum == sum_of(packet) : (mail || me.intact) && sum == 0;
  if (!ESP_PLANT(97, sound, true)) return Refused::kChecksum;
  if (load<std::uint8_t>(at + kVersionAt) != kPacketVersion) return Refused::kVersion;
  header.kind = static_cast<Kind>(kind & ~kFlags);
  header.flags = kind & (kAgain | kAsk);
  header.bytes = load<std::uint16_t>(at + kBytesAt);
  header.epoch = load<std::uint64_t>(at + kEpochAt);
  header.group = load<std::uint32_t>(at + kGroupAt);
  header.source = load<Rank>(at + kSourceAt);
  header.sequence.value = load<std::uint32_t>(at + kSequenceAt);
  header.stable.value = load<std::uint32_t>(at + kStableAt);
  header.tag = load<std::uint64_t>(at + kTagAt);
  if (packet.size() != kHeaderBytes + header.bytes) return Refused::kShort;
  if (header.epoch != me.epoch) return Refused::kEpoch;
  const bool of_job = header.source >= 0 && static_cast<std::uint32_t>(header.source) < me.ranks;
  if (header.group != me.group || !of_job) return Refused::kAddress;
  const bool by_port = header.kind == Kind::kData || header.kind == Kind::kProbe;
  const bool possible = possible_flags(header.kind, header.flags) &&
                        possible_length(header.kind, header.bytes) && possible_numbers(header);
  return (mail || by_port) && possible ? Refused::kNo : Refused::kFlags;
}

std::span<const std::byte> payload_of(std::span<const std::byte> packet) noexcept {
  return packet.subspan(kHeaderBytes);
}

std::uint64_t tag_of(std::span<const std::byte> packet) noexcept {
  return load<std::uint64_t>(packet.data() + kTagAt);
}

void write_range(std::byte* at, const Range& range) noexcept {
  store(at, range.first.value);
  store(at + 4, range.count);
}

Range read_range(std::span<const std::byte> payload, std::size_t number) noexcept {
  const std::byte* at = payload.data() + number * kRangeBytes;
  return {Sequence{load<std::uint32_t>(at)}, load<std::uint32_t>(at + 4)};
}

void write_state(std::byte* at, const SubtreeState& state) noexcept {
  store(at, state.slowest);
  store(at + 4, state.missed);
  store(at + 8, state.worst);
}

SubtreeState read_state(std::span<const std::byte> payload) noexcept {
  const std::byte* at = payload.data();
  return {load<Rank>(at), load<std::uint32_t>(at + 4), load<Rank>(at + 8)};
}

void write_arrived(std::byte* at, const rdma::ArrivalBits& arrived) noexcept {
  store(at, arrived.words[0]);
  store(at + 8, arrived.words[1]);
}

rdma::ArrivalBits read_arrived(std::span<const std::byte> payload) noexcept {
  rdma::ArrivalBits arrived;
  arrived.words = {load<std::uint64_t>(payload.data()), load<std::uint64_t>(payload.data() + 8)};
  return arrived;
}

}  // namespace espalier::multicast
