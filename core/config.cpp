#include "core/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/assert.hpp"
#include "core/config_value.hpp"

namespace espalier {
namespace {

std::string unknown_name_warning(std::string_view name, ConfigSource source) {
  const Knob* nearest = &knobs().front();
  std::size_t distance_min = ~std::size_t{0};
  for (const Knob& knob : knobs()) {
    const std::size_t distance = edit_distance(name, knob.name);
    if (distance < distance_min) {
      distance_min = distance;
      nearest = &knob;
    }
  }
  const bool environment = source == ConfigSource::kEnvironment;
  const char* prefix = environment ? "ESPALIER_" : "";
  const char* kind = environment ? "environment variable" : "setting";
  std::string hint;
  if (!environment && name.starts_with("ESPALIER_")) {
    hint = "; settings are written without ESPALIER_";
  } else if (distance_min <= 1 + name.size() / 3) {  // else it says nothing
    hint = fmt::format("; the nearest known name is {}{}", prefix, nearest->name);
  }
  return fmt::format("unknown {} {}{} is ignored{} (list: esp-info --config)", kind, prefix, name,
                     hint);
}

// Applies one "NAME=value".
Outcome assign(Config& config, std::string_view assignment, ConfigSource source) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return error(ESP_ERR_CONFIG, fmt::format("{} \"{}\" is not of the form NAME=value",
                                             config_source_name(source), assignment));
  }
  const std::string_view name = assignment.substr(0, equals);
  const std::string_view value = assignment.substr(equals + 1);
  const auto knob = std::ranges::find_if(knobs(), [name](const Knob& k) { return k.name == name; });
  if (knob == knobs().end()) {
    config.warnings.push_back(unknown_name_warning(name, source));
    return Unit{};
  }
  if (!knob->parse(*knob, value, config)) {
    return error(
        ESP_ERR_CONFIG,
        fmt::format("{} {}{}: \"{}\" is not allowed; allowed is {}", config_source_name(source),
                    source == ConfigSource::kEnvironment ? "ESPALIER_" : "", name, value,
                    knob->allowed(*knob)));
  }
  config.sources[static_cast<std::size_t>(knob - knobs().begin())] = source;
  return Unit{};
}

}  // namespace

std::optional<TraceSetting> parse_trace(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (const auto on = parse_bool(text)) return TraceSetting{*on, {}};
  return TraceSetting{true, std::string(text)};
}

const char* config_source_name(ConfigSource source) noexcept {
  switch (source) {
    case ConfigSource::kDefault:
      return "default";
    case ConfigSource::kEnvironment:
      return "environment";
    case ConfigSource::kSetting:
      return "setting";
  }
  return "?";
}

Result<Config> Config::load(std::span<const std::string> environment,
                            std::span<const std::string> settings) {
  Config config;
  for (const std::string& assignment : environment) {
    const Outcome outcome = assign(config, assignment, ConfigSource::kEnvironment);
    if (!outcome) return outcome.error();
  }
  for (const std::string& assignment : settings) {
    const Outcome outcome = assign(config, assignment, ConfigSource::kSetting);
    if (!outcome) return outcome.error();
  }
  if (config.shape == ESP_SHAPE_KNOMIAL && config.radix == 1) {
    return error(ESP_ERR_CONFIG, "SHAPE=knomial needs a RADIX of 2 or more, not 1");
  }
  if (config.shm_arena_bytes > 0 && config.shm_arena_bytes < kArenaBytesMin) {
    config.warnings.push_back(fmt::format("{}={} is less than the least, 64K, which is used",
                                          config.written_name("SHM_ARENA_BYTES"),
                                          config.shm_arena_bytes));
  }
  return config;
}

std::string Config::written_name(std::string_view knob) const {
  const auto found =
      std::ranges::find_if(knobs(), [knob](const Knob& k) { return k.name == knob; });
  ESP_ASSERT(found != knobs().end());
  const auto at = static_cast<std::size_t>(found - knobs().begin());
  const bool setting = sources[at] == ConfigSource::kSetting;
  return (setting ? "" : "ESPALIER_") + std::string(knob);
}

std::string value_text(std::string_view knob, std::uint64_t number) {
  for (const Knob& known : knobs()) {
    if (known.name == knob && number < known.names.size()) {
      return std::string(known.names[number]);
    }
  }
  return std::to_string(number);
}

std::string config_text(const Config& config) {
  std::string text;
  for (std::size_t i = 0; i < knobs().size(); ++i) {
    const Knob& knob = knobs()[i];
    text += fmt::format("{:<18} = {:<10} {:<8} {:<12} {}\n", knob.name, knob.print(config),
                        knob.unit, config_source_name(config.sources[i]), knob.doc);
  }
  return text;
}

std::string config_markdown() {
  const Config defaults;
  std::string text =
      "# Configuration\n\n"
      "Written by `esp-info --config --markdown`; a test compares. Each knob is an environment\n"
      "variable with the prefix `ESPALIER_`, or an entry `NAME=value` of "
      "`esp_job_options.settings`,\n"
      "which wins. A bad value is an error, an unknown name a warning. Sizes take the suffixes K, "
      "M,\nG and T (powers of 1024).\n\n"
      "| name | default | unit | allowed | meaning |\n|---|---|---|---|---|\n";
  for (const Knob& knob : knobs()) {
    const std::string value = knob.print(defaults);
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", knob.name,
                        value.empty() ? "empty" : fmt::format("`{}`", value), knob.unit,
                        knob.allowed(knob), knob.doc);
  }
  return text;
}

}  // namespace espalier
