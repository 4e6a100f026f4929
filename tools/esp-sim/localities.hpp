// Where the ranks of a simulated job lie, for plans that follow it (coll/team/team_nodes.hpp).
//
// path: setup
#pragma once

#include "coll/choice/choose.hpp"
#include "net/sim/machine.hpp"

namespace espalier::sim {

// The nodes of the job's whole team, the boards, sockets, NUMA nodes and caches inside them, and
// the levels around them: groups, switches.
TeamNodes localities_of(const Machine& machine, const Map& map);

// All trees follow the localities: those inside the nodes have `shape` on every level, that of the
// nodes the shape that the call names.
void follow_localities(Tuning& tuning, esp_shape shape);

}  // namespace espalier::sim
