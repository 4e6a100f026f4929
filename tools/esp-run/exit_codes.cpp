#include "exit_codes.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace esp_run {

void fail_with_errno(const std::string& what) {
  const int failure = errno;
  const char* hint = failure == EMFILE ? " (the limit of open files is reached: ulimit -n)" : "";
  throw LaunchError(kLauncherFailed, fmt::format("{}: {}{}", what, std::strerror(failure), hint));
}

}  // namespace esp_run
