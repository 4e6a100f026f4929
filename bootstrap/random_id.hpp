// Identifiers of jobs that have no launcher to name them. Path: setup.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "core/status.hpp"

namespace espalier {

using RandomId = std::array<std::byte, 16>;

// Drawn from the kernel, so that two jobs started at the same moment differ.
Result<RandomId> draw_random_id();
// "prefix-" and 32 hexadecimal digits.
std::string random_id_text(const char* prefix, const RandomId& id);

}  // namespace espalier
