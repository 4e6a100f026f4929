// esp-noise-floor: what an ideal protocol would lose under the same detours as a simulated run.
//
// Without noise a call of the tree takes T, and rank r's processor is charged w(r) for it
// (overheads, copies, combining): both are measured in the simulator. Then every rank is given the
// detours of the run (sim::Noise, same seed) and nothing but its own work to do:
//
//   apart     nobody ever waits for anybody. Rank r does the work of all its calls one after the
//             other, from time 0. The end: the last rank's, but not before calls * T.
//   together  the calls are synchronised, by a barrier that costs nothing. A call begins at b on
//             all ranks, and ends when the last rank has done w(r), but not before b + T.
//
// `apart` is below what any protocol on this tree can reach: it forwards data that the rank does
// not have yet. `together` is below what any protocol can reach if a call ends before the next one
// begins. Times are per call, in microseconds; a line of JSON per case.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "bench/experiments/simulated.hpp"
#include "net/sim/noise.hpp"

namespace espalier::experiments {
namespace {

struct Settings {
  std::string machine = "cori";
  std::uint32_t ranks = 1024;
  Collective collective = Collective::kBcast;
  std::uint64_t bytes = 4 << 20, segments = 64;
  std::vector<std::uint32_t> calls = {100};
  std::vector<std::uint32_t> every = {1};
  std::vector<sim::NoiseSpec> noises;
  std::vector<std::uint64_t> seeds = {1};
};

// Without noise: one call's time in a row of many, and each rank's work for it.
struct Quiet {
  double call_ns = 0;
  std::vector<std::uint64_t> work_ns;
};

Quiet quiet(const Settings& settings, std::uint32_t calls) {
  const sim::Machine machine = machine_or_exit(settings.machine);
  Job job;
  job.machine = &machine;
  job.ranks = settings.ranks;
  job.levels = ESP_SHAPE_CHAIN;
  job.world.carry_data = false;
  sim::Operation operation =
      tree_operation(settings.collective, ESP_SHAPE_CHAIN, settings.bytes, settings.segments);
  operation.options.window_send = operation.options.window_recv = 0;  // as the library chooses
  std::vector<sim::WorkRecord> records;
  job.work = &records;
  (void)run_or_exit(job, operation);
  Quiet quiet;
  quiet.work_ns.resize(settings.ranks);
  for (const sim::WorkRecord& record : records) {
    quiet.work_ns[static_cast<std::size_t>(record.rank)] += record.end_ns - record.begin_ns;
  }
  job.work = nullptr;
  operation.calls = calls;
  quiet.call_ns = static_cast<double>(run_or_exit(job, operation).makespan_ns) / calls;
  return quiet;
}

class Floor {
 public:
  Floor(const Quiet& quiet, std::uint32_t calls, std::uint32_t every, std::uint64_t seed)
      : quiet_(quiet), calls_(calls), every_(every), seed_(seed) {}

  double apart(const sim::NoiseSpec& noise) const {
    auto last = static_cast<std::uint64_t>(quiet_.call_ns * calls_);
    for (std::size_t r = 0; r < quiet_.work_ns.size(); ++r) {
      last = std::max(last, detours(noise, r).finish(0, quiet_.work_ns[r] * calls_));
    }
    return static_cast<double>(last) / calls_;
  }

  double together(const sim::NoiseSpec& noise) const {
    std::vector<sim::Noise> ranks;
    for (std::size_t r = 0; r < quiet_.work_ns.size(); ++r) ranks.push_back(detours(noise, r));
    std::uint64_t begin = 0;
    for (std::uint32_t call = 0; call < calls_; ++call) {
      std::uint64_t end = begin + static_cast<std::uint64_t>(quiet_.call_ns);
      for (std::size_t r = 0; r < ranks.size(); ++r) {
        end = std::max(end, ranks[r].finish(begin, quiet_.work_ns[r]));
      }
      begin = end;
    }
    return static_cast<double>(begin) / calls_;
  }

 private:
  sim::Noise detours(const sim::NoiseSpec& noise, std::size_t rank) const {
    return {rank % every_ == 0 ? noise : silence_, seed_, static_cast<std::uint32_t>(rank)};
  }

  const Quiet& quiet_;
  std::uint32_t calls_, every_;
  std::uint64_t seed_;
  sim::NoiseSpec silence_;
};

sim::NoiseSpec noise_or_exit(const std::string& text) {
  const auto noise = sim::parse_noise(text);
  if (noise) return noise.value();
  fmt::print(stderr, "--noise: {}\n", noise.error().text);
  std::exit(2);
}

void print(const Settings& settings) {
  for (const std::uint32_t calls : settings.calls) {
    const Quiet without = quiet(settings, calls);
    for (const sim::NoiseSpec& noise : settings.noises) {
      for (const std::uint32_t every : settings.every) {
        for (const std::uint64_t seed : settings.seeds) {
          const Floor floor(without, calls, every, seed);
          fmt::print(
              R"({{"calls": {}, "noise": "{}", "noise_every": {}, "seed": {}, "quiet_us": {:.3f}, )"
              R"("apart_us": {:.3f}, "together_us": {:.3f}}})"
              "\n",
              calls, to_text(noise), every, seed, without.call_ns / 1e3, floor.apart(noise) / 1e3,
              floor.together(noise) / 1e3);
        }
      }
    }
  }
}

Settings parse(int argc, char** argv) {
  Settings settings;
  std::string operation = "bcast";
  std::vector<std::string> noises = {"uniform:10hz:0-20ms"};
  CLI::App app("What an ideal protocol would lose under the detours of a simulated run");
  app.add_option("--machine", settings.machine, "name or file");
  app.add_option("--ranks", settings.ranks)->check(CLI::Range(2u, 1u << 20));
  app.add_option("--op", operation)->check(CLI::IsMember({"bcast", "reduce"}));
  app.add_option("--bytes", settings.bytes)->check(CLI::Range(1u, 1u << 30));
  app.add_option("--segments", settings.segments)->check(CLI::Range(1, 1 << 20));
  app.add_option("--calls", settings.calls, "back to back")->delimiter(',');
  app.add_option("--noise", noises)->delimiter(',');
  app.add_option("--noise-every", settings.every, "on the ranks 0, k, 2k, ...")->delimiter(',');
  app.add_option("--seeds", settings.seeds)->delimiter(',');
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    std::exit(app.exit(problem));
  }
  for (const std::string& noise : noises) settings.noises.push_back(noise_or_exit(noise));
  if (operation == "reduce") settings.collective = Collective::kReduce;
  return settings;
}

}  // namespace
}  // namespace espalier::experiments

int main(int argc, char** argv) {
  espalier::experiments::print(espalier::experiments::parse(argc, argv));
}
