// placed_swarm: large segments over a played lane, by seed. See docs/multicast.md.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "core/plant.hpp"
#include "tests/multicast/bugs.hpp"
#include "tests/multicast/placed_job.hpp"

namespace espalier::multicast::played {
namespace {

int run_placed_seeds(std::uint64_t first, std::uint64_t seeds) {
  PlacedReport sum;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    PlacedJob job(draw_placed(seed), seed);
    const PlacedReport report = job.run();
    sum.add(report);
    if (report.failure.empty()) continue;
    fmt::print("seed {} failed: {}\n", seed, report.failure);
    // What has failed cannot be taken down in order.
    std::fflush(stdout);
    ::_exit(1);
  }
  fmt::print(
      "{} seeds from {}: {} segments, {} packets; {} came where they belong, {} elsewhere ({} "
      "dropped), {} repaired; {} flushes, {} redirected; {} strayed, {} copies of devices; {} "
      "whole, "
      "{} lost by {} deaths; {:.3f} s of virtual time\n",
      seeds, first, sum.segments, sum.packets, sum.placed, sum.misplaced, sum.dropped, sum.repairs,
      sum.flushes, sum.redirects, sum.strayed, sum.patches, sum.whole, sum.lost, sum.deaths,
      static_cast<double>(sum.virtual_ns) * 1e-9);
  return 0;
}

}  // namespace
}  // namespace espalier::multicast::played

#ifdef ESPALIER_PLANTED_BUGS
int espalier::planted_bug = 0;
#endif

int main(int argc, char** argv) {
  std::uint64_t first = 1, seeds = 1000, seed = 0;
  CLI::App app("Large segments of a multicast in virtual time. Every seed is another lane.");
  app.add_option("--seed", seed, "Run this one alone");
  app.add_option("--first", first, "First seed")->capture_default_str();
  app.add_option("--seeds", seeds, "Number of seeds")->capture_default_str();
#ifdef ESPALIER_PLANTED_BUGS
  int bug = 0;
  bool hunt = false;
  app.add_option("--bug", bug, "Switch a planted bug on (tests/multicast/bugs.cpp)");
  app.add_flag("--hunt", hunt, "Find the planted bugs, all or the one given");
#endif
  CLI11_PARSE(app, argc, argv);
#ifdef ESPALIER_PLANTED_BUGS
  if (hunt) {
    const auto search = [seeds] { return espalier::multicast::played::run_placed_seeds(1, seeds); };
    return test::hunt_planted_bugs(espalier::multicast::played::placed_bugs(), bug, search);
  }
  espalier::planted_bug = bug;
#endif
  if (seed != 0) {
    first = seed;
    seeds = 1;
  }
  return espalier::multicast::played::run_placed_seeds(first, seeds);
}
