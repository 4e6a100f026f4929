// RemoteAccess: put, get and atomics on memory of ranks of other nodes, and active messages to
// them, as frames on the link that their segments take (net/frame_wire.hpp).
//
// The *origin* cuts an operation into requests of at most kAccessBytesMax, of which kWindow to one
// peer are open at a time; the *target* answers each from progress(), in the order of their coming,
// so the next answer is that of the oldest request and none carries a name. Payloads go straight
// from the origin's buffer into the region and back: no copy on either side. Atomics are done by
// the target's processor, so they are atomic with those of its own node.
//
// Where the link can, an adapter puts and gets alone (Link::put()): the target knows of nothing and
// answers nothing. What its adapter does not allow is tried again by frames, which say why.
//
// Nothing that comes is trusted: a peer that asks for what was never offered, asks more than it may
// or answers what nobody asked is given up. A region that was freed meanwhile is answered as such.
//
// Ownership: operations and their memory are the caller's, lent from start() to completion or
// cancel(); offered memory until retract(). Borrows the rest. Threads: owner. path: data
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/active_message.hpp"
#include "core/atomic_word.hpp"
#include "core/intrusive_list.hpp"
#include "core/peer_table.hpp"
#include "core/pool.hpp"
#include "net/frame_wire.hpp"

namespace espalier::net {

enum class RemoteKind : std::uint8_t { kPut, kGet, kFetchAdd, kCompareSwap };

// One operation. Fires once, from progress().
struct RemoteOp : Completion, ListNode {
  using Completion::Completion;

  RemoteKind kind = RemoteKind::kPut;
  Rank target = kNoRank;
  std::uint32_t region = 0;     // the target's number
  std::uint64_t offset = 0;     // atomics: a multiple of 8
  std::byte* memory = nullptr;  // put: read only; atomics: of the old value, may be nullptr
  std::uint64_t bytes = 0;      // at least 1; atomics: 8
  AtomicOperands operands = {};
  RemoteMemory direct;  // of the region's begin, as its link has exposed it, if it has

  std::uint64_t answered = 0;  // bytes, for those who look whether it goes on

  // RemoteAccess's:
  std::uint64_t asked = 0;  // bytes
  std::uint32_t open = 0;   // requests
  bool reaching = false;    // that one is the adapter's
  bool by_frames = false;   // the adapter may not
  Status failure;
};

// The ways to the ranks of other nodes.
class FrameRoutes {
 public:
  virtual FrameWire* frames_to(Rank rank) noexcept = 0;  // nullptr: none (of the own node)
  virtual std::span<FrameWire* const> all_frames() const noexcept = 0;

 protected:
  ~FrameRoutes() = default;
};

class RemoteAccess final : private FrameGuest {
 public:
  static constexpr std::uint32_t kWindow = 64;
  // The adapter's: requests to a peer, of so many bytes.
  static constexpr std::uint32_t kDirectWindow = 256;
  static constexpr std::uint64_t kDirectBytesMax = kWindow * kAccessBytesMax;

  RemoteAccess(FrameRoutes& routes, MessageTaker& taker);
  ~RemoteAccess();  // No operation is under way any more.

  // The origin's (remote_access.cpp).
  void start(RemoteOp& op) noexcept;
  // Its completion will not fire; its memory is not touched any more. The target may still see it.
  void cancel(RemoteOp& op) noexcept;
  // As FrameWire::post_frame(). To a peer that is not lost.
  Posted send(Rank to, const ActiveMessage& message, OutgoingFrame& frame) noexcept;
  void withdraw(Rank to, OutgoingFrame& frame) noexcept { (void)wire(to).withdraw(to, frame); }
  // Has the peer said that it does not take messages of this id?
  bool refused(Rank rank, unsigned id) const noexcept;
  Status state(Rank peer) const noexcept { return wire(peer).state(peer); }
  // Somebody waits for the peer, for long: makes sure that its end is noticed. After its goodbye it
  // does not answer any more, and that it has gone shows only when something is sent to it: an
  // empty message to nobody.
  void probe(Rank peer) noexcept {
    link(peer).reach(peer);
    if (wire(peer).takes_control(peer)) wire(peer).send_control(peer, {});
  }

  // The target's (remote_access_target.cpp). The number that origins name.
  std::uint32_t offer(std::byte* memory, std::uint64_t bytes);
  // What origins name to their adapters; none: {}.
  RemoteMemory exposed(std::uint32_t region) const noexcept { return regions_[region].exposed; }
  // The memory is not touched any more.
  void retract(std::uint32_t region) noexcept;

  // Ends what has failed inside a post.
  int progress() noexcept;

 private:
  struct Request;
  struct Reply;
  struct Peer;
  struct Region {
    std::byte* memory = nullptr;  // nullptr: retracted
    std::uint64_t bytes = 0;
    RemoteMemory exposed;
  };

  FrameWire& wire(Rank rank) const noexcept { return *routes_.frames_to(rank); }
  Link& link(Rank rank) const noexcept { return wire(rank).link(); }
  Peer& peer(Rank rank) noexcept;
  void push(Peer& peer) noexcept;

  bool ask(Peer& peer, RemoteOp& op) noexcept;
  bool ask_adapter(Peer& peer, RemoteOp& op) noexcept;
  void end_direct(Request& request, Status status) noexcept;
  static void on_request_sent(Completion& completion, Status status) noexcept;
  void settle(Request& request) noexcept;
  void forget_requests(RemoteOp& op, Peer& peer) noexcept;
  std::byte* begin_answer(Peer& peer, const FrameHeader& header) noexcept;
  void end_answer(Peer& peer, const FrameHeader& header) noexcept;
  void fail_later(RemoteOp& op, const Status& why) noexcept;

  std::byte* begin_request(Peer& peer, const FrameHeader& header) noexcept;
  void end_put(Peer& peer) noexcept;
  void end_get(Peer& peer, const FrameHeader& header) noexcept;
  void end_atomic(Peer& peer, const FrameHeader& header) noexcept;
  void end_message(Peer& peer, const FrameHeader& header, const std::byte* payload) noexcept;
  Reply* make_reply(Peer& peer, FrameKind kind) noexcept;
  void post(Peer& peer, Reply& reply) noexcept;
  static void on_reply_sent(Completion& completion, Status status) noexcept;

  std::byte* begin_frame(FrameWire& by, Rank from, const FrameHeader& header) noexcept override;
  void end_frame(FrameWire& by, Rank from, const FrameHeader& header,
                 std::byte* payload) noexcept override;
  void lost_peer(FrameWire& by, Rank rank, const Status& why) noexcept override;
  bool is_way(const FrameWire& by, Rank rank) const noexcept {
    return routes_.frames_to(rank) == &by;
  }
  std::byte* land(Peer& peer, std::uint64_t bytes) noexcept;
  void clear_landing(Peer& peer) noexcept;
  void conceal(Region& region) noexcept;
  std::byte* refuse(Peer& peer, const char* what) noexcept;

  FrameRoutes& routes_;
  MessageTaker& taker_;
  PeerTable<Peer> peers_;
  std::vector<Region> regions_;  // by number; numbers are not used again
  Pool<Request> requests_;
  Pool<Reply> replies_;
  IntrusiveList<RemoteOp> failed_;  // completions that must not run inside a post
};

}  // namespace espalier::net
