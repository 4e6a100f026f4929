// esp-sim: collectives of the library on a simulated machine.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>

#include "tools/esp-sim/explain.hpp"
#include "tools/esp-sim/goal.hpp"
#include "tools/esp-sim/options.hpp"
#include "tools/esp-sim/report.hpp"
#include "tools/esp-sim/runner.hpp"
#include "tools/esp-sim/svg.hpp"
#include "tools/esp-sim/timeline.hpp"

namespace esp_sim {
namespace {

using espalier::Outcome;
using espalier::Unit;
using Write = std::function<Outcome(std::ostream&)>;

// What a program reads from the standard output does not mix with what people read.
std::FILE* for_people(const Outputs& outputs) {
  const auto paths = {&outputs.csv, &outputs.json, &outputs.svg, &outputs.goal, &outputs.trace};
  const bool taken =
      std::any_of(paths.begin(), paths.end(), [](const auto* path) { return *path == "-"; });
  return taken ? stderr : stdout;
}

// Nothing where no file was asked for.
Outcome write_file(const std::string& path, const Write& write) {
  if (path.empty()) return Unit{};
  if (path == "-") return write(std::cout);
  const auto failure = [&path] {
    return espalier::error(ESP_ERR_ARGUMENT,
                           fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  };
  std::ofstream file(path);
  if (!file) return failure();
  if (Outcome outcome = write(file); !outcome) return outcome;
  file.close();
  if (!file) return failure();
  return Unit{};
}

Outcome write_text(const std::string& path, const std::function<std::string()>& text) {
  return write_file(path, [&text](std::ostream& out) -> Outcome {
    out << text();
    return Unit{};
  });
}

Outcome write_goal_file(const Options& options, Machines& machines) {
  return write_file(options.outputs.goal, [&](std::ostream& out) -> Outcome {
    const Scenario& scenario = options.scenarios.front();
    const auto machine = machines.get(scenario.machine);
    if (!machine) return machine.error();
    Around around;
    const auto request = request_of(*machine.value(), scenario, around);
    if (!request) return request.error();
    return write_goal(request.value(), machine.value()->reduce_ns_per_byte, out,
                      {operation_of(scenario), scenario.ranks});
  });
}

// What is asked of one run alone.
Outcome show_run(const Options& options, const Row& row, Machines& machines,
                 const Records& records) {
  const auto machine = machines.get(row.scenario.machine);
  if (!machine) return machine.error();
  const Run& run = row.runs.front();
  const std::uint64_t end_ns = run.makespan_ns * row.scenario.calls;
  if (options.outputs.explain) {
    fmt::print(for_people(options.outputs), "{}",
               explain(critical_path(records.transfers), records.work, *machine.value(), end_ns));
  }
  return write_file(options.outputs.trace, [&](std::ostream& out) -> Outcome {
    write_timeline({*machine.value(), row.scenario.noise, row.scenario.noise_every, run.seed,
                    row.scenario.ranks, end_ns, records.transfers, records.work},
                   out);
    return Unit{};
  });
}

Outcome run_all(const Options& options, Machines& machines, std::vector<Row>& rows,
                Records* records) {
  Progress progress(options.scenarios.size() * options.seeds.size());
  std::uint64_t done = 0;
  for (const Scenario& scenario : options.scenarios) {
    const auto machine = machines.get(scenario.machine);
    if (!machine) return machine.error();
    Row row{scenario, {}};
    for (const std::uint64_t seed : options.seeds) {
      progress.show(done++, fmt::format("{} ranks, seed {}", scenario.ranks, seed));
      auto run = simulate(*machine.value(), scenario, seed, progress, records);
      if (!run) return run.error();
      row.runs.push_back(run.value());
    }
    rows.push_back(std::move(row));
  }
  return Unit{};
}

Outcome simulate_and_report(const Options& options) {
  const Outputs& outputs = options.outputs;
  Machines machines;
  if (Outcome outcome = write_goal_file(options, machines); !outcome) return outcome;
  std::vector<Row> rows;
  Records records;
  const bool wants_records = outputs.explain || !outputs.trace.empty();
  if (Outcome outcome = run_all(options, machines, rows, wants_records ? &records : nullptr);
      !outcome) {
    return outcome;
  }
  if (!outputs.quiet) fmt::print(for_people(outputs), "{}", to_table(rows));
  std::fflush(stdout);
  if (Outcome outcome = write_text(outputs.csv, [&] { return to_csv(rows); }); !outcome) {
    return outcome;
  }
  if (Outcome outcome = write_text(outputs.json, [&] { return to_json(rows); }); !outcome) {
    return outcome;
  }
  if (Outcome outcome = write_text(outputs.svg, [&] { return to_svg(to_chart(rows)); }); !outcome) {
    return outcome;
  }
  if (wants_records) return show_run(options, rows.front(), machines, records);
  return Unit{};
}

}  // namespace
}  // namespace esp_sim

int main(int argc, char** argv) try {
  const esp_sim::Options options = esp_sim::parse_options(argc, argv);
  if (options.list_machines) {
    for (const std::string& name : espalier::sim::shipped_machines()) fmt::print("{}\n", name);
    return 0;
  }
  const espalier::Outcome outcome = esp_sim::simulate_and_report(options);
  if (outcome) return 0;
  fmt::print(stderr, "esp-sim: {}\n", outcome.error().text);
  return 1;
} catch (const std::exception& exception) {
  fmt::print(stderr, "esp-sim: {}\n", exception.what());
  return 1;
}
