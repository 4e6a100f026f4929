// Placement: which core each rank of a job sits on.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/config_value.hpp"
#include "core/prng.hpp"
#include "net/sim/machine.hpp"

namespace espalier::sim {
namespace {

constexpr std::array<std::string_view, 4> kPlacements = {"core", "node", "random", "socket"};

// The cores that a node's ranks sit on, in their order: evenly over the node.
std::vector<std::uint64_t> seats_of(std::uint64_t per_node, std::uint64_t node_cores) {
  std::vector<std::uint64_t> seats;
  for (std::uint64_t slot = 0; slot < per_node; ++slot) {
    seats.push_back(slot * node_cores / per_node);
  }
  return seats;
}

// The first seat of every socket, then the second of every socket, and so on.
void deal_round_sockets(std::vector<std::uint64_t>& seats, std::uint64_t socket_cores) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> dealt;  // turn in its socket, core
  for (std::size_t i = 0, first = 0; i < seats.size(); ++i) {
    if (seats[i] / socket_cores != seats[first] / socket_cores) first = i;
    dealt.emplace_back(i - first, seats[i]);
  }
  std::ranges::sort(dealt);
  for (std::size_t i = 0; i < seats.size(); ++i) seats[i] = dealt[i].second;
}

}  // namespace

Result<Placement> parse_placement(std::string_view text) {
  for (std::size_t i = 0; i < kPlacements.size(); ++i) {
    if (text == kPlacements[i]) return static_cast<Placement>(i);
  }
  return error(ESP_ERR_ARGUMENT,
               fmt::format("there is no placement \"{}\": write {}", text, join_or(kPlacements)));
}

const char* placement_name(Placement placement) noexcept {
  return kPlacements[static_cast<std::size_t>(placement)].data();
}

Result<Map> Map::create(const Machine& machine, std::uint32_t ranks, std::uint32_t ranks_per_node,
                        Placement placement, std::uint64_t seed) {
  const auto node = static_cast<std::size_t>(machine.find_level("node"));
  const std::uint64_t nodes = machine.units(node);
  const std::uint64_t node_cores = machine.cores_per_unit(node);
  const std::uint64_t per_node = ranks_per_node == 0 ? node_cores : ranks_per_node;
  if (ranks == 0) return error(ESP_ERR_ARGUMENT, "a job needs at least 1 rank");
  if (per_node > node_cores) {
    return error(ESP_ERR_ARGUMENT, fmt::format("{} ranks per node, but a node of {} has {} cores",
                                               per_node, machine.name, node_cores));
  }
  const std::uint64_t nodes_used = (ranks + per_node - 1) / per_node;
  if (nodes_used > nodes) {
    return error(ESP_ERR_ARGUMENT,
                 fmt::format("{} ranks with {} per node need {} nodes, but {} has {}", ranks,
                             per_node, nodes_used, machine.name, nodes));
  }
  std::vector<std::uint64_t> seats = seats_of(per_node, node_cores);
  if (placement == Placement::kBySocket) {
    const int socket = machine.find_level("socket");
    if (socket < 0) {
      return error(ESP_ERR_ARGUMENT, fmt::format("nodes of {} have no sockets", machine.name));
    }
    deal_round_sockets(seats, machine.cores_per_unit(static_cast<std::size_t>(socket)));
  }
  Map map;
  map.core_.resize(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const bool dealt = placement == Placement::kByNode;
    const std::uint64_t on = dealt ? rank % nodes_used : rank / per_node;
    const std::uint64_t slot = dealt ? rank / nodes_used : rank % per_node;
    map.core_[rank] = static_cast<std::uint32_t>(on * node_cores + seats[slot]);
  }
  if (placement == Placement::kRandom) {
    Prng prng(seed);
    for (std::uint32_t last = ranks - 1; last > 0; --last) {  // Fisher and Yates
      std::swap(map.core_[last], map.core_[prng.below(std::uint64_t{last} + 1)]);
    }
  }
  for (std::size_t level = 0; level < machine.levels.size(); ++level) {
    map.cores_per_unit_.push_back(static_cast<std::uint32_t>(machine.cores_per_unit(level)));
  }
  return map;
}

std::size_t Map::level_between(std::uint32_t a, std::uint32_t b) const noexcept {
  const std::uint32_t core_a = core_[a];
  const std::uint32_t core_b = core_[b];
  std::size_t level = cores_per_unit_.size() - 1;
  while (level > 0 && core_a / cores_per_unit_[level] != core_b / cores_per_unit_[level]) --level;
  return level;
}

}  // namespace espalier::sim
