#include "core/open_files.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>

namespace espalier {

std::string open_files_hint(int error_number) {
  rlimit limit{};
  if (error_number != EMFILE || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  return fmt::format(" (the limit of open files, ulimit -n, is {})", limit.rlim_cur);
}

}  // namespace espalier
