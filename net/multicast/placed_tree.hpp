// PlacedTree: what the members below one, in the tree of a lane's source, have said: for which
// segments they have places, which they have, and which packets they miss. It is merged with the
// member's own and said to the one above, so the source hears of its own children alone.
//
// What is owed is kept as state, not as messages: where mail has no room, the same is said later.
// Numbers that were said stand: after a death a smaller one is not said, because whoever is new
// below a member has at least what those said who have died. Questions are said again to a new
// parent; that they come twice does no harm, because the source repairs a packet once, for all.
//
// Knows no port. Ownership: borrows the list of members. Threads: owner. path: short
#pragma once

#include <span>
#include <vector>

#include "net/multicast/packet_bits.hpp"
#include "net/multicast/placed_message.hpp"
#include "net/multicast/tree.hpp"

namespace espalier::multicast {

// Of a member, or of all of a subtree.
struct PlacedState {
  Sequence posted;  // it has places for all segments before
  Sequence whole;   // it has all segments before
  friend bool operator==(const PlacedState&, const PlacedState&) = default;
};

struct PlacedTreeCounts {
  std::uint64_t states = 0, questions = 0;  // messages sent
  std::uint64_t asked = 0, suppressed = 0;  // packets in questions; that had been asked for before
  std::uint64_t refused = 0;                // messages that no member sends
};

class PlacedTree {
 public:
  // `members`: ranks of the job, sorted; `me` and the source are among them.
  PlacedTree(const LaneName& lane, std::span<const Rank> members, Rank me, std::uint32_t degree,
             Sequence first);

  // What this member itself has. The source: what it has announced.
  void set_own(const PlacedState& own) noexcept { own_ = own; }
  PlacedState merged() const noexcept;
  void mail_arrived(Rank from, std::span<const std::byte> message);
  void member_lost(Rank rank);

  // Somebody at or below this member misses packets of this segment.
  void want(Sequence segment, const PacketRange& range);
  // This packet has been sent to all once more.
  void repaired(Sequence segment, std::uint32_t packet);
  // The source: the next packet of the segment that is missed and was not repaired yet; `none`
  // (at least its packets): there is none.
  std::uint32_t next_wanted(Sequence segment, std::uint32_t none) const noexcept;

  // Says to the member above what is new. False: mail has no room.
  bool tell(MemberMail& mail);

  Rank parent() const noexcept { return parent_ == kNobody ? kNoRank : members_[parent_]; }
  const PlacedTreeCounts& counts() const noexcept { return counts_; }

 private:
  static constexpr std::uint32_t kNobody = GroupTree::kNobody;

  struct Below {
    std::uint32_t member = 0;
    PlacedState state;
  };
  std::uint32_t index_of(Rank rank) const noexcept;
  Below& below(std::uint32_t member);
  void find_place();
  bool tell_state(MemberMail& mail);
  bool tell_questions(MemberMail& mail);

  const LaneName lane_;
  const std::span<const Rank> members_;
  const std::uint32_t me_, source_;
  const GroupTree tree_;
  const Sequence first_;
  DeadMembers dead_;
  std::uint32_t parent_ = kNobody;
  std::vector<std::uint32_t> children_;
  std::vector<Below> known_;  // all who have said something, children or not (yet)
  PlacedState own_, said_;
  bool say_again_ = false;  // to a new parent

  Sequence segment_;           // of the questions
  PacketBits wanted_, asked_;  // to be asked for; asked for, or repaired
  PlacedTreeCounts counts_;
};

}  // namespace espalier::multicast
