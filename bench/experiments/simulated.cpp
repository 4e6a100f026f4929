#include "bench/experiments/simulated.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tools/esp-sim/localities.hpp"

namespace espalier::experiments {
namespace {

template <typename T>
T value_or_exit(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "{}\n", result.error().text);
    std::exit(1);
  }
  return std::move(result.value());
}

}  // namespace

sim::Machine machine_or_exit(const std::string& name) {
  return value_or_exit(sim::load_machine(name));
}

sim::RunResult run_or_exit(const Job& job, const sim::Operation& operation) {
  const sim::Map map = value_or_exit(
      sim::Map::create(*job.machine, job.ranks, job.ranks_per_node, job.placement, job.world.seed));
  sim::ClusterOptions options;
  options.world = job.world;
  if (job.levels != ESP_SHAPE_AUTO) {
    options.around = sim::surroundings_of(*job.machine, map, job.leaders);
    sim::follow_localities(options.tuning, job.levels);
  }
  options.staging = job.staging;
  options.reducer = job.reducer;
  options.tuning.multicast = job.multicast;
  if (job.chooses || job.multicast != Multicast::kOff) {
    options.around = sim::surroundings_of(*job.machine, map, job.leaders);
    options.tuning.costs = sim::costs_of(*job.machine, sim::followed(*options.around));
  }
  if (job.multicast != Multicast::kOff) {
    options.tuning.multicast_packet_bytes =
        static_cast<std::uint32_t>(job.machine->multicast.packet_bytes);
  }
  sim::Cluster cluster(*job.machine, map, options);
  cluster.world().record_work(job.work);
  sim::RunResult result = value_or_exit(cluster.run(operation));
  if (!result.ok()) {
    fmt::print(stderr, "{} ranks of {}: {} unfinished, {} wrong: {}\n", job.ranks,
               job.machine->name, result.unfinished, result.wrong, result.failure);
    std::exit(1);
  }
  return result;
}

sim::Operation tree_operation(Collective collective, esp_shape shape, std::uint64_t bytes,
                              std::uint64_t segments) {
  sim::Operation operation;
  operation.collective = collective;
  operation.bytes = bytes;
  operation.options.algorithm = ESP_ALGORITHM_TREE;
  operation.options.shape = shape;
  operation.options.segment_bytes = bytes == 0 ? 1 : (bytes + segments - 1) / segments;
  // Wide enough that no window is ever what a segment waits for.
  operation.options.window_send = 32;
  operation.options.window_recv = 64;
  return operation;
}

std::string human_time(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.3f} us", ns / 1e3);
  return fmt::format("{:.3f} ms", ns / 1e6);
}

std::string human_bytes(std::uint64_t bytes) {
  if (bytes >= 1u << 20 && bytes % (1u << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= 1u << 10 && bytes % (1u << 10) == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool write_file(const std::string& path, const std::string& text) {
  if (std::ofstream(path) << text) return true;
  fmt::print(stderr, "cannot write {}\n", path);
  return false;
}

}  // namespace espalier::experiments
