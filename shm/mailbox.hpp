// Mailbox: active messages between the ranks of one node.
//
// A byte ring per ordered pair of ranks, written by the sender and emptied by the receiver, and per
// receiver one bit per sender: "there may be mail", so that a look at one line tells whether to
// look at any ring. A message is one record (header and payload) in one piece; where none fits
// before the end of the ring, an empty record fills the rest. The receiver calls its taker with the
// payload where it stands and frees the record afterwards: one copy, no system call.
//
// A ring has one writer on each side, so a rank that dies while it writes harms nobody: what it had
// not published is not there. Reclamation: bytes below `head` are the sender's again.
//
// Ownership: borrows segment, doorbell, counters, taker. Threads: owner. path: data
#pragma once

#include <array>
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

 private:
  struct Peer {
    MailRing* out = nullptr;      // we send
    MailRing* in = nullptr;       // we receive
    std::uint64_t tail = 0;       // own copy of out->tail
    std::uint64_t head_seen = 0;  // of out->head
    std::uint64_t head = 0;       // own copy of in->head
    bool waits = false;           // own copy of out->waits
  };

  std::byte* room(Peer& peer, std::uint64_t bytes) noexcept;
  int drain(std::uint32_t from) noexcept;
  void take(std::uint32_t from, const std::byte* record) noexcept;
  void wake(std::uint32_t local) noexcept;

  Segment& segment_;
  Doorbell& doorbell_;
  Counters& counters_;
  MessageTaker& taker_;
  std::vector<Rank> ranks_;
  std::vector<Peer> peers_;
  std::array<std::uint64_t, kRankWords> left_ = {};  // bits of rings that were not emptied
};

}  // namespace espalier::shm
