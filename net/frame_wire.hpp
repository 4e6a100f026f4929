// FrameWire: the wire between machines (core/wire.hpp), written once over any link (net/link.hpp).
//
// A segment is one frame. It is received straight into the memory of its receive when that is
// posted, else into pooled memory; at most kEagerSegments of a flow come before they are granted
// (core/flow_grants.hpp), and a peer that sends more is given up. A publication is one post per
// reader. A synchronous send ends with the frame kTaken that its receive sends back.
//
// What the link has no room for waits here, in one queue per peer for all layers, in the order of
// the posts: kRetry is answered for want of grants alone (or of memory), and where a send must not
// wait (Send::at_once).
//
// A peer that is lost ends everything that waits for it, once, from progress(), and every later
// post likewise; segments that had come whole are still there for their receives.
//
// Ownership: borrows link, counters and handler, which outlive it; wire and link are driven
// together, by progress(). Threads: owner. path: data
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/counters.hpp"
#include "core/flow_grants.hpp"
#include "core/forgotten_teams.hpp"
#include "core/matcher.hpp"
#include "core/peer_table.hpp"
#include "core/pool.hpp"
#include "core/wire.hpp"
#include "net/buffer_pool.hpp"
#include "net/frame_wire_state.hpp"
#include "net/groups/frame_groups.hpp"
#include "net/link.hpp"

namespace espalier::net {

// A layer above that talks to its like on other ranks beside the flows. Its functions are called
// from progress() and may post and send, but not call progress().
class ControlHandler {
 public:
  // `message` ends with the call. Messages of one peer come in the order of their sending.
  virtual void control(Rank from, std::span<const std::byte> message) noexcept = 0;
  // The peer is lost; whatever waited for it on the wire has not been told yet.
  virtual void lost(Rank peer, const Status& why) noexcept = 0;

 protected:
  ~ControlHandler() = default;
};

class FrameWire;

// A protocol of its own on the same link (net/remote_access.hpp): the kinds of frames from kMessage
// on. begin(), end(): as those of FrameSink. lost(): nothing more comes from that peer. A guest may
// sit on several wires, and `by` says on which it is called: a peer that lies may come on all.
class FrameGuest {
 public:
  virtual std::byte* begin_frame(FrameWire& by, Rank from, const FrameHeader& header) noexcept = 0;
  virtual void end_frame(FrameWire& by, Rank from, const FrameHeader& header,
                         std::byte* payload) noexcept = 0;
  virtual void lost_peer(FrameWire& by, Rank peer, const Status& why) noexcept = 0;

 protected:
  ~FrameGuest() = default;
};

struct FrameWireOptions {
  std::uint64_t keep_bytes = 64 << 20;  // free memory for unexpected segments and views, at most
  // Memory that they use at a time; a peer whose segment would need more is given up.
  std::uint64_t use_bytes = BufferPool::kUnbounded;
};

class FrameWire final : public Wire, private FrameSink, private GroupHost {
 public:
  // `handler` may be nullptr: control messages are dropped.
  FrameWire(Link& link, const FrameWireOptions& options, Counters& counters,
            ControlHandler* handler = nullptr);
  ~FrameWire() override;

  WireCaps caps(Rank peer) const noexcept override;
  Posted send(const Send& send, SendOp& op) noexcept override;
  std::unique_ptr<Group> open_group(std::span<const Rank> readers) override;
  void join_group(std::uint32_t team, std::shared_ptr<const std::vector<Rank>> members) override;
  Posted publish(const Send& send, const Group& group, SendOp& op) noexcept override;
  Posted recv(const SegmentId& segment, std::uint32_t window, RecvOp& op) noexcept override;
  Posted take(const SegmentId& segment, RecvOp& op) noexcept override;
  void release(RecvOp& op) noexcept override;
  void cancel(RecvOp& op) noexcept override;
  void cancel(SendOp& op) noexcept override;
  int progress() noexcept override;
  bool flush() noexcept override;
  // Makes sure that the death of those is noticed for whom this rank waits.
  void idle() noexcept override;

  // At most kControlBytes, which are copied. A message to a peer that is lost goes nowhere.
  void send_control(Rank to, std::span<const std::byte> message) noexcept;
  // Not too many control messages wait for this peer: one that may be left out need not be.
  bool takes_control(Rank to) noexcept { return peer(to).controls < kControlsMax; }
  // Nothing waits for the room of the link.
  bool all_posted() const noexcept { return backlog_.empty(); }
  // Nobody receives anything of this team any more: drops what came before its receive, and what
  // comes yet. The number is not used again.
  void forget_team(std::uint32_t team);
  // Ok while the peer is not lost.
  Status state(Rank rank) const noexcept;

