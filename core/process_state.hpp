// The kernel's view of a process of this machine, from /proc. Threads: any. path: slow
#pragma once

#include <cstdint>
#include <optional>

#include "core/visible_pid.hpp"

namespace espalier {

// {0, 0} when there is no such process.
struct ProcessState {
  std::uint64_t start = 0;  // clock ticks since boot: tells two users of one process id apart
  char letter = 0;          // as ps shows it: R, S, T, Z, ...
};
// Nothing where that cannot be told: the process cannot be seen from here, or /proc does not show
// the processes of this PID namespace.
std::optional<ProcessState> process_state(VisiblePid pid) noexcept;

// Are the numbers in /proc those of this process's PID namespace? It may be mounted for another
// one, in which the own number means a stranger.
bool proc_is_of_this_namespace() noexcept;

}  // namespace espalier
