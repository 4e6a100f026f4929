// One run: a scenario with a seed, simulated.
//
// path: setup
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coll/team/team.hpp"
#include "core/status.hpp"
#include "net/sim/world.hpp"
#include "tools/esp-sim/operation.hpp"
#include "tools/esp-sim/options.hpp"
#include "tools/esp-sim/progress.hpp"

namespace esp_sim {

struct Run {
  std::uint64_t seed = 0;
  std::uint64_t makespan_ns = 0;  // until the last rank was done with all calls, per call
  // With an application alone: of the operation without it, and of the rank that worked most.
  std::uint64_t operation_ns = 0;
  std::uint64_t work_ns = 0;
  std::uint64_t events = 0;
  std::uint64_t unseed = 0;
  std::uint32_t failed_ranks = 0;  // faults may make operations fail
  std::string first_failure;
  double wall_seconds = 0;  // of the simulation; not a function of the seed
};

// Machines by name, read once.
class Machines {
 public:
  espalier::Result<const espalier::sim::Machine*> get(const std::string& name);

 private:
  std::map<std::string, espalier::sim::Machine> loaded_;
};

// What happened, for --explain and --trace.
struct Records {
  std::vector<espalier::sim::TransferRecord> transfers;
  std::vector<espalier::sim::WorkRecord> work;
};

// `records`: filled with what happened, nullptr for nothing.
espalier::Result<Run> simulate(const espalier::sim::Machine& machine, const Scenario& scenario,
                               std::uint64_t seed, Progress& progress, Records* records);

// (t_comm + t_work - T) / max(t_comm, t_work): 1 where the shorter is hidden behind the longer, 0
// where one comes after the other, less where they hinder each other. Nothing where both are 0.
std::optional<double> overlap_ratio(const Run& run) noexcept;

espalier::sim::Operation operation_of(const Scenario& scenario);
// Where ranks lie, for plans that follow it.
using Around = std::shared_ptr<const espalier::Membership>;
// The plan of rank 0, completely chosen, from which those of all ranks follow. `around`:
// filled; what is returned points there.
espalier::Result<espalier::PlanRequest> request_of(const espalier::sim::Machine& machine,
                                                   const Scenario& scenario, Around& around);

}  // namespace esp_sim
