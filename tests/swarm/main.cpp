// swarm: random jobs under random faults, by seed. See docs/testing.md.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "core/plant.hpp"
#include "tests/swarm/swarm.hpp"

namespace {

using espalier::swarm::Report;
using Clock = std::chrono::steady_clock;

struct Options {
  std::uint64_t first = 1;
  std::uint64_t seeds = 10'000;
  std::uint64_t seed = 0;  // only this one
  double seconds = 0;      // > 0: until then, however many
  std::uint64_t twice = 20;
  int bug = 0;
  bool exchanges = false;
  bool parts = false;
  bool partial = false;
  bool devices = false;
  bool hunt = false;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

int show_failure(std::uint64_t seed, const Report& report, int bug) {
  const auto scenario = espalier::swarm::draw_scenario(seed);
  fmt::print("seed {} failed: {}\n{}again: {}\n", seed, report.failure, scenario.describe(),
             espalier::swarm::replay_command(seed, bug));
  std::fflush(stdout);
  return 1;
}

// Among so many all stages are drawn.
constexpr std::uint64_t kSeedsOfAllStages = 1000;

int replay(const Options& options) {
  fmt::print("seed {}: {}", options.seed, espalier::swarm::draw_scenario(options.seed).describe());
  std::fflush(stdout);
  const Report report = espalier::swarm::run_twice(options.seed);
  if (!report.failure.empty()) return show_failure(options.seed, report, options.bug);
  fmt::print(
      "right: {} calls complete, {} failed as they should, {} segments, {} events, "
      "unseed {:016x}\n",
      report.completed, report.failed, report.posts, report.events, report.unseed);
  return 0;
}

int run_many(const Options& options) {
  const auto begin = Clock::now();
  Report sum;
  std::uint64_t seeds = 0;
  const auto more = [&] {
    return options.seconds > 0 ? seconds_since(begin) < options.seconds : seeds < options.seeds;
  };
  for (; more(); ++seeds) {
    const std::uint64_t seed = options.first + seeds;
    const bool twice = options.twice > 0 && seeds % options.twice == 0;
    const Report report =
        twice ? espalier::swarm::run_twice(seed) : espalier::swarm::run_seed(seed);
    if (!report.failure.empty()) return show_failure(seed, report, options.bug);
    sum.completed += report.completed;
    sum.failed += report.failed;
    sum.posts += report.posts;
    sum.connection_frames += report.connection_frames;
    sum.shared_bytes += report.shared_bytes;
    sum.events += report.events;
    sum.unseed = (sum.unseed ^ report.unseed) * 0x9e3779b97f4a7c15ULL;
    sum.late_ns = std::max(sum.late_ns, report.late_ns);
  }
  fmt::print(
      "{} seeds from {} in {:.1f} s: {} calls complete, {} failed as they should, {} segments, "
      "{} frames by connections beside datagrams, {} bytes read on devices, {} events; latest end "
      "{:.1f} ms after the last entry and fault; unseed {:016x}\n",
      seeds, options.first, seconds_since(begin), sum.completed, sum.failed, sum.posts,
      sum.connection_frames, sum.shared_bytes, sum.events, static_cast<double>(sum.late_ns) * 1e-6,
      sum.unseed);
  const bool on_devices = options.first >= espalier::swarm::kFirstDeviceSeed;
  const std::uint64_t found = on_devices ? sum.shared_bytes : sum.connection_frames;
  if (seeds < kSeedsOfAllStages || found > 0) return 0;
  fmt::print("{}: that tests nothing\n", on_devices
                                             ? "nothing was read where it lies on a device"
                                             : "no frame went by a connection beside datagrams");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Random jobs under random faults. Every seed is another one.");
  app.add_option("--seed", options.seed, "Replay this seed, twice, and say what it is");
  app.add_option("--first", options.first, "First seed")->capture_default_str();
  app.add_flag("--exchanges", options.exchanges,
               "Count seeds from those on that draw allgathers, alltoalls and scans, too");
  app.add_flag("--parts", options.parts,
               "Count seeds from those on that also draw blocks of roots, owners and neighbours, "
               "and elements that lie apart");
  app.add_flag("--partial", options.partial,
               "Count seeds from those on whose members also await their input bit by bit, or are "
               "delivered what lands");
  app.add_flag("--devices", options.devices,
               "Count seeds from those on whose elements lie on devices, where others read them");
  app.add_option("--seeds", options.seeds, "Number of seeds")->capture_default_str();
  app.add_option("--seconds", options.seconds, "Run for so long instead, however many seeds");
  app.add_option("--twice", options.twice, "Run every so manieth seed twice; 0: none")
      ->capture_default_str();
#ifdef ESPALIER_PLANTED_BUGS
  app.add_option("--bug", options.bug, "Switch a planted bug on (tests/swarm/bugs.cpp)");
  app.add_flag("--hunt", options.hunt, "Find the planted bugs, all or the one given");
#endif
  CLI11_PARSE(app, argc, argv);
  if (options.devices) options.first += espalier::swarm::kFirstDeviceSeed;
  if (options.partial) options.first += espalier::swarm::kFirstPartialSeed;
  if (options.parts) options.first += espalier::swarm::kFirstPartSeed;
  if (options.exchanges) options.first += espalier::swarm::kFirstExchangeSeed;
  espalier::swarm::catch_signals();
#ifdef ESPALIER_PLANTED_BUGS
  if (options.hunt) return espalier::swarm::hunt(options.bug, options.seeds);
  espalier::planted_bug = options.bug;
#endif
  return options.seed != 0 ? replay(options) : run_many(options);
}
