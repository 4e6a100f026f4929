#include "tools/esp-sim/localities.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace espalier::sim {
namespace {

using LevelNames = std::array<std::string_view, kLocalityLevels>;
constexpr LevelNames kNames = {"board", "socket", "numa", "cache"};

}  // namespace

TeamNodes localities_of(const Machine& machine, const Map& map) {
  const auto node = static_cast<std::size_t>(machine.find_level("node"));
  std::vector<std::int32_t> node_of(map.ranks());
  std::vector<MemberLocality> locality_of(map.ranks(), kBoundNowhere);
  std::vector<NetworkPlace> network_of(map.ranks());
  for (std::uint32_t rank = 0; rank < map.ranks(); ++rank) {
    node_of[rank] = static_cast<std::int32_t>(map.unit(rank, node));
    for (std::size_t k = 0; k < kLocalityLevels; ++k) {
      const int level = machine.find_level(kNames[k]);
      if (level < 0) continue;
      locality_of[rank][k] =
          static_cast<std::int32_t>(map.unit(rank, static_cast<std::size_t>(level)));
    }
    for (std::size_t k = 0; k < std::min(node, kSwitchLevels); ++k) {
      network_of[rank].switches[kSwitchLevels - 1 - k] =
          static_cast<std::int32_t>(map.unit(rank, node - 1 - k));
    }
  }
  return TeamNodes::of(node_of, locality_of, network_of);
}

void follow_localities(Tuning& tuning, esp_shape shape) {
  tuning.inner_levels = FollowLevels::kAlways;
  tuning.level_shapes.between.fill({shape, 2});
  tuning.level_shapes.inside = {shape, 2};
}

}  // namespace espalier::sim
