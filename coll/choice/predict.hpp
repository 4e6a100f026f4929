// Prediction: how long a collective would take, from its plans and a few costs of the machine.
//
// All members' plans are played once: an index begins when what it needs is complete, what it
// receives has come and its rank's core is free; indices of a vertex begin in order. That is the
// longest path through the plans with each core, and each node's port, doing one thing at a time.
// No windows, grants, caches or noise: it ranks choices, to be shown and to be measured, where the
// simulator (net/sim) tells what the library would do on a machine.
//
// Pure; any thread. path: slow
#pragma once

#include <cstdint>
#include <optional>

#include "coll/choice/costs.hpp"
#include "coll/plan/plan.hpp"

namespace espalier {

// Of all members from their common beginning to the last end, in nanoseconds. Nothing where it
// would take long to tell, and of what differs from member to member: irregular and neighbourhood
// collectives. `request` as for make_plan(), of any member.
std::optional<double> predict(const PlanRequest& request, const Costs& costs);

}  // namespace espalier
