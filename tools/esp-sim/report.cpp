#include "tools/esp-sim/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

namespace esp_sim {
namespace {

std::vector<Scenario> scenarios_of(const std::vector<Row>& rows) {
  std::vector<Scenario> scenarios;
  for (const Row& row : rows) scenarios.push_back(row.scenario);
  return scenarios;
}

// "bcast, cori, 1024 ranks, ..." of what all have in common.
std::string common_text(const std::vector<Row>& rows) {
  const auto axes = varying(scenarios_of(rows));
  std::string text;
  for (const Quality& quality : qualities()) {
    if (std::any_of(axes.begin(), axes.end(),
                    [&](const Quality* axis) { return axis->name == quality.name; })) {
      continue;
    }
    const std::string value = quality.text(rows.front().scenario);
    if (value == "auto" || value == "full" || value == "all" || value == "off") continue;
    if (value == "none" && !quality.is_named) continue;
    const bool is_word = quality.number == nullptr;
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ",
                        quality.is_named ? fmt::format("{} ", quality.name) : "", value,
                        is_word ? "" : fmt::format(" {}", quality.name));
  }
  const std::uint32_t calls = rows.front().scenario.calls;
  if (calls > 1) text += fmt::format(", per call of {} back to back", calls);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string faults_text(const Row& row) {
  return row.scenario.faults.any() ? fmt::format(", faults {}", to_text(row.scenario.faults)) : "";
}

std::size_t failed_runs(const Row& row) {
  return static_cast<std::size_t>(std::count_if(
      row.runs.begin(), row.runs.end(), [](const Run& run) { return run.failed_ranks > 0; }));
}

// One line per row with failures: which seed, and what it says.
std::string failures_text(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    const auto run = std::find_if(row.runs.begin(), row.runs.end(),
                                  [](const Run& one) { return one.failed_ranks > 0; });
    if (run == row.runs.end()) continue;
    text +=
        fmt::format("failed with seed {} on {} of {} ranks: {}\n", run->seed, run->failed_ranks,
                    row.scenario.ranks,
                    run->first_failure.empty() ? "crashed, or waits for ever" : run->first_failure);
  }
  return text;
}

// One text per cell, aligned: words to the left, times and numbers to the right.
class Grid {
 public:
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text(std::size_t word_columns) const {
    std::string text;
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t column = 0; column < row.size(); ++column) {
        const std::size_t width = width_of(column);
        line += column < word_columns ? fmt::format("{:<{}}  ", row[column], width)
                                      : fmt::format("{:>{}}  ", row[column], width);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    return text;
  }

 private:
  std::size_t width_of(std::size_t column) const {
    std::size_t width = 0;
    for (const auto& row : rows_) width = std::max(width, row.at(column).size());
    return width;
  }

  std::vector<std::vector<std::string>> rows_;
};

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string safe = "\"";
  for (const char c : text) safe += c == '"' ? "\"\"" : std::string(1, c);
  return safe + "\"";
}

bool has_application(const Row& row) {
  return row.scenario.application.any();
}

// Of two in the middle the faster one.
const Run& median_run(const Row& row) {
  std::vector<const Run*> runs;
  for (const Run& run : row.runs) runs.push_back(&run);
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>((runs.size() - 1) / 2);
  std::nth_element(runs.begin(), middle, runs.end(),
                   [](const Run* a, const Run* b) { return a->makespan_ns < b->makespan_ns; });
  return **middle;
}

// Of the median run: three cells.
void add_application_cells(const Row& row, std::vector<std::string>& cells) {
  const Run& run = median_run(row);
  if (!has_application(row)) {
    cells.insert(cells.end(), {"-", "-", "-"});
    return;
  }
  cells.push_back(esp_sim::time_text(run.operation_ns));
  cells.push_back(esp_sim::time_text(run.work_ns));
  const auto ratio = overlap_ratio(run);
  cells.push_back(ratio ? fmt::format("{:.3f}", *ratio) : "-");
}

// Empty where there is no application.
std::string application_csv(const Row& row, const Run& run) {
  if (!has_application(row)) return ",,";
  const auto ratio = overlap_ratio(run);
  return fmt::format("{},{},{}", run.operation_ns, run.work_ns,
                     ratio ? fmt::format("{:.6f}", *ratio) : "");
}

