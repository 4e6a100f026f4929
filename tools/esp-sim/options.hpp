// The command line of esp-sim as one value: scenarios (all combinations of the values given),
// seeds, and what to write.
//
// path: setup
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coll/choice/choose.hpp"
#include "coll/plan/plan.hpp"
#include "core/config.hpp"
#include "core/status.hpp"
#include "core/wire.hpp"
#include "net/sim/faults.hpp"
#include "net/sim/machine.hpp"
#include "net/sim/noise.hpp"
#include "tools/esp-sim/application.hpp"
#include "tools/esp-sim/operation.hpp"

namespace esp_sim {

// How long ranks compute beside the operation.
struct Computation {
  bool is_relative = true;
  double times = 1;      // as long as the operation alone
  std::uint64_t ns = 0;  // else
};

// What is simulated, but for the seed.
struct Scenario {
  std::string machine = "cori";
  std::uint32_t ranks = 64;
  std::uint32_t ranks_per_node = 0;
  espalier::sim::Placement placement = espalier::sim::Placement::kByCore;
  espalier::Collective operation = espalier::Collective::kBcast;
  std::uint64_t bytes = 1 << 20;
  std::int32_t root = 0;
  std::uint32_t calls = 1;  // back to back
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  espalier::sim::NoiseSpec noise;
  std::uint32_t noise_every = 1;  // on every k-th rank
  // Plans follow the machine: the shape of trees inside a node. AUTO: the library chooses.
  std::optional<esp_shape> levels;
  // Through the network's group; with kAuto or kOn plans follow the machine.
  espalier::Multicast multicast = espalier::Multicast::kOff;
  espalier::MulticastLeaders multicast_leaders = espalier::MulticastLeaders::kNode;
  // Where buffers lie, and who combines there.
  espalier::sim::Staging staging = espalier::sim::Staging::kNone;
  espalier::sim::Reducer reducer = espalier::sim::Reducer::kHost;
  espalier::sim::FaultSpec faults;
  std::uint32_t eager = espalier::kEagerSegments;  // segments per flow that need no permission
  espalier::sim::Application application;          // but how long it computes
  Computation work;
  std::string consume;  // the consumer's rate, as it was given
};

// A quality of a scenario: its name as a column, its text, its number where it has one.
struct Quality {
  const char* name;
  const char* label;  // with its unit, for people
  std::string (*text)(const Scenario&);
  double (*number)(const Scenario&);  // nullptr: none
  bool is_size = false;               // bytes: powers of two
  bool is_named = false;              // its text alone says nothing
};
// All of them, in the order in which people think of them.
const std::vector<Quality>& qualities();
// Those that differ between scenarios.
std::vector<const Quality*> varying(const std::vector<Scenario>& scenarios);

struct Outputs {
  std::string csv, json, svg;  // "-": standard output
  std::string trace, goal;     // of one scenario and seed
  bool explain = false;
  bool quiet = false;  // no table
};

struct Options {
  std::vector<Scenario> scenarios;
  std::vector<std::uint64_t> seeds;
  Outputs outputs;
  bool list_machines = false;
};

// Parses, or prints help or an explanation and ends the process (0 or 2).
Options parse_options(int argc, const char* const* argv);

// "1,5,10-20". ESP_ERR_ARGUMENT with what is wrong.
espalier::Result<std::vector<std::uint64_t>> parse_seeds(std::string_view text);

}  // namespace esp_sim
