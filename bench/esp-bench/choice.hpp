// One way to carry out a collective, as named on the command line of esp-bench.
//
// Espalier's own: the builds against an MPI reject every option that would fill it. Zero and empty
// mean "the library chooses", as in esp_coll_options.
// path: setup
#pragma once

#include <cstddef>
#include <string>

namespace espalier::bench {

struct Choice {
  int algorithm = 0;  // values of esp_algorithm, esp_shape, esp_variant
  int shape = 0;
  int radix = 0;
  std::size_t segment_bytes = 0;
  int window_send = 0;
  int window_recv = 0;
  int variant = 0;
  bool started = false;  // by start and wait, also where nothing else is chosen

  bool operator==(const Choice&) const = default;
};

// "tree/chain segment=65536 windows=4,8 variant=event"; empty for a choice that chooses nothing.
std::string describe(const Choice& choice);

}  // namespace espalier::bench
