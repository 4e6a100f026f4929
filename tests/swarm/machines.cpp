// Machines of the swarm: all carriers, with and without lanes, prices over two decades.
#include "tests/swarm/drawing.hpp"

namespace espalier::swarm {
namespace {

sim::Level draw_level(Prng& prng, const char* name, std::uint64_t arity, sim::Carrier carrier) {
  sim::Level level;
  level.name = name;
  level.arity = static_cast<std::uint32_t>(arity);
  level.carrier = carrier;
  // Small: most segments of the swarm are.
  if (carrier == sim::Carrier::kPull && prng.chance(0.5)) level.pull_from_bytes = prng.below(128);
  level.latency_ns = static_cast<double>(50 + prng.below(3000));
  level.overhead_send_ns = static_cast<double>(prng.below(300));
  level.overhead_recv_ns = static_cast<double>(prng.below(300));
  level.gap_ns = static_cast<double>(prng.below(200));
  level.ns_per_byte = static_cast<double>(prng.below(8)) * 0.25;
  return level;
}

sim::Carrier draw_carrier(Prng& prng) {
  constexpr sim::Carrier kCarriers[] = {sim::Carrier::kDevice, sim::Carrier::kCopy,
                                        sim::Carrier::kPull};
  return kCarriers[prng.below(3)];
}

}  // namespace

sim::Machine draw_machine(Prng& prng, std::uint32_t ranks, bool& has_pulls) {
  sim::Machine machine;
  machine.name = "drawn";
  const std::uint64_t nodes = prng.chance(0.4) ? 1 : 1 + prng.below(ranks);
  const std::uint64_t sockets = 1 + prng.below(3);
  const std::uint64_t cores = (ranks + nodes * sockets - 1) / (nodes * sockets);
  machine.levels.push_back(draw_level(prng, "cluster", 1, draw_carrier(prng)));
  machine.levels.push_back(draw_level(prng, "node", nodes, draw_carrier(prng)));
  machine.levels.push_back(draw_level(prng, "socket", sockets, draw_carrier(prng)));
  machine.levels.push_back(draw_level(prng, "core", cores, sim::Carrier::kCopy));
  if (prng.chance(0.5)) {
    sim::Lane lane;
    lane.name = "lane";
    lane.per = prng.chance(0.5) ? "node" : "cluster";
    lane.ns_per_byte = static_cast<double>(prng.below(4)) * 0.125;
    lane.gap_ns = static_cast<double>(prng.below(100));
    lane.duplex = prng.chance(0.5);
    machine.lanes.push_back(lane);
    for (sim::Level& level : machine.levels) level.lane = prng.chance(0.5) ? 1 : 0;
  }
  machine.cma = {static_cast<double>(prng.below(500)), static_cast<double>(prng.below(100)),
                 static_cast<double>(prng.below(50))};
  machine.reduce_ns_per_byte = static_cast<double>(prng.below(4)) * 0.25;
  has_pulls = false;
  for (const sim::Level& level : machine.levels) {
    has_pulls = has_pulls || level.carrier == sim::Carrier::kPull;
  }
  return machine;
}

}  // namespace espalier::swarm
