// What the stages over RDMA links draw: which of them it is, adapters, faults of the network.
#include <algorithm>

#include "tests/swarm/drawing.hpp"

namespace espalier::swarm {
namespace {

// A generator of their own: what other stages draw does not depend on this one.
Prng network_prng(std::uint64_t seed) {
  return Prng(seed ^ 0x6e6574776f726bULL);
}

// Ports with hardly anything, and all that datagrams may suffer.
void draw_datagrams(Prng prng, Scenario& scenario) {
  if (!scenario.has_datagrams()) return;
  (void)prng.next();  // has chosen the stage
  sim::PortOptions& port = scenario.port;
  port.packet_bytes = pick(prng, {128U, 200U, 512U, 2048U});
  if (scenario.has_connections()) port.packet_bytes = std::max(port.packet_bytes, 512U);  // letters
  port.send_packets = static_cast<std::uint32_t>(16 + prng.below(100));
  port.receive_packets = static_cast<std::uint32_t>(16 + prng.below(150));
  port.send_depth = static_cast<std::uint32_t>(4 + prng.below(60));
  port.completion_depth = port.send_depth + port.receive_packets;
  scenario.first_sequence = pick(prng, {0U, 0xfffffff0U, 0x7ffffff8U});
  if (prng.chance(0.3)) scenario.ghosts = static_cast<std::uint32_t>(1 + prng.below(12));
  sim::FaultSpec& faults = scenario.world.faults;
  if (prng.chance(0.2)) return;
  if (prng.chance(0.6)) faults.loss = 0.3 * prng.unit();
  if (prng.chance(0.5)) faults.duplicate = 0.3 * prng.unit();
  if (prng.chance(0.5)) faults.reorder = 0.4 * prng.unit();
  if (prng.chance(0.5)) faults.corrupt = 0.2 * prng.unit();
}

// Adapters with short queues, whose connections break. Buffers that are registered for one
// operation can have places; who copies writes to those of others in parts.
void draw_connections(Prng prng, Scenario& scenario) {
  if (!scenario.has_connections()) return;
  (void)prng.next();  // has chosen the stage
  sim::ConnectionLimits& adapter = scenario.adapter;
  adapter.packet_bytes = pick(prng, {256U, 512U, 4096U});
  adapter.send_depth = static_cast<std::uint32_t>(8 + prng.below(57));
  adapter.receive_depth = static_cast<std::uint32_t>(48 + prng.below(200));
  rdma::ConnectionOptions& link = scenario.connections;
  link.window = static_cast<std::uint32_t>(4 + prng.below(29));
  link.send_packets = static_cast<std::uint32_t>(16 + prng.below(200));
  link.poll_budget = pick(prng, {1U, 4U, 64U});
  link.place_from_bytes = pick(prng, {1U, 200U, 5000U});
  if (prng.chance(0.7)) link.memory.register_from_bytes = link.place_from_bytes;
  scenario.odd_ranks_copy = prng.chance(0.5);
  if (prng.chance(0.5)) link.pull_from_bytes = pick(prng, {1U, 200U, 1000U});
  sim::FaultSpec& faults = scenario.world.faults;
  if (prng.chance(0.2)) return;
  if (prng.chance(0.8)) faults.breaks = static_cast<std::uint32_t>(1 + prng.below(100));
  if (prng.chance(0.3)) faults.rnr = 0.3 * prng.unit();
  if (prng.chance(0.4)) faults.loss = 0.4 * prng.unit();
  if (prng.chance(0.4)) faults.duplicate = 0.5 * prng.unit();
  if (prng.chance(0.4)) faults.reorder = 0.5 * prng.unit();
  if (prng.chance(0.3)) faults.echo = 0.2 * prng.unit();
}

// An adapter that fails, with everything on it. Only a board tells those who have nothing to do
// with its rank.
void draw_failing_adapters(Prng prng, Scenario& scenario) {
  if (!scenario.has_connections() || !scenario.board || scenario.troubled()) return;
  if (prng.chance(0.1)) {
    scenario.world.faults.overruns = static_cast<std::uint32_t>(1 + prng.below(2));
  }
}

// Each pair of ranks has memory for them.
void draw_accesses(Prng prng, Scenario& scenario) {
  if (scenario.stage != StageKind::kConnections || scenario.ranks > 6 || prng.chance(0.3)) return;
  scenario.accesses = static_cast<std::uint32_t>(1 + prng.below(8));
  if (prng.chance(0.3)) scenario.whims = 0.3 * prng.unit();
}

// Some peers have connections, others do not.
void draw_paths(Prng prng, Scenario& scenario) {
  if (scenario.stage != StageKind::kRdma) return;
  scenario.connections_max = static_cast<std::uint32_t>(prng.below(scenario.ranks + 1));
  if (prng.chance(0.5)) {
    scenario.adapter.connections = static_cast<std::uint32_t>(1 + prng.below(scenario.ranks));
  }
  const double apart = prng.chance(0.3) ? prng.unit() : 0.0;
  for (Rank r = 0; r < static_cast<Rank>(scenario.ranks); ++r) {
    for (Rank p = 0; p < r; ++p) {
      if (prng.chance(apart)) scenario.apart.emplace_back(p, r);
    }
  }
}

}  // namespace

void draw_links(Scenario& scenario) {
  const double kind = network_prng(scenario.seed).unit();
  if (kind < 0.12) {
    scenario.stage = StageKind::kDatagrams;
  } else if (kind < 0.24) {
    scenario.stage = StageKind::kConnections;
  } else if (kind < 0.36) {
    scenario.stage = StageKind::kRdma;
  }
}

void draw_network(Scenario& scenario) {
  // Where all are drawn, one must not follow from another.
  const std::uint64_t other = scenario.stage == StageKind::kRdma ? 0x72646d61 : 0;
  draw_datagrams(network_prng(scenario.seed), scenario);
  draw_connections(network_prng(scenario.seed ^ other << 16), scenario);
  draw_paths(network_prng(scenario.seed ^ other << 32), scenario);
  draw_accesses(network_prng(scenario.seed ^ 0x707574), scenario);
  draw_failing_adapters(network_prng(scenario.seed ^ 0x6f766572), scenario);
}

}  // namespace espalier::swarm
