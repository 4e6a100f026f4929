// Path cost: from which flow size on it pays to copy straight between processes, measured on this
// machine.
//
// Copying through shared memory costs two copies that run on two cores at once, and stay in the
// caches for small flows; process_vm_readv costs one copy, a system call and a look at every page.
// Which is faster depends on processor, kernel and virtual machine, and, where ranks outnumber
// cores, on the number of readers that share one copy in. So it is tried out: once per job, by the
// first rank that sends a large flow. The result lies in the segment's header, and all ranks use
// it. Threads: owner. path: slow
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
  std::uint64_t in_ns = 0, out_ns = 0;  // through shared memory
  std::uint64_t pull_ns = 0;
};
PathCost measure_path_cost(std::uint64_t bytes) noexcept;

inline constexpr std::uint32_t kAnyReaders = 0xffffffff;
// With up to how many readers of one segment pulling is faster; 0: with none. `serial`: the ranks
// have fewer cores than they are, so that all copies add up: readers x pull < in + readers x out.
// Else sender and readers copy at the same time, and the slower of in and out counts.
std::uint32_t readers_that_pull(const PathCost& cost, bool serial) noexcept;

// Segments are pulled in flows of at least `threshold` bytes with at most `readers` readers.
struct PullRule {
  std::uint64_t threshold = kNeverPull;
  std::uint32_t readers = kAnyReaders;
};
// Measures if nobody has. The threshold is kMeasuredFrom, a multiple of it, or kNeverPull (also
// while another rank is measuring).
PullRule measured_pull_rule(PathChoice& choice, bool serial) noexcept;

// For people.
std::string explain(const PathChoice& choice);

}  // namespace espalier::shm
