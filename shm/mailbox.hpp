// Mailbox: active messages between the ranks of one node.
//
// A byte ring per ordered pair of ranks, written by the sender and emptied by the receiver. A
// message is one record (header and payload) in one piece; where none fits before the end of the
// ring, an empty record fills the rest. The first word of a record is written last (release) and
// publishes it; before that the sender clears the first word of the next one, so that the receiver
// needs to read nothing else: one line for a short message. The receiver calls its taker with the
// payload where it stands and frees the record afterwards: one copy, no system call.
//
// Which rings to look at: those that are *hot*, in which something has come lately, a few, and
// those whose bit is set in the receiver's line, one for each sender: "there may be mail". A sender
// sets its bit unless the receiver says that the ring is hot. A receiver that takes this back pays
// for both sides of the fence (core/asymmetric_fence.hpp), and then looks once more.
//
// A ring has one writer on each side, so a rank that dies while it writes harms nobody: what it had
// not published is not there. Reclamation: bytes below `head` are the sender's again.
//
// Ownership: borrows segment, doorbell, counters, taker. Threads: owner. path: short (front), data
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "core/active_message.hpp"
#include "core/completion.hpp"
#include "core/counters.hpp"
#include "core/doorbell.hpp"
#include "shm/segment.hpp"

namespace espalier::shm {

class Mailbox {
 public:
  // `ranks`: of the node, in the order of local indices.
  Mailbox(Segment& segment, std::span<const Rank> ranks, Doorbell& doorbell, Counters& counters,
          MessageTaker& taker);

  // kDone: the message is on its way; kRetry: no room, try again after progress(). `to`: local
  // index of another rank.
  Posted send(std::uint32_t to, const ActiveMessage& message) noexcept;
  // Has it said that it does not take messages of this id?
  bool refused(std::uint32_t to, unsigned id) const noexcept;
  // Calls the taker. Returns how many messages there were.
  int progress() noexcept;

  // For who awaits a message of one rank: the next of its ring, which stays there. Nothing: none.
  std::optional<ActiveMessage> front(std::uint32_t from) noexcept;
  // Takes what front() has found.
  void pop(std::uint32_t from) noexcept;

 private:
  static constexpr std::size_t kHot = 16;

  struct Peer {
    MailRing* out = nullptr;      // we send
    MailRing* in = nullptr;       // we receive
    std::uint64_t tail = 0;       // bytes written to `out`
    std::uint64_t head_seen = 0;  // of out->head
    std::uint64_t head = 0;       // own copy of in->head
    bool waits = false;           // own copy of out->waits
    bool hot = false;             // own copy of in->hot
    bool used = false;            // something came since the last look for one that is not hot
  };

  std::byte* room(Peer& peer, std::uint64_t bytes) noexcept;
  std::uint64_t next_word(Peer& peer) const noexcept;
  int drain(std::uint32_t from) noexcept;
  void take(std::uint32_t from, const ActiveMessage& message) noexcept;
  void free_record(Peer& peer, std::uint64_t bytes) noexcept;
  void tell_of_room(std::uint32_t from) noexcept;
  void heat(std::uint32_t from) noexcept;
  void cool_one() noexcept;
  void wake(std::uint32_t local) noexcept;

  Segment& segment_;
  Doorbell& doorbell_;
  Counters& counters_;
  MessageTaker& taker_;
  std::vector<Rank> ranks_;
  std::vector<Peer> peers_;
  std::array<std::uint64_t, kRankWords> left_ = {};  // bits of rings that were not emptied
  std::array<std::uint32_t, kHot> hot_ = {};         // local indices
  std::size_t hot_count_ = 0;
  std::uint32_t refusals_ = 0;  // of heat(), for want of room, since the last cool_one()
};

}  // namespace espalier::shm
