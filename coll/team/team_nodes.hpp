// TeamNodes: how the members of a team lie on nodes, for teams on more than one.
//
// Members of one node share memory; between nodes there is a network. Plans follow that: one rank
// of each node, its head, talks to other nodes, and publications stay inside a node. Any placement
// is possible: members are put in an order in which those of a node are neighbours.
//
//   by core    member 0 1 2 3 4 5 on nodes A A A B B B      order 0 1 2  3 4 5
//   by node    member 0 1 2 3 4 5 on nodes A B A B A B      order 0 2 4  1 3 5
//
// Inside a node there may be levels: boards, sockets, NUMA nodes, outer caches. Their groups are
// neighbours in the order, too: the recursive grouping by process distance (core/topology.hpp). The
// level with the fewest groups is outermost, so it makes no difference whether sockets contain NUMA
// nodes or NUMA nodes sockets; one that crosses a level outside it is cut by that. A level that
// separates nobody, or everybody, is left out.
//
// Outside of nodes there may be levels, too: those behind one switch, then those of a pod, where a
// map says it (core/switches.hpp). These groups of nodes are neighbours in the order.
//
// A group has a head, who is on the way of all others of the group to the outside. It is a member
// of the deepest subgroup: a head's own subgroup is one hop nearer than the others, so no other
// choice has a shorter longest way. (Ma's thesis, section 4.4.2, takes the lowest rank; that is
// longer where subgroups are not equally deep.) Of equally deep ones it is the one whose head is
// nearest to the network adapter, then the first.
//
// Values, equal on all members. Threads: any (constant once made). path: setup
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/topology.hpp"
#include "espalier/espalier.h"

namespace espalier {

// What separates members of one node, as a rule from the outside to the inside.
enum class LocalityLevel : std::uint8_t { kBoard, kSocket, kNuma, kCache };
inline constexpr std::size_t kLocalityLevels = 4;
const char* locality_level_name(LocalityLevel level) noexcept;  // "NUMA node"
// Where a member is inside its node, by level: numbers that tell places on a machine apart, -1
// where it is bound to no one of them.
using MemberLocality = std::array<std::int32_t, kLocalityLevels>;
inline constexpr MemberLocality kBoundNowhere = {-1, -1, -1, -1};
MemberLocality member_locality(const Locality& place) noexcept;

// Where a member is in the network.
struct NetworkPlace {
  SwitchPath switches = kSwitchesUnknown;  // equal for members of a node
  std::int32_t to_adapter = 0;  // process distance from the adapter; 0: nobody knows where that is
  friend bool operator==(const NetworkPlace&, const NetworkPlace&) = default;
};

// Groups of members that are neighbours in TeamNodes::order.
struct MemberGroups {
  std::vector<std::int32_t> begin;  // of each group, and the end
  std::vector<std::int32_t> heads;  // of each group, its head's position; empty: the first of each

  std::int32_t head_of(std::int32_t group) const noexcept {
    return (heads.empty() ? begin : heads)[static_cast<std::size_t>(group)];
  }
};

// The groups of one level, each inside a group of the level before.
struct LocalityGroups : MemberGroups {
  LocalityLevel level = LocalityLevel::kSocket;
};

// Placements in order of nodes, and those that deal members out to nodes like cards, need no table
// by member; any other has eight bytes for each.
class TeamNodes : public MemberGroups {  // of the nodes
 public:
  std::int32_t largest = 0;           // members of the largest node
  std::vector<MemberGroups> outer;    // of nodes behind one switch, from the outside to the inside
  std::vector<LocalityGroups> inner;  // from the outside to the inside
  std::int32_t largest_group = 0;     // members of the largest innermost group
  // So many inner levels, the innermost ones, divide only what shares a memory controller: members
  // bound to one NUMA node.
  std::size_t in_one_memory = 0;
  // Nodes; then by level, from the outside to the inside, how many groups of the next (at the end:
  // members) are at most in one node, one group of the first inner level, ...
  std::vector<std::int32_t> widest;
  // Likewise of the outer levels: how many groups of the first there are, how many of the next are
  // in one of these, ..., nodes in one of the last. Empty without outer levels.
  std::vector<std::int32_t> widest_outer;
  // The same members without inner levels; nullptr: then they are on one node. For teams with them.
  const TeamNodes* plain = nullptr;
  // The same where in_one_memory > 0: without those levels (`plain` where they are all).
  const TeamNodes* by_memory = nullptr;
  // The same members by parts of nodes, where some nodes have several leaders in the network's
  // group: its "nodes" are these parts. nullptr: each node has one.
  const TeamNodes* leaders = nullptr;

  // `node_of`: any numbers that tell the nodes of the members apart; nodes are numbered in the
  // order, in which nodes and groups of them go by their lowest members. `locality_of`: by member,
  // or empty. A level is one for a node only if all its members are bound. `network_of`: likewise.
  static TeamNodes of(std::span<const std::int32_t> node_of,
                      std::span<const MemberLocality> locality_of = {},
                      std::span<const NetworkPlace> network_of = {});
  // For such a layout: numbers that tell the parts of all nodes apart, by member. `part_of`: those
  // of a node, 0: of none, which goes with its node's first part. Empty: no node has two.
  static std::vector<std::int32_t> parts_of(std::span<const std::int32_t> node_of,
                                            std::span<const std::uint64_t> part_of);
  // A copy without the levels in one memory, in the same order. `network_of`: as it was made with.
  TeamNodes without_levels_in_one_memory(std::span<const NetworkPlace> network_of = {}) const;

