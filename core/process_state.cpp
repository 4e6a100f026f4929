#include "core/process_state.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace espalier {
namespace {

// False when there is no such file.
template <std::size_t kBytes>
bool read_file(const char* path, char (&text)[kBytes]) noexcept {
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return false;
  const std::size_t got = std::fread(text, 1, kBytes - 1, file);
  std::fclose(file);
  text[got] = 0;
  return true;
}

// Of "NAME:<tab>1<tab>2", how many numbers there are, and the first.
int numbers_of(const char* text, const char* name, long& first) noexcept {
  const char* at = std::strstr(text, name);
  if (at == nullptr) return 0;
  at += std::strlen(name);
  int count = 0;
  for (char* end = nullptr; *at != 0 && *at != '\n'; at = end, ++count) {
    const long number = std::strtol(at, &end, 10);
    if (end == at) break;
    if (count == 0) first = number;
  }
  return count;
}

}  // namespace

// The kernel lists the numbers of a process from the namespace of the mount down to its own: one
// alone means that the two are the same. Before Linux 4.1 there is no list, but a number.
bool proc_is_of_this_namespace() noexcept {
  char text[4096];
  if (!read_file("/proc/self/status", text)) return false;
  long number = 0;
  int count = numbers_of(text, "\nNSpid:", number);
  if (count == 0) count = numbers_of(text, "\nPid:", number);
  return count == 1 && number == ::getpid();
}

std::optional<ProcessState> process_state(VisiblePid pid) noexcept {
  if (!pid.known() || !proc_is_of_this_namespace()) return std::nullopt;
  char path[40];
  std::snprintf(path, sizeof path, "/proc/%lld/stat", static_cast<long long>(pid.number()));
  char text[1024];
  if (!read_file(path, text)) return ProcessState();
  // "PID (NAME) LETTER ...", the start time is field 22. The name may hold anything.
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] != ' ') return ProcessState();
  ProcessState state;
  state.letter = at[2];
  for (int field = 2; at != nullptr && field < 22; ++field) at = std::strchr(at + 1, ' ');
  if (at != nullptr) state.start = std::strtoull(at + 1, nullptr, 10);
  return state;
}

}  // namespace espalier
