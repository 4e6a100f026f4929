#include "job_plan.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <random>

#include "core/descriptor.hpp"
#include "exit_codes.hpp"
#include "node_names.hpp"
#include "program_path.hpp"
#include "stacks.hpp"

namespace esp_run {
namespace {

Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw LaunchError(kLauncherFailed, "hwloc: no memory");
  Topology topology(raw);
  // Respects the set of CPUs this process was started with (taskset, a batch system).
  hwloc_topology_set_flags(
      raw, HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING | HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
  if (hwloc_topology_load(raw) != 0) fail_with_errno("hwloc cannot read this machine's topology");
  return topology;
}

std::string draw_job_name() {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof(random), 0) != sizeof(random)) fail_with_errno("getrandom");
  return fmt::format("esp-run-{}-{:016x}", getpid(), random);
}

// Above those of the standard streams, which are the ranks'.
int lowest_free_fd() {
  const espalier::Descriptor probe(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!probe.is_open()) fail_with_errno("cannot open /dev/null");
  return std::max(probe.fd(), STDERR_FILENO + 1);
}

}  // namespace

void place_ranks(JobPlan& plan) {
  const int ranks = plan.ranks(), nodes = plan.nodes();
  std::vector<int>& of = plan.nodes_of_ranks;
  of.clear();
  for (int node = 0; node < nodes; ++node) {
    const long end = (node + 1L) * ranks / nodes;
    of.resize(static_cast<std::size_t>(end), node);
  }
  if (plan.options.placement == Placement::kRound) {
    for (int rank = 0; rank < ranks; ++rank) of[static_cast<std::size_t>(rank)] = rank % nodes;
  } else if (plan.options.placement == Placement::kRandom) {
    std::shuffle(of.begin(), of.end(), std::mt19937_64(plan.options.placement_seed));
  }
  plan.ranks_of_nodes.assign(static_cast<std::size_t>(nodes), {});
  for (int rank = 0; rank < ranks; ++rank) {
    plan.ranks_of_nodes[static_cast<std::size_t>(plan.node_of(rank))].push_back(rank);
  }
}

int descriptors_needed(const JobPlan& plan) {
  // Counted with Open PMIx 4.2: its server takes 10 of those of a daemon.
  constexpr int kOfRoot = 4, kOfDaemon = 17;
  std::size_t most = 0;
  for (const auto& ranks : plan.ranks_of_nodes) most = std::max(most, ranks.size());
  const int of_daemon = kOfDaemon + static_cast<int>(most) * (plan.options.tag_output ? 3 : 1);
  return plan.first_own_fd + std::max(kOfRoot + plan.nodes(), of_daemon);
}

JobPlan make_job_plan(const Options& options) {
  JobPlan plan;
  plan.options = options;
  place_ranks(plan);
  plan.first_own_fd = lowest_free_fd();
  for (std::size_t i = 0; i < options.programs.size(); ++i) {
    const Program& program = options.programs[i];
    plan.programs_of_ranks.insert(plan.programs_of_ranks.end(),
                                  static_cast<std::size_t>(program.ranks), static_cast<int>(i));
    plan.paths.push_back(find_program(program.command[0], program.directory));
  }
  if (options.stacks) plan.stack_tool = find_stack_tool();
  plan.job_name = draw_job_name();
  plan.node_names = name_nodes(options.nodes);
  plan.topology = load_topology();
  plan.places = binding_places(plan.topology.get(), options.binding);
  return plan;
}

}  // namespace esp_run
