// The quick way of blocking calls that move blocks, or operands, of a few lines on one node:
// gather, scatter, allgather, alltoall, scans, reduce_scatter_block. What is in order and needs no
// choice is not checked a second time; everything else, and everything wrong, goes the long way,
// which knows how to complain. path: short
#pragma once

#include "api/handles.hpp"

namespace espalier::api {

// Completes `call` (built-in type and operator) where it does. Blocking, of a purpose.
bool goes_quick(const esp_team& handle, Call& call) noexcept;
esp_status run_quick(esp_team& handle, const Call& call) noexcept;

}  // namespace espalier::api
