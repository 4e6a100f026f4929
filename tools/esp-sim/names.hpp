// The names of enumerations on the command line and in the tables of esp-sim.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/choice/choose.hpp"
#include "coll/plan/plan.hpp"
#include "net/sim/machine.hpp"
#include "tools/esp-sim/application.hpp"
#include "tools/esp-sim/operation.hpp"

namespace esp_sim {

// Positions are values.
const std::vector<std::string>& algorithm_names();
const std::vector<std::string>& shape_names();
const std::vector<std::string>& variant_names();
const std::vector<std::string>& placement_names();
const std::vector<std::string>& operation_names();
const std::vector<std::string>& overlap_names();
const std::vector<std::string>& consumer_names();
const std::vector<std::string>& multicast_names();
const std::vector<std::string>& staging_names();
const std::vector<std::string>& reducer_names();

std::string name_of(esp_algorithm value);
std::string name_of(esp_shape value);
std::string name_of(esp_variant value);
std::string name_of(espalier::sim::Placement value);
std::string name_of(espalier::sim::Overlap value);
std::string name_of(espalier::sim::Consuming value);
std::string name_of(espalier::Multicast value);
std::string name_of(espalier::sim::Staging value);
std::string name_of(espalier::sim::Reducer value);

inline std::uint64_t as_unsigned(int value) {
  return static_cast<std::uint64_t>(value);
}

}  // namespace esp_sim
