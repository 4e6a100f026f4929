// A run of one variant: the threads of this rank, step by step.
//
// Collective. path: data
#pragma once

#include <cstdint>
#include <espalier/espalier.hpp>
#include <vector>

#include "options.hpp"
#include "progress_bar.hpp"

namespace heat {

struct Outcome {
  double seconds = 0;          // Of the steps.
  std::uint64_t messages = 0;  // That this rank has sent in them.
  std::vector<double> cells;   // Of this rank's tile, in rows.
};

// `steps_done`: by earlier runs, for the progress bar.
Outcome solve(const esp::Job& job, Variant variant, const Options& options, const Grid& grid,
              examples::ProgressBar& progress, int steps_done);

// The cells of the whole plate at rank 0, from the tiles of all ranks; empty elsewhere.
std::vector<double> gather_cells(esp::TeamRef world, const Plate& plate, const Grid& grid,
                                 const std::vector<double>& mine);

}  // namespace heat
