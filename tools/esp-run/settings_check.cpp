#include "settings_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bootstrap/config_from_env.hpp"
#include "bootstrap/level_shapes.hpp"
#include "bootstrap/wire_choice.hpp"
#include "core/config.hpp"
#include "core/said_warnings.hpp"
#include "core/switches.hpp"
#include "environment.hpp"
#include "exit_codes.hpp"

namespace esp_run {
namespace {

// As the library takes them from the environment.
std::vector<std::string> settings_of(const Program& program) {
  std::vector<std::string> variables;
  const Environment environment(program.variables);
  for (char* const* variable = environment.data(); *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  return espalier::espalier_assignments(variables);
}

// What the library reads in texts only later, and finds alike on every rank.
espalier::Outcome check_texts(const espalier::Config& config) {
  if (const auto wires = espalier::parse_wires(config.wires); !wires) {
    return espalier::error(ESP_ERR_CONFIG, fmt::format("ESPALIER_WIRES: {}", wires.error().text));
  }
  const auto shapes = espalier::parse_level_shapes(config.level_shapes);
  if (!shapes) return shapes.error();
  // A file may be on the nodes only.
  if (config.switches.find('=') != std::string::npos) {
    const auto switches = espalier::SwitchMap::parse(config.switches);
    if (!switches) {
      return espalier::error(ESP_ERR_CONFIG,
                             fmt::format("ESPALIER_SWITCHES: {}", switches.error().text));
    }
  }
  return espalier::Unit{};
}

}  // namespace

std::vector<std::string> check_settings(std::vector<Program>& programs) {
  std::vector<std::string> sentences;
  for (Program& program : programs) {
    auto config = espalier::Config::load(settings_of(program));
    if (!config) throw LaunchError(kLauncherFailed, config.error().text);
    if (const auto texts = check_texts(*config); !texts) {
      throw LaunchError(kLauncherFailed, texts.error().text);
    }
    program.variables.push_back(fmt::format("{}={}", espalier::kSaidWarningsVariable,
                                            espalier::warnings_digest(config->warnings)));
    if (config->log_level < espalier::LogLevel::kWarn) continue;
    for (const std::string& warning : config->warnings) {
      const bool is_new = std::find(sentences.begin(), sentences.end(), warning) == sentences.end();
      if (is_new) sentences.push_back(warning);
    }
  }
  return sentences;
}

}  // namespace esp_run
