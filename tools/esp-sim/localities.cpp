#include "tools/esp-sim/localities.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::sim {
namespace {

using LevelNames = std::array<std::string_view, kLocalityLevels>;
constexpr double kLeastPacketNs = 1e-3;  // 0 would be "as a message"
constexpr LevelNames kNames = {"board", "socket", "numa", "cache"};

// By rank.
struct Places {
  std::vector<std::int32_t> node_of;
  std::vector<MemberLocality> locality_of;
  std::vector<NetworkPlace> network_of;
};

Places places_of(const Machine& machine, const Map& map) {
  const auto node = static_cast<std::size_t>(machine.find_level("node"));
  Places places{std::vector<std::int32_t>(map.ranks()),
                std::vector<MemberLocality>(map.ranks(), kBoundNowhere),
                std::vector<NetworkPlace>(map.ranks())};
  for (std::uint32_t rank = 0; rank < map.ranks(); ++rank) {
    places.node_of[rank] = static_cast<std::int32_t>(map.unit(rank, node));
    for (std::size_t k = 0; k < kLocalityLevels; ++k) {
      const int level = machine.find_level(kNames[k]);
      if (level < 0) continue;
      places.locality_of[rank][k] =
          static_cast<std::int32_t>(map.unit(rank, static_cast<std::size_t>(level)));
    }
    for (std::size_t k = 0; k < std::min(node, kSwitchLevels); ++k) {
      places.network_of[rank].switches[kSwitchLevels - 1 - k] =
          static_cast<std::int32_t>(map.unit(rank, node - 1 - k));
    }
  }
  return places;
}

}  // namespace

TeamNodes localities_of(const Machine& machine, const Map& map) {
  const Places places = places_of(machine, map);
  return TeamNodes::of(places.node_of, places.locality_of, places.network_of);
}

std::shared_ptr<const Membership> surroundings_of(const Machine& machine, const Map& map,
                                                  MulticastLeaders leaders) {
  const Places places = places_of(machine, map);
  auto around = std::make_shared<Membership>();
  TeamNodes all = TeamNodes::of(places.node_of, places.locality_of, places.network_of);
  if (all.count() > 1) around->nodes = TeamNodes::of(places.node_of, {}, places.network_of);
  around->follow(std::move(all), places.network_of);
  if (leaders != MulticastLeaders::kSocket) return around;
  std::vector<std::uint64_t> sockets;
  for (const MemberLocality& place : places.locality_of) {
    constexpr auto kSocket = static_cast<std::size_t>(LocalityLevel::kSocket);
    sockets.push_back(static_cast<std::uint64_t>(place[kSocket] + 1));
  }
  around->lead(TeamNodes::parts_of(places.node_of, sockets), places.locality_of, places.network_of);
  return around;
}

Costs costs_of(const Machine& machine, const TeamNodes& nodes) {
  const auto node = static_cast<std::size_t>(machine.find_level("node"));
  // Levels of the network that separate nobody: a job uses the first nodes.
  const std::size_t apart = node - std::min(node, nodes.outer.size() + 1);
  const Level& far = machine.levels[apart];
  const Level& near = machine.levels[std::max(node, machine.levels.size() - 2)];
  Costs costs;
  const auto link = [](const Level& level) {
    return LinkCosts{.latency = level.latency_ns,
                     .message = (level.overhead_send_ns + level.overhead_recv_ns) / 2,
                     .copy_per_byte = level.carrier == Carrier::kDevice ? 0 : level.ns_per_byte};
  };
  costs.inside = link(near);
  costs.pull_bytes = near.carrier == Carrier::kPull ? near.pull_from_bytes : ~std::uint64_t{0};
  constexpr double kPage = 4096;
  costs.pull_message = machine.cma.call_ns;
  costs.reader_per_byte = machine.cma.reader_ns / kPage;
  if (near.carrier == Carrier::kPull) costs.inside.copy_per_byte += machine.cma.page_ns / kPage;
  costs.between = link(far);
  costs.between.port_per_byte = far.ns_per_byte;
  costs.between.port_message = far.gap_ns;
  if (far.lane > 0) {
    const Lane& lane = machine.lanes[far.lane - 1];
    costs.between.port_per_byte = std::max(costs.between.port_per_byte, lane.ns_per_byte);
    costs.between.port_message = lane.gap_ns;
  }
  if (machine.multicast.any()) {
    // The sender's port is what packets wait for; nothing is answered.
    const auto members = static_cast<std::uint64_t>(nodes.of_group().count());
    costs.group.packet = std::max(machine.multicast.extra_ns(0, members), kLeastPacketNs);
    costs.group.copy_per_byte = costs.between.port_per_byte;
    costs.group.packets_per_answer = std::numeric_limits<double>::infinity();
  }
  costs.combine_per_byte = machine.reduce_ns_per_byte;
  return costs;
}

void follow_localities(Tuning& tuning, esp_shape shape) {
  tuning.inner_levels = FollowLevels::kAlways;
  tuning.level_shapes.between.fill({shape, 2});
  tuning.level_shapes.inside = {shape, 2};
}

}  // namespace espalier::sim
