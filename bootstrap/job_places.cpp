#include "bootstrap/job_places.hpp"

#include "core/topology.hpp"

namespace espalier {
namespace {

// Each node is a machine as described.
std::vector<InnerPlace> emulated_places(const Machine& machine, const JobNodes& nodes) {
  std::vector<InnerPlace> places;
  std::vector<int> ranks_on(static_cast<std::size_t>(nodes.count()), 0);
  for (const std::int32_t node : nodes.node_of) {
    const Locality place = locality_of_rank(machine, ranks_on[static_cast<std::size_t>(node)]++);
    places.push_back({place.package, place.numa, place.llc});
  }
  return places;
}

}  // namespace

Result<std::vector<InnerPlace>> inner_places(const Config& config, const std::vector<Card>& cards,
                                             const JobNodes& nodes) {
  std::vector<InnerPlace> places;
  if (config.levels == LevelRule::kOff) return places;
  if (!config.topology.empty()) {
    auto machine = load_machine(config.topology);
    if (!machine) {
      return error(ESP_ERR_CONFIG, "ESPALIER_TOPOLOGY: " + machine.error().text);
    }
    if (machine->emulated) return emulated_places(*machine, nodes);
  }
  for (const Card& card : cards) places.push_back({card.place[0], card.place[1], card.place[2]});
  return places;
}

}  // namespace espalier
