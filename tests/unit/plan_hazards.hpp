// Proves that the edges of plans cover every hazard: of two accesses to the same memory of which
// one writes, one always ends before the other begins, whatever the engine and the wires do first.
//
// The plans of all ranks make one graph of moments. Moments are ordered by the plan's edges and
// windows, and by messages: data cannot arrive before their send was posted, and the send has read
// them when they have arrived. What that order does not decide depends on timing, and is an error.
// Unlike an execution (plan_checker.hpp) the answer holds for all of them, of one message at least.
#pragma once

#include <string>
#include <vector>

#include "coll/plan/plan.hpp"

namespace espalier::plan_check {

// The first hazard; empty: there is none. Plans are regular or bound. `input_at`: where the input
// lies in the output, in elements, of a call in place; -1: elsewhere.
std::string find_hazard(const std::vector<Plan>& plans, const std::vector<std::int64_t>& input_at);

// Whether all else in the plans keeps apart what `need` would, as an edge of that vertex of that
// rank: what is needed is over (read, if it is sent) before what needs it begins (arrives, if it is
// received).
bool is_implied(const std::vector<Plan>& plans, std::int32_t rank, std::size_t vertex,
                const Dependency& need);

}  // namespace espalier::plan_check
