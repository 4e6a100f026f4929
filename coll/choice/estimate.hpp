// Estimate: how long a collective over several nodes would take, in closed form.
//
// Of a pipeline the first segment's way, and for each further one what the busiest processor or
// port does with a segment; of rounds their sum. So it takes nanoseconds to tell, for any number of
// ranks, where prediction (predict.hpp) plays all members' plans. It ranks what may be chosen.
//
// Pure; any thread. path: setup
#pragma once

#include <optional>

#include "coll/choice/costs.hpp"
#include "coll/plan/plan.hpp"

namespace espalier {

// Nanoseconds from the common beginning to the last end. Nothing for what there is no form of:
// teams on one node, controls of experiments, scans, and collectives whose members have
// lengths of their own. `request` as for make_plan(), of any member.
std::optional<double> estimate(const PlanRequest& request, const Costs& costs);

}  // namespace espalier
