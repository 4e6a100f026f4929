// What is drawn from a seed.
#include "tests/multicast/job.hpp"

namespace espalier::multicast::played {
namespace {

void draw_network(Prng& prng, NetworkOptions& network) {
  network.members = 2 + static_cast<std::uint32_t>(prng.below(prng.chance(0.2) ? 30 : 9));
  network.packet_bytes = kHeaderBytes + 1 + static_cast<std::uint32_t>(prng.below(120));
  network.latency_ns = 500 + prng.below(10'000);
  network.mail_ns = 500 + prng.below(prng.chance(0.2) ? 100'000 : 15'000);
  network.queue = 1 + static_cast<std::uint32_t>(prng.below(32));
  network.send_packets = 4 + static_cast<std::uint32_t>(prng.below(200));
  network.mail_boxes = 1 + static_cast<std::uint32_t>(prng.below(32));
  Faults& faults = network.faults;
  const auto some = [&](double chance, double most) {
    return prng.chance(chance) ? prng.unit() * prng.unit() * most : 0.0;
  };
  faults.loss = some(0.7, 0.2);
  faults.repeat = some(0.4, 0.2);
  faults.damage = some(0.4, 0.2);
  faults.late = some(0.5, 0.2);
  faults.loss_of_many = some(0.5, 0.2);
  faults.mail_refuses = some(0.3, 0.2);
  faults.late_ns = 1'000 + prng.below(100'000);
}

void draw_group(Prng& prng, const NetworkOptions& network, GroupOptions& group) {
  group.epoch = 1;
  group.group = 7;
  group.ranks = network.members;
  group.degree = 1 + static_cast<std::uint32_t>(prng.below(5));
  group.repeat_for = 1 + static_cast<std::uint32_t>(prng.below(4));
  group.ack_delay_ns = 1'000 + prng.below(40'000);
  group.gather_ns = prng.below(10'000);
  group.ask.reorder_ns = prng.below(40'000);
  group.ask.again_ns = 200'000 + prng.below(2'000'000);
  group.probe.probe_ns = 50'000 + prng.below(500'000);
  group.loss.period = 32;
  if (prng.chance(0.3)) group.first.value = static_cast<std::uint32_t>(0 - prng.below(100));
}

}  // namespace

GroupScenario draw_scenario(std::uint64_t seed) {
  Prng prng(seed);
  GroupScenario drawn;
  draw_network(prng, drawn.network);
  draw_group(prng, drawn.network, drawn.group);
  const std::uint32_t members = drawn.network.members;
  drawn.packets.resize(members);
  const auto sources = static_cast<std::uint32_t>(1 + prng.below(std::min(members, 5U)));
  const std::uint64_t most = prng.chance(0.2) ? 500 : 60;
  for (std::uint32_t i = 0; i < sources; ++i) {
    drawn.packets[prng.below(members)] = 1 + static_cast<std::uint32_t>(prng.below(most));
  }
  drawn.group.sources = sources;
  const std::uint64_t share = 6 + prng.below(prng.chance(0.3) ? 400 : 60);
  drawn.network.receive_depth = sources * static_cast<std::uint32_t>(share);
  drawn.deaths = prng.chance(0.4) ? 1 + static_cast<std::uint32_t>(prng.below(3)) : 0;
  drawn.pauses = prng.chance(0.5);
  drawn.lulls = prng.chance(0.3);
  drawn.slow = prng.chance(0.2);
  drawn.stops = prng.chance(0.2);
  drawn.darkens = prng.chance(0.2);
  drawn.span_ns = 10'000 + prng.below(prng.chance(0.5) ? 200'000 : 3'000'000);
  return drawn;
}

}  // namespace espalier::multicast::played
