// What is drawn from a seed.
#include "tests/multicast/placed_job.hpp"

namespace espalier::multicast::played {
namespace {

void draw_lane(Prng& prng, LaneOptions& lane) {
  lane.members = 2 + static_cast<std::uint32_t>(prng.below(prng.chance(0.2) ? 20 : 6));
  lane.packet_bytes = 1 + static_cast<std::uint32_t>(prng.below(96));
  lane.depth = 4 + static_cast<std::uint32_t>(prng.below(prng.chance(0.5) ? 40 : 300));
  lane.queue = 1 + static_cast<std::uint32_t>(prng.below(32));
  lane.latency_ns = 500 + prng.below(5'000);
  lane.stream_ns = 500 + prng.below(prng.chance(0.3) ? 100'000 : 5'000);
  lane.mail_ns = 500 + prng.below(prng.chance(0.2) ? 100'000 : 15'000);
  lane.window = 1 + static_cast<std::uint32_t>(prng.below(40));
  LaneFaults& faults = lane.faults;
  if (prng.chance(0.15)) return;
  const auto some = [&](double chance, double most) {
    return prng.chance(chance) ? prng.unit() * prng.unit() * most : 0.0;
  };
  faults.loss = some(0.6, 0.2);
  faults.repeat = some(0.4, 0.2);
  faults.late = some(0.5, 0.2);
  faults.loss_of_many = some(0.4, 0.2);
  faults.foreign = some(0.3, 0.1);
  faults.breaks = some(0.2, 0.02);
  faults.refuses = some(0.4, 0.5);
  faults.late_ns = 1'000 + prng.below(100'000);
}

}  // namespace

PlacedScenario draw_placed(std::uint64_t seed) {
  Prng prng(seed);
  PlacedScenario drawn;
  draw_lane(prng, drawn.network);
  const bool quiet = prng.chance(0.3);
  PlacedOptions& placed = drawn.placed;
  placed.lane = {seed, 3, 0, std::byte{0xB1}};
  placed.packet_bytes = drawn.network.packet_bytes;
  placed.packets_max = drawn.network.depth;
  placed.degree = 1 + static_cast<std::uint32_t>(prng.below(5));
  placed.spare_packets = static_cast<std::uint32_t>(prng.below(prng.chance(0.5) ? 6 : 200));
  placed.reorder_ns = prng.below(2) * prng.below(100'000);
  if (prng.chance(0.3)) placed.first.value = static_cast<std::uint32_t>(0 - prng.below(6));
  // Without faults the lane is given the time it takes.
  if (drawn.network.faults.loss + drawn.network.faults.late == 0) placed.reorder_ns = 1'000'000;
  const std::uint64_t most = std::uint64_t{placed.packets_max} * placed.packet_bytes;
  const std::uint64_t number = 1 + prng.below(8);
  for (std::uint64_t i = 0; i < number; ++i) {
    const std::uint64_t full = (1 + prng.below(placed.packets_max)) * placed.packet_bytes;
    drawn.segments.push_back(prng.chance(0.4) ? full : 1 + prng.below(most));
  }
  drawn.away = prng.chance(0.4) ? prng.unit() : 0;
  drawn.patch_ns = prng.below(prng.chance(0.5) ? 2'000 : 50'000);
  if (quiet) return drawn;
  drawn.deaths = prng.chance(0.3) ? 1 + static_cast<std::uint32_t>(prng.below(3)) : 0;
  drawn.source_dies = prng.chance(0.2);
  drawn.adapter_fails = prng.chance(0.15);
  drawn.unregistered = prng.chance(0.3) ? 0.3 : 0;
  drawn.hesitates = prng.chance(0.3) ? 0.5 : 0;
  drawn.redirects = prng.chance(0.3) ? 0.3 : 0;
  drawn.span_ns = 1'000 + prng.below(prng.chance(0.5) ? 50'000 : 500'000);
  return drawn;
}

}  // namespace espalier::multicast::played
