// OutgoingFrame: a frame with all that it takes to post it later, when its link has room.
//
// Who posts a frame holds it, so that waiting allocates nothing; FrameWire keeps those that wait in
// one list per peer. Ownership: the wire's while it waits, from a kPending post to the completion
// or withdraw(). Threads: owner. path: data
#pragma once

#include "core/completion.hpp"
#include "core/intrusive_list.hpp"
#include "net/frame.hpp"

namespace espalier::net {

struct OutgoingFrame : ListNode {
  explicit OutgoingFrame(Completion& done) noexcept : completion(done) {}

  Completion& completion;
  FrameHeader header;
  const void* payload = nullptr;  // header.bytes

  // The link has not seen it yet; its owner may still change what it says.
  bool waits() const noexcept { return linked(); }
};

}  // namespace espalier::net
