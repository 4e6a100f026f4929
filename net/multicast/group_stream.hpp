// GroupStream: what one member of a group knows of one source's packets, and owes to others.
//
// What is owed is kept as state, not as messages: where mail has no room, the same is sent later,
// merged with what has been added.
//
// Ownership: of the Group. Threads: owner. path: data
#pragma once

#include <memory>

#include "core/timer_queue.hpp"
#include "net/multicast/group_receiver.hpp"
#include "net/multicast/history.hpp"
#include "net/multicast/inheritance.hpp"
#include "net/multicast/subtree.hpp"

namespace espalier::multicast {

class Group;

struct GroupStream : ListNode {  // of those that have something to send
  struct Alarm : Timer {
    Alarm(GroupStream& of, Group& group) noexcept : Timer(&expired), stream(of), owner(group) {}
    static void expired(Timer& self, std::uint64_t now_ns) noexcept;
    GroupStream& stream;
    Group& owner;
  };
  enum class Source : std::uint8_t {
    kLives,
    kDied,   // reports are made; where its packets end is not known
    kEnds,   // at `end`
    kEnded,  // all living members have everything before `end`
  };

  GroupStream(std::uint32_t index, Rank of, Sequence first, std::uint32_t window, Group& group)
      : member(index),
        source(of),
        receiver(first, window),
        history(first, window),
        said(first),
        asked_to(first),
        end(first),
        alarm(*this, group) {
    guest.acked = first;
  }

  Sequence stable() const noexcept { return history.base(); }

  const std::uint32_t member;  // index of the source
  const Rank source;
  GroupReceiver receiver;  // not used of the member's own packets
  History history;
  Subtree subtree;
  std::uint32_t parent = ~std::uint32_t{0};

  Sequence said;      // what was acknowledged last
  Sequence asked_to;  // the source waits for an acknowledgement up to here
  std::uint64_t ack_ns = kNever;
  bool answer = false;               // acknowledge although it is nothing new
  bool repairs = false;              // some wanted packets are here
  std::uint64_t gather_ns = kNever;  // of the own packets: until then questions are gathered
  Child guest;                       // who asks without being a child (yet)

  Source state = Source::kLives;
  bool report = false;  // is due to the successor
  bool told = false;    // the layer above knows that it ended
  Sequence end;
  std::unique_ptr<Inheritance> inheritance;  // of the successor

  Alarm alarm;
};

}  // namespace espalier::multicast