  bool empty() const noexcept { return begin.empty(); }
  std::int32_t size() const noexcept { return begin.empty() ? 0 : begin.back(); }
  std::int32_t count() const noexcept { return static_cast<std::int32_t>(begin.size()) - 1; }
  std::int32_t members(std::int32_t of) const noexcept { return at(begin, of + 1) - at(begin, of); }
  // The order is that of the members.
  bool in_order() const noexcept { return rule_ == Rule::kInOrder; }
  std::int32_t member_at(std::int32_t position) const noexcept {
    if (rule_ == Rule::kInOrder) return position;
    if (rule_ == Rule::kTable) return at(order_, position);
    const std::int32_t of = node_at(position);
    return (position - at(begin, of)) * count() + of;
  }
  std::int32_t position_of(std::int32_t member) const noexcept {
    if (rule_ == Rule::kInOrder) return member;
    if (rule_ == Rule::kTable) return at(position_, member);
    return at(begin, member % count()) + member / count();
  }
  std::int32_t member(std::int32_t of, std::int32_t place) const noexcept {
    return member_at(at(begin, of) + place);
  }
  // Who talks to other nodes for it, where no member is a root.
  std::int32_t head(std::int32_t of) const noexcept { return member_at(head_of(of)); }
  // By what has a member each of the network's group: nodes, or parts of them.
  const TeamNodes& of_group() const noexcept { return leaders != nullptr ? *leaders : *this; }
  // Of such a layout: that member, the same whatever the levels that a plan follows.
  std::int32_t group_member(std::int32_t of) const noexcept {
    return (plain != nullptr ? *plain : *this).head(of);
  }
  std::int32_t node_of(std::int32_t member) const noexcept {
    return rule_ == Rule::kDealt ? member % count() : node_at(position_of(member));
  }
  bool together(std::int32_t a, std::int32_t b) const noexcept { return node_of(a) == node_of(b); }
  // How many inner levels have both in one group.
  std::size_t shared_levels(std::int32_t a, std::int32_t b) const noexcept;
  // Position inside its node.
  std::int32_t place(std::int32_t member) const noexcept {
    if (rule_ == Rule::kDealt) return member / count();
    const std::int32_t position = position_of(member);
    return position - at(begin, node_at(position));
  }
  // Of the tables, all together.
  std::size_t bytes() const noexcept;

 private:
  enum class Rule : std::uint8_t {
    kInOrder,  // members of a node are neighbours
    kDealt,    // member m is on node m % count()
    kTable,
  };

  static std::int32_t at(const std::vector<std::int32_t>& of, std::int32_t index) noexcept {
    return of[static_cast<std::size_t>(index)];
  }
  std::int32_t node_at(std::int32_t position) const noexcept {
    if (equal_ > 0) [[likely]]
      return position / equal_;
    return search(position);
  }
  std::int32_t search(std::int32_t position) const noexcept;
  void set_order(std::vector<std::int32_t> order);
  void measure();
  void choose_heads(std::span<const NetworkPlace> network_of);

  Rule rule_ = Rule::kInOrder;
  std::int32_t equal_ = 0;              // members of each node; 0: they differ
  std::vector<std::int32_t> order_;     // members, node after node, ascending inside
  std::vector<std::int32_t> position_;  // of a member in the order
};

struct LevelShape {
  esp_shape shape = ESP_SHAPE_FLAT;  // not AUTO (but where it says none), not two-tree
  std::int32_t radix = 2;
  friend bool operator==(const LevelShape&, const LevelShape&) = default;
};

inline constexpr std::int32_t kStripesMax = 3;  // scratch buffers of a plan

// How a plan makes use of it.
struct NodePlan {
  const TeamNodes* nodes = nullptr;  // nullptr: all members are on one node
  // The tree has a level over the nodes (the request's shape), one over the groups of each inner
  // level, and one over the members of each innermost group (`inside`). Else nodes have no part in
  // the plan but that of an allgather around a ring, which is in their order.
  bool follow = false;
  esp_shape inside = ESP_SHAPE_FLAT;
  std::int32_t inside_radix = 2;
  std::array<LevelShape, kLocalityLevels> between = {};  // by LocalityLevel
  // So many members of each node talk to other nodes, each about every n-th segment: a tree each.
  // Where there are no inner levels; operands are not in the order of ranks. Up to kStripesMax.
  std::int32_t stripes = 1;
  // Of a level over the groups of each outer level. AUTO: there is none, the request's shape is
  // over all nodes in their order.
  LevelShape switches = {ESP_SHAPE_AUTO, 2};
  // An allreduce in which heads send each other their sums, in exchange_steps() of this radix.
  // 0: no exchange.
  std::int32_t exchange_radix = 0;
  // An allreduce whose segments are dealt out to the heads: each combines its share of all nodes'
  // sums and sends the result to the others. Up to kSpreadNodesMax nodes.
  bool spread = false;
  // What is for all nodes is published to the others at once, through the network's group: on the
  // way down there is no tree over the nodes. Who publishes and who receives is group_member() of
  // TeamNodes::of_group(), whatever the root.
  bool multicast = false;
  friend bool operator==(const NodePlan&, const NodePlan&) = default;
};

}  // namespace espalier
