#include "core/thread_place.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "core/host.hpp"

namespace espalier {
namespace {

std::vector<int> read_cpus(const std::string& path) {
  return parse_cpu_list(read_text_file(path).value_or("")).value_or(std::vector<int>{});
}

bool contains(std::span<const int> cpus, int cpu) {
  return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
}

std::vector<int> without(std::vector<int> cpus, int cpu) {
  std::erase(cpus, cpu);
  return cpus;
}

std::vector<int> common(std::span<const int> a, std::span<const int> b) {
  std::vector<int> both;
  std::copy_if(a.begin(), a.end(), std::back_inserter(both),
               [b](int cpu) { return contains(b, cpu); });
  return both;
}

ThreadPlace placed(std::vector<int> cpus, std::string_view why) {
  std::string text =
      fmt::format("processor{} {}, {}", cpus.size() > 1 ? "s" : "", format_cpu_list(cpus), why);
  return {std::move(cpus), std::move(text)};
}

ThreadPlace choose(const ThreadSurroundings& caller) {
  if (caller.allowed.size() == 1) {
    return placed(caller.allowed, "which it shares with its caller, who is bound to it");
  }
  const std::vector<int> core = common(caller.allowed, caller.siblings);
  if (core.size() > 1 && core.size() == caller.allowed.size()) {
    return placed(without(core, caller.cpu), "of the core to which its caller is bound");
  }
  std::vector<int> near = common(caller.allowed, caller.numa);
  if (near.empty()) near = caller.allowed;
  if (caller.crowded) return placed(std::move(near), "of the NUMA node of its caller");
  std::vector<int> others = without(near, caller.cpu);
  if (others.empty()) return placed(without(caller.allowed, caller.cpu), "but its caller's");
  return placed(std::move(others), "of the NUMA node of its caller, but the caller's own");
}

}  // namespace

ThreadSurroundings current_surroundings(const std::string& root) {
  ThreadSurroundings here;
  here.allowed = affinity_cpus();
  here.cpu = std::max(0, ::sched_getcpu());
  const std::string topology = fmt::format("{}/devices/system/cpu/cpu{}/topology", root, here.cpu);
  here.siblings = read_cpus(topology + "/core_cpus_list");
  // Before Linux 5.3.
  if (here.siblings.empty()) here.siblings = read_cpus(topology + "/thread_siblings_list");
  if (here.siblings.empty()) here.siblings = {here.cpu};
  const std::string nodes = root + "/devices/system/node";
  for (const int node : read_cpus(nodes + "/online")) {
    std::vector<int> cpus = read_cpus(fmt::format("{}/node{}/cpulist", nodes, node));
    if (contains(cpus, here.cpu)) here.numa = std::move(cpus);
  }
  return here;
}

Result<ThreadPlace> place_beside(const ThreadSurroundings& caller, std::string_view rule) {
  if (rule == "off") return ThreadPlace{{}, "whatever processors its maker may use"};
  if (rule == "auto") return choose(caller);
  if (rule == "sibling") {
    std::vector<int> others = without(caller.siblings, caller.cpu);
    if (others.empty()) {
      return error(
          ESP_ERR_CONFIG,
          fmt::format("sibling, but the core of processor {} has one hardware thread", caller.cpu));
    }
    return placed(std::move(others), "of the core of its caller");
  }
  const auto listed = parse_cpu_list(rule);
  if (!listed || listed->empty()) {
    return error(ESP_ERR_CONFIG,
                 fmt::format("\"{}\" is not auto, off, sibling or a list of processors", rule));
  }
  return placed(*listed, "as configured");
}

}  // namespace espalier
