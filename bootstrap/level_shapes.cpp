#include "bootstrap/level_shapes.hpp"

#include <fmt/format.h>

#include "core/config_value.hpp"

namespace espalier {
namespace {

constexpr std::string_view kLevels[] = {"switch", "node",  "board", "socket",
                                        "numa",   "cache", "core"};
constexpr std::string_view kShapes[] = {"flat", "chain",   "binary",       "binomial",
                                        "kary", "knomial", "double-leader"};
constexpr esp_shape kShapeOf[] = {ESP_SHAPE_FLAT,         ESP_SHAPE_CHAIN, ESP_SHAPE_BINARY,
                                  ESP_SHAPE_BINOMIAL,     ESP_SHAPE_KARY,  ESP_SHAPE_KNOMIAL,
                                  ESP_SHAPE_DOUBLE_LEADER};
constexpr int kRadixMax = 1024;
constexpr std::string_view kLeaders = "leaders:";

LevelShape& level_of(LevelShapes& shapes, std::size_t level) {
  if (level == 0) return shapes.switches;
  if (level == 1) return shapes.nodes;
  return level - 2 < kLocalityLevels ? shapes.between[level - 2] : shapes.inside;
}

}  // namespace

Result<LevelShapes> parse_level_shapes(std::string_view text) {
  LevelShapes shapes;
  while (!text.empty()) {
    std::string_view rest = next_field(text, ',');
    const std::string_view whole = rest;
    if (whole.starts_with(kLeaders)) {
      const auto stripes = parse_integer(whole.substr(kLeaders.size()));
      if (!stripes || *stripes < 1 || *stripes > kStripesMax) {
        return error(ESP_ERR_CONFIG, fmt::format("ESPALIER_LEVEL_SHAPES: \"{}\" is not {}N with "
                                                 "1 to {} ranks of each node",
                                                 whole, kLeaders, kStripesMax));
      }
      shapes.stripes = static_cast<std::int32_t>(*stripes);
      continue;
    }
    const auto level = parse_name(next_field(rest, ':'), kLevels);
    const auto shape = parse_name(next_field(rest, '/'), kShapes);
    const auto radix = rest.empty() ? 2 : parse_integer(rest);
    if (!level || !shape || !radix || *radix < 2 || *radix > kRadixMax) {
      return error(ESP_ERR_CONFIG,
                   fmt::format("ESPALIER_LEVEL_SHAPES: \"{}\" is not LEVEL:SHAPE or "
                               "LEVEL:SHAPE/RADIX with a level {}, a shape {}, a radix of 2 to {}; "
                               "nor {}N",
                               whole, join_or(kLevels), join_or(kShapes), kRadixMax, kLeaders));
    }
    const esp_shape is = kShapeOf[*shape];
    if (!rest.empty() && is != ESP_SHAPE_KARY && is != ESP_SHAPE_KNOMIAL) {
      return error(
          ESP_ERR_CONFIG,
          fmt::format("ESPALIER_LEVEL_SHAPES: \"{}\": only kary and knomial have a radix", whole));
    }
    level_of(shapes, *level) = {is, static_cast<std::int32_t>(*radix)};
  }
  return shapes;
}

}  // namespace espalier
