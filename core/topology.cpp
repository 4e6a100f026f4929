#include "core/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/config_value.hpp"

namespace espalier {
namespace {

constexpr std::int32_t Place::*kLevels[] = {&Place::cpu,  &Place::core,    &Place::llc,
                                            &Place::numa, &Place::package, &Place::board};

int count_different(const Machine& machine, std::int32_t Place::*level) {
  std::set<std::int32_t> seen;
  for (const Place& place : machine.cpus) {
    if (place.*level != kUnknownPlace) seen.insert(place.*level);
  }
  return static_cast<int>(seen.size());
}

// The first CPU of each core.
std::vector<Place> cores_of(const Machine& machine) {
  std::vector<Place> cores;
  for (const Place& place : machine.cpus) {
    const bool known = std::any_of(cores.begin(), cores.end(), [&place](const Place& core) {
      return core.core == place.core && place.core != kUnknownPlace;
    });
    if (!known) cores.push_back(place);
  }
  return cores;
}

std::string distance_table(const std::vector<Place>& cores) {
  std::string text = "distance between cores (1 shares a cache ... 6 other board):\n     ";
  for (const Place& column : cores) text += fmt::format("{:>4}", column.cpu);
  for (const Place& row : cores) {
    text += fmt::format("\n{:>5}", row.cpu);
    for (const Place& column : cores) {
      text += row.cpu == column.cpu ? "   ." : fmt::format("{:>4}", distance(row, column));
    }
  }
  return text + "\n";
}

std::string size_or_none(std::uint64_t bytes) {
  return bytes == 0 ? "none" : format_size(bytes);
}

}  // namespace

int Machine::core_count() const {
  return count_different(*this, &Place::core);
}
int Machine::llc_count() const {
  return count_different(*this, &Place::llc);
}
int Machine::numa_count() const {
  return count_different(*this, &Place::numa);
}
int Machine::package_count() const {
  return count_different(*this, &Place::package);
}
int Machine::board_count() const {
  return count_different(*this, &Place::board);
}

int distance(const Place& a, const Place& b) noexcept {
  const auto shared = [&a, &b](std::int32_t Place::*level) {
    return a.*level != kUnknownPlace && a.*level == b.*level;
  };
  if (shared(&Place::cpu) || shared(&Place::core) || shared(&Place::llc)) return 1;
  if (shared(&Place::numa)) return shared(&Place::package) ? 2 : 3;
  if (shared(&Place::package)) return 4;
  const bool board_known = a.board != kUnknownPlace && b.board != kUnknownPlace;
  return board_known && a.board != b.board ? 6 : 5;
}

int distance(const Location& a, const Location& b) noexcept {
  return a.host.same_node(b.host) ? distance(a.place, b.place) : kDistanceOtherNode;
}

Result<Machine> load_machine(std::string_view description) {
  Result<Machine> machine = machine_from_hwloc(description);
  if (machine.ok() || !description.empty()) return machine;
  return machine_from_sysfs();
}

Place common_place(const Place& a, const Place& b) noexcept {
  Place common = a;
  for (const auto level : kLevels) {
    if (common.*level != b.*level) common.*level = kUnknownPlace;
  }
  return common;
}

Place common_place(const Machine& machine, std::span<const int> cpus) {
  Place common;
  bool first = true;
  for (const Place& place : machine.cpus) {
    if (std::find(cpus.begin(), cpus.end(), place.cpu) == cpus.end()) continue;
    common = first ? place : common_place(common, place);
    first = false;
  }
  return common;
}

Place place_of_rank(const Machine& machine, int node_rank) {
  ESP_ASSERT(node_rank >= 0);
  if (!machine.emulated) return common_place(machine, affinity_cpus());
  const std::vector<Place> cores = cores_of(machine);
  if (cores.empty()) return {};
  return cores[static_cast<std::size_t>(node_rank) % cores.size()];
}

std::string describe(const Machine& machine) {
  std::string text = fmt::format(
      "{}: {} CPUs, {} cores, {} last-level caches, {} NUMA nodes, {} packages, {} boards\n",
      machine.origin, machine.cpus.size(), machine.core_count(), machine.llc_count(),
      machine.numa_count(), machine.package_count(), machine.board_count());
  text += fmt::format("caches: L1d {}, L2 {}, L3 {}, line {} B; pages: {}, huge {}\n",
                      size_or_none(machine.l1_bytes), size_or_none(machine.l2_bytes),
                      size_or_none(machine.l3_bytes), machine.cache_line_bytes,
                      format_size(machine.page_bytes), size_or_none(machine.huge_page_bytes));
  text += "  cpu  core   llc  numa  package  board\n";
  for (const Place& place : machine.cpus) {
    text += fmt::format("{:>5} {:>5} {:>5} {:>5} {:>8} {:>6}\n", place.cpu, place.core, place.llc,
                        place.numa, place.package, place.board);
  }
  constexpr std::size_t kTableMax = 24;  // wider than that does not fit a terminal
  const std::vector<Place> cores = cores_of(machine);
  if (cores.size() <= kTableMax) text += distance_table(cores);
  return text;
}

}  // namespace espalier
