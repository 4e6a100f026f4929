#include "bench/experiments/multicast/published_runs.hpp"

#include <algorithm>
#include <cmath>

#include "bench/experiments/multicast/group_broadcast.hpp"
#include "bench/experiments/simulated.hpp"
#include "coll/choice/broadcast_models.hpp"

namespace espalier::experiments {
namespace {

namespace models = broadcast_models;

// Up to so many bytes in all buffers they are real, and every result is checked.
constexpr std::uint64_t kCheckedBytes = std::uint64_t{64} << 20;

sim::Operation operation_of(const Broadcasts& broadcasts) {
  const auto tree = [&](esp_shape shape, std::uint64_t segments) {
    return tree_operation(Collective::kBcast, shape, broadcasts.bytes, segments);
  };
  switch (broadcasts.way) {
    case Way::kRing:
      return tree(ESP_SHAPE_CHAIN, 1);
    case Way::kPipelinedRing:
      return tree(ESP_SHAPE_CHAIN, std::max<std::uint64_t>(broadcasts.bytes / kChunkBytes, 1));
    case Way::kKnomial:
      return tree(ESP_SHAPE_BINOMIAL, 1);
    case Way::kMulticast:
    case Way::kChosen:
      break;
  }
  sim::Operation chosen;
  chosen.bytes = broadcasts.bytes;
  return chosen;
}

// What a message takes beside its bytes, both processors and the way.
double message_ns(const sim::Machine& machine) {
  const sim::Level& level = machine.levels[0];
  return level.overhead_send_ns + level.latency_ns + level.overhead_recv_ns;
}

models::Model model_of(const sim::Machine& machine) {
  models::Model model;
  model.setup = 1e-9 * message_ns(machine);
  model.bandwidth = 1e9 / machine.lanes[0].ns_per_byte;
  model.chunk_bytes = static_cast<double>(kChunkBytes);
  model.packet_bytes = static_cast<double>(machine.multicast.packet_bytes);
  model.group_fit = 1e3 / machine.multicast.growth_ns;
  return model;
}

// Of the sender's port, for one broadcast.
double port_ns(const Broadcasts& broadcasts) {
  const sim::Machine machine = published_machine(broadcasts);
  const models::Model model = model_of(machine);
  const double bytes_ns = 1e9 * static_cast<double>(broadcasts.bytes) / model.bandwidth;
  if (broadcasts.nodes == 2) return bytes_ns;
  const auto packets = static_cast<double>(machine.multicast.packets(broadcasts.bytes));
  const double on_top_ns = 1e9 * models::group_overhead(model, broadcasts.nodes);
  return packets * (machine.multicast.setup_ns + on_top_ns) + bytes_ns;
}

}  // namespace

sim::Machine published_machine(const Broadcasts& broadcasts) {
  sim::Machine machine = group_machine(broadcasts.nodes);
  machine.multicast = machine_or_exit("ri2").multicast;
  machine.multicast.setup_ns = broadcasts.setup_ns;
  return machine;
}

double simulated_ns(const Broadcasts& broadcasts) {
  const sim::Machine machine = published_machine(broadcasts);
  Job job;
  job.machine = &machine;
  job.ranks = broadcasts.nodes;
  job.ranks_per_node = 1;
  if (broadcasts.way == Way::kMulticast) job.multicast = Multicast::kOn;
  if (broadcasts.way == Way::kChosen) job.multicast = Multicast::kAuto;
  job.world.carry_data =
      !broadcasts.at_once && broadcasts.bytes * broadcasts.nodes <= kCheckedBytes;
  sim::Operation operation = operation_of(broadcasts);
  operation.calls = operation.sources = broadcasts.sources;
  operation.at_once = broadcasts.at_once;
  return static_cast<double>(run_or_exit(job, operation).operation_ns);
}

double model_ns(const Broadcasts& broadcasts) {
  const sim::Machine machine = published_machine(broadcasts);
  const models::Model model = model_of(machine);
  const auto bytes = static_cast<double>(broadcasts.bytes);
  switch (broadcasts.way) {
    case Way::kRing:
      return 1e9 * models::ring(model, broadcasts.nodes, bytes);
    case Way::kPipelinedRing:
      return 1e9 * models::pipelined_ring(model, broadcasts.nodes, bytes);
    case Way::kKnomial:
      return 1e9 * models::knomial(model, broadcasts.nodes, 2, bytes);
    case Way::kMulticast:
    case Way::kChosen:
      break;
  }
  return port_ns(broadcasts) + message_ns(machine);
}

double sources_model_ns(const Broadcasts& broadcasts) {
  const auto sources = static_cast<double>(broadcasts.sources);
  if (!broadcasts.at_once) return sources * model_ns(broadcasts);
  const sim::Machine machine = published_machine(broadcasts);
  // Who sends one takes the others'; there may be one who sends none.
  const double taken = broadcasts.sources < broadcasts.nodes ? sources : sources - 1;
  const double taking_ns =
      taken * static_cast<double>(broadcasts.bytes) * machine.lanes[0].ns_per_byte;
  return std::max(port_ns(broadcasts), taking_ns) + message_ns(machine);
}

}  // namespace espalier::experiments
