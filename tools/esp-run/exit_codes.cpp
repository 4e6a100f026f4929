#include "exit_codes.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace esp_run {

void fail_with_errno(const std::string& what) {
  throw LaunchError(kLauncherFailed, fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace esp_run
