// The threads of this process, by /proc: what they have computed, and where they may run.
// path: setup
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::bench {

struct ProcessThread {
  int id = 0;
  std::string cpus;          // "0-1": where it may run
  std::int64_t busy_ns = 0;  // processor time so far
  std::int64_t sleeps = 0;   // how often it has given up its processor by itself
  bool is_caller = false;
};

// Ascending. What has ended meanwhile is left out.
std::vector<ProcessThread> process_threads();

}  // namespace espalier::bench
