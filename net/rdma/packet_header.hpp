// PacketHeader: what stands in front of every datagram of a DatagramLink.
//
//    0  checksum   CRC32C of all that follows, to the packet's end; 0 if kUnsummed
//    4  version    kPacketVersion
//    5  flags      PacketFlag
//    6  bytes      of the payload
//    8  epoch      of the job: packets of an earlier life of this address are refused
//   16  from, to   ranks
//   24  sequence   of this packet, if kData
//   28  expected   acknowledgement: everything before has arrived
//   32  limit      permission: packets before this one may be sent
//   36  held       ns for which the newest packet that arrived has waited for this acknowledgement
//
// Behind the payload, if kSelective:
//    0  arrived    128 bits, selective acknowledgement: bit i stands for packet expected + 1 + i
//
// Numbers are little-endian. Every packet carries the acknowledgement of the other direction.
// Bytes from elsewhere are not trusted: parse_packet() refuses what no sender of this version
// writes, before anything of it is used. Values. path: data
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/status.hpp"
#include "net/rdma/sequence.hpp"

namespace espalier::rdma {

inline constexpr std::size_t kPacketHeaderBytes = 40;
inline constexpr std::uint8_t kPacketVersion = 2;
// Packets in flight to one peer, at most: the selective acknowledgement reaches so far.
inline constexpr std::uint32_t kWindowMax = 128;

enum PacketFlag : std::uint8_t {
  kData = 1,     // has a sequence number, is acknowledged and sent again
  kGoodbye = 2,  // with kData: the last one; nothing follows
  kProbe = 4,    // wants an acknowledgement at once
  kRefusal = 8,  // alone: the sender has given the receiver up
  kLetter = 16,  // alone: a payload that nobody repeats (net/rdma/postman.hpp)
  // With any: no checksum, because the network has one (DatagramPort::intact). Not shown by
  // parse_packet(), which refuses it where that is not so.
  kUnsummed = 32,
  // With any: packets beyond a gap have arrived. Not shown by parse_packet(), either.
  kSelective = 64,
};

// Which packets beyond the next expected one have arrived.
class ArrivalBits {
 public:
  constexpr bool test(std::uint32_t bit) const noexcept {
    return bit < kWindowMax && (words[bit / 64] >> bit % 64 & 1) != 0;
  }
  constexpr void set(std::uint32_t bit) noexcept {
    words[bit / 64] |= std::uint64_t{1} << bit % 64;
  }
  constexpr bool any() const noexcept { return (words[0] | words[1]) != 0; }
  // One more than the highest bit that is set; 0: none is.
  constexpr std::uint32_t width() const noexcept {
    const auto high = static_cast<std::uint32_t>(std::bit_width(words[1]));
    return high > 0 ? 64 + high : static_cast<std::uint32_t>(std::bit_width(words[0]));
  }
  // All bits move down by one; the lowest is returned.
  constexpr bool shift() noexcept {
    const bool lowest = (words[0] & 1) != 0;
    words[0] = words[0] >> 1 | words[1] << 63;
    words[1] >>= 1;
    return lowest;
  }
  friend constexpr bool operator==(const ArrivalBits&, const ArrivalBits&) noexcept = default;

  std::array<std::uint64_t, 2> words = {};
};
static_assert(sizeof(ArrivalBits) * 8 == kWindowMax);
// What header and selective acknowledgement take of a packet, at most.
inline constexpr std::size_t kPacketOverhead = kPacketHeaderBytes + sizeof(ArrivalBits);

struct Acknowledgement {
  Sequence expected;
  Sequence limit;
  std::uint32_t held_ns = 0;
  ArrivalBits arrived;
  friend bool operator==(const Acknowledgement&, const Acknowledgement&) = default;
};

struct PacketHeader {
  std::uint8_t flags = 0;
  std::uint16_t bytes = 0;
  std::uint64_t epoch = 0;
  Rank from = kNoRank, to = kNoRank;
  Sequence sequence;
  Acknowledgement ack;
  friend bool operator==(const PacketHeader&, const PacketHeader&) = default;
};

// Why a packet was not taken, for counters.
enum class Refused : std::uint8_t {
  kNo,
  kShort,     // no header, or another length than it says
  kChecksum,  // damaged on the way
  kVersion,
  kEpoch,    // of another job, or an earlier life
  kAddress,  // not for this rank, or from none of the job
  kFlags,    // a combination that nobody sends
};
inline constexpr std::size_t kRefusedCount = 7;

// Who this end is.
struct Identity {
  std::uint64_t epoch = 0;
  Rank rank = kNoRank;
  std::uint32_t ranks = 0;
  bool intact = false;  // its port lets no damaged packet through
};

// Of header, payload and selective acknowledgement.
std::size_t packet_length(const PacketHeader& header) noexcept;
// Writes header and selective acknowledgement around header.bytes of payload that stand there
// already, and (unless kUnsummed) the checksum over all. `packet` has packet_length() bytes.
void write_packet(const PacketHeader& header, std::span<std::byte> packet) noexcept;
Refused parse_packet(std::span<const std::byte> packet, const Identity& me,
                     PacketHeader& header) noexcept;
// Of a packet that was parsed before.
Sequence sequence_of(std::span<const std::byte> packet) noexcept;
std::span<const std::byte> payload_of(std::span<const std::byte> packet) noexcept;
bool says_goodbye(std::span<const std::byte> packet) noexcept;

}  // namespace espalier::rdma
