// multicast_swarm: reliable multicast over a played network, by seed. See docs/multicast.md.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "core/plant.hpp"
#include "tests/multicast/bugs.hpp"
#include "tests/multicast/job.hpp"
#include "tests/multicast/repair_times.hpp"

namespace espalier::multicast::played {
namespace {

int run_group_seeds(std::uint64_t first, std::uint64_t seeds) {
  GroupReport sum;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    GroupJob job(draw_scenario(seed), seed);
    const GroupReport report = job.run();
    sum.add(report);
    if (report.failure.empty()) continue;
    fmt::print("seed {} failed: {}\n", seed, report.failure);
    // What has failed cannot be taken down in order.
    std::fflush(stdout);
    ::_exit(1);
  }
  fmt::print(
      "{} seeds from {}: {} packets, {} delivered, {} copies lost, {} sent to all again, {} by "
      "mail, {} questions, {} probes, {} deaths, {} found no packet, {} fell back; {:.3f} s of "
      "virtual time; repairs took {} ns (50 %), {} (99 %), {} at most\n",
      seeds, first, sum.packets, sum.delivered, sum.lost, sum.again, sum.repairs, sum.nacks,
      sum.probes, sum.deaths, sum.overflows, sum.fell_back,
      static_cast<double>(sum.virtual_ns) * 1e-9, sum.repair_ns.percentile(0.5),
      sum.repair_ns.percentile(0.99), sum.repair_ns.max());
  return 0;
}

}  // namespace
}  // namespace espalier::multicast::played

#ifdef ESPALIER_PLANTED_BUGS
int espalier::planted_bug = 0;
#endif

int main(int argc, char** argv) {
  std::uint64_t first = 1, seeds = 1000, seed = 0, losses = 0;
  CLI::App app("Reliable multicast in virtual time. Every seed is another group.");
  app.add_option("--seed", seed, "Run this one alone");
  app.add_option("--first", first, "First seed")->capture_default_str();
  app.add_option("--seeds", seeds, "Number of seeds")->capture_default_str();
  app.add_option("--repair-times", losses, "Time the repairs of so many single losses instead");
#ifdef ESPALIER_PLANTED_BUGS
  int bug = 0;
  bool hunt = false;
  app.add_option("--bug", bug, "Switch a planted bug on (tests/multicast/bugs.cpp)");
  app.add_flag("--hunt", hunt, "Find the planted bugs, all or the one given");
#endif
  CLI11_PARSE(app, argc, argv);
  if (losses > 0) return espalier::multicast::played::repair_times(losses) ? 0 : 1;
#ifdef ESPALIER_PLANTED_BUGS
  if (hunt) {
    const auto search = [seeds] { return espalier::multicast::played::run_group_seeds(1, seeds); };
    return test::hunt_planted_bugs(espalier::multicast::played::group_bugs(), bug, search);
  }
  espalier::planted_bug = bug;
#endif
  if (seed != 0) {
    first = seed;
    seeds = 1;
  }
  return espalier::multicast::played::run_group_seeds(first, seeds);
}
