// Path cost: from which flow size on it pays to copy straight between processes, measured on this
// machine.
//
// Copying through shared memory costs two copies that run on two cores at once, and stay in the
// caches for small flows; process_vm_readv costs one copy, a system call and a look at every page.
// Which is faster depends on processor, kernel and virtual machine, so it is tried out: once per
// job, by the first rank that sends a large flow. The result lies in the segment's header, and all
// ranks use it. Threads: owner. path: slow
#pragma once

#include <cstdint>
#include <string>

#include "shm/layout.hpp"

namespace espalier::shm {

inline constexpr std::uint64_t kNeverPull = ~std::uint64_t{0};
// Flows below are not worth a measurement: copied through shared memory.
inline constexpr std::uint64_t kMeasuredFrom = std::uint64_t{1} << 20;

// What one look took, in nanoseconds; 0: not possible.
struct PathCost {
  std::uint64_t through_ns = 0;  // the slower of copy in and copy out, or both if `serial`
  std::uint64_t pull_ns = 0;
};
PathCost measure_path_cost(std::uint64_t bytes, bool serial) noexcept;

// Measures if nobody has, and returns the threshold: kMeasuredFrom, a multiple of it, or kNeverPull
// (also while another rank is measuring). `serial`: the ranks have fewer cores than they are.
std::uint64_t measured_pull_threshold(PathChoice& choice, bool serial) noexcept;

// For people.
std::string explain(const PathChoice& choice);

}  // namespace espalier::shm
