// esp-info: what this build is, how it is configured, what it sees, and why a job uses which path.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "espalier/espalier.h"
#include "tools/esp-info/commands.hpp"

namespace {

// Of --explain: where the ranks would be.
void add_places(CLI::App& app, CLI::Option* explain, esp_info::ExplainRequest& asked) {
  app.add_option("-n", asked.ranks, "With --explain: ranks")
      ->needs(explain)
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  app.add_option("--nodes", asked.nodes, "With --explain: nodes that they are on")
      ->needs(explain)
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  auto* cores = app.add_option("--cores", asked.cores, "With --explain: processors of each node");
  cores->needs(explain)->check(CLI::PositiveNumber);
  app.add_option("--network", asked.network, "With --explain: between nodes")
      ->needs(explain)
      ->check(CLI::IsMember({"tcp", "rdma"}))
      ->capture_default_str();
  app.add_flag("--groups", asked.groups, "With --explain: the network has groups (MULTICAST)")
      ->needs(explain);
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{
      "Shows how Espalier is configured and what it sees. Without options: the report of a job;\n"
      "under a launcher (esp-run -n 4 esp-info) of all its processes."};
  bool config = false;
  bool markdown = false;
  bool topology = false;
  bool counters = false;
  bool devices = false;
  bool every_rank = false;
  std::vector<std::string> traces;
  auto* commands = app.add_option_group("What to show")->require_option(0, 1);
  auto* config_flag = commands->add_flag("--config", config, "Settings: value, source, meaning");
  commands->add_flag("--topology", topology,
                     "The machine, or the one that ESPALIER_TOPOLOGY describes");
  commands->add_flag("--devices", devices,
                     "RDMA devices, and which would be used; drivers of GPUs and their devices");
  commands->add_flag("--counters", counters, "Counters: name and meaning");
  auto* merge = commands
                    ->add_option("--merge-traces", traces,
                                 "Joins traces of several ranks: the first file is written")
                    ->type_name("OUT IN...")
                    ->expected(2, 1 << 20);
  std::vector<std::string> explained;
  esp_info::ExplainRequest asked;
  auto* explain = commands
                      ->add_option("--explain", explained,
                                   "What is chosen for a collective, why, and what comes next")
                      ->type_name("OPERATION BYTES")
                      ->expected(2);
  add_places(app, explain, asked);
  commands->add_flag("--every-rank", every_rank, "The report of every rank, not of rank 0 only");
  app.add_flag("--markdown", markdown, "With --config: docs/configuration.md")->needs(config_flag);
  app.set_version_flag("--version", fmt::format("espalier {}.{}.{}", ESP_VERSION_MAJOR,
                                                ESP_VERSION_MINOR, ESP_VERSION_PATCH));
  app.failure_message([](const CLI::App*, const CLI::Error& wrong) {
    return fmt::format("esp-info: {}\nRun with --help for all options.\n", wrong.what());
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& parse_error) {
    return app.exit(parse_error) == 0 ? 0 : 2;  // 0: --help and --version
  }

  if (config) return esp_info::show_config(markdown);
  if (topology) return esp_info::show_topology();
  if (devices) return esp_info::show_devices();
  if (counters) return esp_info::show_counters();
  if (explain->count() > 0) {
    asked.operation = explained.front();
    asked.bytes = explained.back();
    return esp_info::explain(asked);
  }
  if (merge->count() > 0) {
    return esp_info::merge_traces(traces.front(), {traces.begin() + 1, traces.end()});
  }
  return esp_info::show_job(every_rank);
} catch (const std::exception& exception) {
  return esp_info::fail(exception.what());
}
