#include "binding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "exit_codes.hpp"

namespace esp_run {
namespace {

struct Level {
  Binding binding;
  const char* name;
  hwloc_obj_type_t type;
};

constexpr std::array<Level, 5> kLevels{{{Binding::kSocket, "socket", HWLOC_OBJ_PACKAGE},
                                        {Binding::kL3, "l3", HWLOC_OBJ_L3CACHE},
                                        {Binding::kNuma, "numa", HWLOC_OBJ_NUMANODE},
                                        {Binding::kCore, "core", HWLOC_OBJ_CORE},
                                        {Binding::kHwthread, "hwthread", HWLOC_OBJ_PU}}};

const Level& level_of(Binding binding) {
  return *std::find_if(kLevels.begin(), kLevels.end(),
                       [binding](const Level& level) { return level.binding == binding; });
}

CpuMask mask_of(hwloc_const_bitmap_t cpus) {
  CpuMask mask(static_cast<std::size_t>(hwloc_bitmap_nr_ulongs(cpus)));
  hwloc_bitmap_to_ulongs(cpus, static_cast<unsigned>(mask.size()), mask.data());
  return mask;
}

std::string list_of(hwloc_const_bitmap_t cpus) {
  char* raw = nullptr;
  if (hwloc_bitmap_list_asprintf(&raw, cpus) < 0) throw std::bad_alloc();
  const std::unique_ptr<char, decltype(&std::free)> owned(raw, &std::free);
  return raw;
}

// By the kernel's number where that tells objects of the whole machine apart, as CPUs, sockets and
// NUMA nodes have one. (The kernel counts cores anew in each socket.)
unsigned number_of(hwloc_obj_t object) {
  const bool is_counted_anew = object->type == HWLOC_OBJ_CORE || object->type == HWLOC_OBJ_L3CACHE;
  const bool is_known = object->os_index != HWLOC_UNKNOWN_INDEX;
  return is_known && !is_counted_anew ? object->os_index : object->logical_index;
}

std::string name_of(hwloc_topology_t topology, const Level& level, hwloc_obj_t object) {
  const std::string own = fmt::format("{} {}", level.name, number_of(object));
  hwloc_obj_t socket = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, object);
  if (socket == nullptr) return own;
  return fmt::format("{} of socket {}", own, number_of(socket));
}

// A NUMA node of memory alone has no CPUs.
std::vector<hwloc_obj_t> objects_of(hwloc_topology_t topology, hwloc_obj_type_t type) {
  std::vector<hwloc_obj_t> objects;
  hwloc_obj_t object = nullptr;
  while ((object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr) {
    if (!hwloc_bitmap_iszero(object->cpuset)) objects.push_back(object);
  }
  return objects;
}

// "2 core, 4 hwthread": what can be bound to instead.
std::string parts_of(hwloc_topology_t topology) {
  std::vector<std::string> parts;
  for (const Level& level : kLevels) {
    const std::size_t count = objects_of(topology, level.type).size();
    if (count > 0) parts.push_back(fmt::format("{} {}", count, level.name));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::optional<Binding> binding_named(const std::string& name) {
  if (name == "none") return Binding::kNone;
  for (const Level& level : kLevels) {
    if (name == level.name) return level.binding;
  }
  return std::nullopt;
}

std::string binding_names() {
  std::vector<const char*> names;
  for (const Level& level : kLevels) names.push_back(level.name);
  return fmt::format("{} and none", fmt::join(names, ", "));
}

const char* binding_name(Binding binding) {
  return binding == Binding::kNone ? "none" : level_of(binding).name;
}

std::vector<BindingPlace> binding_places(hwloc_topology_t topology, Binding binding) {
  std::vector<BindingPlace> places;
  if (binding == Binding::kNone) return places;
  const Level& level = level_of(binding);
  for (hwloc_obj_t object : objects_of(topology, level.type)) {
    places.push_back(
        {mask_of(object->cpuset), name_of(topology, level, object), list_of(object->cpuset)});
  }
  if (places.empty()) {
    throw LaunchError(kLauncherFailed, fmt::format("--bind {}: this machine shows none (it has {})",
                                                   level.name, parts_of(topology)));
  }
  return places;
}

std::string all_cpus(hwloc_topology_t topology) {
  return list_of(hwloc_topology_get_topology_cpuset(topology));
}

}  // namespace esp_run
