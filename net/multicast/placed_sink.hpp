// PlacedSink: one receiver of a lane's segments, which the network puts into memory of the user's
// (docs/multicast.md, "Large segments").
//
//   announced > memory is given > its places are posted, and that is said > packets come >
//   "sent" is heard: places that are left are taken back, what is missing is asked for > whole
//
// What lies in memory of the host beside places that the processor does not reach is put there by
// the user, copy by copy, before the segment is whole (PlacedMemory::beside).
//
// When a segment is whole, or lost, nothing is written to its memory any more.
//
// Ownership: borrows the list of members, port, mail, clock and user; and each segment's memory,
// from when it is given until whole() or lost(). Threads: the owner of the worker. path: data
#pragma once

#include "core/completion.hpp"
#include "net/multicast/placed_arrivals.hpp"

namespace espalier::multicast {

class PlacedSinkUser {
 public:
  // The next segment. Without memory (begin is nullptr): not yet, PlacedSink::give() follows.
  virtual PlacedMemory announced(Sequence segment, std::uint64_t bytes) noexcept = 0;
  // Of memory with some beside it: a copy between the two. One at a time. kPending: patched()
  // follows, not from here; kRetry: it is asked for again.
  virtual Posted patch(Sequence segment, const PlacedPatch& patch) noexcept {
    (void)segment;
    (void)patch;
    return Posted::kDone;
  }
  virtual void whole(Sequence segment) noexcept = 0;
  // The source has died; it had no memory, or not all of it has come.
  virtual void lost(Sequence segment) noexcept = 0;

 protected:
  ~PlacedSinkUser() = default;
};

class PlacedSink final : private PlacingSink {
 public:
  PlacedSink(std::span<const Rank> members, PlacingPort& port, MemberMail& mail, Clock& clock,
             PlacedSinkUser& user, const PlacedOptions& options);

  // For a segment that was announced and has none. Other segments get places after it alone, so
  // memory of a pool is better than none for long.
  void give(Sequence segment, const PlacedMemory& memory);
  // A receive was cancelled: its segment goes on in other memory, and the memory it had is the
  // user's again. Of memory with some beside it nothing is kept, and a copy that is pending is the
  // caller's to end. False: there is no such segment, or it had none.
  bool redirect(Sequence segment, const PlacedMemory& memory);
  // The copy of a kPending is done. What follows from it the next progress() does.
  void patched() noexcept;

  // Returns the number of events.
  int progress();
  // What the layer above has got from the source's stream, in order, and by mail. What follows
  // from it, and from give(), the next progress() does.
  void stream_arrived(std::span<const std::byte> message);
  void mail_arrived(Rank from, std::span<const std::byte> message) {
    tree_.mail_arrived(from, message);
  }
  void member_lost(Rank rank) { tree_.member_lost(rank); }
  // The source has died, and its stream has ended: so do its segments.
  void source_ended();
  // As that of Group.
  std::uint64_t deadline_ns() const noexcept;
  // Nothing is announced that is not whole.
  bool idle() const noexcept { return arrivals_.empty(); }

  const PlacedCounts& counts() const noexcept { return counts_; }
  const PlacedTreeCounts& mail_counts() const noexcept { return tree_.counts(); }

 private:
  void placed(std::uint64_t token, LaneHeader header, std::uint32_t bytes) noexcept override;
  void returned(std::uint64_t token) noexcept override;
  bool take(const PlacedMessage& message);
  void post();
  void take_back();
  void flush();
  void fail() noexcept;
  bool settle(int events);
  bool patch();

  const PlacedOptions options_;
  PlacingPort& port_;
  MemberMail& mail_;
  Clock& clock_;
  PlacedSinkUser& user_;
  PlacedCounts counts_;
  PlacedTree tree_;
  PlacedArrivals arrivals_;
  std::uint64_t moved_ns_ = 0;  // the last packet, or news that all have been sent
  bool broken_ = false;         // the port has given places back by itself
  bool flushing_ = false;
  bool failed_ = false;  // the port
  bool ended_ = false;
  bool behind_ = false;     // mail has no room, or more waits in the port
  bool patching_ = false;   // a copy is pending
  bool patch_due_ = false;  // progress() goes on with the next one
};

}  // namespace espalier::multicast
