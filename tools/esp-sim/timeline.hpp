// A timeline of a run in the Chrome trace format (chrome://tracing, ui.perfetto.dev).
//
// A process per rank with the threads "processor" (work, detours included), "noise" (detours),
// "sent" (from the post to the start, then to the arrival) and "received" (from the arrival until
// it was handled). Transfers that did not end (crashes) are left out. Values. path: setup
#pragma once

#include <iosfwd>
#include <vector>

#include "net/sim/machine.hpp"
#include "net/sim/noise.hpp"
#include "net/sim/world.hpp"

namespace esp_sim {

struct Timeline {
  const espalier::sim::Machine& machine;
  const espalier::sim::NoiseSpec& noise;
  std::uint32_t noise_every;
  std::uint64_t seed;
  std::uint32_t ranks;
  std::uint64_t end_ns;
  const std::vector<espalier::sim::TransferRecord>& transfers;
  const std::vector<espalier::sim::WorkRecord>& work;
};

void write_timeline(const Timeline& timeline, std::ostream& out);

}  // namespace esp_sim
