// What members of a group send: packets through its port, and messages by mail (group_port.hpp).
//
//    0  checksum   CRC32C of all that follows, to the end; 0 if kUnsummed
//    4  version    kPacketVersion
//    5  kind       Kind, and flags above it
//    6  bytes      of what follows the header
//    8  epoch      of the job: packets of an earlier life are refused
//   16  group      its number in the job
//   20  source     rank whose packets this is about
//   24  sequence   see Kind
//   28  stable     of this source: everything before it has arrived everywhere
//   32  tag        of the layer above (kData); what its sender knows of deaths (kReport, kEnd,
//                  kDone)
//
// Numbers are little-endian. Bytes from elsewhere are not trusted: parse() refuses what no sender
// of this version writes, before anything of it is used. Values. path: data
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/status.hpp"
#include "net/rdma/packet_header.hpp"
#include "net/rdma/sequence.hpp"

namespace espalier::multicast {

using rdma::Sequence;

inline constexpr std::size_t kHeaderBytes = 40;
inline constexpr std::uint8_t kPacketVersion = 1;
// Packets of one source that are not stable, at most.
inline constexpr std::uint32_t kWindowMax = rdma::kWindowMax;

enum class Kind : std::uint8_t {
  kData = 1,  // through the port; by mail it is a repair. `sequence` is its number
  kProbe,     // everything before `sequence` has been sent. By mail: acknowledge it at once
  // By mail alone:
  kAck,     // everything before `sequence` has arrived in the sender's subtree
  kNack,    // ranges are missing; everything before `sequence` has arrived at the sender
  kReport,  // of a dead source: what the sender holds, to the successor
  kEnd,     // of a dead source: nothing from `sequence` on will ever arrive
  kDone,    // of a dead source: everything before `sequence` has arrived everywhere
};

enum KindFlag : std::uint8_t {
  kAgain = 0x20,     // kData: sent to all once more, because many have asked
  kAsk = 0x40,       // kData, kProbe: acknowledge it at once
  kUnsummed = 0x80,  // no checksum: the port is intact, or this is mail
};

struct Header {
  Kind kind = Kind::kData;
  std::uint8_t flags = 0;
  std::uint16_t bytes = 0;
  std::uint64_t epoch = 0;
  std::uint32_t group = 0;
  Rank source = kNoRank;
  Sequence sequence, stable;
  std::uint64_t tag = 0;
  friend bool operator==(const Header&, const Header&) = default;
};

// Packets that are missing.
struct Range {
  Sequence first;
  std::uint32_t count = 0;
  friend bool operator==(const Range&, const Range&) = default;
};
inline constexpr std::size_t kRangeBytes = 8;
inline constexpr std::uint32_t kRangesMax = 16;  // of one message

// What a subtree says with kAck.
struct SubtreeState {
  Rank slowest = kNoRank;    // who holds the number back
  std::uint32_t missed = 0;  // packets that had to be repaired, of the member that missed most
  Rank worst = kNoRank;      // that member; kNoRank: nobody has missed any
  friend bool operator==(const SubtreeState&, const SubtreeState&) = default;
};
inline constexpr std::size_t kSubtreeStateBytes = 12;

// Who reads.
struct Membership {
  std::uint64_t epoch = 0;
  std::uint32_t group = 0;
  std::uint32_t ranks = 0;  // of the job
  bool intact = false;      // its port lets no damaged packet through
};

using rdma::Refused;

// Writes the header in front of header.bytes that stand there already, and the checksum.
void write(const Header& header, std::span<std::byte> packet) noexcept;
// `mail`: it came by mail, which is never damaged.
Refused parse(std::span<const std::byte> packet, const Membership& me, bool mail,
              Header& header) noexcept;

// Of a packet that was parsed before, or written.
std::span<const std::byte> payload_of(std::span<const std::byte> packet) noexcept;
std::uint64_t tag_of(std::span<const std::byte> packet) noexcept;

// Behind the header: `at` is the payload of a message of the kind that has it.
void write_range(std::byte* at, const Range& range) noexcept;
Range read_range(std::span<const std::byte> payload, std::size_t number) noexcept;
void write_state(std::byte* at, const SubtreeState& state) noexcept;
SubtreeState read_state(std::span<const std::byte> payload) noexcept;
void write_arrived(std::byte* at, const rdma::ArrivalBits& arrived) noexcept;
rdma::ArrivalBits read_arrived(std::span<const std::byte> payload) noexcept;

}  // namespace espalier::multicast
