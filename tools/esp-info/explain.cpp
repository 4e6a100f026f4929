// esp-info --explain: what would be chosen, without a job.
#include "coll/choice/explain.hpp"

#include <fmt/format.h>

#include <optional>

#include "bootstrap/find_profile.hpp"
#include "bootstrap/level_shapes.hpp"
#include "bootstrap/make_tuning.hpp"
#include "coll/team/board.hpp"
#include "core/config_value.hpp"
#include "core/host.hpp"
#include "tools/esp-info/commands.hpp"

namespace esp_info {
namespace {

using espalier::Collective;

// Payload of a packet to a group: of 4096 and of 1500 bytes, without headers.
constexpr std::uint32_t kRdmaPacket = 4056, kUdpPacket = 1432;

std::optional<Collective> collective_named(const std::string& name) {
  for (std::size_t k = 0; k < espalier::kCollectives; ++k) {
    const auto collective = static_cast<Collective>(k);
    if (name == espalier::collective_name(collective)) return collective;
  }
  return {};
}

std::string all_collectives() {
  std::string text;
  for (std::size_t k = 0; k < espalier::kCollectives; ++k) {
    text += fmt::format("{}{}", k == 0 ? "" : ", ",
                        espalier::collective_name(static_cast<Collective>(k)));
  }
  return text;
}

// Neighbouring ranks share a node; the first nodes have one more where they do not divide.
espalier::TeamNodes balanced(int ranks, int nodes) {
  std::vector<std::int32_t> node_of;
  for (int node = 0; node < nodes; ++node) {
    const int members = ranks / nodes + (node < ranks % nodes ? 1 : 0);
    node_of.insert(node_of.end(), static_cast<std::size_t>(members), node);
  }
  return espalier::TeamNodes::of(node_of);
}

}  // namespace

int explain(const ExplainRequest& asked) {
  auto config = load_config();
  if (!config) return fail(config.error().text);
  const auto collective = collective_named(asked.operation);
  if (!collective) {
    return fail(
        fmt::format("there is no collective \"{}\": {}", asked.operation, all_collectives()));
  }
  const auto bytes = espalier::parse_size(asked.bytes);
  if (!bytes) return fail(fmt::format("\"{}\" is no number of bytes, as 16K or 4MiB", asked.bytes));
  if (asked.nodes > asked.ranks) {
    return fail(fmt::format("{} ranks cannot be on {} nodes", asked.ranks, asked.nodes));
  }
  auto shapes = espalier::parse_level_shapes(config->level_shapes);
  if (!shapes) return fail(shapes.error().text);
  auto profile = espalier::find_profile(config.value());
  if (!profile) return fail(profile.error().text);
  for (const std::string& warning : config->warnings) fmt::print(stderr, "esp-info: {}\n", warning);

  const std::vector<int> cpus = espalier::affinity_cpus();
  espalier::Surroundings around;
  around.usable_cpus = asked.cores > 0
                           ? asked.cores
                           : espalier::usable_cpus(cpus.size(), espalier::cgroup_cpu_quota());
  const int per_node = (asked.ranks + asked.nodes - 1) / asked.nodes;
  around.crowded = per_node > around.usable_cpus;
  around.several_nodes = asked.nodes > 1;
  around.some_crowded = around.crowded;
  around.all_have_rdma = asked.network == "rdma";
  if (asked.groups) around.multicast_packet_bytes = around.all_have_rdma ? kRdmaPacket : kUdpPacket;
  espalier::Tuning tuning = espalier::make_tuning(config.value(), *shapes, around);
  tuning.profile = *profile;

  espalier::PlanRequest base;
  base.collective = *collective;
  base.size = asked.ranks;
  base.element_bytes = 1;
  base.elements = *bytes;
  const espalier::TeamNodes nodes = balanced(asked.ranks, asked.nodes);
  if (asked.nodes > 1) base.nodes.nodes = &nodes;
  if (*collective == Collective::kBarrier) base.elements = 0;
  if (espalier::traits_of(*collective).neighbors) {
    return fail("the choice for neighbours does not depend on a size: docs/algorithms.md");
  }
  const std::uint64_t end = short_end(base, config->short_bytes, tuning);
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  options.shape = config->shape;
  options.radix = config->radix;
  options.variant = config->variant;
  const bool plain = config->algorithm == ESP_ALGORITHM_AUTO && config->shape == ESP_SHAPE_AUTO &&
                     config->radix == 0 && config->variant == ESP_VARIANT_EVENT;
  fmt::print("{}\n", explain(options, base, tuning, plain && base.elements < end));
  return 0;
}

}  // namespace esp_info
