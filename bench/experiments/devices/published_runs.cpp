#include "bench/experiments/devices/published_runs.hpp"

#include <algorithm>

namespace espalier::experiments {
namespace {

constexpr std::uint64_t kPieces[] = {64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20};

sim::Operation operation_of(const GpuCall& call) {
  const std::uint64_t pieces = (call.bytes + call.piece_bytes - 1) / call.piece_bytes;
  sim::Operation operation;
  switch (call.plan) {
    case Plan::kBinomial:
      return tree_operation(call.collective, ESP_SHAPE_BINOMIAL, call.bytes, 1);
    case Plan::kChains:
      return tree_operation(call.collective, ESP_SHAPE_CHAIN, call.bytes, pieces);
    case Plan::kCut:
    case Plan::kMulticast:
      operation.options.segment_bytes = std::min(call.piece_bytes, call.bytes);
      break;
    case Plan::kChosen:
      break;
  }
  operation.collective = call.collective;
  operation.bytes = call.bytes;
  return operation;
}

}  // namespace

double simulated_ns(const sim::Machine& machine, const GpuCall& call) {
  Job job;
  job.machine = &machine;
  job.ranks = call.ranks;
  job.ranks_per_node = call.per_node;
  job.leaders = call.leaders;
  job.staging = call.staging;
  job.reducer = call.reducer;
  job.chooses = call.plan == Plan::kChosen || call.plan == Plan::kCut;
  job.multicast = call.plan == Plan::kMulticast ? Multicast::kOn : Multicast::kOff;
  job.world.carry_data = false;
  if (call.plan == Plan::kChains) job.levels = ESP_SHAPE_CHAIN;
  return static_cast<double>(run_or_exit(job, operation_of(call)).operation_ns);
}

BestRun best_in_pieces(const sim::Machine& machine, GpuCall call) {
  call.plan = Plan::kChosen;
  BestRun best = {simulated_ns(machine, call), 0};
  call.plan = has_shapes(call.collective) ? Plan::kChains : Plan::kCut;
  for (const std::uint64_t piece : kPieces) {
    if (piece > call.bytes) continue;
    call.piece_bytes = piece;
    const double ns = simulated_ns(machine, call);
    if (ns < best.ns) best = {ns, piece};
  }
  return best;
}

sim::Machine without_nodes(const sim::Machine& machine, std::uint32_t per_node) {
  sim::Machine flat = machine;
  const auto node = static_cast<std::size_t>(flat.find_level("node"));
  sim::Level rank = flat.levels[0];  // at the network's prices
  rank.name = "switch";
  rank.arity = flat.levels[node].arity;
  flat.levels.resize(node);
  flat.levels.push_back(rank);
  rank.name = "node";
  rank.arity = per_node;
  flat.levels.push_back(rank);
  sim::Level core;
  core.name = "core";
  flat.levels.push_back(core);
  for (sim::Lane& lane : flat.lanes) {
    if (lane.per == "node") lane.per = "switch";
  }
  // The lanes of what was inside a node are nobody's now.
  std::erase_if(flat.lanes, [&](const sim::Lane& lane) { return flat.find_level(lane.per) < 0; });
  return flat;
}

}  // namespace espalier::experiments
