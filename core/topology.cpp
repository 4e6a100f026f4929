#include "core/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/config_value.hpp"

namespace espalier {
namespace {

constexpr std::int32_t Locality::*kLevels[] = {&Locality::cpu,     &Locality::core,
                                               &Locality::llc,     &Locality::numa,
                                               &Locality::package, &Locality::board};

int count_different(const Machine& machine, std::int32_t Locality::*level) {
  std::set<std::int32_t> seen;
  for (const Locality& place : machine.cpus) {
    if (place.*level != kUnknownLocality) seen.insert(place.*level);
  }
  return static_cast<int>(seen.size());
}

// The first CPU of each core.
std::vector<Locality> cores_of(const Machine& machine) {
  std::vector<Locality> cores;
  for (const Locality& place : machine.cpus) {
    const bool known = std::any_of(cores.begin(), cores.end(), [&place](const Locality& core) {
      return core.core == place.core && place.core != kUnknownLocality;
    });
    if (!known) cores.push_back(place);
  }
  return cores;
}

std::string distance_table(const std::vector<Locality>& cores) {
  std::string text = "distance between cores (1 shares a cache ... 6 other board):\n     ";
  for (const Locality& column : cores) text += fmt::format("{:>4}", column.cpu);
  for (const Locality& row : cores) {
    text += fmt::format("\n{:>5}", row.cpu);
    for (const Locality& column : cores) {
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
  return count_different(*this, &Locality::core);
}
int Machine::llc_count() const {
  return count_different(*this, &Locality::llc);
}
int Machine::numa_count() const {
  return count_different(*this, &Locality::numa);
}
int Machine::package_count() const {
  return count_different(*this, &Locality::package);
}
int Machine::board_count() const {
  return count_different(*this, &Locality::board);
}

int distance(const Locality& a, const Locality& b) noexcept {
  const auto shared = [&a, &b](std::int32_t Locality::*level) {
    return a.*level != kUnknownLocality && a.*level == b.*level;
  };
  if (shared(&Locality::cpu) || shared(&Locality::core) || shared(&Locality::llc)) return 1;
  if (shared(&Locality::numa)) return shared(&Locality::package) ? 2 : 3;
  if (shared(&Locality::package)) return 4;
  const bool board_known = a.board != kUnknownLocality && b.board != kUnknownLocality;
  return board_known && a.board != b.board ? 6 : 5;
}

int distance(const Location& a, const Location& b) noexcept {
  if (a.host.same_node(b.host)) return distance(a.place, b.place);
  int apart = 0;
  for (std::size_t k = 0; k < kSwitchLevels; ++k) apart += a.switches[k] != b.switches[k] ? 1 : 0;
  return kDistanceOtherNode + apart;
}

Result<Machine> load_machine(std::string_view description) {
  Result<Machine> machine = machine_from_hwloc(description);
  if (machine.ok() || !description.empty()) return machine;
  return machine_from_sysfs();
}

Locality common_locality(const Locality& a, const Locality& b) noexcept {
  Locality common = a;
  for (const auto level : kLevels) {
    if (common.*level != b.*level) common.*level = kUnknownLocality;
  }
  return common;
}

Locality common_locality(const Machine& machine, std::span<const int> cpus) {
  Locality common;
  bool first = true;
  for (const Locality& place : machine.cpus) {
    if (std::find(cpus.begin(), cpus.end(), place.cpu) == cpus.end()) continue;
    common = first ? place : common_locality(common, place);
    first = false;
  }
  return common;
}

Locality numa_locality(const Machine& machine, int numa) {
  const auto cpu = std::find_if(machine.cpus.begin(), machine.cpus.end(),
                                [numa](const Locality& place) { return place.numa == numa; });
  if (cpu == machine.cpus.end()) return {};
  return {.numa = cpu->numa, .package = cpu->package, .board = cpu->board};
}

Locality locality_of_rank(const Machine& machine, int node_rank) {
  ESP_ASSERT(node_rank >= 0);
  if (!machine.emulated) return common_locality(machine, affinity_cpus());
  const std::vector<Locality> cores = cores_of(machine);
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
  for (const Locality& place : machine.cpus) {
    text += fmt::format("{:>5} {:>5} {:>5} {:>5} {:>8} {:>6}\n", place.cpu, place.core, place.llc,
                        place.numa, place.package, place.board);
  }
  constexpr std::size_t kTableMax = 24;  // wider than that does not fit a terminal
  const std::vector<Locality> cores = cores_of(machine);
  if (cores.size() <= kTableMax) text += distance_table(cores);
  return text;
}

}  // namespace espalier