  // Memory of devices of this rank, for sends that are away and receives with a place. nullptr: no
  // more of it; sends under way never complete.
  void set_away(AwayMemory* away) noexcept;
  // Groups of the network, from now on; before anybody joins one. nullptr: there are none.
  void use_groups(Clock& clock, const FrameGroupsOptions& options);
  FrameGroups* groups() noexcept { return groups_.get(); }

  // For the guest, which is there during every progress(). nullptr: its frames are errors.
  void set_guest(FrameGuest* guest) noexcept { guest_ = guest; }
  // kDone: the payload has been taken over (or the peer is lost: without effect); kPending: the
  // completion fires once, from progress(), when it has been, or when the peer is lost.
  Posted post_frame(Rank to, OutgoingFrame& frame) noexcept;
  // Takes a pending frame back: its completion will not fire. True: it does not arrive; else as
  // Link::withdraw().
  bool withdraw(Rank to, OutgoingFrame& frame) noexcept;
  // What an adapter has moved alone.
  void count_put(std::uint64_t bytes) noexcept { counters_.remote_bytes_sent += bytes; }
  void count_got(std::uint64_t bytes) noexcept { counters_.remote_bytes_received += bytes; }
  Link& link() noexcept { return link_; }
  BufferPool& buffers() noexcept { return buffers_; }

  // Memory held for unexpected segments and views, in whole blocks of the pool.
  std::uint64_t held_bytes() const noexcept { return buffers_.in_use_bytes(); }

 private:
  static constexpr std::uint32_t kControlsMax = 1024;  // of one peer: 1 MiB
  static constexpr std::uint32_t kMailsMax = 64;       // likewise, of groups: packets are larger
  using Part = FramePart;
  using Message = EarlySegment;
  using Peer = FramePeer;
  using Readers = std::span<Peer* const>;
  struct PeerGroup;

  Peer& peer(Rank rank) noexcept {
    Peer* known = peers_.find(rank);
    return known != nullptr ? *known : meet(rank);
  }
  Peer& meet(Rank rank) noexcept;

  // Sending (frame_wire_send.cpp).
  Posted post(const Send& send, Readers readers, SendOp& op) noexcept;
  Posted post_to_all(const Send& send, const PeerGroup& group, SendOp& op) noexcept;
  bool may_send(const Send& send, Readers readers) const noexcept;
  bool take_parts(const Send& send, Readers readers, SendOp& op) noexcept;
  bool post(Part& part) noexcept;
  Posted post(Peer& peer, OutgoingFrame& frame) noexcept;
  bool post_whole(Peer& peer, const FrameHeader& header, const void* payload) noexcept;
  Posted hand_over(Peer& peer, OutgoingFrame& frame) noexcept;
  void enqueue(Peer& peer, OutgoingFrame& frame) noexcept;
  static void on_sent(Completion& completion, Status status) noexcept;
  void finish(Part& part) noexcept;
  void drop(Part& part) noexcept;
  void take_back(Part& part) noexcept;
  void fail_sends(Peer& peer) noexcept;
  void send_own(Peer& peer, const FrameHeader& header, const void* payload = nullptr) noexcept;
  void send_grant(Peer& peer, std::uint64_t flow, std::uint32_t limit) noexcept;
  int flush(Peer& peer) noexcept;
  int flush_backlog() noexcept;
  void note_taken(Rank from, const FrameHeader& header) noexcept;

