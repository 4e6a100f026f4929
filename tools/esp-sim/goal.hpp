// The plans of all ranks in GOAL text, the input of LogGOPSim's txt2bin (Hoefler, Schneider,
// Lumsdaine: "LogGOPSim: simulating large-scale applications in the LogGOPS model", 2010).
//
// Every index of every vertex becomes an operation: receives and views `recv`, sends `send`, a
// publication one `send` per reader, a combine `calc` for its cost. Edges become `requires`, as
// does the window: index i requires i - window of the same vertex. Empty segments are sent as 1
// byte, because LogGOPSim knows no empty message; those that no side moves (of uneven blocks) are
// not sent. Values. path: setup
#pragma once

#include <iosfwd>

#include "coll/plan/plan.hpp"
#include "tools/esp-sim/operation.hpp"

namespace esp_sim {

// Writes one rank's block: "rank R {...}".
void write_goal_rank(const espalier::Plan& plan, double reduce_ns_per_byte, std::ostream& out);

// Writes the schedule of all ranks; the plan of each is made and dropped in turn. `blocks`: of an
// irregular collective.
espalier::Outcome write_goal(const espalier::PlanRequest& request, double reduce_ns_per_byte,
                             std::ostream& out, const espalier::sim::UnevenBlocks& blocks = {});

}  // namespace esp_sim
