// Finds the program before anything is started, so that a misspelt name costs one clear message.
#pragma once

#include <string>

namespace esp_run {

// The path to execute, found as a shell would. Throws LaunchError (127 not found, 126 not
// executable).
std::string find_program(const std::string& name);

}  // namespace esp_run
