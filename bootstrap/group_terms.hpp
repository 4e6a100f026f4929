// GroupTerms: by what network a rank can be in multicast groups, and what its ports hold: part of
// its card. Those of a job are what every rank can do. Values. path: setup
#pragma once

#include <algorithm>
#include <cstdint>

namespace espalier {

enum class GroupCarrier : std::uint32_t { kNone = 0, kUdp = 1, kRdma = 2 };

// Travels as it is.
struct GroupTerms {
  GroupCarrier carrier = GroupCarrier::kNone;
  std::uint32_t packet_bytes = 0;   // of a packet, with its header
  std::uint32_t receive_depth = 0;  // packets for arrivals
  std::uint32_t network = 0;        // hash of the IP network; 0: not known

  // Of this rank and another one.
  GroupTerms with(const GroupTerms& other) const noexcept {
    if (carrier != other.carrier || network != other.network) return {};
    GroupTerms both = *this;
    both.packet_bytes = std::min(packet_bytes, other.packet_bytes);
    both.receive_depth = std::min(receive_depth, other.receive_depth);
    return both;
  }
  friend bool operator==(const GroupTerms&, const GroupTerms&) = default;
};

}  // namespace espalier
