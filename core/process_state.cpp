#include "core/process_state.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace espalier {

ProcessState process_state(std::int64_t pid) noexcept {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/%lld/stat", static_cast<long long>(pid));
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return {};
  char text[1024];
  const std::size_t got = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[got] = 0;
  // "PID (NAME) LETTER ...", the start time is field 22. The name may hold anything.
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] != ' ') return {};
  ProcessState state;
  state.letter = at[2];
  for (int field = 2; at != nullptr && field < 22; ++field) at = std::strchr(at + 1, ' ');
  if (at != nullptr) state.start = std::strtoull(at + 1, nullptr, 10);
  return state;
}

}  // namespace espalier
