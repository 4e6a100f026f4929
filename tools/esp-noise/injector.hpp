// Injector: makes the detours of a description happen to a process, and remembers what happened.
//
// A detour stops the process with SIGSTOP and continues it with SIGCONT. That takes the processor
// from this rank alone, whatever else runs there: a busy thread of high priority would need
// privileges, would take the core from all ranks that share it, and would miss a rank that the
// scheduler moves. A stopped process makes no progress at all, its progress thread included, and
// what it had on the wire goes on: just what the simulator's noise means.
//
// Only the process itself is stopped, not processes that it starts. Threads: one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/sim/noise.hpp"
#include "tools/esp-noise/child.hpp"

namespace esp_noise {

// A detour that was planned, and what happened: it begins when the kernel has reported the process
// stopped, and ends before it is continued, so the process stood still for all of it. Late it may
// begin, but it is never shorter than planned, unless the program is killed.
struct Done {
  espalier::sim::Detour planned, actual;
};

struct Record {
  std::uint64_t epoch_ns = 0;  // CLOCK_MONOTONIC; detours count from here
  std::uint64_t run_ns = 0;    // until the program ended
  std::vector<Done> detours;

  std::uint64_t taken_ns() const;
};

// Runs until the program ends. Where detours are aligned, `period_ns`, they count from the
// machine's clock, so that those of all processes begin together; else 0.
End inject(Child& child, espalier::sim::Noise& noise, std::uint64_t period_ns, Record& record);

// The record as a trace file of the noise description (net/sim/noise.hpp), with what was planned in
// comments, so that the simulator can repeat it.
std::string trace_text(const Record& record, const std::string& comment);

}  // namespace esp_noise
