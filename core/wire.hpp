// Wire: the seam between the engine above and the transports below.
//
// A wire moves *segments* of *flows* between two ranks and raises completions. A flow is named by
// (team, sequence, channel) and by its two ends; both ends know the plan, so segments are matched
// by index (the ordinal): no tags, no wildcards, no search.
//
// Contract (the conformance suite in tests/wire checks it for every transport):
// - send, publish: kDone = the buffer may be reused now; kPending = the completion fires once, from
// progress(); kRetry = nothing
//   happened (no credit, no room); try again after progress() has returned events.
// - recv: kDone = op.status is set and, for a copy, dst holds the bytes; kPending = the completion
// fires. With dst == nullptr the
//   segment stays where the wire received it: op.view points at it until release(op).
// - Segments of one flow may arrive before they are expected; at most kEagerSegments of them, so
// that memory stays bounded. The
//   receiver's posts grant the rest (Receive::total, window).
// - A publication serves the readers of a group, which is opened before and serves any number of
// publications; the wire decides how its readers get them.
// - What is away (Send::away) stays where it is for receives that take it so, and is copied for all
// others.
// - A length or signature that differs from what the receiver expects completes the receive with
// ESP_ERR_MISMATCH.
// - progress() never blocks and calls completions; they may post but not call progress().
//
// Threads: the owner of the worker, except ring(). path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/completion.hpp"
#include "core/status.hpp"
#include "core/transfer.hpp"

namespace espalier {

inline constexpr std::uint32_t kEagerSegments = 16;

struct FlowId {
  static constexpr unsigned kTeamBits = 24, kChannelBits = 10, kSequenceBits = 30;
  // Channels below are those of collectives, from here on those of messages between two members.
  static constexpr std::uint32_t kPointToPoint = 256;

  FlowId() = default;
  constexpr FlowId(std::uint32_t team, std::uint32_t channel, std::uint64_t sequence) noexcept
      : key(std::uint64_t{team} << (kChannelBits + kSequenceBits) |
            std::uint64_t{channel} << kSequenceBits |
            (sequence & ((std::uint64_t{1} << kSequenceBits) - 1))) {}
  static constexpr std::uint32_t channel_of(std::uint64_t key) noexcept {
    return static_cast<std::uint32_t>(key >> kSequenceBits) & ((1U << kChannelBits) - 1);
  }
  static constexpr std::uint32_t team_of(std::uint64_t key) noexcept {
    return static_cast<std::uint32_t>(key >> (kChannelBits + kSequenceBits));
  }
  friend constexpr bool operator==(FlowId, FlowId) noexcept = default;

  std::uint64_t key = 0;
};

// One segment of a flow, as both ends see it.
struct SegmentId {
  Rank peer = kNoRank;
  FlowId flow;
  std::uint32_t ordinal = 0;    // position in the flow
  std::uint32_t total = 1;      // segments of the flow
  std::uint32_t signature = 0;  // hash of the call: both ends must agree
};

struct Send {
  SegmentId segment;  // peer is ignored by publish
  const void* data = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t flow_bytes = 0;  // of the whole flow: large flows may take another path
  bool synchronous = false;      // complete only when the receiver has taken the segment
  bool to_view = false;    // the receiver reads in place: prefer a path that needs no copy there
  bool at_once = false;    // kDone or kRetry: its owner has nothing to wait with
  bool leaves = false;     // complete without the receiver's release: not read where it lies
  bool away = false;       // data lies where AwayMemory is; for peers whose WireCaps say so
  Transfer transfer = {};  // no two segments of a flow need have the same
};

struct SendOp : Completion {
  using Completion::Completion;
  std::uint32_t readers = 0;  // the wire's: answers still missing
  SendOp* chain = nullptr;    // the wire's
};

// Entry of the matching table: a posted receive or an unexpected segment. The wire's.
struct MatchNode {
  MatchNode* match_next = nullptr;
  std::uint64_t flow = 0;
  std::uint32_t ordinal = 0;
  Rank peer = kNoRank;
  bool posted = false;
};

struct RecvOp : Completion, MatchNode {
  static constexpr std::size_t kInlineBytes = 96;
  using Completion::Completion;

  void* dst = nullptr;  // nullptr: view
  std::uint64_t bytes = 0;
  Transfer transfer = {};
  std::uint32_t signature = 0;
  std::uint32_t its_signature = 0;  // of what came and did not fit, as well as
  std::uint64_t its_bytes = 0;
  // What lies in memory of a device may stay there: `view` points at it, for devices, and dst is
  // left alone. The caller's.
  bool takes_away = false;
  // ... or may be brought here by an adapter, memory of a device, too; `view` points at it then.
  // A segment of a group that is on its way here when the receive is cancelled is not kept.
  void* place = nullptr;
  const void* view = nullptr;  // valid from completion to release(); may move inside progress()
  Status status;               // valid when recv answered kDone

  // The wire's, until release():
  std::uint64_t token = 0;
  void* evacuated = nullptr;
  bool is_away = false;
  RecvOp* held_next = nullptr;
  RecvOp* held_prev = nullptr;
  alignas(16) std::byte inline_data[kInlineBytes];

