#include "esp-bench/host.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "esp-bench/clock.hpp"

namespace espalier::bench {
namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::int64_t run_delay_ns() {
  std::ifstream file("/proc/self/schedstat");
  std::int64_t running = 0, waiting = 0;
  file >> running >> waiting;
  return file ? waiting : 0;
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

Load read_totals() {
  Load load;
  load.wall_s = static_cast<double>(now_ns()) * 1e-9;
  load.own_s = own_cpu_seconds();
  std::istringstream line(first_line("/proc/stat"));
  std::string label;
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
  line >> label >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  load.busy_s = (user + nice + system + irq + softirq) / ticks;
  load.stolen_s = steal / ticks;
  return load;
}

}  // namespace

HostInfo read_host_info() {
  HostInfo info;
  info.cpu_model = cpu_model();
  utsname name{};
  if (uname(&name) == 0) info.kernel = std::string(name.sysname) + " " + name.release;
  info.boot_id = first_line("/proc/sys/kernel/random/boot_id");
  info.cpus_online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return info;
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

void pin_to(int cpu) {
  pin_to(std::vector<int>{cpu});
}

void pin_to(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);  // Best effort; the placement is recorded, not assumed.
}

RunDelay::RunDelay() : start_ns_(now_ns()), delay_ns_(run_delay_ns()) {}

double RunDelay::share() const {
  const auto elapsed = static_cast<double>(std::max<std::int64_t>(now_ns() - start_ns_, 1));
  return static_cast<double>(run_delay_ns() - delay_ns_) / elapsed;
}

LoadMeter::LoadMeter() : start_(read_totals()) {}

Load LoadMeter::read() const {
  const Load now = read_totals();
  return {now.wall_s - start_.wall_s, now.busy_s - start_.busy_s, now.stolen_s - start_.stolen_s,
          now.own_s - start_.own_s};
}

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double memory_kib(const std::string& file, const std::string& field) {
  std::ifstream stream("/proc/self/" + file);
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind(field + ":", 0) == 0) return std::stod(line.substr(field.size() + 1));
  }
  return 0.0;
}

}  // namespace espalier::bench
