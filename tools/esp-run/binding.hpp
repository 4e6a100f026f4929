// --bind: the parts of this machine that ranks are bound to, one after the other.
#pragma once

#include <hwloc.h>

#include <optional>
#include <string>
#include <vector>

namespace esp_run {

// From wide to narrow.
enum class Binding { kNone, kSocket, kL3, kNuma, kCore, kHwthread };

std::optional<Binding> binding_named(const std::string& name);
// "socket, l3, ... and none".
std::string binding_names();
const char* binding_name(Binding binding);

// In the layout of sched_setaffinity: one bit per CPU.
using CpuMask = std::vector<unsigned long>;

// A part of the machine.
struct BindingPlace {
  CpuMask mask;
  std::string name;  // "core 3 of socket 1"
  std::string cpus;  // "6-7", by the kernel's numbers
};

// The parts of this kind in the order of the machine, within the CPUs of the topology. None for
// kNone. Throws LaunchError where the machine shows no such part.
std::vector<BindingPlace> binding_places(hwloc_topology_t topology, Binding binding);

// "0-7" of all CPUs of the topology.
std::string all_cpus(hwloc_topology_t topology);

}  // namespace esp_run
