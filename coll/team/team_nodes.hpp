// TeamNodes: how the members of a team lie on nodes, for teams on more than one.
//
// Members of one node share memory; between nodes there is a network. Plans follow that: one rank
// of each node, its head, talks to other nodes, and publications stay inside a node. Any placement
// is possible: members are put in an order in which those of a node are neighbours.
//
//   by core    member 0 1 2 3 4 5 on nodes A A A B B B      order 0 1 2  3 4 5
//   by node    member 0 1 2 3 4 5 on nodes A B A B A B      order 0 2 4  1 3 5
//
// Inside a node there may be levels: sockets, NUMA nodes, outer caches. Their groups are neighbours
// in the order, too. A level that separates nobody, or everybody, is left out.
//
// Values, equal on all members. Threads: any (constant once made). path: setup
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "espalier/espalier.h"

namespace espalier {

// What separates members of one node, from the outside to the inside.
enum class LocalityLevel : std::uint8_t { kSocket, kNuma, kCache };
inline constexpr std::size_t kLocalityLevels = 3;
const char* locality_level_name(LocalityLevel level) noexcept;  // "socket", "NUMA node", "cache"
// Where a member is inside its node: numbers that tell places on a machine apart, -1 where it is
// bound to no one of them.
using MemberLocality = std::array<std::int32_t, kLocalityLevels>;

// The groups of one level, each inside a group of the level before.
struct LocalityGroups {
  LocalityLevel level = LocalityLevel::kSocket;
  std::vector<std::int32_t> begin;  // of each group in TeamNodes::order, and the end
};

// Placements in order of nodes, and those that deal members out to nodes like cards, need no table
// by member; any other has eight bytes for each.
class TeamNodes {
 public:
  std::vector<std::int32_t> begin;    // of each node in the order, and the end
  std::int32_t largest = 0;           // members of the largest node
  std::vector<LocalityGroups> inner;  // from the outside to the inside
  std::int32_t largest_group = 0;     // members of the largest innermost group
  // Nodes; then by level, from the outside to the inside, how many groups of the next (at the end:
  // members) are at most in one node, one group of the first inner level, ...
  std::vector<std::int32_t> widest;
  // The same members without inner levels; nullptr: then they are on one node. For teams with them.
  const TeamNodes* plain = nullptr;

  // `node_of`: any numbers that tell the nodes of the members apart; nodes are numbered by their
  // lowest members. `locality_of`: by member, or empty. A level is one for a node only if all its
  // members are bound.
  static TeamNodes of(std::span<const std::int32_t> node_of,
                      std::span<const MemberLocality> locality_of = {});

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

  Rule rule_ = Rule::kInOrder;
  std::int32_t equal_ = 0;              // members of each node; 0: they differ
  std::vector<std::int32_t> order_;     // members, node after node, ascending inside
  std::vector<std::int32_t> position_;  // of a member in the order
};

struct LevelShape {
  esp_shape shape = ESP_SHAPE_FLAT;  // not AUTO, not two-tree
  std::int32_t radix = 2;
  friend bool operator==(const LevelShape&, const LevelShape&) = default;
};

// How a plan makes use of it.
struct NodePlan {
  const TeamNodes* nodes = nullptr;  // nullptr: all members are on one node
  // The tree has a level over the nodes (the request's shape), one over the groups of each inner
  // level, and one over the members of each innermost group (`inside`). Else nodes have no part in
  // the plan.
  bool follow = false;
  esp_shape inside = ESP_SHAPE_FLAT;
  std::int32_t inside_radix = 2;
  std::array<LevelShape, kLocalityLevels> between = {};  // by LocalityLevel
  // An allreduce in which heads send each other their sums, in exchange_steps() of this radix.
  // 0: no exchange.
  std::int32_t exchange_radix = 0;
  // An allreduce whose segments are dealt out to the heads: each combines its share of all nodes'
  // sums and sends the result to the others. Up to kSpreadNodesMax nodes.
  bool spread = false;
  friend bool operator==(const NodePlan&, const NodePlan&) = default;
};

}  // namespace espalier
