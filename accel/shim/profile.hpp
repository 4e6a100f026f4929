// Profile: what earlier runs have found to be faster, so that nothing need be timed.
//
// A text file, a row for each kind of calls: MPI, operation, processes, nodes, size class, side.
// The first process reads it and tells the others, so all know the same. path: setup
#pragma once

#include <optional>

#include "accel/shim/communicator.hpp"

namespace espalier::accel {

// All processes. What cannot be read is said, and then nothing is known.
void load_profile();
std::optional<Side> known_side(Operation operation, const Communicator& communicator,
                               std::uint64_t bytes);
// The first process: rows of the file that this run has not found itself stay.
void save_profile();

}  // namespace espalier::accel
