// esp_job_describe: what was decided, and why.
// path: slow
#include <fmt/format.h>

#include "api/handles.hpp"
#include "core/datatype.hpp"

namespace espalier {
namespace {

template <typename... Args>
void add(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  text += fmt::format(format, std::forward<Args>(args)...) + "\n";
}

std::string pull_threshold_text(const esp_job& job) {
  const std::uint64_t bytes = job.config.cma_threshold_bytes;
  return bytes == 0 ? shm::explain(job.segment->header().path_choice)
                    : fmt::format("flows of {} bytes (CMA_THRESHOLD_BYTES)", bytes);
}

std::string pull_text(const esp_job& job) {
  job.pull_probes->finish();
  const int why = job.shm_wire->pull_refusal();
  return why == 0 ? job.pull_probes->text()
                  : "refused since, though it was allowed at first: " + shm::explain_denied(why);
}

std::string node_text(const Directory::Site& site) {
  return site.node[0] != 0 ? site.node : site.host;
}

// The world's groups inside nodes.
std::string levels_text(const esp_job& job) {
  if (job.config.levels == LevelRule::kOff) return "not followed inside nodes (LEVELS=off)";
  const TeamNodes* layout = job.teams.front()->team.layout();
  if (layout == nullptr || layout->inner.empty()) {
    return "none inside nodes: no node's ranks are all bound, and to different sockets";
  }
  std::string text;
  for (const LocalityGroups& groups : layout->inner) {
    text += fmt::format("{}{} {}s", text.empty() ? "" : ", ", groups.begin.size() - 1,
                        locality_level_name(groups.level));
  }
  if (!job.config.topology.empty()) text += ", emulated: " + job.config.topology;
  return text + fmt::format(" (LEVELS={})",
                            value_text("LEVELS", static_cast<std::uint64_t>(job.config.levels)));
}

// The world's groups of nodes.
std::string switches_text(const esp_job& job) {
  if (job.config.switches.empty()) return "not known: no SWITCHES";
  const TeamNodes* nodes = job.teams.front()->team.nodes();
  if (nodes == nullptr || nodes->outer.empty()) return "SWITCHES separates no nodes";
  std::string text;
  for (const MemberGroups& groups : nodes->outer) {
    text += fmt::format("{}{}", text.empty() ? "" : ", in ", groups.begin.size() - 1);
  }
  return text + " groups of nodes (SWITCHES)";
}

// Which wire, and why not another.
std::string peer_text(const esp_job& job, Rank rank) {
  std::string text;
  if (job.peer_wires[static_cast<std::size_t>(rank)] == WireKind::kShm) {
    const auto local = job.shm_wire->local(rank);
    const auto& flag = job.segment->may_pull(job.nodes.local_index, local);
    const bool pull =
        flag.load(std::memory_order_relaxed) == static_cast<std::uint8_t>(shm::PullAccess::kYes);
    text = pull ? "shm with CMA" : "shm without CMA";
  } else {
    text = job.network->describe(rank);
  }
  std::string others = job.wire_chooser->others(rank);
  if (const char* why = job.network != nullptr ? job.network->why_datagrams(rank) : nullptr) {
    // Not for want of being chosen.
    const std::string chosen = "ud: not needed";
    const std::size_t at = others.find(chosen);
    if (at != std::string::npos) others.replace(at, chosen.size(), fmt::format("rc: {}", why));
  }
  return others.empty() ? text : text + " (" + others + ")";
}

std::string node_text(const esp_job& job) {
  if (!job.config.node_name.empty()) {
    return fmt::format(" (node {}, by NODE_NAME)", job.config.node_name);
  }
  const std::string node = job.bootstrap->node_name();
  return node.empty() ? "" : fmt::format(" (node {})", node);
}

// What has made the nodes.
std::string node_rule_text(const esp_job& job) {
  auto wires = parse_wires(job.config.wires);
  if (wires && !allows(*wires, WireKind::kShm)) return "no shm in WIRES";
  return job.config.nodes == NodeRule::kMachine ? "NODES=machine" : "NODES=launcher";
}

}  // namespace

std::string describe(const esp_job& job) {
  std::string text;
  add(text, "espalier {}.{}.{}", ESP_VERSION_MAJOR, ESP_VERSION_MINOR, ESP_VERSION_PATCH);
  add(text, "job          {}", job.bootstrap->job_id());
  add(text, "bootstrap    {}", job.bootstrap->name());
  add(text, "rank         {} of {} on {}{}", job.rank, job.size, job.directory.site(job.rank).host,
      node_text(job));
  add(text, "nodes        {}, {} ranks on this one, which is number {} ({})", job.nodes.count(),
      job.nodes.locals.size(), job.nodes.own, node_rule_text(job));
  add(text, "directory    {} bytes for {} ranks, {}", job.directory.block().size(), job.size,
      job.directory.is_shared() ? "one for the ranks of this node" : "of this rank alone");
  add(text, "levels       {}", levels_text(job));
  add(text, "switches     {}", switches_text(job));
  if (const int far = job.directory.site(job.rank).network.to_adapter; far > 0) {
    add(text, "adapter      at process distance {}", far);
  }
  add(text, "cpus         {} for {} ranks of this machine: a waiting rank {}",
      job.nodes.usable_cpus, job.nodes.machine_ranks,
      job.nodes.crowded() ? "gives its core away at once" : "looks for a while before it sleeps");
  add(text, "progress     {}",
      job.threaded ? "a thread of the library, on " + job.progress_place.text
                   : std::string("the calling thread"));
  add(text, "doorbell     futex, {}",
      job.doorbell->asymmetric() ? "publishers pay no fence (membarrier)"
                                 : "publishers pay a fence (no membarrier on some rank)");
  add(text, "short path   {}",
      job.any_threaded ? "off: some rank has a progress thread"
                       : fmt::format("up to {} bytes", job.config.short_bytes));
  add(text, "profile      {}",
      job.profile == nullptr ? std::string("none: choices go by rules")
                             : fmt::format("{}, {} rows, made {}", job.profile->name,
                                           job.profile->rows.size(), job.profile->made));
  add(text, "arena        {} KiB per rank, segments of at most {} KiB",
      job.config.shm_arena_bytes >> 10, job.shm_wire->caps(job.rank).segment_bytes >> 10);
  add(text, "heap         {} KiB of {} KiB in use (esp_alloc)", job.heap->used() >> 10,
      job.config.heap_bytes >> 10);
  if (const std::string devices = job.devices->describe(); !devices.empty()) {
    add(text, "devices      {}", devices);
  }
  add(text, "CMA          {}", pull_text(job));
  if (job.config.cma != CmaMode::kOff) add(text, "CMA from     {}", pull_threshold_text(job));
  if (job.network != nullptr) {
    add(text, "rdma         {}", job.network->rdma_text());
    add(text, "tcp          {}", job.network->tcp_text());
    add(text, "multicast    {}", job.network->describe_groups());
    for (const std::string& team : job.network->describe_teams()) add(text, "  {}", team);
  }
  add(text, "kernels      {}", isa_name(job.config.isa));
  add(text, "peers");
  for (Rank r = 0; r < job.size; ++r) {
    add(text, "  rank {:<4} pid {:<8} on {:<16} {}", r, job.directory.pid(r),
        node_text(job.directory.site(r)),
        r == job.rank ? std::string("this rank") : peer_text(job, r));
  }
  return text;
}

}  // namespace espalier
