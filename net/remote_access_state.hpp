// What RemoteAccess keeps per request, per reply and per peer. Its own.
#pragma once

#include "net/remote_access.hpp"

namespace espalier::net {

// One frame of an operation. Open until it is answered and the link has done with it.
struct RemoteAccess::Request : Completion, ListNode {
  Request(RemoteAccess& access_, RemoteOp& op_) noexcept
      : Completion(&RemoteAccess::on_request_sent), access(access_), op(&op_) {}

  RemoteAccess& access;
  RemoteOp* op;                // nullptr: cancelled, or lost with the peer
  OutgoingFrame frame{*this};  // unless it is direct
  std::uint64_t at = 0;        // in the memory of the operation
  std::uint64_t bytes = 0;     // of the operation
  std::uint64_t expected = 0;  // payload of the answer
  bool pending = false;        // the frame waits, or the link has it
  bool answered = false;       // or nobody answers it
  bool direct = false;         // the adapter's
  AtomicOperands operands = {};
};

// An answer or a refusal.
struct RemoteAccess::Reply : Completion, ListNode {
  explicit Reply(RemoteAccess& access_) noexcept
      : Completion(&RemoteAccess::on_reply_sent), access(access_) {}

  RemoteAccess& access;
  OutgoingFrame frame{*this};
  std::uint32_t region = 0;  // where the payload of a get lies
  std::uint64_t value = 0;   // an atomic's old one
};

struct RemoteAccess::Peer {
  explicit Peer(Rank peer) noexcept : rank(peer) {}

  const Rank rank;
  bool lost = false;
  Status why;                      // it is lost
  std::uint64_t refused = 0;       // by the peer: a bit per id of messages
  std::uint64_t refused_here = 0;  // and the peer knows it

  IntrusiveList<RemoteOp> waiting;    // not all asked for yet, oldest first
  IntrusiveList<Request> unanswered;  // oldest first
  IntrusiveList<Request> answered;    // the link still has their payloads
  std::uint32_t unanswered_count = 0, direct_count = 0;

  IntrusiveList<Reply> replies;  // that wait, or the link has their payloads

  // The frame that is coming, from begin_frame() to end_frame().
  FrameHeader header;
  bool coming = false;
  bool stale = false;            // a request to a region that was freed
  std::byte* landing = nullptr;  // the pool's
  AtomicOperands words = {};
};

}  // namespace espalier::net