nlohmann::ordered_json json_of(const Row& row, const Run& run) {
  nlohmann::ordered_json object = {{"seed", run.seed},
                                   {"makespan_ns", run.makespan_ns},
                                   {"events", run.events},
                                   {"unseed", fmt::format("{:016x}", run.unseed)},
                                   {"failed_ranks", run.failed_ranks},
                                   {"first_failure", run.first_failure},
                                   {"wall_seconds", run.wall_seconds}};
  if (!has_application(row)) return object;
  object["operation_ns"] = run.operation_ns;
  object["work_ns"] = run.work_ns;
  object["overlap_ratio"] = nullptr;
  if (const auto ratio = overlap_ratio(run)) object["overlap_ratio"] = *ratio;
  return object;
}

nlohmann::ordered_json json_of(const Scenario& scenario) {
  nlohmann::ordered_json object;
  for (const Quality& quality : qualities()) {
    // Sizes as numbers, not as 64K.
    if (quality.is_size) {
      object[quality.name] = static_cast<std::uint64_t>(quality.number(scenario));
    } else {
      object[quality.name] = quality.text(scenario);
    }
  }
  object["noise_share"] = scenario.noise.share();
  object["faults"] = to_text(scenario.faults);
  object["root"] = scenario.root;
  if (scenario.multicast_leaders == espalier::MulticastLeaders::kSocket)
    object["multicast_leaders"] = "socket";
  object["calls"] = scenario.calls;
  return object;
}

}  // namespace

Summary summary(const Row& row) {
  std::vector<std::uint64_t> times;
  for (const Run& run : row.runs) {
    if (run.failed_ranks == 0) times.push_back(run.makespan_ns);
  }
  if (times.empty()) return {};
  std::sort(times.begin(), times.end());
  const std::size_t middle = times.size() / 2;
  const std::uint64_t median =
      times.size() % 2 == 1 ? times[middle] : std::midpoint(times[middle - 1], times[middle]);
  return {times.front(), median, times.back(), times.size()};
}

