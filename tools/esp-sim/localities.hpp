// Where the ranks of a simulated job lie, for plans that follow it (coll/team/team_nodes.hpp).
//
// path: setup
#pragma once

#include <memory>

#include "coll/choice/choose.hpp"
#include "coll/team/team.hpp"
#include "core/config.hpp"
#include "net/sim/machine.hpp"

namespace espalier::sim {

// The nodes of the job's whole team, the boards, sockets, NUMA nodes and caches inside them, and
// the levels around them: groups, switches.
TeamNodes localities_of(const Machine& machine, const Map& map);

// The same with what the library keeps of it besides: nodes without levels inside, and without
// those in one memory. Nobody is a member of it. `leaders`: kSocket: one of each socket is in the
// network's group; else one of each node.
std::shared_ptr<const Membership> surroundings_of(
    const Machine& machine, const Map& map, MulticastLeaders leaders = MulticastLeaders::kNode);
// What plans follow.
inline const TeamNodes& followed(const Membership& around) {
  return around.localities.empty() ? around.nodes : around.localities;
}

// All trees follow the localities: those inside the nodes have `shape` on every level, that of the
// nodes the shape that the call names.
void follow_localities(Tuning& tuning, esp_shape shape);

// What messages cost there: between its nodes as at the outermost level that the job's ranks lie
// apart on, inside them as in the innermost unit, where most messages are.
Costs costs_of(const Machine& machine, const TeamNodes& nodes);

}  // namespace espalier::sim
