// Strong scaling of a 4 MiB broadcast, after Luo et al. (HPDC 2018): one multi-level tree, from one
// node of Cori to a thousand.
//
//   esp-strong-scaling [--machine cori] [--most 32768] [--bytes N] [--segments S] [--markdown FILE]
//                      [--svg FILE]
//
// Prediction: a chain of chains takes (P + S - 2) (alpha + beta m) for P ranks on the longest path
// and S segments; hops of different levels each have their own alpha + beta m. It is flat while S
// is large against P, and cannot be flat beyond: the longest path of a chain over n nodes has n - 1
// hops. A binary tree between the nodes costs twice the card's time per segment, and stays flat.
// Judged: the chain of chains within 10 % of the formula. Simulated figures only.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bench/experiments/simulated.hpp"
#include "tools/esp-sim/closed_forms.hpp"
#include "tools/esp-sim/svg.hpp"

namespace espalier::experiments {
namespace {

struct Settings {
  std::string machine = "cori";
  std::uint32_t most = 32768;
  std::uint64_t bytes = std::uint64_t{4} << 20;
  std::uint64_t segments = 64;
  std::string markdown, svg;
};

struct Row {
  std::uint32_t ranks = 0;
  double chain_ns = 0;
  double predicted_ns = 0;
  double binary_ns = 0;

  double difference() const { return predicted_ns / chain_ns - 1; }
  bool good() const { return std::fabs(difference()) < 0.10; }
};

class Experiment {
 public:
  explicit Experiment(const Settings& settings)
      : settings_(settings), machine_(machine_or_exit(settings.machine)) {}

  std::vector<Row> rows() const {
    const auto node = static_cast<std::size_t>(machine_.find_level("node"));
    std::vector<Row> rows;
    for (std::uint64_t ranks = machine_.cores_per_unit(node); ranks <= settings_.most; ranks *= 4) {
      rows.push_back(row(static_cast<std::uint32_t>(ranks)));
    }
    return rows;
  }

  // The levels of the machine as one segment sees them.
  std::string prices() const {
    std::string text;
    for (std::size_t level = 0; level + 1 < machine_.levels.size(); ++level) {
      text += fmt::format("{}{}: {}", level == 0 ? "" : ", ", machine_.levels[level].name,
                          human_time(hop_ns(level)));
    }
    return text;
  }

 private:
  Row row(std::uint32_t ranks) const {
    Row row;
    row.ranks = ranks;
    row.chain_ns = simulate(ranks, ESP_SHAPE_CHAIN);
    row.binary_ns = simulate(ranks, ESP_SHAPE_BINARY);
    row.predicted_ns = closed_forms::chain_of_chains(longest_path(ranks), settings_.segments);
    return row;
  }

  double simulate(std::uint32_t ranks, esp_shape outside) const {
    Job job;
    job.machine = &machine_;
    job.ranks = ranks;
    job.world.carry_data = false;
    job.levels = ESP_SHAPE_CHAIN;
    return static_cast<double>(run_or_exit(job, tree_operation(Collective::kBcast, outside,
                                                               settings_.bytes, settings_.segments))
                                   .makespan_ns);
  }

  // Of one segment between two units of the next inner level: alpha + beta m.
  double hop_ns(std::size_t index) const {
    const sim::Level& level = machine_.levels[index];
    const double m = static_cast<double>(settings_.bytes) / static_cast<double>(settings_.segments);
    const double once =
        level.overhead_send_ns + level.latency_ns + level.overhead_recv_ns + m * level.ns_per_byte;
    if (level.carrier == sim::Carrier::kDevice) return once;
    if (level.carrier == sim::Carrier::kCopy || m < static_cast<double>(level.pull_from_bytes)) {
      return once + m * level.ns_per_byte;  // in and out
    }
    return once + machine_.cma.call_ns + std::ceil(m / 4096) * machine_.cma.page_ns;
  }

  // To the last rank of the last node: through the chain of nodes, of sockets, of cores. Hops
  // between groups of nodes cost what the outer level says.
  std::vector<closed_forms::Hops> longest_path(std::uint64_t ranks) const {
    std::vector<closed_forms::Hops> path;
    std::uint64_t outer_units = 1;
    for (std::size_t level = 0; level + 1 < machine_.levels.size(); ++level) {
      const std::uint64_t cores = machine_.cores_per_unit(level + 1);
      const std::uint64_t units = (ranks + cores - 1) / cores;  // of the next inner level
      const bool network = machine_.levels[level].carrier == sim::Carrier::kDevice;
      // The chain of nodes runs through all groups; inside a node a path sees one unit per level.
      const std::uint64_t members =
          network ? units - outer_units
                  : std::min<std::uint64_t>(machine_.levels[level + 1].arity, units) - 1;
      path.push_back({members, hop_ns(level)});
      outer_units = units;
    }
    return path;
  }

