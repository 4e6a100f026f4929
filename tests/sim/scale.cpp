// How large a simulated job can be here: one broadcast on nodes of 32 cores with a card each.
// Prints virtual time (of the simulated machine), and wall time, events per second and memory (of
// this one). Usage: sim_scale RANKS BYTES SEGMENTS [SHAPE [SEND_WINDOW RECV_WINDOW]]
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <string_view>

#include "coll/algorithms/trees.hpp"
#include "tools/esp-sim/cluster.hpp"

namespace espalier::sim {
namespace {

Level level(const char* name, std::uint32_t arity, Carrier carrier, double latency_ns,
            double ns_per_byte) {
  Level made;
  made.name = name;
  made.arity = arity;
  made.carrier = carrier;
  made.latency_ns = latency_ns;
  made.overhead_send_ns = 200;
  made.overhead_recv_ns = 200;
  made.gap_ns = 50;
  made.ns_per_byte = ns_per_byte;
  return made;
}

Machine machine_for(std::uint32_t ranks) {
  Machine machine;
  machine.name = "scale";
  machine.levels = {level("cluster", 1, Carrier::kDevice, 1000, 0.125),
                    level("node", (ranks + 31) / 32, Carrier::kCopy, 300, 0.125),
                    level("core", 32, Carrier::kCopy, 300, 0.125)};
  machine.lanes = {{"card", "node", 0.1, 20, true}};
  machine.levels[0].lane = 1;
  return machine;
}

int run(std::uint32_t ranks, const Operation& operation) {
  using Seconds = std::chrono::duration<double>;
  const auto begin = std::chrono::steady_clock::now();
  const Machine machine = machine_for(ranks);
  auto map = Map::create(machine, ranks, 0, Placement::kByCore, 1);
  if (!map) {
    fmt::print(stderr, "{}\n", map.error().text);
    return 1;
  }
  ClusterOptions options;
  options.world.carry_data = false;
  Cluster cluster(machine, *map, options);
  const auto made = std::chrono::steady_clock::now();
  auto result = cluster.run(operation);
  if (!result) {
    fmt::print(stderr, "{}\n", result.error().text);
    return 1;
  }
  const double seconds = Seconds(std::chrono::steady_clock::now() - made).count();
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print("{} ranks, {} bytes, {}: {:.3f} ms of virtual time\n", ranks, operation.bytes,
             result->algorithm, static_cast<double>(result->makespan_ns) * 1e-6);
  fmt::print("set up {:.1f} s, run {:.1f} s, {} events, {:.2f} M events/s, {} bytes/rank at most\n",
             Seconds(made - begin).count(), seconds, result->events,
             static_cast<double>(result->events) / seconds * 1e-6,
             static_cast<std::uint64_t>(usage.ru_maxrss) * 1024 / ranks);
  fmt::print("{} segments, {} grants, {} retries, {} unexpected, unseed {:016x}\n",
             result->counter(&Counters::segments_received), result->counter(&Counters::grants),
             result->counter(&Counters::retries), result->counter(&Counters::unexpected),
             result->unseed);
  if (!result->ok()) fmt::print(stderr, "{} ranks unfinished\n", result->unfinished);
  return result->ok() ? 0 : 1;
}

esp_shape shape_of(std::string_view name) {
  for (int shape = 0; shape < ESP_SHAPE_COUNT; ++shape) {
    if (shape_name(static_cast<esp_shape>(shape)) == name) return static_cast<esp_shape>(shape);
  }
  return ESP_SHAPE_AUTO;
}

}  // namespace
}  // namespace espalier::sim

int main(int argc, char** argv) {
  using namespace espalier::sim;
  if (argc < 4) {
    fmt::print(stderr, "sim_scale RANKS BYTES SEGMENTS [SHAPE [SEND_WINDOW RECV_WINDOW]]\n");
    return 2;
  }
  Operation operation;
  operation.bytes = std::strtoull(argv[2], nullptr, 10);
  operation.options.algorithm = ESP_ALGORITHM_TREE;
  operation.options.segment_bytes = operation.bytes / std::strtoull(argv[3], nullptr, 10);
  operation.options.shape = shape_of(argc > 4 ? argv[4] : "binomial");
  operation.options.radix = 2;
  operation.options.window_send = argc > 6 ? std::atoi(argv[5]) : 4;
  operation.options.window_recv = argc > 6 ? std::atoi(argv[6]) : 8;
  return run(static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10)), operation);
}
