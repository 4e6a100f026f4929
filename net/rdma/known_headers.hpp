// KnownHeaders: frame headers that both ends of a connection keep, so that frames which follow them
// travel without one (the idea of RFC 1144: what a header says can mostly be told from the one
// before, if nothing between the ends gets lost or overtaken).
//
// A segment follows a kept one if it belongs to the same stream of flows (team and channel, see
// core/wire.hpp) with the same signature and number of segments, and is the next of its flow, or
// the first of a flow whose sequence is up to kStepMax later. The sender decides which headers are
// kept where; the receiver does as it is told, and finds out what no sender says.
//
// Value, one for each direction; as long as a connection. Threads: owner. path: data
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/wire.hpp"
#include "net/frame.hpp"

namespace espalier::rdma {

class KnownHeaders {
 public:
  static constexpr std::uint32_t kSlots = 8, kStepMax = (1U << 12) - 1;

  // Where headers of this stream are kept.
  static constexpr std::uint32_t slot_of(const net::FrameHeader& header) noexcept {
    const std::uint64_t stream = header.flow >> FlowId::kSequenceBits;
    return static_cast<std::uint32_t>((stream * kSpread) >> (64 - kSlotBits));
  }
  // Of a segment.
  void keep(std::uint32_t slot, const net::FrameHeader& header) noexcept {
    slots_[slot] = {header.flow, header.signature, header.ordinal, header.total};
  }
  // By what step this header follows the one in its slot. Nothing: it does not.
  std::optional<std::uint32_t> step_to(const net::FrameHeader& header) const noexcept {
    const Entry& kept = slots_[slot_of(header)];
    const bool alike = header.kind == net::FrameKind::kSegment && kept.total == header.total &&
                       kept.signature == header.signature &&
                       (kept.flow ^ header.flow) >> FlowId::kSequenceBits == 0;
    const std::uint64_t step = (header.flow - kept.flow) & kSequenceMask;
    const std::uint32_t ordinal = step == 0 ? kept.ordinal + 1 : 0;
    if (!alike || step > kStepMax || header.ordinal != ordinal) return {};
    return static_cast<std::uint32_t>(step);
  }
  // Which header follows the kept one by this step; it takes its place. `bytes` and `synchronous`
  // are not known. Nothing: none can.
  std::optional<net::FrameHeader> follow(std::uint32_t slot, std::uint32_t step) noexcept {
    Entry& kept = slots_[slot];
    const std::uint32_t ordinal = step == 0 ? kept.ordinal + 1 : 0;
    if (ordinal >= kept.total) return {};
    kept.flow = (kept.flow & ~kSequenceMask) | ((kept.flow + step) & kSequenceMask);
    kept.ordinal = ordinal;
    net::FrameHeader header;
    header.signature = kept.signature;
    header.flow = kept.flow;
    header.ordinal = ordinal;
    header.total = kept.total;
    return header;
  }

 private:
  static constexpr std::uint64_t kSequenceMask = (std::uint64_t{1} << FlowId::kSequenceBits) - 1;
  static constexpr unsigned kSlotBits = 3;
  static_assert(kSlots == 1U << kSlotBits);
  static constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;  // Fibonacci hashing

  struct Entry {
    std::uint64_t flow = 0;
    std::uint32_t signature = 0, ordinal = 0, total = 0;  // total 0: nothing is kept
  };
  std::array<Entry, kSlots> slots_;
};

}  // namespace espalier::rdma
