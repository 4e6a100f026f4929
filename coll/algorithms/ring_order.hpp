// Ring order: who is next to whom in a ring that follows nodes and what is inside them.
//
// The ring is the order of TeamNodes, closed: on every level the members of a group are one arc of
// it, so a level with k > 1 groups is crossed by k of the ring's edges, and no ring has fewer.
// Nobody is next to many: what passes through a memory controller, or a link between two groups, is
// equal for all of them (Ma's thesis, section 4.4.3).
// Values; any thread. path: setup
#pragma once

#include <cstdint>

#include "coll/team/team_nodes.hpp"

namespace espalier {

struct RingPlace {
  std::int32_t position = 0;
  std::int32_t left = 0;  // who is before this member; of two members both are the other one
  std::int32_t right = 0;
  friend bool operator==(const RingPlace&, const RingPlace&) = default;
};

// A ring over `size` members. `nodes`: nullptr: in their own order. Who is alone is its own
// neighbour.
inline RingPlace ring_place(const TeamNodes* nodes, std::int32_t size,
                            std::int32_t member) noexcept {
  const auto member_at = [nodes](std::int32_t position) {
    return nodes != nullptr ? nodes->member_at(position) : position;
  };
  const std::int32_t position = nodes != nullptr ? nodes->position_of(member) : member;
  return {position, member_at(position > 0 ? position - 1 : size - 1),
          member_at(position < size - 1 ? position + 1 : 0)};
}

}  // namespace espalier
