// What esp-tune is asked to measure, from its command line. path: setup
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/plan/collective.hpp"

namespace esp_tune {

struct Options {
  std::vector<espalier::Collective> operations;
  std::vector<int> ranks;            // ascending; empty: 2, 4, 8... and all of the job
  std::vector<std::uint64_t> bytes;  // ascending; empty: a grid, refined where the choice changes
  double minutes = 5;
  std::string output;  // empty: the user's profile
  bool again = false;
};

// Those that can be done in more than one way, and whose way may be chosen by the bytes of a block.
const std::vector<espalier::Collective>& tunable_operations();

// Ends the process where options are wrong, with 2 after a text if it is the one that `speaks`, and
// after --help.
Options parse_options(int argc, const char* const* argv, bool speaks);

}  // namespace esp_tune
