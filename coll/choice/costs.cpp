#include "coll/choice/costs.hpp"

namespace espalier {

Costs Costs::typical(NetworkClass network, CoreClass cores, std::uint32_t port_mbits) {
  Costs costs;
  costs.inside = {.latency = 150, .message = 60, .copy_per_byte = 0.1};
  costs.pull_bytes = 32768;
  costs.pull_message = 500;
  costs.combine_per_byte = 0.1;
  costs.index = 60;
  if (network == NetworkClass::kTcp) {
    costs.between = {.latency = 10'000,
                     .message = 3'000,
                     .copy_per_byte = 0.15,
                     .port_message = 200,
                     .port_per_byte = 0.32};
    costs.group = {.packet = 2'000, .copy_per_byte = 0.15};
  } else {
    costs.between = {.latency = 1'500,
                     .message = 200,
                     .copy_per_byte = 0,
                     .port_message = 20,
                     .port_per_byte = 0.08};
    costs.group = {.packet = 300, .copy_per_byte = 0.1};
  }
  if (port_mbits > 0) costs.between.port_per_byte = 8000.0 / port_mbits;
  if (cores == CoreClass::kShared) {
    costs.cores = 2;
    costs.turn = 4'700;
  }
  return costs;
}

}  // namespace espalier