  Settings settings_;
  sim::Machine machine_;
};

std::string table(const std::vector<Row>& rows, const Settings& settings,
                  const std::string& prices) {
  const double first_chain = rows.front().chain_ns;
  const double first_binary = rows.front().binary_ns;
  std::string text = fmt::format(
      "# Strong scaling of a broadcast of {}\n\n"
      "Simulated on `{}`: {} segments of {}, all cores of each node, chains inside the nodes, no "
      "noise. Made by `esp-strong-scaling`. One segment takes one hop in: {}.\n\n"
      "| ranks | chain of nodes | formula | difference | over the first | binary tree of nodes | "
      "over the first |\n|---|---|---|---|---|---|---|\n",
      human_bytes(settings.bytes), settings.machine, settings.segments,
      human_bytes(settings.bytes / settings.segments), prices);
  for (const Row& row : rows) {
    text += fmt::format("| {} | {} | {} | {:+.1f} % | {:.2f} | {} | {:.2f} |\n", row.ranks,
                        human_time(row.chain_ns), human_time(row.predicted_ns),
                        100 * row.difference(), row.chain_ns / first_chain,
                        human_time(row.binary_ns), row.binary_ns / first_binary);
  }
  if (!settings.svg.empty()) text += "\n![strong scaling](strong_scaling.svg)\n";
  return text;
}

std::string plot(const std::vector<Row>& rows, const Settings& settings) {
  esp_sim::Chart chart;
  chart.title = fmt::format("Strong scaling of a broadcast of {}", human_bytes(settings.bytes));
  chart.subtitle = fmt::format("simulated: {}, {} segments, chains inside the nodes",
                               settings.machine, settings.segments);
  chart.x = {.label = "ranks", .scale = esp_sim::Scale::kLog};
  chart.y = {.label = "time (ms)", .scale = esp_sim::Scale::kLog};
  chart.series = {{"chain of nodes", {}}, {"formula", {}}, {"binary tree of nodes", {}}};
  const auto add = [](esp_sim::Series& series, std::uint32_t ranks, double ns) {
    series.points.push_back({static_cast<double>(ranks), ns / 1e6, ns / 1e6, ns / 1e6});
  };
  for (const Row& row : rows) {
    add(chart.series[0], row.ranks, row.chain_ns);
    add(chart.series[1], row.ranks, row.predicted_ns);
    add(chart.series[2], row.ranks, row.binary_ns);
  }
  return esp_sim::to_svg(chart);
}

// True: written, or not wanted.
bool write(const std::string& path, const std::string& text) {
  return path.empty() || write_file(path, text);
}

Settings parse(int argc, char** argv) {
  Settings settings;
  CLI::App app("Strong scaling of a broadcast over a multi-level tree, simulated");
  app.add_option("--machine", settings.machine, "name or file");
  app.add_option("--most", settings.most, "ranks");
  app.add_option("--bytes", settings.bytes, "of the message")->check(CLI::Range(1u, 1u << 30));
  app.add_option("--segments", settings.segments)->check(CLI::Range(1, 1 << 20));
  app.add_option("--markdown", settings.markdown, "write the table to this file, too");
  app.add_option("--svg", settings.svg, "write a plot to this file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    std::exit(app.exit(problem));
  }
  return settings;
}

}  // namespace
}  // namespace espalier::experiments

int main(int argc, char** argv) {
  using namespace espalier::experiments;
  const Settings settings = parse(argc, argv);
  const Experiment experiment(settings);
  const std::vector<Row> rows = experiment.rows();
  if (rows.empty()) {
    fmt::print(stderr, "--most {} is less than one node of {}\n", settings.most, settings.machine);
    return 2;
  }
  const std::string text = table(rows, settings, experiment.prices());
  fmt::print("{}", text);
  if (!write(settings.markdown, text) || !write(settings.svg, plot(rows, settings))) return 1;
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.good(); }) ? 0 : 1;
}
