// A picture of temperatures as a PNG file. path: setup
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "plate.hpp"

namespace heat {

// The bytes of a PNG of 256 colors, from black over red and yellow to white; of a large plate every
// second, third, ... cell.
std::string png_of(const Plate& plate, std::span<const double> cells);

// "", or why it cannot be written.
std::string write_picture(const std::string& path, const Plate& plate,
                          std::span<const double> cells);

}  // namespace heat
