// esp-info: what this build is, how it is configured and what it sees.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bootstrap/config_from_env.hpp"
#include "core/counters.hpp"

namespace {

using espalier::Config;
using espalier::Result;

int fail(const std::string& text) {
  fmt::print(stderr, "esp-info: {}\n", text);
  return 1;
}

int show_config() {
  const Result<Config> config = espalier::config_from_env(nullptr);
  if (!config) return fail(config.error().text);
  for (const std::string& warning : config.value().warnings) {
    fmt::print(stderr, "esp-info: {}\n", warning);
  }
  fmt::print("{}", espalier::config_text(config.value()));
  return 0;
}

int show_counters() {
  for (const espalier::CounterInfo& info : espalier::counter_table()) {
    fmt::print("{:<18} {}\n", info.name, info.doc);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Shows the configuration, the counters and the version of Espalier."};
  bool config = false;
  bool markdown = false;
  bool counters = false;
  auto* config_flag = app.add_flag("--config", config, "Settings: value, source and meaning");
  app.add_flag("--markdown", markdown, "With --config: docs/configuration.md")->needs(config_flag);
  app.add_flag("--counters", counters, "Counters: name and meaning");
  app.set_version_flag("--version", fmt::format("espalier {}.{}.{}", ESP_VERSION_MAJOR,
                                                ESP_VERSION_MINOR, ESP_VERSION_PATCH));
  CLI11_PARSE(app, argc, argv);
  if (config && markdown) {
    fmt::print("{}", espalier::config_markdown());
    return 0;
  }
  if (config) return show_config();
  if (counters) return show_counters();
  fmt::print("{}", app.help());
  return 0;
}
