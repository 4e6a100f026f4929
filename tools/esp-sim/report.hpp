// Results for people (table, plot) and for programs (CSV, JSON). All of it says that it is
// simulated.
//
// Values; the texts are functions of the results, but for the JSON's "wall_seconds". path: setup
#pragma once

#include <string>
#include <vector>

#include "tools/esp-sim/options.hpp"
#include "tools/esp-sim/runner.hpp"
#include "tools/esp-sim/svg.hpp"

namespace esp_sim {

struct Row {
  Scenario scenario;
  std::vector<Run> runs;  // by seed
};

struct Summary {
  std::uint64_t min_ns = 0, median_ns = 0, max_ns = 0;
  std::size_t completed = 0;  // runs without a failure: only they have a time
};
Summary summary(const Row& row);

std::string to_table(const std::vector<Row>& rows);
// A line per run: qualities, seed, makespan, events, unseed.
std::string to_csv(const std::vector<Row>& rows);
std::string to_json(const std::vector<Row>& rows);
// Along the first quality with several numbers; one line for each combination of the others.
Chart to_chart(const std::vector<Row>& rows);

// "1.25 ms".
std::string time_text(std::uint64_t ns);

}  // namespace esp_sim
