#include "threads/process_threads.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace espalier::bench {
namespace {

ProcessThread read_thread(const std::filesystem::path& folder) {
  ProcessThread thread;
  thread.id = std::stoi(folder.filename().string());
  thread.is_caller = thread.id == ::gettid();
  std::ifstream(folder / "schedstat") >> thread.busy_ns;
  std::ifstream status(folder / "status");
  for (std::string line; std::getline(status, line);) {
    const auto value = line.find('\t');
    if (value == std::string::npos) continue;
    if (line.starts_with("Cpus_allowed_list:")) thread.cpus = line.substr(value + 1);
    if (line.starts_with("voluntary_ctxt_switches:")) {
      thread.sleeps = std::stoll(line.substr(value + 1));
    }
  }
  return thread;
}

}  // namespace

std::vector<ProcessThread> process_threads() {
  std::vector<ProcessThread> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    ProcessThread thread = read_thread(entry.path());
    if (!thread.cpus.empty()) threads.push_back(std::move(thread));
  }
  std::sort(threads.begin(), threads.end(),
            [](const ProcessThread& a, const ProcessThread& b) { return a.id < b.id; });
  return threads;
}

}  // namespace espalier::bench
