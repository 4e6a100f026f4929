// The graph of simulated exchanges with neighbours: a grid of two dimensions without borders, as
// square as the number of ranks allows. Values. path: setup
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/plan/neighbors.hpp"
#include "core/wire.hpp"

namespace espalier::sim {

inline constexpr std::size_t kGridNeighbors = 4;

// Above, below, left and right of the rank, to which it sends and from which it receives: itself
// where the grid is one rank long, one rank twice where it is two long.
Neighbors grid_neighbors(Rank rank, std::uint32_t ranks);

}  // namespace espalier::sim
