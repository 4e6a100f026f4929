// How a machine groups the ranks of a job, for trees of several levels.
//
// path: setup
#pragma once

#include "coll/algorithms/tree_levels.hpp"
#include "net/sim/machine.hpp"

namespace espalier::sim {

// A level for each level of the machine, from the inside to the node, that cuts the ranks into
// equal runs of consecutive ranks (by-core placement; none if ranks are dealt round the nodes or at
// random). Each has `shape`; what is outside of the nodes is up to the request.
TreeLevels machine_levels(const Machine& machine, const Map& map, esp_shape shape,
                          std::int32_t radix = 2);

}  // namespace espalier::sim
