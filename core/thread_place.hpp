// Where a thread of the library's own may run beside the thread that it works for: near enough to
// share its caches and memory, and not on its processor.
//
// Threads: any; affinity is that of the calling thread. path: setup
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"

namespace espalier {

struct ThreadPlace {
  std::vector<int> cpus;  // ascending; none: wherever its maker may run
  std::string text;       // for people: which they are, and why
};

// What is known of the calling thread and its surroundings.
struct ThreadSurroundings {
  int cpu = 0;                // where it runs now
  std::vector<int> allowed;   // where it may
  std::vector<int> siblings;  // hardware threads of the core of `cpu`, itself among them
  std::vector<int> numa;      // CPUs that share its memory; none: unknown
  bool crowded = false;       // there is not a CPU for each thread
};
ThreadSurroundings current_surroundings(const std::string& root = "/sys");

// `rule`: auto, off, sibling, or a list of CPUs ("3,8-11"). auto: where the caller is bound to one
// core, that core's other hardware threads; else what it may use of its NUMA node, but the CPU on
// which it is, where there is one for each: a scheduler likes to wake a thread beside the one that
// wakes it. sibling: the
// other hardware threads of the core on which the caller is, also where it may not run itself.
// ESP_ERR_CONFIG says what is wrong.
Result<ThreadPlace> place_beside(const ThreadSurroundings& caller, std::string_view rule);

}  // namespace espalier
