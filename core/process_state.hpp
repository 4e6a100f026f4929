// The kernel's view of a process of this machine, from /proc. Threads: any. path: slow
#pragma once

#include <cstdint>

namespace espalier {

// {0, 0} when there is no such process.
struct ProcessState {
  std::uint64_t start = 0;  // clock ticks since boot: tells two users of one process id apart
  char letter = 0;          // as ps shows it: R, S, T, Z, ...
};
ProcessState process_state(std::int64_t pid) noexcept;

}  // namespace espalier
