#include "tools/esp-sim/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "coll/choice/choose.hpp"
#include "tools/esp-sim/buffers.hpp"
#include "tools/esp-sim/cluster.hpp"
#include "tools/esp-sim/localities.hpp"

namespace esp_sim {
namespace {

using espalier::Outcome;
using espalier::Result;
using espalier::sim::Buffers;
using espalier::sim::Cluster;
using espalier::sim::ClusterOptions;
using espalier::sim::Machine;
using espalier::sim::Map;
using espalier::sim::Operation;
using espalier::sim::RunResult;

// Up to so many bytes in all buffers together they are real, and every result is checked.
constexpr std::uint64_t kCheckedBytes = std::uint64_t{64} << 20;

ClusterOptions cluster_options(const Machine& machine, const Map& map, const Scenario& scenario,
                               std::uint64_t seed) {
  ClusterOptions options;
  if (scenario.levels) {
    options.around = espalier::sim::surroundings_of(machine, map, scenario.multicast_leaders);
    const bool is_shaped = *scenario.levels != ESP_SHAPE_AUTO;
    if (is_shaped) espalier::sim::follow_localities(options.tuning, *scenario.levels);
    options.tuning.costs =
        espalier::sim::costs_of(machine, espalier::sim::followed(*options.around));
  }
  options.tuning.multicast = scenario.multicast;
  if (scenario.multicast != espalier::Multicast::kOff) {
    options.tuning.multicast_packet_bytes =
        static_cast<std::uint32_t>(machine.multicast.packet_bytes);
  }
  options.staging = scenario.staging;
  options.reducer = scenario.reducer;
  options.world.noise_every = scenario.noise_every;
  options.world.seed = seed;
  options.world.noise = scenario.noise;
  options.world.faults = scenario.faults;
  options.world.eager_segments = scenario.eager;
  const std::uint64_t bytes = Buffers::bytes_per_rank(operation_of(scenario), scenario.ranks);
  options.world.carry_data = bytes <= kCheckedBytes / scenario.ranks;
  return options;
}

// What must not happen on the machine as it is, and is the expected end of a run with faults.
Result<Run> judge(const Scenario& scenario, const RunResult& result, Run run) {
  run.failed_ranks = result.unfinished;
  run.first_failure = result.failure;
  if (result.wrong > 0) {
    return espalier::error(ESP_ERR_INTERNAL,
                           fmt::format("seed {}: {} ranks have a wrong result: please report",
                                       run.seed, result.wrong));
  }
  if (!result.ok() && !scenario.faults.any()) {
    return espalier::error(
        ESP_ERR_INTERNAL,
        fmt::format("seed {}: {} ranks did not complete, without faults: please report ({})",
                    run.seed, result.unfinished, result.failure));
  }
  return run;
}

// How long it takes when the library has a core to itself; with the same deliveries.
Result<std::uint64_t> operation_alone(const Machine& machine, const Map& map,
                                      ClusterOptions options, const Scenario& scenario) {
  options.application.overlap = espalier::sim::Overlap::kOff;
  Cluster cluster(machine, map, options);
  const auto result = cluster.run(operation_of(scenario));
  if (!result) return result.error();
  return result.value().operation_ns;
}

Outcome check_groups(const Machine& machine, const Scenario& scenario) {
  if (scenario.multicast != espalier::Multicast::kOn || machine.multicast.any()) {
    return espalier::Unit{};
  }
  return espalier::error(
      ESP_ERR_ARGUMENT,
      fmt::format("--multicast on: the network of {} has no groups; its file has no [multicast]",
                  machine.name));
}

}  // namespace

Result<const Machine*> Machines::get(const std::string& name) {
  const auto known = loaded_.find(name);
  if (known != loaded_.end()) return &known->second;
  auto machine = espalier::sim::load_machine(name);
  if (!machine) return machine.error();
  return &loaded_.emplace(name, std::move(machine.value())).first->second;
}

Operation operation_of(const Scenario& scenario) {
  return {.collective = scenario.operation,
          .bytes = scenario.bytes,
          .root = scenario.root,
          .options = scenario.options,
          .calls = scenario.calls};
}

Result<espalier::PlanRequest> request_of(const Machine& machine, const Scenario& scenario,
                                         Around& around) {
  const auto map =
      Map::create(machine, scenario.ranks, scenario.ranks_per_node, scenario.placement, 1);
  if (!map) return map.error();
  const Operation operation = operation_of(scenario);
  espalier::PlanRequest base;
  base.collective = operation.collective;
  base.size = static_cast<std::int32_t>(scenario.ranks);
  base.root = operation.root;
  base.element_bytes = operation.element_bytes();
  base.elements = espalier::sim::call_count(operation, scenario.ranks);
  ClusterOptions options = cluster_options(machine, map.value(), scenario, 1);
  around = options.around;
  const bool follows = around != nullptr && !espalier::sim::followed(*around).empty();
  if (follows) base.nodes.nodes = &espalier::sim::followed(*around);
  return espalier::resolve(scenario.options, base, options.tuning);
}

std::optional<double> overlap_ratio(const Run& run) noexcept {
  const auto comm = static_cast<double>(run.operation_ns), work = static_cast<double>(run.work_ns);
  const double longer = std::max(comm, work);
  if (longer == 0) return std::nullopt;
  return (comm + work - static_cast<double>(run.makespan_ns)) / longer;
}

Result<Run> simulate(const Machine& machine, const Scenario& scenario, std::uint64_t seed,
                     Progress& progress, Records* records) {
  const auto map =
      Map::create(machine, scenario.ranks, scenario.ranks_per_node, scenario.placement, seed);
  if (!map) return map.error();
  if (Outcome outcome = check_groups(machine, scenario); !outcome) return outcome.error();
  const auto begin = std::chrono::steady_clock::now();
  auto options = cluster_options(machine, map.value(), scenario, seed);
  options.application = scenario.application;
  const bool overlaps = scenario.application.overlap != espalier::sim::Overlap::kOff;
  std::uint64_t alone_ns = 0;
  if (overlaps) {
    const auto alone = operation_alone(machine, map.value(), options, scenario);
    if (!alone) return alone.error();
    alone_ns = alone.value();
    const Computation& work = scenario.work;
    const double relative = static_cast<double>(alone_ns) * work.times;
    options.application.work_ns =
        work.is_relative ? static_cast<std::uint64_t>(std::llround(relative)) : work.ns;
  }
  Cluster cluster(machine, map.value(), options);
  cluster.set_watch([&progress](double share, std::uint64_t events) {
    progress.show_part(share, fmt::format(", {} M events", events / 1'000'000));
  });
  if (records != nullptr) {
    cluster.world().record(&records->transfers);
    cluster.world().record_work(&records->work);
  }
  const auto result = cluster.run(operation_of(scenario));
  if (!result) return result.error();
  Run run{.seed = seed,
          .makespan_ns = result.value().makespan_ns / scenario.calls,
          .operation_ns = overlaps ? alone_ns : result.value().operation_ns,
          .work_ns = result.value().work_ns,
          .events = result.value().events,
          .unseed = result.value().unseed,
          .failed_ranks = 0,
          .first_failure = {},
          .wall_seconds = 0};
  run.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return judge(scenario, result.value(), run);
}

}  // namespace esp_sim
