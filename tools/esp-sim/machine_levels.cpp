#include "tools/esp-sim/machine_levels.hpp"

namespace espalier::sim {
namespace {

// Ranks per unit of the level if every unit holds so many consecutive ones (the last maybe fewer);
// else 0.
std::uint32_t run_length(const Map& map, std::size_t level) {
  std::uint32_t length = 1;
  while (length < map.ranks() && map.unit(length, level) == map.unit(0, level)) ++length;
  for (std::uint32_t rank = length; rank < map.ranks(); ++rank) {
    const bool begins = rank % length == 0;
    if (begins == (map.unit(rank, level) == map.unit(rank - 1, level))) return 0;
  }
  return length;
}

}  // namespace

TreeLevels machine_levels(const Machine& machine, const Map& map, esp_shape shape,
                          std::int32_t radix) {
  TreeLevels levels = {};
  std::size_t count = 0;
  std::uint32_t inside = 1;
  const auto node = static_cast<std::size_t>(machine.find_level("node"));
  for (std::size_t level = machine.levels.size(); level-- > node && count < levels.size();) {
    const std::uint32_t ranks = run_length(map, level);
    if (ranks <= inside || ranks % inside != 0 || ranks >= map.ranks()) continue;
    levels[count++] = {static_cast<std::int32_t>(ranks), shape, radix};
    inside = ranks;
  }
  return levels;
}

}  // namespace espalier::sim
