#include "report.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace heat {
namespace {

double cells_of(const Options& options) {
  return static_cast<double>(options.plate.rows) * static_cast<double>(options.plate.columns);
}

double step_seconds(const Options& options, const RunFacts& facts) {
  return options.steps > 0 ? facts.seconds / options.steps : 0;
}

}  // namespace

void print_header(const Options& options, const Grid& grid) {
  const Plate& plate = options.plate;
  fmt::print("plate        {} x {} cells, {} steps\n", plate.rows, plate.columns, options.steps);
  fmt::print("ranks        {} x {}, {} threads each, tiles of {} x {}\n", grid.rows, grid.columns,
             options.threads, share(plate.rows, grid.rows, 0).size(),
             share(plate.columns, grid.columns, 0).size());
  fmt::print("{:<12} {:>13} {:>15} {:>12} {:>14} {:>15}\n", "variant", "total", "step", "relative",
             "million cells", "messages a step");
  std::fflush(stdout);
}

void print_row(const Options& options, Variant variant, const RunFacts& facts, double first) {
  constexpr double kMilliseconds = 1e3, kMicroseconds = 1e6, kMillion = 1e6;
  const double step = step_seconds(options, facts);
  fmt::print("{:<12} {:>10.3f} ms {:>12.3f} us {:>12.3f} {:>12.1f}/s {:>15.2f}\n", name_of(variant),
             facts.seconds * kMilliseconds, step * kMicroseconds,
             first > 0 ? facts.seconds / first : 1.0,
             step > 0 ? cells_of(options) / step / kMillion : 0, facts.messages);
  std::fflush(stdout);
}

void print_json(const Options& options, const Grid& grid, Variant variant, int repetition,
                const RunFacts& facts, bool checked) {
  fmt::print(R"({{"program":"heat","variant":"{}","repetition":{},"grid":[{},{}],"threads":{},)",
             name_of(variant), repetition, grid.rows, grid.columns, options.threads);
  fmt::print(R"("rows":{},"columns":{},"steps":{},"separate":{},"total_s":{:.9f},"step_s":{:.9f},)",
             options.plate.rows, options.plate.columns, options.steps, options.separate,
             facts.seconds, step_seconds(options, facts));
  fmt::print(R"("messages_per_step":{:.3f},"check":"{}"}})"
             "\n",
             facts.messages, checked ? "passed" : "none");
  std::fflush(stdout);
}

}  // namespace heat
