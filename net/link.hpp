// Link: the seam between the protocol of segments (net/frame_wire.hpp) and what carries frames
// between machines: TCP (net/tcp), reliable datagrams and connections (net/rdma).
//
// A link reaches many peers. Frames to one peer arrive there once, whole and in the order of their
// posts (but for large segments, for which a link may let others pass until they are received), or
// the peer is lost: then the sink is told once why, what was posted completes with that
// status, and further posts to it answer kDone without effect. Connections are made at the first
// post or reach() (or when the peer makes its first).
//
// Ownership: the payload belongs to the link from a kPending post to its completion or
// withdraw(). Threads: the owner of the worker. path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/completion.hpp"
#include "core/status.hpp"
#include "net/frame.hpp"
#include "net/remote_memory.hpp"

namespace espalier {
class AwayMemory;
}  // namespace espalier

namespace espalier::net {

// The protocol above a link. Its functions are called from Link::progress() only; they may post,
// withdraw, redirect and lose, but not call progress().
class FrameSink {
 public:
  // Would begin() place this frame where a receive wants it? If not, a link that can may call it a
  // little later, in another progress(): the receive may have been posted by then, and a copy is
  // saved.
  virtual bool expects(Rank from, const FrameHeader& header) const noexcept {
    (void)from;
    (void)header;
    return true;
  }
  // A header has come, of any kind but kGoodbye. Returns where its payload goes: header.bytes of
  // memory that stay valid until end(), lost() or redirect(); nullptr is right for 0 bytes, and
  // after lose(). Never called for a second frame of the same peer before end() of the first.
  virtual std::byte* begin(Rank from, const FrameHeader& header) noexcept = 0;
  // The payload stands there.
  virtual void end(Rank from, const FrameHeader& header, std::byte* payload) noexcept = 0;
  // Nothing more comes from this peer or reaches it. A payload that was begun will not end.
  virtual void lost(Rank peer, const Status& why) noexcept = 0;

 protected:
  ~FrameSink() = default;
};

struct LinkCaps {
  std::uint64_t inline_bytes = 0;  // payloads up to here are copied by post(): kDone
  bool away = false;  // its adapter may read memory of devices of this rank for the peer
};

// What an adapter is to do with memory of a device.
enum class AwayUse : std::uint8_t {
  kRead,   // let peers get from it
  kWrite,  // get() into it
};

inline constexpr std::uint64_t kFlushPatienceNs = 1'000'000'000;

class Link {
 public:
  virtual ~Link() = default;

