// The ways in which a collective may be done: what takes part in a race.
//
// Pure functions: equal on all members. path: setup
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/plan/collective.hpp"

namespace esp_tune {

bool is_rules(const esp_coll_options& options);  // nothing is named
bool is_same(const esp_coll_options& a, const esp_coll_options& b);

// What the rules choose comes first, then each algorithm, trees in each shape that is another tree
// for so many ranks. The library may refuse some.
std::vector<esp_coll_options> first_candidates(espalier::Collective collective, int ranks);
// `best` with segments of other lengths, where the message has several, and with other windows.
std::vector<esp_coll_options> variations(espalier::Collective collective, int ranks,
                                         std::uint64_t bytes, const esp_coll_options& best);

// One word: "rules", "tree/k-nomial4/64K".
std::string short_name(const esp_coll_options& options);

}  // namespace esp_tune
