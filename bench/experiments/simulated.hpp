// What all experiments on the simulator share: one operation on one machine, its virtual time.
//
// A run that fails or cannot be made ends the program with the reason: an experiment has no use for
// half of its numbers. path: setup
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config.hpp"
#include "net/sim/machine.hpp"
#include "tools/esp-sim/cluster.hpp"

namespace espalier::experiments {

struct Job {
  const sim::Machine* machine = nullptr;
  std::uint32_t ranks = 2;
  std::uint32_t ranks_per_node = 0;
  sim::Placement placement = sim::Placement::kByCore;
  sim::WorldOptions world;
  // Not AUTO: trees follow the machine, with this shape inside the nodes.
  esp_shape levels = ESP_SHAPE_AUTO;
  // Through the network's group: always, or as the library chooses. Plans follow the machine.
  Multicast multicast = Multicast::kOff;
  MulticastLeaders leaders = MulticastLeaders::kNode;  // who of a node is in it
  // What the call leaves open is chosen as across nodes, by rules and by what the machine costs.
  bool chooses = false;
  // Buffers on devices; who reduces them, in pieces.
  sim::Staging staging = sim::Staging::kNone;
  sim::Reducer reducer = sim::Reducer::kHost;
  // What the processors were charged, if anybody wants to know.
  std::vector<sim::WorkRecord>* work = nullptr;
};

// Ends the program with the text of the error.
sim::Machine machine_or_exit(const std::string& name);
sim::RunResult run_or_exit(const Job& job, const sim::Operation& operation);

// A tree operation of the event variant, cut into `segments` segments.
sim::Operation tree_operation(Collective collective, esp_shape shape, std::uint64_t bytes,
                              std::uint64_t segments);

// "1.50 us", with three digits.
std::string human_time(double ns);
std::string human_bytes(std::uint64_t bytes);

// Empty: it cannot be read.
std::string read_file(const std::string& path);
// False: it cannot be written, which is printed.
bool write_file(const std::string& path, const std::string& text);

}  // namespace espalier::experiments
