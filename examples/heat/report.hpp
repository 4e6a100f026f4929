// What rank 0 prints: a table, or a line of JSON for each run. path: setup
#pragma once

#include <string>

#include "options.hpp"

namespace heat {

// Of all ranks: the longest time, and the messages of the one that has sent most.
struct RunFacts {
  double seconds = 0;
  double messages = 0;  // A step.
};

void print_header(const Options& options, const Grid& grid);
// `first`: the seconds of the first variant, for comparison.
void print_row(const Options& options, Variant variant, const RunFacts& facts, double first);
void print_json(const Options& options, const Grid& grid, Variant variant, int repetition,
                const RunFacts& facts, bool checked);

}  // namespace heat
