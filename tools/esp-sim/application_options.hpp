// The options about what ranks do beside the operation, and what they make of the scenarios.
//
// path: setup
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"
#include "tools/esp-sim/options.hpp"

namespace CLI {
class App;
}

namespace esp_sim {

struct ApplicationAxes {
  std::vector<std::string> overlaps = {"off"}, consumers = {"off"};
  std::vector<std::string> works;  // none: as long as the operation
  std::vector<std::uint32_t> groups;
  std::string consume;
  bool merges = false;
};

void add_application_options(CLI::App& app, ApplicationAxes& axes);
// All combinations. ESP_ERR_ARGUMENT with what is wrong, or would do nothing.
espalier::Outcome apply(const ApplicationAxes& axes, std::vector<Scenario>& scenarios);
// The same of one scenario, beside its other options.
espalier::Outcome check_application(const Scenario& scenario);

// "100us", or "1.5x": times as long as the operation alone.
espalier::Result<Computation> parse_work(std::string_view text);
std::string to_text(const Computation& work);
// "2 GB/s" or "2GB/s": nanoseconds per byte.
espalier::Result<double> parse_rate(std::string_view text);

// One copy of each scenario per value of the axis.
template <typename Value, typename Set>
std::vector<Scenario> product(const std::vector<Scenario>& scenarios,
                              const std::vector<Value>& values, Set set) {
  std::vector<Scenario> all;
  for (const Scenario& scenario : scenarios) {
    for (const Value& value : values) {
      all.push_back(scenario);
      set(all.back(), value);
    }
  }
  return all;
}

}  // namespace esp_sim
