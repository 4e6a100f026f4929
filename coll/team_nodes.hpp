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
enum class InnerLevel : std::uint8_t { kSocket, kNuma, kCache };
inline constexpr std::size_t kInnerLevels = 3;
const char* inner_level_name(InnerLevel level) noexcept;  // "socket", "NUMA node", "cache"
// Where a member is inside its node: numbers that tell places apart, -1 where it is bound to no
// one of them.
using InnerPlace = std::array<std::int32_t, kInnerLevels>;

// The groups of one level, each inside a group of the level before.
struct InnerGroups {
  InnerLevel level = InnerLevel::kSocket;
  std::vector<std::int32_t> begin;  // of each group in TeamNodes::order, and the end
};

struct TeamNodes {
  std::vector<std::int32_t> node;      // by member; nodes are numbered by their lowest members
  std::vector<std::int32_t> order;     // members, node after node, ascending inside
  std::vector<std::int32_t> position;  // of a member in `order`
  std::vector<std::int32_t> begin;     // of each node in `order`, and the end
  std::int32_t largest = 0;            // members of the largest node
  bool in_order = true;                // `order` is that of the members
  std::vector<InnerGroups> inner;      // from the outside to the inside
  std::int32_t largest_group = 0;      // members of the largest innermost group
  // The same members without inner levels; nullptr: then they are on one node. For teams with them.
  const TeamNodes* plain = nullptr;

  // `node_of`: any numbers that tell the nodes of the members apart.
  // `place_of`: by member, or empty. A level is one for a node only if all its members are bound.
  static TeamNodes of(std::span<const std::int32_t> node_of,
                      std::span<const InnerPlace> place_of = {});

  std::int32_t count() const noexcept { return static_cast<std::int32_t>(begin.size()) - 1; }
  std::int32_t members(std::int32_t of) const noexcept { return at(begin, of + 1) - at(begin, of); }
  std::int32_t member(std::int32_t of, std::int32_t place) const noexcept {
    return at(order, at(begin, of) + place);
  }
  std::int32_t node_of(std::int32_t member) const noexcept { return at(node, member); }
  bool together(std::int32_t a, std::int32_t b) const noexcept {
    return at(node, a) == at(node, b);
  }
  // How many inner levels have both in one group.
  std::size_t shared_levels(std::int32_t a, std::int32_t b) const noexcept;
  // Position inside its node.
  std::int32_t place(std::int32_t member) const noexcept {
    return at(position, member) - at(begin, at(node, member));
  }

 private:
  static std::int32_t at(const std::vector<std::int32_t>& of, std::int32_t index) noexcept {
    return of[static_cast<std::size_t>(index)];
  }
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
  // level, and one over the members of each innermost group (`inside`). Else nodes only say whom a
  // publication reaches.
  bool follow = false;
  esp_shape inside = ESP_SHAPE_FLAT;
  std::int32_t inside_radix = 2;
  std::array<LevelShape, kInnerLevels> between = {};  // by InnerLevel
  // An allreduce in which heads send each other their sums, in exchange_steps() of this radix.
  // 0: no exchange.
  std::int32_t exchange_radix = 0;
  // An allreduce whose segments are dealt out to the heads: each combines its share of all nodes'
  // sums and sends the result to the others. Up to kSpreadNodesMax nodes.
  bool spread = false;
  friend bool operator==(const NodePlan&, const NodePlan&) = default;

  bool near(std::int32_t a, std::int32_t b) const noexcept {
    return nodes == nullptr || nodes->together(a, b);
  }
};

}  // namespace espalier
