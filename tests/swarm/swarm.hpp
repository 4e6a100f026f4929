// The swarm: runs seeds, one after the other.
#pragma once

#include <cstdint>
#include <string>

#include "tests/swarm/job.hpp"

namespace espalier::swarm {

// How to run one seed again; `bug`: the planted one that was on, or 0.
std::string replay_command(std::uint64_t seed, int bug);

// A failed assertion, a crash or a seed without end print the seed, too: from here on, for the seed
// that note_seed() was told last.
void catch_signals();
void note_seed(std::uint64_t seed);

Report run_seed(std::uint64_t seed);
// The seed twice; the second run must be equal to the first.
Report run_twice(std::uint64_t seed);

// Finds every planted bug (or one), each in a process of its own; prints the seeds that did. Exit
// code. `seeds`: at most so many for each.
int hunt(int bug, std::uint64_t seeds);

}  // namespace espalier::swarm
