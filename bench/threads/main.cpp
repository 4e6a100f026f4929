// esp-threads: what calls of several threads cost, with the library's thread that drives progress,
// with a lock around calls, and with one thread alone.
//
// Prediction: with the library's thread a call costs its caller a place in a queue (0.1 to 0.3 us)
// and an operation two hand-overs more than without, as long as every thread has a processor; a
// lock is cheaper for one thread and gets worse with each more. Without a processor for each thread
// the scheduler is what is measured, which every row says (`crowded`).
//
// Exit codes: 0 measured, 1 a failure or a wrong result, 2 a wrong option. path: setup
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>

#include "esp-bench/host.hpp"
#include "threads/job.hpp"
#include "threads/measures.hpp"

namespace {

void measure(const espalier::bench::Options& options, espalier::bench::Report& report) {
  using namespace espalier::bench;
  if (options.measure == "latency") return measure_latency(options, report);
  if (options.measure == "initiation") return measure_initiation(options, report);
  if (options.measure == "wake") return measure_wake(options, report);
  if (options.measure == "bandwidth") return measure_bandwidth(options, report);
  measure_overlap(options, report);
}

// Collective.
espalier::bench::Setting setting_of(const espalier::bench::Job& job) {
  const std::string version =
      fmt::format("Espalier {}.{}.{}", ESP_VERSION_MAJOR, ESP_VERSION_MINOR, ESP_VERSION_PATCH);
  const std::string machine = espalier::bench::read_host_info().boot_id;
  return {version,    job.rank(),
          job.size(), job.ranks_with(machine),
          job.path(), [&job](double value) { return job.sum(value); }};
}

}  // namespace

int main(int argc, char** argv) {
  using namespace espalier::bench;
  const Options options = parse_options(Library::kEspalier, argc, argv);
  try {
    // Whoever has left a job for good cannot join it again (docs/launching.md): this one stays.
    const Job stays(Mode::kOwner);
    Report report(options, setting_of(stays));
    measure(options, report);
    return report.finish();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "esp-threads: %s\n", error.what());
    return 1;
  }
}
