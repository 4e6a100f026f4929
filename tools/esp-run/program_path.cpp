#include "program_path.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "exit_codes.hpp"

namespace esp_run {
namespace {

bool is_file(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string check_executable(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    throw LaunchError(kNotFound, fmt::format("program '{}' not found", path));
  }
  if (S_ISDIR(status.st_mode)) {
    throw LaunchError(kCannotExecute, fmt::format("'{}' is a directory, not a program", path));
  }
  if (access(path.c_str(), X_OK) != 0) {
    throw LaunchError(kCannotExecute,
                      fmt::format("'{}' is not executable (chmod +x would make it so)", path));
  }
  return path;
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.empty()) throw LaunchError(kNotFound, "the program's name is empty");
  if (name.find('/') != std::string::npos) return check_executable(name);

  const char* path_variable = std::getenv("PATH");
  std::string_view rest = path_variable != nullptr ? path_variable : "/usr/bin:/bin";
  std::string not_executable;
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    const std::string path = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (is_file(path)) {
      if (access(path.c_str(), X_OK) == 0) return path;
      not_executable = path;
    }
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (!not_executable.empty()) return check_executable(not_executable);
  const char* hint = is_file(name) ? "; there is one in this folder: write ./" : "";
  throw LaunchError(kNotFound, fmt::format("program '{}' not found in PATH{}{}", name, hint,
                                           *hint != '\0' ? name : ""));
}

}  // namespace esp_run
