// Writes a file so that whoever reads it sees the old one or the new one, whatever happens
// meanwhile. Threads: one. path: setup
#pragma once

#include <string>
#include <string_view>

#include "core/status.hpp"

namespace esp_tune {

// With the folders above it. ESP_ERR_SYSTEM; then the old file is as it was.
espalier::Outcome write_whole_file(const std::string& path, std::string_view text);

// From now on an interrupted process takes the file that it was writing away with it.
void clean_up_when_interrupted();

}  // namespace esp_tune
