// GroupNet: packets to multicast groups under way between the simulated ports of a World.
//
// A packet leaves its sender's card once, however many members there are. Switches copy it: each
// card with members takes it from its lane once, and hands it to all of them. A card is what the
// lane of the outermost level belongs to (a node). Members on the sender's own card get it from
// there. Costs are those of a device transfer of the level between sender and member (world.hpp),
// and those of the machine's MulticastCost for each packet.
//
// A copy meets the faults of the world's FaultSpec for each member by itself: loss, repetition,
// reordering, damage, delay, clogged paths, partitions. `branch-loss` is common: at each link on
// the way down (to a group, to a switch, to a card) with members behind it, the packet may be lost
// for all of these. As of datagrams, bytes are read when the last of them leaves.
//
// Ownership: owns what is under way; ports register for the length of their lives. The world makes
// no step after the net's end. Threads: owner. path: data
#pragma once

#include <memory>
#include <vector>

#include "core/prng.hpp"
#include "net/multicast/group_port.hpp"
#include "net/sim/world.hpp"

namespace espalier::sim {

class SimGroupPort;

struct GroupCounts {
  std::uint64_t sent = 0;     // by the senders' cards
  std::uint64_t copied = 0;   // what left for one card, or for one member on the sender's own
  std::uint64_t arrived = 0;  // this and the following: at members
  std::uint64_t lost = 0, cut = 0, parted = 0;  // by chance; with all behind a link; by a partition
  std::uint64_t repeated = 0, reordered = 0, damaged = 0;
  std::uint64_t dropped = 0;  // no packet was waiting for it, or nobody was there
};

class GroupNet {
 public:
  explicit GroupNet(World& world);
  ~GroupNet();
  GroupNet(const GroupNet&) = delete;
  GroupNet& operator=(const GroupNet&) = delete;

  const GroupCounts& counts() const noexcept { return counts_; }
  std::size_t under_way() const noexcept { return sendings_.size() - idle_sendings_.size(); }
  // The next packets that come to this rank are lost, of whatever group.
  void lose_next(Rank rank, std::uint32_t packets) {
    losses_[static_cast<std::size_t>(rank)] = packets;
  }

 private:
  friend class SimGroupPort;
  struct Group {
    multicast::GroupAddress address;
    std::vector<SimGroupPort*> members;  // by core: those of one unit lie together, at any level
  };
  struct Sending;
  struct Copy;
  // On the way down into a unit: what became of the last packet.
  struct Branch {
    std::uint64_t packet = 0, unit = 0;
    bool lost = false;
  };

  void attach(SimGroupPort& port, const multicast::GroupAddress& address);
  void detach(SimGroupPort& port) noexcept;
  // From the sender's local time on.
  void launch(SimGroupPort& from, rdma::Packet& packet);

  // Whom a packet goes to: the members that have joined, the sender among them.
  struct Reach {
    Rank farthest = kNoRank;
    std::uint64_t members = 0;
  };
  Reach reach_of(const SimGroupPort& from) const noexcept;
  void copy_to_cards(Sending& sending, const SimGroupPort& from, const World::Departure& departure);
  bool cut_off(const Sending& sending, Rank to);
  Copy& copy_of(Sending& sending, Rank to);
  void left(Sending& sending);
  void come(Copy& copy);
  void reach_card(Sending& sending, Rank at);
  void meet_fate(Sending& sending, SimGroupPort& to);
  void delay(Sending& sending, Rank to, std::uint64_t by_ns);
  void deliver(Sending& sending, SimGroupPort* to);
  void let_go(Sending& sending);
  static SimGroupPort* find(const Group& group, std::uint64_t core) noexcept;
  bool chance(double share) { return share > 0 && world_.faults_on() && prng_.chance(share); }

  World& world_;
  Prng prng_;
  std::size_t card_level_ = 0;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::uint32_t> losses_;  // by rank: that are left
  std::vector<Branch> branches_;       // by level
  std::vector<std::unique_ptr<Sending>> sendings_;
  std::vector<Sending*> idle_sendings_;
  std::vector<std::unique_ptr<Copy>> copies_;
  std::vector<Copy*> idle_copies_;
  std::vector<std::byte> damaged_;  // what one member gets
  GroupCounts counts_;
};

}  // namespace espalier::sim
