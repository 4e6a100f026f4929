#include "process_group.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

namespace esp_run {
namespace {

// Its number in each PID namespace that sees it, from the reader's to its own: "NSpid: 4711 12".
bool is_inside(pid_t process, pid_t inside) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream numbers(line.substr(line.find(':') + 1));
    pid_t last = 0;
    int count = 0;
    for (pid_t number; numbers >> number; ++count) last = number;
    return count > 1 && last == inside;  // One alone is of the reader's own namespace.
  }
  return false;
}

}  // namespace

pid_t find_in_group(pid_t group, pid_t inside) {
  const std::unique_ptr<DIR, int (*)(DIR*)> all(opendir("/proc"), closedir);
  if (all == nullptr) return 0;
  while (const dirent* entry = readdir(all.get())) {
    const auto process = static_cast<pid_t>(std::atoi(entry->d_name));
    if (process > 0 && getpgid(process) == group && is_inside(process, inside)) return process;
  }
  return 0;
}

}  // namespace esp_run
