// GroupWorld with lanes for large segments, on simulated ports.
#pragma once

#include "tests/wire/group_world.hpp"

namespace espalier::test {

inline constexpr std::uint32_t kLanePacket = 1024 - 40 - 28 - 24;  // payload of a lane's packet

inline RdmaWorldOptions with_lanes(const std::string& faults = {}) {
  RdmaWorldOptions options = with_groups(faults);
  options.lanes.emplace();
  options.lanes->group.packet_bytes = 1024;
  options.lanes->group.receive_packets = 1024;
  options.lanes->group.join_ns = 20'000;
  options.lanes->places = 512;
  return options;
}

struct LaneWorld : GroupWorld {
  explicit LaneWorld(int ranks, const RdmaWorldOptions& options = with_lanes())
      : GroupWorld(ranks, options) {
    open();
  }
  // The first large frame of a source makes all open its lane.
  void open_lane(Rank source) {
    ToAll(*this, source, FlowId(kTeam, 77, static_cast<std::uint64_t>(source)), 20'000).carry();
    pass(100'000);
    settle(*this);
  }
  std::uint64_t placed() { return sum(&Counters::group_placed); }
  std::uint64_t copied() { return sum(&Counters::copy_in_bytes) + sum(&Counters::copy_out_bytes); }
};

}  // namespace espalier::test
