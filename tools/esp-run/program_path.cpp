#include "program_path.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string_view>

#include "exit_codes.hpp"

namespace esp_run {
namespace {

bool is_file(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string absolute_path(const std::string& path) {
  if (path.starts_with('/')) return path;
  const std::unique_ptr<char, decltype(&std::free)> here(getcwd(nullptr, 0), &std::free);
  if (here == nullptr) fail_with_errno("cannot tell where this directory is");
  return fmt::format("{}/{}", here.get(), path);
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

std::string find_from_here(const std::string& name) {
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

}  // namespace

std::string find_program(const std::string& name, const std::string& directory) {
  if (directory.empty()) return find_from_here(name);
  const bool is_path = name.find('/') != std::string::npos && !name.starts_with('/');
  if (is_path && !is_file(name) && is_file(fmt::format("{}/{}", directory, name))) {
    throw LaunchError(kNotFound, fmt::format("program '{}' not found from here; there is one in {} "
                                             "(--wdir), where the ranks start, but are not found",
                                             name, directory));
  }
  return absolute_path(find_from_here(name));
}

}  // namespace esp_run
