// The environment of this process. The only file of the library that reads it.
//
// Threads: not while another thread changes the environment (setup time). path: setup
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config.hpp"

namespace espalier {

// All variables as "NAME=value".
std::vector<std::string> environment_snapshot();
// A variable of the launcher (PMIX_RANK, SLURM_PROCID, ...). Settings of the library are in Config.
std::optional<std::string> environment_value(std::string_view name);

// The ESPALIER_* variables of `environment`, without the prefix.
std::vector<std::string> espalier_assignments(const std::vector<std::string>& environment);

// Config from the environment, overridden by `settings` (NULL, or a NULL-terminated list of
// "NAME=value"). Without the warnings that a launcher has said for all its ranks.
Result<Config> config_from_env(const char* const* settings);

}  // namespace espalier
