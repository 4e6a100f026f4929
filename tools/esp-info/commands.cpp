#include "tools/esp-info/commands.hpp"

#include <fmt/format.h>

#include "bootstrap/config_from_env.hpp"
#include "core/counters.hpp"
#include "core/host.hpp"
#include "core/topology.hpp"
#include "net/verbs/verbs.hpp"

namespace esp_info {

using espalier::Config;
using espalier::Result;

Result<Config> load_config() {
  Result<Config> config = espalier::config_from_env(nullptr);
  if (config.ok()) {
    for (const std::string& warning : config->warnings) {
      fmt::print(stderr, "esp-info: {}\n", warning);
    }
    config->warnings.clear();
  }
  return config;
}

int fail(const std::string& text) {
  fmt::print(stderr, "esp-info: {}\n", text);
  return 1;
}

int show_config(bool markdown) {
  if (markdown) {
    fmt::print("{}", espalier::config_markdown());
    return 0;
  }
  const Result<Config> config = load_config();
  if (!config) return fail(config.error().text);
  fmt::print("{}", espalier::config_text(config.value()));
  return 0;
}

int show_counters() {
  for (const espalier::CounterInfo& info : espalier::counter_table()) {
    fmt::print("{:<18} {}\n", info.name, info.doc);
  }
  return 0;
}

int show_topology() {
  const Result<Config> config = load_config();
  if (!config) return fail(config.error().text);
  const auto machine = espalier::load_machine(config.value().topology);
  if (!machine) return fail(machine.error().text);
  fmt::print("{}", espalier::describe(machine.value()));
  if (machine.value().emulated) return 0;
  const std::vector<int> cpus = espalier::affinity_cpus();
  const auto quota = espalier::cgroup_cpu_quota();
  fmt::print("this process: may run on CPUs {}; control groups allow {}; {} threads at once\n",
             espalier::format_cpu_list(cpus),
             quota ? fmt::format("{:.2f} CPUs", *quota) : "all of them",
             espalier::usable_cpus(cpus.size(), quota));
  return 0;
}

namespace {

int show_rdma(const Config& config) {
  const auto options = espalier::verbs::options_from(config);
  const auto ports = espalier::verbs::list_ports(options);
  for (const auto& port : ports) {
    fmt::print("{}\n", espalier::verbs::describe(port));
    if (port.why_not.empty()) fmt::print("  {}\n", espalier::verbs::describe_groups(port));
  }
  if (ports.empty()) fmt::print("no RDMA device: {}\n", espalier::verbs::why_no_device());
  const auto machine = espalier::load_machine(config.topology);
  if (!machine) return fail(machine.error().text);
  const auto chosen = espalier::verbs::choose_ports(
      ports, options, machine.value(), {.place = espalier::locality_of_rank(machine.value(), 0)});
  if (!chosen) return fail(chosen.error().text);
  if (!chosen.value().empty()) fmt::print("chosen here: {}\n", chosen.value().front().name());
  return 0;
}

}  // namespace

int show_devices() {
  const Result<Config> config = load_config();
  if (!config) return fail(config.error().text);
  const int rdma = show_rdma(config.value());
  const int drivers = show_drivers(config.value());
  return rdma != 0 ? rdma : drivers;
}

}  // namespace esp_info
