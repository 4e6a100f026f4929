#include "bootstrap/make_tuning.hpp"

#include <algorithm>

namespace espalier {
namespace {

Multicast multicast_of(MulticastMode mode) noexcept {
  switch (mode) {
    case MulticastMode::kOn:
      return Multicast::kOn;
    case MulticastMode::kOff:
      return Multicast::kOff;
    default:
      return Multicast::kAuto;
  }
}

}  // namespace

Tuning make_tuning(const Config& config, const LevelShapes& level_shapes,
                   const Surroundings& surroundings) {
  Tuning tuning;
  // Spreading a reduction over all ranks pays at once when they run at once; when they take turns,
  // each of its two exchanges costs a round of the scheduler. Measured with esp-bench, 2 cores: at
  // 2 ranks spread is ahead from 4 KiB on, at 4 and 8 ranks gathering is up to about 128 KiB.
  tuning.preferred_algorithm = config.algorithm;
  tuning.allreduce_gather_bytes = surroundings.crowded ? 131072 : 4095;
  // Measured on the same machine at 4 and 16 ranks: broadcasts, reductions and spread allreduces of
  // 32 KiB to 4 MiB take 5-20 % less than with 8 KiB.
  if (surroundings.crowded) {
    tuning.segment_bytes_min = 32768;
    tuning.gather_ranks = std::max(tuning.gather_ranks, 8 * surroundings.usable_cpus);
  }
  if (!surroundings.all_have_rdma) {
    tuning.exchange_radix = 2;
    tuning.network_hop_bytes_min = tuning.network_bytes_max;
  }
  tuning.segments_are_set = config.segment_bytes > 0;
  tuning.windows_are_set = config.window_send > 0 || config.window_recv > 0;
  if (const std::uint64_t bytes = config.segment_bytes; bytes > 0) {
    tuning.segment_bytes_min = tuning.segment_bytes_max = bytes;
    tuning.spread_bytes_min = bytes;
    tuning.network_bytes_min = tuning.network_hop_bytes_min = tuning.network_bytes_max = bytes;
  }
  tuning.past_cache_bytes = config.past_cache_bytes;
  tuning.device_share_bytes = config.device_share_bytes;
  tuning.device_direct_bytes = config.device_direct_bytes;
  tuning.transfer.path = config.transfer;
  tuning.transfer.readers_at_once = static_cast<std::uint16_t>(config.readers);
  tuning.inner_levels = config.levels >= LevelRule::kBoard
                            ? FollowLevels::kOn
                            : static_cast<FollowLevels>(config.levels);
  tuning.level_shapes = level_shapes;
  tuning.multicast = multicast_of(config.multicast);
  tuning.multicast_packet_bytes = surroundings.multicast_packet_bytes;
  if (config.window_send > 0) tuning.window_send = config.window_send;
  if (config.window_recv > 0) tuning.window_recv = config.window_recv;
  tuning.cores = surroundings.crowded ? CoreClass::kShared : CoreClass::kOwn;
  if (surroundings.several_nodes) {
    tuning.network = surroundings.all_have_rdma ? NetworkClass::kRdma : NetworkClass::kTcp;
    // Costs have a core for each rank; where ranks take turns the rules are those that were
    // measured so.
    if (!surroundings.some_crowded) {
      tuning.costs = Costs::typical(tuning.network, CoreClass::kOwn, surroundings.port_mbits);
    }
  }
  return tuning;
}

}  // namespace espalier
