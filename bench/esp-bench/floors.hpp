// What the machine allows: the numbers no library can beat, measured in the same run.
//
// Needs no launcher and no library: two processes made by fork(), pinned to the first two allowed
// CPUs, sharing anonymous memory. Buffers rotate and are rewritten as in operation.hpp, so that a
// copy starts from the same caches as in the measured operations.
//
// Predictions (Zen 4 with the CPUs near each other): copy 48 GB/s within the L3,
// process_vm_readv 1.6 us + bytes / 13.5 GB/s, a cache line 25-45 ns, futex wake 2 us on one core
// and 20 us across cores, a yield hop 1.5 us. path: setup
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "esp-bench/options.hpp"
#include "esp-bench/statistics.hpp"

namespace espalier::bench {

struct Floor {
  std::string name;   // "copy", "copy-peer", "copy-both", "add", "readv", "line", ...
  std::size_t bytes;  // 0 where there is no size
  Summary time_us;    // samples == 0: not to be had here
  std::string note;   // why not, or what else must be known
};

struct Circumstances;

std::vector<Floor> measure_floors(const Options& options);

// Plain copies of the driver between registered memory of the host and the first device, and on the
// device. Throws where there is none; tells which it is.
std::vector<Floor> measure_device_floors(const Options& options, Circumstances& seen);

// The parts, each in its own file.
void measure_copy_floors(const Options& options, std::vector<Floor>& floors);
void measure_latency_floors(const Options& options, std::vector<Floor>& floors);

}  // namespace espalier::bench
