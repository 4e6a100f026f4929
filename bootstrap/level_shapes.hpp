// The setting LEVEL_SHAPES. Values; any thread. path: setup
#pragma once

#include <string_view>

#include "coll/choice/choose.hpp"

namespace espalier {

// "node:chain,socket:binary,core:knomial/4": level, shape, radix where the shape has one. Levels
// that are not named are AUTO. ESP_ERR_CONFIG says what is wrong.
Result<LevelShapes> parse_level_shapes(std::string_view text);

}  // namespace espalier
