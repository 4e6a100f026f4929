// Gives rank 0's problem to all ranks.
//
// Single thread. path: setup
#pragma once

#include "problem.hpp"
#include "team.hpp"

namespace asp {

// Collective. False on all ranks when rank 0 says that it has not `loaded` one.
bool share_problem(Team& team, Problem& problem, bool loaded);

}  // namespace asp
