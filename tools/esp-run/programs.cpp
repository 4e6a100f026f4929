#include "programs.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "exit_codes.hpp"
#include "say.hpp"

namespace esp_run {

std::vector<std::vector<std::string>> split_into_programs(
    std::vector<std::string> arguments, const std::function<int(std::string&)>& on_option) {
  std::vector<std::vector<std::string>> parts(1);
  bool is_before_name = true, is_last_part = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string& argument = arguments[i];
    if (argument == ":" && !is_last_part) {
      parts.emplace_back();
      is_before_name = true;
      continue;
    }
    is_last_part = is_last_part || (is_before_name && argument == "--");
    is_before_name = is_before_name && !is_last_part && argument.starts_with('-');
    int values_behind = is_before_name ? on_option(argument) : 0;
    parts.back().push_back(std::move(argument));
    for (; values_behind > 0 && i + 1 < arguments.size(); --values_behind) {
      parts.back().push_back(std::move(arguments[++i]));
    }
  }
  return parts;
}

void add_variable(Program& program, const std::string& text) {
  const std::string name = text.substr(0, text.find('='));
  if (name.empty()) {
    throw LaunchError(kLauncherFailed, fmt::format("-x: '{}' begins without a name", text));
  }
  if (name.starts_with("PMIX_") && !name.starts_with("PMIX_MCA_")) {
    throw LaunchError(kLauncherFailed,
                      fmt::format("-x: {} is among what esp-run itself tells its ranks", name));
  }
  if (name.size() < text.size()) {
    program.variables.push_back(text);
  } else if (const char* value = std::getenv(name.c_str())) {
    program.variables.push_back(fmt::format("{}={}", name, value));
  } else {
    say("-x: there is no variable {} here to pass on; -x {}=VALUE would set one", name, name);
  }
}

std::optional<std::string> value_for(const Program& program, const std::string& name) {
  const std::string begin = name + '=';
  // The last one counts.
  const auto given = std::find_if(program.variables.rbegin(), program.variables.rend(),
                                  [&](const std::string& text) { return text.starts_with(begin); });
  if (given != program.variables.rend()) return given->substr(begin.size());
  const char* inherited = std::getenv(name.c_str());
  return inherited != nullptr ? std::optional<std::string>(inherited) : std::nullopt;
}

std::string is_directory(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    return fmt::format("'{}': {}", path, std::strerror(errno));
  }
  if (!S_ISDIR(status.st_mode)) return fmt::format("'{}' is not a directory", path);
  if (access(path.c_str(), X_OK) != 0) {
    return fmt::format("'{}' cannot be entered: {}", path, std::strerror(errno));
  }
  return {};
}

}  // namespace esp_run
