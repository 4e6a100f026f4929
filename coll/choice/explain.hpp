// What is chosen for a call, why, and what comes next: a sentence for people (EXPLAIN, esp-info).
//
// Pure; any thread. path: slow
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "coll/choice/choose.hpp"
#include "coll/choice/predict.hpp"

namespace espalier {

// Nanoseconds of a call by lines of a board; nothing: no call of this kind goes that way.
std::optional<double> predict_short(const PlanRequest& request, const Costs& costs);

// "allreduce of 16384 bytes by 8 ranks on one node, own cores: spread, 8 pieces of 2 KiB: each rank
// combines its share; predicted 14.1 us; next ring, predicted 20.3 us". Times are those of the
// profile's row where one was followed that has some, with the size at which they were measured.
// `base` as for resolve(); `is_short`: takes the short path.
std::string explain(const esp_coll_options& options, const PlanRequest& base, const Tuning& tuning,
                    bool is_short);

}  // namespace espalier
