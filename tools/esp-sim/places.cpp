#include "tools/esp-sim/places.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace espalier::sim {
namespace {

using LevelNames = std::array<std::string_view, kInnerLevels>;
constexpr LevelNames kUsual = {"socket", "numa", "cache"};
constexpr LevelNames kWithBoards = {"board", "socket", "cache"};

}  // namespace

TeamNodes places_of(const Machine& machine, const Map& map) {
  const LevelNames& names = machine.find_level("board") >= 0 ? kWithBoards : kUsual;
  const auto node = static_cast<std::size_t>(machine.find_level("node"));
  std::vector<std::int32_t> node_of(map.ranks());
  std::vector<InnerPlace> place_of(map.ranks(), InnerPlace{});
  for (std::uint32_t rank = 0; rank < map.ranks(); ++rank) {
    node_of[rank] = static_cast<std::int32_t>(map.unit(rank, node));
    for (std::size_t k = 0; k < kInnerLevels; ++k) {
      const int level = machine.find_level(names[k]);
      if (level < 0) continue;  // 0 for all ranks: it separates nobody
      place_of[rank][k] =
          static_cast<std::int32_t>(map.unit(rank, static_cast<std::size_t>(level)));
    }
  }
  return TeamNodes::of(node_of, place_of);
}

void follow_places(Tuning& tuning, esp_shape shape) {
  tuning.inner_levels = FollowLevels::kAlways;
  tuning.level_shapes.between.fill({shape, 2});
  tuning.level_shapes.inside = {shape, 2};
}

}  // namespace espalier::sim
