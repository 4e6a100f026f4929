// What FrameWire keeps per frame of a send, per early segment and per peer. Its own.
#pragma once

#include <array>
#include <memory>

#include "core/wire.hpp"
#include "net/outgoing_frame.hpp"
#include "net/remote_memory.hpp"

namespace espalier::net {

class FrameGroup;
class FrameWire;
struct FramePeer;
struct FramePart;

// What a part has beside it where its segment lies in memory of a device. In the list of fetches
// from kWaits to kFetched. As Completion: the copy to memory of the host.
struct AwaySend : Completion, ListNode {
  enum class State : std::uint8_t { kTold, kWaits, kFetching, kFetched, kSent };

  AwaySend(FramePart& part_, const Send& send, Callback callback) noexcept
      : Completion(callback),
        part(part_),
        memory(static_cast<const std::byte*>(send.data)),
        bytes(send.bytes),
        synchronous(send.synchronous) {}

  FramePart& part;
  const std::byte* const memory;
  const std::uint64_t bytes;
  const bool synchronous;
  bool held = false;      // the link may let the reader get it
  bool declined = false;  // by the reader, which waits for the bytes
  State state = State::kTold;
  Status status;                 // of the copy
  std::byte* fetched = nullptr;  // the copy, in memory of the host
  std::array<std::byte, kAwayBytes> place;
};

// A segment that this rank gets out of memory of a device of its sender's.
struct AwayGet : Completion, ListNode {
  AwayGet(FrameWire& wire_, Rank from_, const FrameHeader& header_, RecvOp& op_,
          Callback callback) noexcept
      : Completion(callback), wire(wire_), from(from_), header(header_), op(&op_) {}

  FrameWire& wire;
  const Rank from;
  const FrameHeader header;  // the segment's
  RecvOp* const op;
  std::byte* to = nullptr;
  bool placed = false;  // `to` is RecvOp::place, which the link holds
  bool pooled = false;  // `to` is of the wire's buffers
};

// One frame of a send, to one peer or to a group, or one of the wire's own. Open from the post
// until the link has the payload and, if the send is synchronous, the peer has taken the segment.
// As MatchNode: an entry of untaken_; `chain`: the next part of the same operation.
struct FramePart : SendOp, MatchNode, ListNode {
  FramePart(FrameWire& owner, FramePeer& reader_, Callback callback) noexcept
      : SendOp(callback), wire(owner), reader(reader_) {}

  FrameWire& wire;
  FramePeer& reader;            // of one through a group: any of them
  FrameGroup* group = nullptr;  // that carries it to all its readers at once
  SendOp* op = nullptr;         // nullptr: a notice or a control message
  OutgoingFrame frame{*this};
  bool pending = false;  // it waits, or the link has it
  bool untaken = false;
  std::unique_ptr<std::byte[]> copy;  // of a control message
  AwaySend* away = nullptr;
  Status failure;

  // The link has done with it, and all the same it goes on.
  bool fetches() const noexcept {
    return away != nullptr && AwaySend::State::kWaits <= away->state &&
           away->state <= AwaySend::State::kFetched;
  }
};

// Nobody waits for the end of such a frame: the wire has a copy.
constexpr bool is_copied(FrameKind kind) noexcept {
  return kind == FrameKind::kControl || kind == FrameKind::kGroup;
}

inline FrameHeader header_of(const Send& send) noexcept {
  FrameHeader header;
  header.synchronous = send.synchronous;
  header.signature = send.segment.signature;
  header.flow = send.segment.flow.key;
  header.ordinal = send.segment.ordinal;
  header.total = send.segment.total;
  header.bytes = send.bytes;
  return header;
}

// A segment that came before its receive. A receive that is posted while it arrives claims it.
struct EarlySegment : MatchNode {
  FrameHeader header;
  std::byte* payload = nullptr;  // the pool's; nullptr: 0 bytes
  RecvOp* claimed = nullptr;
  bool whole = false;
  RemoteMemory away;  // it lies there, in memory of a device of its sender's
};

// Who brings a payload that does not come by the peer's link.
class Redirect {
 public:
  // Moves what is here of it to other memory, and goes on there.
  virtual void redirect(std::byte* payload) noexcept = 0;

 protected:
  ~Redirect() = default;
};

// A stream of frames of one rank, and the payload of it that is under way: at most one of
// `receiving`, `arriving`, or what lands for nobody.
struct FrameArrival {
  explicit FrameArrival(Rank from_, Redirect* carrier_ = nullptr) noexcept
      : from(from_), carrier(carrier_) {}

  const Rank from;
  Redirect* const carrier;  // of a group; nullptr: it comes by the link
  FrameHeader header;
  RecvOp* receiving = nullptr;
  EarlySegment* arriving = nullptr;
  std::byte* landing = nullptr;  // the pool's: of a view, a mismatch, a control message
  bool places_away = false;      // it goes to the place that `receiving` names
  std::array<std::byte, kAwayBytes> place = {};
};

// In a list while anything waits for it.
struct FramePeer : ListNode {
  FramePeer(Rank peer, std::uint64_t inline_bytes_) noexcept
      : rank(peer), inline_bytes(inline_bytes_), arrival(peer) {}

  const Rank rank;
  const std::uint64_t inline_bytes;  // of its link
  bool lost = false;
  Status why;  // it is lost

  IntrusiveList<OutgoingFrame> queue;  // for which the link had no room, oldest first
  std::uint32_t controls = 0;          // control messages that are open

  FrameArrival arrival;  // by the link
};

}  // namespace espalier::net
