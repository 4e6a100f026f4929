#include "bootstrap/config_from_env.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/said_warnings.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX asks for it

namespace espalier {
std::vector<std::string> environment_snapshot() {
  std::vector<std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    variables.emplace_back(*entry);
  }
  return variables;
}

std::optional<std::string> environment_value(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

std::vector<std::string> espalier_assignments(const std::vector<std::string>& environment) {
  static constexpr std::string_view kPrefix = "ESPALIER_";
  static constexpr std::string_view kAccelerator =
      "ESPALIER_ACCEL";  // its own, no settings of jobs
  std::vector<std::string> assignments;
  for (const std::string& variable : environment) {
    if (variable.starts_with(kPrefix) && !variable.starts_with(kAccelerator)) {
      assignments.push_back(variable.substr(kPrefix.size()));
    }
  }
  return assignments;
}

Result<Config> config_from_env(const char* const* settings) {
  std::vector<std::string> listed;
  for (; settings != nullptr && *settings != nullptr; ++settings) listed.emplace_back(*settings);
  const std::vector<std::string> environment = espalier_assignments(environment_snapshot());
  Result<Config> config = Config::load(environment, listed);
  if (!config || config->warnings.empty()) return config;
  // What the environment alone gives rise to may have been said, once for all ranks.
  Result<Config> said = Config::load(environment);
  if (!said || environment_value(kSaidWarningsVariable) != warnings_digest(said->warnings)) {
    return config;
  }
  std::erase_if(config->warnings, [&said](const std::string& warning) {
    return std::find(said->warnings.begin(), said->warnings.end(), warning) != said->warnings.end();
  });
  return config;
}

}  // namespace espalier
