// The settings of the library in the ranks' environment, looked at once instead of by every rank.
#pragma once

#include <string>
#include <vector>

#include "options.hpp"

namespace esp_run {

// What is to be said, each sentence once. Throws LaunchError where a rank would find a value that
// is not allowed. Each program's variables get one more, by which its ranks know what was said.
std::vector<std::string> check_settings(std::vector<Program>& programs);

}  // namespace esp_run
