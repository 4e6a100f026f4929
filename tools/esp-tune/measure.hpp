// Measures one operation of one size on a team: which candidate is the fastest.
//
// Three races. In the first all candidates run; the fastest two then run against the rules again,
// and with other segments. Who wins that has to prove it in a third, against the rules alone: the
// best of many was lucky, too. In each round every candidate that is still in runs once, in an
// order that turns, so noise of the machine hits all alike. A run is: write the buffers (untimed),
// a barrier, the clock, a batch of calls on different buffers, the clock; its value is the slowest
// rank's. Who is twice behind after three rounds falls out, later who is by 30 %. path: setup
#pragma once

#include <cstdint>
#include <string>

#include "coll/plan/collective.hpp"

namespace esp_tune {

struct Measured {
  esp_coll_options choice = ESP_COLL_OPTIONS_INIT;
  double us = 0;
  std::string next;  // a short name of the best of the others; empty: there was none
  double next_us = 0;
};

// Collective over the team; equal on all members. About `seconds`, more where a few rounds take
// more. Throws std::runtime_error when a call fails.
Measured measure(esp_team* team, espalier::Collective collective, std::uint64_t bytes,
                 double seconds);

}  // namespace esp_tune
