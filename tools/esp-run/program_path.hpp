// Finds the program before anything is started, so that a misspelt name costs one clear message.
#pragma once

#include <string>

namespace esp_run {

// The path to execute, found as a shell would from here. Throws LaunchError (127 not found, 126 not
// executable). `directory`: where the program is to start, empty: here; the path then leads from
// there to the same file.
std::string find_program(const std::string& name, const std::string& directory = {});

}  // namespace esp_run