  // For wires: it is posted for this segment.
  void expect(const SegmentId& segment) noexcept {
    flow = segment.flow.key;
    ordinal = segment.ordinal;
    peer = segment.peer;
    signature = segment.signature;
    view = nullptr;
    token = 0;
    evacuated = nullptr;
    is_away = false;
  }
  // What it comes to with a segment like this.
  Status verdict(std::uint64_t came_bytes, std::uint32_t came_signature, Rank from) noexcept {
    if (came_bytes == bytes && came_signature == signature) [[likely]]
      return {};
    its_bytes = came_bytes;
    its_signature = came_signature;
    return Status(ESP_ERR_MISMATCH, from);
  }
};

// The readers of publications. A wire derives from it to keep what it has worked out about them, so
// that a publication looks nothing up.
class Group {
 public:
  explicit Group(std::span<const Rank> readers) : readers_(readers.begin(), readers.end()) {}
  virtual ~Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  std::span<const Rank> readers() const noexcept { return readers_; }
  // Which of them has long held up what is published; kNoRank: nobody, or the wire does not know.
  // path: slow
  virtual Rank late() const noexcept { return kNoRank; }

 private:
  const std::vector<Rank> readers_;
};

// What a wire can do towards one peer.
struct WireCaps {
  std::uint64_t inline_bytes = 0;   // sent without a completion
  std::uint64_t segment_bytes = 0;  // largest segment
  // Of a Transfer it obeys: the paths, and the other two fields, which are of pulls.
  bool copies = false, pulls = false, pushes = false;
  bool paces_pulls = false;
  bool away = false;  // Send::away: the peer reaches memory of this rank's devices
};

class Wire;

// Which wire reaches a rank of another node.
class WireRoutes {
 public:
  virtual Wire& wire_to(Rank rank) noexcept = 0;
  // By which the network's groups are joined; nullptr: there are none, no plan asks for them.
  virtual Wire* wire_of_groups() noexcept { return nullptr; }

 protected:
  ~WireRoutes() = default;
};

class Wire {
 public:
  virtual ~Wire() = default;

  virtual WireCaps caps(Rank peer) const noexcept = 0;

  virtual Posted send(const Send& send, SendOp& op) noexcept = 0;
  // For publications to these ranks (at least one, none twice), which are all on this wire. The
  // group ends with its owner, after the last publication to it is complete or taken back; it may
  // outlive the wire.
  virtual std::unique_ptr<Group> open_group(std::span<const Rank> readers) {
    return std::make_unique<Group>(readers);
  }
  // The network's group of a team: members of it, on several nodes, that publish to each other with
  // Path::kMulticast. All join, in any order, each before its first post with that path; until all
  // have, and where the network has no groups, segments go another way. `members`: sorted, the
  // own rank among them, the same on all. Joining again changes nothing. path: setup
  virtual void join_group(std::uint32_t team, std::shared_ptr<const std::vector<Rank>> members) {
    (void)team;
    (void)members;
  }
  // Every reader of the group gets the segment, each once: kRetry = none of them has it.
  virtual Posted publish(const Send& send, const Group& group, SendOp& op) noexcept = 0;
  // op.dst, op.bytes, op.transfer set by the caller; `window`: receives of this flow, this one and
  // following, that are posted at once: grants are gathered over half of them. Those of a flow come
  // in the order of their ordinals: a grant for one is a grant for all before it.
  virtual Posted recv(const SegmentId& segment, std::uint32_t window, RecvOp& op) noexcept = 0;
  // Takes the segment if it is the next to arrive and its bytes have left its sender's buffer:
  // kDone as above. kRetry: nothing is here, look again; kPending: something else is, which
  // progress() takes. Nothing is posted.
  virtual Posted take(const SegmentId& segment, RecvOp& op) noexcept {
    (void)segment;
    (void)op;
    return Posted::kRetry;
  }
  virtual void release(RecvOp& op) noexcept = 0;
  // Takes a posted receive back; its completion will not fire, and nothing more is written to its
  // memory. No effect on one that completed. A segment that is on its way into it stays for the
  // next receive of this segment; a wire that reads from the sender's memory may give it back to
  // the sender instead. Which of the two is not told: who cancels gives the flow up.
  virtual void cancel(RecvOp& op) noexcept = 0;
  // Takes a pending send back: its completion will not fire, peers may still read the buffer until
  // they learn of the failure, or are told that it is gone (ESP_ERR_SYSTEM).
  virtual void cancel(SendOp& op) noexcept = 0;

  // Handles arrivals and acknowledgements; returns the number of events.
  virtual int progress() noexcept = 0;
  // Sends what was posted outside of progress() and still waits for company: before the owner
  // leaves the library for a while. Completions wait for progress(). False: something that is
  // complete for its owner waits for a connection, which progress() has yet to make.
  virtual bool flush() noexcept { return true; }
  // Called when the owner has found nothing to do for a while: slow housekeeping (giving memory
  // back to peers under pressure).
  virtual void idle() noexcept {}
};

}  // namespace espalier