  virtual LinkCaps caps(Rank peer) const noexcept = 0;
  // kDone: the payload's bytes have been taken over; kPending: `completion` fires once, from
  // progress(), when they have been; kRetry: no room, try again after progress() returned events.
  virtual Posted post(Rank peer, const FrameHeader& header, const void* payload,
                      Completion& completion) noexcept = 0;
  // Optional. A receive is posted: a frame that begins like this one (synchronous apart) may be
  // placed straight into `memory` by the adapter. Its begin() and end() come as those of any frame,
  // and if begin() answers this memory nothing is copied. False: not here. The memory is the link's
  // until end(), lost() or retract(). Call it only while nothing of the frame has come. Without
  // memory (nullptr) it only says that the frame is awaited: a link may have kept it at its sender.
  virtual bool announce(Rank from, const FrameHeader& expected, std::byte* memory) noexcept {
    (void)from;
    (void)expected;
    (void)memory;
    return false;
  }
  // Takes it back: once this has returned nothing is placed there any more. May cost a connection
  // (which is made again): for receives that are cancelled. No effect on what is not announced.
  virtual void retract(Rank from, const FrameHeader& expected) noexcept {
    (void)from;
    (void)expected;
  }
  // Optional: access by the adapters alone, without the processor of the peer. Memory that peers
  // may put to and get from; none: {}. After conceal() nobody reads or writes it any more; nothing
  // happens where it was not exposed.
  virtual RemoteMemory expose(const std::byte* memory, std::uint64_t bytes) noexcept {
    (void)memory;
    (void)bytes;
    return {};
  }
  virtual void conceal(const std::byte* memory) noexcept { (void)memory; }
  // At least one byte, to and from memory that the peer has exposed. False: not here, or not now;
  // frames do it. True: `completion` fires once, from progress(), when the bytes are there;
  // ESP_ERR_STATE: the peer's adapter does not allow it (any more), some of them may be there, and
  // frames may be tried. The own memory is the link's until then or withdraw(). Neither overtakes a
  // completed one, nor is one that is complete done again; there is no other order, not with frames
  // either.
  virtual bool put(Rank peer, const std::byte* from, std::uint64_t bytes, RemoteMemory to,
                   Completion& completion) noexcept {
    (void)peer;
    (void)from;
    (void)bytes;
    (void)to;
    (void)completion;
    return false;
  }
  virtual bool get(Rank peer, std::byte* to, std::uint64_t bytes, RemoteMemory from,
                   Completion& completion) noexcept {
    (void)peer;
    (void)to;
    (void)bytes;
    (void)from;
    (void)completion;
    return false;
  }
  // Optional: memory of devices (core/away_memory.hpp) for get(), while it is held: as often as it
  // is dropped. No address: none, it goes over the host. nullptr ends all of it.
  virtual void set_away(AwayMemory* away) noexcept { (void)away; }
  // There may be some, as far as is known. Any thread asks.
  virtual bool takes_away() const noexcept { return false; }
  // For people: why there is none; "": there is, or nobody has asked.
  virtual std::string why_not_away() const { return {}; }
  virtual RemoteMemory hold_away(const std::byte* memory, std::uint64_t bytes,
                                 AwayUse use) noexcept {
    (void)memory;
    (void)bytes;
    (void)use;
    return {};
  }
  virtual void drop_away(const std::byte* memory, AwayUse use) noexcept {
    (void)memory;
    (void)use;
  }
  // Of what is held for peers: they get nothing from it any more (ESP_ERR_STATE), nor from the rest
  // of its allocation. It is still to be dropped.
  virtual void revoke_away(const std::byte* memory) noexcept { (void)memory; }
  // Takes a pending post back: its completion will not fire, its payload is not read after this
  // call. The frame arrives all the same (the link copies what it still needs), or the peer is
  // lost: the peer may have seen the frame begin. Puts and gets: what has not left does not happen.
  virtual void withdraw(Rank peer, Completion& completion) noexcept = 0;
  // The payload that is arriving from this peer, between begin() and end(), goes elsewhere: what
  // has come is copied to `payload`, the rest lands there, and the memory of begin() is not touched
  // any more. A link that calls begin() and end() in one go never sees it.
  virtual void redirect(Rank from, std::byte* payload) noexcept {
    (void)from;
    (void)payload;
    ESP_ASSERT(false);
  }
  // It has said goodbye: how it was lost, if it was, is no fault of it.
  virtual bool has_left(Rank peer) const noexcept {
    (void)peer;
    return false;
  }
  // Makes the connection if there is none yet, so that the peer's death is noticed by a rank that
  // waits for a frame. A peer that has gone after its goodbye is lost by that, and by a post to it.
  virtual void reach(Rank peer) noexcept = 0;
  // The peer does not keep to the protocol: the connection is given up, FrameSink::lost() is
  // called with why.status from the running or next progress(). No effect on a peer that is lost.
  virtual void lose(Rank peer, Error why) noexcept = 0;

  // Sends what is queued, hands arrivals to the sink, calls completions. Never blocks. Returns the
  // number of events.
  virtual int progress(FrameSink& sink) noexcept = 0;

  // Sends what is queued, as far as there is room, and nothing else. False: frames whose owner may
  // have been told that they are done wait for a connection, which progress() has yet to make, or
  // for frames that went before them by another way. It is not said for longer than
  // kFlushPatienceNs of a peer in a row: a connection needs both of its ranks inside the library.
  virtual bool flush() noexcept { return true; }

  // Sleeping: readable (poll, epoll) after arm() when progress() has work; -1: the link must be
  // looked at. arm() answers false when there is work already: do not sleep.
  virtual int descriptor() const noexcept = 0;
  virtual bool arm() noexcept = 0;
  // When progress() wants to be called even if nothing arrives (timers), by the link's clock; 0:
  // never.
  virtual std::uint64_t deadline_ns() const noexcept { return 0; }

  // What was posted to this peer still goes out; later posts (the answers of a protocol that still
  // listens) answer kDone without effect. The peer's sink is not told that this rank is lost when
  // it goes away after that.
  virtual void say_goodbye(Rank peer) noexcept = 0;
  // The same to everybody that was met, and to whoever is met after this.
  virtual void say_goodbye_to_all() noexcept = 0;
  // Everything posted has reached the peers' machines, goodbyes included (or they are lost): this
  // process may end.
  virtual bool drained() const noexcept = 0;
  // For people: how this peer is reached ("10.0.0.2:4711 by eth0"), or why it is not.
  virtual std::string describe(Rank peer) const = 0;
};

}  // namespace espalier::net
