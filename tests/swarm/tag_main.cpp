// tag_swarm: messages by tag at random, by seed. See docs/testing.md.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

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

#ifdef ESPALIER_PLANTED_BUGS
// In a process of its own: not all of them end well.
bool hunt_tag_bug(const TagBug& bug, std::uint64_t seeds) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  ESP_ASSERT(child >= 0);
  if (child == 0) {
    planted_bug = bug.number;
    const int found = run_tag_seeds(1, seeds);
    std::fflush(stdout);
    ::_exit(found);
  }
  int status = 0;
  ESP_ASSERT(::waitpid(child, &status, 0) == child);
  const bool found = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  fmt::print("bug {} ({}: {}) was {}\n", bug.number, bug.kind, bug.what,
             found ? "found" : "NOT found");
  return found;
}

int hunt_tag_bugs(int number, std::uint64_t seeds) {
  std::size_t hunted = 0, found = 0;
  for (const TagBug& bug : tag_bugs()) {
    if (number != 0 && bug.number != number) continue;
    ++hunted;
    found += hunt_tag_bug(bug, seeds) ? 1 : 0;
  }
  fmt::print("{} of {} planted bugs found\n", found, hunted);
  return hunted > 0 && found == hunted ? 0 : 1;
}
#endif

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
  if (hunt) return espalier::swarm::hunt_tag_bugs(bug, seeds);
  espalier::planted_bug = bug;
#endif
  if (seed != 0) {
    first = seed;
    seeds = 1;
  }
  return espalier::swarm::run_tag_seeds(first, seeds);
}
