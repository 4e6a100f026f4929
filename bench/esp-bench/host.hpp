// The machine and its other tenants: what a number must be read with.
//
// Names (CPU, kernel), placement of this process, and two meters of foreign load: RunDelay (this
// process was runnable but did not run) and LoadMeter (the whole machine's CPU time that no rank of
// ours used, and time stolen by the hypervisor). All from /proc; a file that is missing reads as
// zero. path: setup
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::bench {

struct HostInfo {
  std::string cpu_model;
  std::string kernel;
  std::string boot_id;  // equal exactly for processes of one running kernel
  int cpus_online = 0;
};
HostInfo read_host_info();

// CPUs this process may run on, ascending.
std::vector<int> allowed_cpus();
// Pins the calling thread.
void pin_to(int cpu);
void pin_to(const std::vector<int>& cpus);

// From /proc/self/schedstat, since construction.
class RunDelay {
 public:
  RunDelay();
  double share() const;  // delay / elapsed

 private:
  std::int64_t start_ns_;
  std::int64_t delay_ns_;
};

struct Load {
  double wall_s = 0;
  double busy_s = 0;    // all CPUs of the machine, everybody's work
  double stolen_s = 0;  // all CPUs
  double own_s = 0;     // CPU time of this process
};

// Since construction. Resolution: one tick (10 ms) per CPU.
class LoadMeter {
 public:
  LoadMeter();
  Load read() const;

 private:
  Load start_;
};

// User and system CPU time of this process so far.
double own_cpu_seconds();
// A field of /proc/self/smaps_rollup or /proc/self/status ("Rss", "Pss", "VmHWM"), in KiB; 0 when
// absent.
double memory_kib(const std::string& file, const std::string& field);

}  // namespace espalier::bench
