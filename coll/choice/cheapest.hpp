// Cheapest: of what could be done between nodes, what costs say takes least.
//
// The rules of choose.cpp were measured on few nodes. How a tree's shape, an exchange and the size
// of segments pay on many depends on what a message, a byte of the port and a copy cost.
//
// Pure; any thread. path: setup
#pragma once

#include "coll/choice/costs.hpp"
#include "coll/plan/plan.hpp"

namespace espalier {

struct Freedom {
  bool segments = true;  // their size, too
  bool inside = true;    // shapes inside nodes, too
};

// `ruled`, or what is estimated (estimate.hpp) to take less than kClearly of its time: another
// algorithm, or `tree`, which is complete but for its shape, with another shape over the nodes, an
// exchange, or other segments. `tree` is `ruled` where that is one; not used by collectives without
// trees. `group`: the same by multicast, likewise; nullptr: it cannot be. Equal arguments give
// equal requests.
PlanRequest cheapest(const PlanRequest& ruled, const PlanRequest& tree, const Freedom& freedom,
                     const Costs& costs, const PlanRequest* group = nullptr);

inline constexpr double kClearly = 0.9;

}  // namespace espalier
