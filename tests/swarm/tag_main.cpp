// tag_swarm: messages by tag at random, by seed. See docs/testing.md.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "core/plant.hpp"
#include "tests/swarm/tag_bugs.hpp"
#include "tests/swarm/tag_job.hpp"

namespace espalier::swarm {
namespace {

TagReport run_tag_seed(std::uint64_t seed) {
  auto job = std::make_unique<TagJob>(seed);
  TagReport report = job->run();
  // What has failed cannot be taken down in order.
  if (!report.failure.empty()) (void)job.release();
  return report;
}

int run_tag_seeds(std::uint64_t first, std::uint64_t seeds) {
  TagReport sum;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const TagReport report = run_tag_seed(seed);
    sum.add(report);
    if (report.failure.empty()) continue;
    fmt::print("seed {} failed: {}\n", seed, report.failure);
    return 1;
  }
  fmt::print(
      "{} seeds from {}: {} sends, {} announced, {} receives, {} of claimed messages, {} from the "
      "front of a ring, {} canceled, {} ended by a death, {} turns\n",
      seeds, first, sum.sends, sum.announced, sum.receives, sum.claimed, sum.accepted, sum.canceled,
      sum.died, sum.turns);
  return 0;
}

}  // namespace
}  // namespace espalier::swarm

#ifdef ESPALIER_PLANTED_BUGS
int espalier::planted_bug = 0;
#endif

int main(int argc, char** argv) {
  std::uint64_t first = 1, seeds = 1000, seed = 0;
  CLI::App app("Messages by tag at random. Every seed is another job.");
  app.add_option("--seed", seed, "Run this one alone");
  app.add_option("--first", first, "First seed")->capture_default_str();
  app.add_option("--seeds", seeds, "Number of seeds")->capture_default_str();
#ifdef ESPALIER_PLANTED_BUGS
  int bug = 0;
  bool hunt = false;
  app.add_option("--bug", bug, "Switch a planted bug on (tests/swarm/tag_bugs.cpp)");
  app.add_flag("--hunt", hunt, "Find the planted bugs, all or the one given");
#endif
  CLI11_PARSE(app, argc, argv);
#ifdef ESPALIER_PLANTED_BUGS
  if (hunt) {
    const auto search = [seeds] { return espalier::swarm::run_tag_seeds(1, seeds); };
    return test::hunt_planted_bugs(espalier::swarm::tag_bugs(), bug, search);
  }
  espalier::planted_bug = bug;
#endif
  if (seed != 0) {
    first = seed;
    seeds = 1;
  }
  return espalier::swarm::run_tag_seeds(first, seeds);
}
