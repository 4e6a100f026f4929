// Reading a Machine from /sys, for where hwloc fails.
#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/config_value.hpp"
#include "core/topology.hpp"

namespace espalier {
namespace {

std::optional<std::int32_t> read_integer(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text) return std::nullopt;
  const auto value = parse_integer(*text);
  if (!value) return std::nullopt;
  return static_cast<std::int32_t>(*value);
}

// The ends of a list of CPUs, or of NUMA nodes.
using Ends = std::pair<std::int32_t, std::int32_t>;
std::optional<Ends> read_ends(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text) return std::nullopt;
  const auto cpus = parse_cpu_list(*text);
  if (!cpus || cpus->empty()) return std::nullopt;
  return Ends(cpus->front(), cpus->back());
}

std::optional<std::int32_t> read_first_cpu(const std::string& path) {
  const auto ends = read_ends(path);
  if (!ends) return std::nullopt;
  return ends->first;
}

// The lowest N of the entries "nodeN" of a CPU's directory: the NUMA nodes it belongs to.
std::optional<std::int32_t> read_numa(const std::string& cpu_directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(cpu_directory.c_str()), &closedir);
  if (directory == nullptr) return std::nullopt;
  std::optional<std::int32_t> lowest;
  while (const dirent* entry = readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with("node")) continue;
    const auto number = parse_integer(name.substr(4));
    if (number && (!lowest || *number < *lowest)) lowest = static_cast<std::int32_t>(*number);
  }
  return lowest;
}

// Calls visit(directory of the cache, level) for the data and unified caches of a CPU.
template <typename Visit>
void for_each_cache(const std::string& cpu_directory, Visit visit) {
  constexpr int kCachesMax = 16;
  for (int index = 0; index < kCachesMax; ++index) {
    const std::string cache = fmt::format("{}/cache/index{}", cpu_directory, index);
    const auto level = read_integer(cache + "/level");
    if (!level) return;
    if (read_text_file(cache + "/type") == "Instruction") continue;
    visit(cache, *level);
  }
}

std::string cpu_directory_of(const std::string& root, int cpu) {
  return fmt::format("{}/devices/system/cpu/cpu{}", root, cpu);
}

Locality read_locality(const std::string& root, int cpu) {
  const std::string cpu_directory = cpu_directory_of(root, cpu);
  const std::string topology = cpu_directory + "/topology";
  Locality place;
  place.cpu = cpu;
  auto core = read_first_cpu(topology + "/core_cpus_list");
  if (!core) core = read_first_cpu(topology + "/thread_siblings_list");  // before Linux 5.3
  place.core = core.value_or(cpu);
  place.package = std::max(0, read_integer(topology + "/physical_package_id").value_or(0));
  place.numa = read_numa(cpu_directory).value_or(0);
  place.board = 0;
  int level_max = 0;
  for_each_cache(cpu_directory, [&](const std::string& cache, int level) {
    const auto first = read_first_cpu(cache + "/shared_cpu_list");
    if (!first || level <= level_max) return;
    level_max = level;
    place.llc = *first;
  });
  return place;
}

void read_cache_sizes(const std::string& cpu_directory, Machine& machine) {
  for_each_cache(cpu_directory, [&machine](const std::string& cache, int level) {
    const std::uint64_t bytes =
        parse_size(read_text_file(cache + "/size").value_or("")).value_or(0);
    if (level == 1) machine.l1_bytes = bytes;
    if (level == 2) machine.l2_bytes = bytes;
    if (level == 3) machine.l3_bytes = bytes;
    if (const auto line = read_integer(cache + "/coherency_line_size"); line && *line > 0) {
      machine.cache_line_bytes = static_cast<std::uint64_t>(*line);
    }
  });
}

}  // namespace

std::uint64_t transparent_huge_page_bytes(const std::string& root) {
  const auto text = read_text_file(root + "/kernel/mm/transparent_hugepage/hpage_pmd_size");
  return text ? parse_size(*text).value_or(0) : 0;
}

Result<Machine> machine_from_sysfs(const std::string& root) {
  const std::string path = root + "/devices/system/cpu/online";
  const auto online = parse_cpu_list(read_text_file(path).value_or(""));
  if (!online || online->empty()) {
    return error(ESP_ERR_SYSTEM, fmt::format("cannot read the list of CPUs in {}", path));
  }
  Machine machine;
  machine.origin = "this machine (sysfs)";
  for (const int cpu : *online) {
    machine.cpus.push_back(read_locality(root, cpu));
  }
  read_cache_sizes(cpu_directory_of(root, online->front()), machine);
  machine.page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  machine.huge_page_bytes = transparent_huge_page_bytes(root);
  return machine;
}

Locality current_locality(const std::string& root) {
  std::vector<int> cpus = affinity_cpus();
  if (cpus.empty()) return {};
  // The ends are farthest apart: an unbound thread is recognised after two CPUs on machines with
  // several packages.
  std::swap(cpus[cpus.size() > 1 ? 1 : 0], cpus.back());
  Locality common = read_locality(root, cpus.front());
  for (const int cpu : cpus) {
    const bool anything_left = common.numa != kUnknownLocality ||
                               common.package != kUnknownLocality || common.llc != kUnknownLocality;
    if (!anything_left) break;
    common = common_locality(common, read_locality(root, cpu));
  }
  return common;
}

Locality numa_locality(int numa, const std::string& root) {
  const std::string nodes = root + "/devices/system/node";
  const auto online = read_ends(nodes + "/online");
  if (!online || online->first == online->second) return {};
  const auto cpu = read_first_cpu(fmt::format("{}/node{}/cpulist", nodes, numa));
  if (!cpu) return {};
  const Locality place = read_locality(root, *cpu);
  return {.numa = numa, .package = place.package, .board = place.board};
}

Locality device_locality(const std::string& device, const std::string& root) {
  const auto numa = read_integer(fmt::format("{}/{}/device/numa_node", root, device));
  return numa && *numa >= 0 ? numa_locality(*numa, root) : Locality{};
}

std::uint32_t interface_mbits(const std::string& device, const std::string& root) {
  const auto speed = read_integer(fmt::format("{}/{}/speed", root, device));
  return static_cast<std::uint32_t>(std::max(0, speed.value_or(0)));
}

}  // namespace espalier