  // Receiving (frame_wire_receive.cpp).
  bool expects(Rank from, const FrameHeader& header) const noexcept override;
  std::byte* begin(Rank from, const FrameHeader& header) noexcept override;
  void end(Rank from, const FrameHeader& header, std::byte* payload) noexcept override;
  void lost(Rank rank, const Status& why) noexcept override;
  std::byte* begin_guest(Rank from, const FrameHeader& header) noexcept;
  std::byte* begin_of_group(FrameArrival& in, const FrameHeader& header) noexcept;
  AwayMemory* away() noexcept override { return away_; }
  std::byte* begin_segment(FrameArrival& in, const FrameHeader& header) noexcept override;
  std::byte* begin_posted(FrameArrival& in, RecvOp& op, const FrameHeader& header) noexcept;
  std::byte* begin_unexpected(FrameArrival& in, const FrameHeader& header) noexcept;
  std::byte* refuse(FrameArrival& in, const char* what, const FrameHeader& header) noexcept;
  std::byte* land(FrameArrival& in, std::uint64_t bytes) noexcept;
  void end_of_group(FrameArrival& in) noexcept;
  void end_segment(FrameArrival& in) noexcept override;
  void end_posted(FrameArrival& in) noexcept;
  void end_unexpected(FrameArrival& in) noexcept;
  void end_control(FrameArrival& in, std::span<const std::byte> message) noexcept;
  Posted deliver(Peer& peer, Message& message, RecvOp& op) noexcept;
  void count_and_answer(Peer& peer, const FrameHeader& header) noexcept;
  void show(RecvOp& op, std::byte* buffer) noexcept;
  bool stop_receiving(FrameArrival& in, RecvOp& op) noexcept;
  bool cancel_of_groups(RecvOp& op) noexcept;
  Rank whom_to_watch(const RecvOp& op) const noexcept;
  void give_up_receiving(FrameArrival& in) noexcept;
  bool keep_arriving(FrameArrival& in, const FrameHeader& header, std::byte* payload) noexcept;
  void break_off(FrameArrival& in, const Status& why) noexcept;
  void fail_receives(Peer& peer) noexcept;
  void fail_later(RecvOp& op, const Status& why) noexcept;
  void discard(Message& message) noexcept;

  // Of segments in memory of devices (frame_wire_away.cpp).
  void post_away(Part& part) noexcept;
  void await_fetch(Part& part) noexcept;
  void note_declined(Rank from, const FrameHeader& header) noexcept;
  void drop_place(AwaySend& away) noexcept;
  int serve_fetches() noexcept;
  bool serve(AwaySend& away) noexcept;
  void fetch(AwaySend& away) noexcept;
  static void on_fetched(Completion& completion, Status status) noexcept;
  void revoke(Part& part) noexcept;
  void end_away(Part& part) noexcept;
  std::byte* begin_away(FrameArrival& in, const FrameHeader& header) noexcept;
  void end_away(Rank from, FrameArrival& in) noexcept;
  void meet_away(FrameArrival& in) noexcept;
  void keep_away(FrameArrival& in, const FrameHeader& header, RemoteMemory memory) noexcept;
  Posted take_away(Peer& peer, const FrameHeader& header, RemoteMemory from, RecvOp& op) noexcept;
  bool begin_get(AwayGet& get, RemoteMemory from) noexcept;
  static void on_got(Completion& completion, Status status) noexcept;
  void take_got(AwayGet& get, Status status) noexcept;
  void end_get(AwayGet& get) noexcept;
  void decline(Peer& peer, const FrameHeader& header, RecvOp& op) noexcept;
  void note_gone(Rank from, const FrameHeader& header) noexcept;
  bool stop_getting(RecvOp& op) noexcept;
  void fail_gets(Peer& peer) noexcept;

  // Of groups (frame_wire_groups.cpp).
  bool tell(Rank to, std::uint32_t team, GroupWord word,
            std::span<const std::byte> payload) noexcept override;
  Posted post_relayed(Rank to, OutgoingFrame& frame) noexcept override;
  void withdraw_relayed(Rank to, OutgoingFrame& frame) noexcept override;
  void lose_peer(Rank peer, Error why) noexcept override;
  BufferPool& pool() noexcept override { return buffers_; }
  int complete_failed() noexcept;

  Link& link_;
  Counters& counters_;
  ControlHandler* handler_;
  FrameGuest* guest_ = nullptr;
  PeerTable<Peer> peers_;
  BufferPool buffers_;
  Pool<Part> parts_;
  Pool<Message> messages_{{64, ~std::size_t{0}}};  // memory is the bound
  IntrusiveList<Part> open_;                       // all parts
  Matcher matcher_;                                // posted receives and unexpected segments
  Matcher untaken_;                                // synchronous parts that wait for kTaken
  Pool<FlowGrant> grant_entries_;
  FlowGrants grants_{grant_entries_};
  ForgottenTeams forgotten_;
  IntrusiveList<Peer> backlog_;        // with a queue, or one that was not empty lately
  Completion unused_;                  // of frames that the link takes over at once
  std::vector<RecvOp*> failed_recvs_;  // completions that must not run inside a post
  std::unique_ptr<FrameGroups> groups_;
  AwayMemory* away_ = nullptr;
  Pool<AwaySend> away_sends_;
  Pool<AwayGet> away_gets_;
  IntrusiveList<AwaySend> fetches_;  // that are to be copied to memory of the host
  IntrusiveList<AwayGet> away_got_;  // all gets
};

}  // namespace espalier::net
