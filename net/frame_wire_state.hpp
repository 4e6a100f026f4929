// What FrameWire keeps per frame of a send, per early segment and per peer. Its own.
#pragma once

#include <vector>

#include "core/intrusive_list.hpp"
#include "core/wire.hpp"
#include "net/frame.hpp"

namespace espalier::net {

class FrameWire;
struct FramePeer;

// One frame of a send, to one peer. Open from the post until the link has the payload and, if the
// send is synchronous, the peer has taken the segment. As MatchNode: an entry of untaken_;
// `chain`: the next part of the same operation.
struct FramePart : SendOp, MatchNode, ListNode {
  enum class Stage : std::uint8_t { kStalled, kInLink, kGone, kFailed };

  FramePart(FrameWire& owner, FramePeer& reader_, Callback callback) noexcept
      : SendOp(callback), wire(owner), reader(reader_) {}

  FrameWire& wire;
  FramePeer& reader;
  SendOp* op = nullptr;  // nullptr: a control message
  Stage stage = Stage::kStalled;
  bool untaken = false;
  FrameHeader header;
  const void* data = nullptr;
  std::byte* copy = nullptr;  // of a control message: the pool's
  Status failure;
};

// A segment that came before its receive. A receive that is posted while it arrives claims it.
struct EarlySegment : MatchNode {
  FrameHeader header;
  std::byte* payload = nullptr;  // the pool's; nullptr: 0 bytes
  RecvOp* claimed = nullptr;
  bool whole = false;
};

struct FramePeer {
  FramePeer(Rank peer, std::uint64_t inline_bytes_) noexcept
      : rank(peer), inline_bytes(inline_bytes_) {}

  const Rank rank;
  const std::uint64_t inline_bytes;  // of its link
  bool in_backlog = false;
  bool lost = false;
  Status why;  // it is lost

  // For which the link had no room, oldest first.
  std::vector<FrameHeader> notices;  // grants and kTaken
  std::vector<FramePart*> stalled;   // all but the first of a publication

  // The payload under way: at most one of `receiving`, `arriving`, or a control message.
  FrameHeader header;
  RecvOp* receiving = nullptr;
  EarlySegment* arriving = nullptr;
  std::byte* landing = nullptr;  // the pool's: of a view, a mismatch, a control message
};

}  // namespace espalier::net
