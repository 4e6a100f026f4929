// Topology: where cores, caches, memory and sockets of a machine are, and how far apart two ranks
// are.
//
// A Machine is a plain table, read through hwloc (this machine, an XML file, a synthetic
// description) or, where hwloc fails, from sysfs; hwloc's own objects do not outlive the reading.
// Reading costs milliseconds: callers do it when a decision needs it. Numbers are chosen so that
// ranks that see different parts of one machine (cgroups) or read it in different ways agree:
// packages and NUMA nodes have the kernel's number, cores, caches and boards that of their first
// CPU. Threads: values; any. path: setup (reading), data (distance)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/host.hpp"
#include "core/status.hpp"
#include "core/switches.hpp"

namespace espalier {

inline constexpr std::int32_t kUnknownLocality = -1;

// Where a CPU (hardware thread) or a set of CPUs is; kUnknownLocality where a set spans several.
struct Locality {
  std::int32_t cpu = kUnknownLocality;
  std::int32_t core = kUnknownLocality;
  std::int32_t llc = kUnknownLocality;  // outermost cache above the core, usually L3
  std::int32_t numa = kUnknownLocality;
  std::int32_t package = kUnknownLocality;
  std::int32_t board = kUnknownLocality;
  friend bool operator==(const Locality&, const Locality&) = default;
};

// Where a rank is, among all ranks of a job.
struct Location {
  HostIdentity host;
  Locality place;
  SwitchPath switches = kSwitchesUnknown;
  friend bool operator==(const Location&, const Location&) = default;
};

// Process distance after Ma et al. ("Process distance-aware adaptive MPI collective
// communications", CLUSTER 2011), extended from 7 on by other nodes:
//   1 a cache is shared                        4 same socket, no memory controller shared
//   2 same socket and memory controller        5 same board
//   3 other socket, memory controller shared   6 other board
//   7 other node, behind the same switch       8, 9, ... other switch, other pod, ...
// What is unknown is not shared, except the board and, where no map tells of switches, these.
inline constexpr int kDistanceOtherNode = 7;
int distance(const Location& a, const Location& b) noexcept;
int distance(const Locality& a, const Locality& b) noexcept;

struct Machine {
  std::string origin;          // "this machine (hwloc)", "topology.xml", ...: for people
  bool emulated = false;       // not the machine this process runs on: bindings mean nothing
  std::vector<Locality> cpus;  // ascending by cpu
  std::uint64_t l1_bytes = 0;  // data caches of the first CPU; 0: unknown or none
  std::uint64_t l2_bytes = 0;
  std::uint64_t l3_bytes = 0;
  std::uint64_t cache_line_bytes = 64;
  std::uint64_t page_bytes = 4096;
  std::uint64_t huge_page_bytes = 0;  // of transparent huge pages; 0: none

  int core_count() const;
  int llc_count() const;
  int numa_count() const;
  int package_count() const;
  int board_count() const;
};

// `description`: empty is this machine (hwloc, else sysfs); a path of an hwloc XML file; or an
// hwloc synthetic description such as "pack:2 [numa] l3:1 core:4 pu:1".
Result<Machine> load_machine(std::string_view description);
// Tells descriptions of different machines apart: a hash of the file's content, wherever the file
// is, or of the text.
std::uint64_t hash_description(const std::string& description);
// The parts of it; for tests.
Result<Machine> machine_from_hwloc(std::string_view description);
Result<Machine> machine_from_sysfs(const std::string& root = "/sys");

// Size of transparent huge pages; 0: there are none.
std::uint64_t transparent_huge_page_bytes(const std::string& root = "/sys");

// Where a thread is that may run on `cpus`: what they have in common.
Locality common_locality(const Machine& machine, std::span<const int> cpus);
Locality common_locality(const Locality& a, const Locality& b) noexcept;
// Where the calling thread is on this machine, from sysfs: for a bound thread a fraction of a
// millisecond, where load_machine() takes several.
Locality current_locality(const std::string& root = "/sys");
// Where a NUMA node of this machine is: its number, socket and board. Nothing where it is the only
// one, or there is none of that number.
Locality numa_locality(int numa, const std::string& root = "/sys");
// Of the one that a device ("class/net/eth0") is attached to.
Locality device_locality(const std::string& device, const std::string& root = "/sys");
// Megabits per second of a network interface ("class/net/eth0"). 0: it does not say.
std::uint32_t interface_mbits(const std::string& device, const std::string& root = "/sys");
// As numa_locality(), of a machine that was read.
Locality numa_locality(const Machine& machine, int numa);
// Of the calling thread, on this machine; on an emulated one, of the node_rank-th core (modulo the
// number of cores).
Locality locality_of_rank(const Machine& machine, int node_rank);

// Several lines for people.
std::string describe(const Machine& machine);

}  // namespace espalier
