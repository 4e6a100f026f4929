// Reading a Machine through hwloc 2.
#include <fmt/format.h>
#include <hwloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/topology.hpp"

namespace espalier {
namespace {

using TopologyOwner = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

bool is_file(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// Text that can only be meant as a path.
bool looks_like_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".xml");
}

Outcome choose_source(hwloc_topology_t topology, const std::string& description) {
  if (description.empty()) return Unit{};
  if (is_file(description)) {
    if (hwloc_topology_set_xml(topology, description.c_str()) == 0) return Unit{};
    return error(ESP_ERR_CONFIG, fmt::format("TOPOLOGY: {} is not an hwloc XML file", description));
  }
  if (looks_like_path(description)) {
    return error(ESP_ERR_CONFIG, fmt::format("TOPOLOGY: there is no file {}", description));
  }
  if (hwloc_topology_set_synthetic(topology, description.c_str()) == 0) return Unit{};
  return error(ESP_ERR_CONFIG,
               fmt::format("TOPOLOGY: \"{}\" is neither a file nor an hwloc synthetic description "
                           "such as \"pack:2 [numa] l3:1 core:4 pu:1\"",
                           description));
}

// The outermost ancestor that satisfies `wanted`, nullptr when none does.
template <typename Predicate>
hwloc_obj_t outermost(hwloc_obj_t object, Predicate wanted) {
  hwloc_obj_t found = nullptr;
  for (; object != nullptr; object = object->parent) {
    if (wanted(object)) found = object;
  }
  return found;
}

std::int32_t first_cpu(hwloc_obj_t object) {
  return object == nullptr ? kUnknownLocality : hwloc_bitmap_first(object->cpuset);
}

Locality locality_of_pu(hwloc_topology_t topology, hwloc_obj_t pu) {
  hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, pu);
  hwloc_obj_t llc =
      outermost(pu, [](hwloc_obj_t o) { return hwloc_obj_type_is_dcache(o->type) != 0; });
  // hwloc has no boards; they are groups of packages.
  hwloc_obj_t board = outermost(package, [](hwloc_obj_t o) { return o->type == HWLOC_OBJ_GROUP; });
  Locality place;
  place.cpu = static_cast<std::int32_t>(pu->os_index);
  place.core = first_cpu(hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu));
  if (place.core == kUnknownLocality) place.core = place.cpu;
  place.llc = first_cpu(llc);
  place.numa = pu->nodeset == nullptr ? kUnknownLocality : hwloc_bitmap_first(pu->nodeset);
  // Machines that do not tell have one of each.
  place.package = package == nullptr ? 0 : static_cast<std::int32_t>(package->os_index);
  place.board = board == nullptr ? 0 : first_cpu(board);
  return place;
}

void read_caches(hwloc_topology_t topology, Machine& machine) {
  for (hwloc_obj_t o = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, 0); o != nullptr;
       o = o->parent) {
    if (hwloc_obj_type_is_dcache(o->type) == 0) continue;
    const auto& cache = o->attr->cache;
    if (cache.linesize > 0) machine.cache_line_bytes = cache.linesize;
    if (cache.depth == 1) machine.l1_bytes = cache.size;
    if (cache.depth == 2) machine.l2_bytes = cache.size;
    if (cache.depth == 3) machine.l3_bytes = cache.size;
  }
}

Outcome load(hwloc_topology_t topology, const std::string& description) {
  // CPUs outside of our cgroup count, too: other ranks may be there.
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  // Looking for devices is the expensive part; they are not wanted here.
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_NONE);
  // Binds the thread to each CPU in turn to ask it, which waits for every busy CPU; Linux knows.
  hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  const Outcome source = choose_source(topology, description);
  if (!source) return source.error();
  if (hwloc_topology_load(topology) == 0) return Unit{};
  return error(
      description.empty() ? ESP_ERR_SYSTEM : ESP_ERR_CONFIG,
      fmt::format("hwloc cannot load {}: {}", description.empty() ? "this machine" : description,
                  std::strerror(errno)),
      kNoRank, errno);
}

}  // namespace

std::uint64_t hash_description(const std::string& description) {
  if (is_file(description)) {
    if (const auto content = read_text_file(description)) return hash_text(*content);
  }
  return hash_text(description);
}

Result<Machine> machine_from_hwloc(std::string_view description_view) {
  const std::string description(description_view);
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return error(ESP_ERR_NO_MEMORY, "hwloc_topology_init failed");
  const TopologyOwner topology(raw, &hwloc_topology_destroy);
  const Outcome loaded = load(raw, description);
  if (!loaded) return loaded.error();

  Machine machine;
  // hwloc's own variables (HWLOC_SYNTHETIC, HWLOC_XMLFILE) can replace this machine, too.
  machine.emulated = hwloc_topology_is_thissystem(raw) == 0;
  machine.origin = !description.empty() ? description
                   : machine.emulated   ? "machine from HWLOC_* variables"
                                        : "this machine (hwloc)";
  for (hwloc_obj_t pu = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_PU, nullptr); pu != nullptr;
       pu = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_PU, pu)) {
    machine.cpus.push_back(locality_of_pu(raw, pu));
  }
  std::sort(machine.cpus.begin(), machine.cpus.end(),
            [](const Locality& a, const Locality& b) { return a.cpu < b.cpu; });
  read_caches(raw, machine);
  machine.page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  machine.huge_page_bytes = transparent_huge_page_bytes();
  return machine;
}

}  // namespace espalier