std::string time_text(std::uint64_t ns) {
  const auto value = static_cast<double>(ns);
  if (ns < 1'000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.2f} us", value / 1e3);
  if (ns < 1'000'000'000) return fmt::format("{:.3f} ms", value / 1e6);
  return fmt::format("{:.3f} s", value / 1e9);
}

std::string to_table(const std::vector<Row>& rows) {
  const auto axes = varying(scenarios_of(rows));
  const bool has_failures =
      std::any_of(rows.begin(), rows.end(), [](const Row& row) { return failed_runs(row) > 0; });
  const std::size_t seeds = rows.front().runs.size();
  std::string text = fmt::format("simulated: {}{}; {} seed{}\n", common_text(rows),
                                 faults_text(rows.front()), seeds, seeds == 1 ? "" : "s");
  Grid grid;
  std::vector<std::string> head;
  for (const Quality* axis : axes) head.push_back(axis->name);
  const bool has_applications = std::any_of(rows.begin(), rows.end(), has_application);
  for (const char* name : {"median", "min", "max"}) head.push_back(name);
  if (has_applications) head.insert(head.end(), {"t_comm", "t_work", "r"});
  for (const char* name : {"events", "unseed"}) head.push_back(name);
  if (has_failures) head.push_back("failed runs");
  grid.add_row(head);
  for (const Row& row : rows) {
    std::vector<std::string> cells;
    for (const Quality* axis : axes) cells.push_back(axis->text(row.scenario));
    const Summary times = summary(row);
    for (const std::uint64_t ns : {times.median_ns, times.min_ns, times.max_ns}) {
      cells.push_back(times.completed > 0 ? time_text(ns) : "-");
    }
    if (has_applications) add_application_cells(row, cells);
    // Of all seeds together: what two calls of the program have to agree in.
    std::uint64_t events = 0, unseed = 0;
    for (const Run& run : row.runs) {
      events += run.events;
      unseed = unseed * 0x100000001b3u ^ run.unseed;
    }
    cells.push_back(fmt::format("{}", events));
    cells.push_back(fmt::format("{:016x}", unseed));
    if (has_failures) {
      cells.push_back(fmt::format("{} of {}", failed_runs(row), row.runs.size()));
    }
    grid.add_row(cells);
  }
  return text + grid.text(axes.size()) + failures_text(rows);
}

std::string to_csv(const std::vector<Row>& rows) {
  std::string text = "simulated,";
  for (const Quality& quality : qualities()) text += fmt::format("{},", quality.name);
  text +=
      "noise_share,faults,calls,seed,makespan_ns,events,unseed,failed_ranks,first_failure,"
      "operation_ns,work_ns,overlap_ratio\n";
  for (const Row& row : rows) {
    for (const Run& run : row.runs) {
      text += "true,";
      for (const Quality& quality : qualities()) {
        text += quality.is_size ? fmt::format("{},", quality.number(row.scenario))
                                : quoted(quality.text(row.scenario)) + ",";
      }
      text += fmt::format("{},{},{},{},{},{},{:016x},{},{},{}\n", row.scenario.noise.share(),
                          quoted(to_text(row.scenario.faults)), row.scenario.calls, run.seed,
                          run.makespan_ns, run.events, run.unseed, run.failed_ranks,
                          quoted(run.first_failure), application_csv(row, run));
    }
  }
  return text;
}

std::string to_json(const std::vector<Row>& rows) {
  nlohmann::ordered_json document;
  document["simulated"] = true;
  for (const Row& row : rows) {
    nlohmann::ordered_json object = json_of(row.scenario);
    const Summary times = summary(row);
    object["failed_runs"] = failed_runs(row);
    object["makespan_ns"] = nullptr;
    if (times.completed > 0) {
      object["makespan_ns"] = {
          {"min", times.min_ns}, {"median", times.median_ns}, {"max", times.max_ns}};
    }
    for (const Run& run : row.runs) object["runs"].push_back(json_of(row, run));
    document["rows"].push_back(object);
  }
  return document.dump(1) + "\n";
}

Chart to_chart(const std::vector<Row>& rows) {
  auto axes = varying(scenarios_of(rows));
  const auto along = std::find_if(axes.begin(), axes.end(),
                                  [](const Quality* axis) { return axis->number != nullptr; });
  const Quality& x = **along;
  axes.erase(along);
  double high = 0;
  for (const Row& row : rows) high = std::max(high, static_cast<double>(summary(row).max_ns));
  const double unit = high >= 1e6 ? 1e6 : 1e3;

  Chart chart;
  chart.title =
      fmt::format("{} (simulated)", espalier::collective_name(rows.front().scenario.operation));
  chart.subtitle = common_text(rows) + faults_text(rows.front());
  chart.x = {x.label, x.is_size ? Scale::kSize : Scale::kLinear, false};
  chart.y = {unit > 1e3 ? "time (ms)" : "time (us)", Scale::kLinear, true};
  double low = high;
  for (const Row& row : rows) {
    const Summary times = summary(row);
    if (times.completed == 0) continue;
    low = std::min(low, static_cast<double>(times.min_ns));
    std::string name;
    for (const Quality* axis : axes) {
      name += (name.empty() ? "" : ", ") + axis->text(row.scenario);
    }
    auto series = std::find_if(chart.series.begin(), chart.series.end(),
                               [&](const Series& other) { return other.name == name; });
    if (series == chart.series.end()) {
      series = chart.series.insert(chart.series.end(), {name, {}});
    }
    series->points.push_back({x.number(row.scenario), static_cast<double>(times.median_ns) / unit,
                              static_cast<double>(times.min_ns) / unit,
                              static_cast<double>(times.max_ns) / unit});
  }
  for (Series& series : chart.series) {
    std::stable_sort(series.points.begin(), series.points.end(),
                     [](const Point& a, const Point& b) { return a.x < b.x; });
    // What cannot stand on a scale of powers: a choice left to the library (0).
    if (series.points.front().x <= 0) chart.x.scale = Scale::kLinear;
  }
  if (low > 0 && high > 50 * low) chart.y.scale = Scale::kLog;
  return chart;
}

}  // namespace esp_sim
