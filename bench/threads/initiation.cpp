// How long a call that starts something keeps its caller, over message sizes: with the library's
// thread it should be as long for 4 MiB as for one byte. path: data
#include <algorithm>
#include <map>
#include <stdexcept>

#include "esp-bench/clock.hpp"
#include "threads/job.hpp"
#include "threads/measures.hpp"
#include "threads/series.hpp"
#include "threads/started.hpp"

namespace espalier::bench {
namespace {

struct Initiation {
  Series start_us;  // the call alone
  Series whole_us;  // with the wait
  bool correct = true;
};

Initiation measure_start(const Job& job, const std::string& name, std::size_t bytes, int calls) {
  Started operation(job, name, bytes);
  Initiation result;
  std::vector<double> start_us, whole_us;
  const int warm_ups = std::min(calls, 20);
  for (int call = -warm_ups; call < calls; ++call) {
    operation.prepare();
    const std::int64_t begin = now_ns();
    operation.start();
    const std::int64_t started = now_ns();
    operation.wait();
    const std::int64_t end = now_ns();
    result.correct = result.correct && operation.is_correct();
    if (call < 0) continue;
    start_us.push_back(static_cast<double>(started - begin) * 1e-3);
    whole_us.push_back(static_cast<double>(end - begin) * 1e-3);
  }
  result.start_us = describe(std::move(start_us));
  result.whole_us = describe(std::move(whole_us));
  // Every rank has checked its own.
  result.correct = job.most(result.correct ? 0.0 : 1.0) < 0.5;
  return result;
}

double clock_ns() {
  constexpr int kReads = 1000;
  const std::int64_t begin = now_ns();
  for (int read = 0; read < kReads; ++read) (void)now_ns();
  return static_cast<double>(now_ns() - begin) / kReads;
}

void measure_way(const Job& job, const std::string& way, const Options& options, Report& report) {
  const bool is_crowded = report.is_crowded(way == "progress" ? 2 : 1);
  const Initiation empty = measure_start(job, "barrier", 0, options.iterations);
  const auto row = [&](const std::string& name, std::size_t bytes, int calls,
                       const Initiation& found) {
    report.add("rows", {{"way", way},
                        {"operation", name},
                        {"bytes", bytes},
                        {"iterations", calls},
                        {"median_us", found.start_us.median},
                        {"p90_us", found.start_us.p90},
                        {"whole_us", found.whole_us.median},
                        {"of_empty", found.start_us.median / empty.start_us.median},
                        {"crowded", is_crowded},
                        {"correct", found.correct}});
  };
  row("barrier", 0, options.iterations, empty);
  std::vector<Row> ratios;
  for (const std::string& name : options.operations) {
    std::map<std::size_t, double> medians;
    for (const std::size_t bytes : options.bytes) {
      const int calls = options.iterations_of(bytes);
      const Initiation found = measure_start(job, name, bytes, calls);
      row(name, bytes, calls, found);
      medians[bytes] = found.start_us.median;
    }
    ratios.push_back({{"way", way},
                      {"operation", name},
                      {"smallest", medians.begin()->first},
                      {"largest", medians.rbegin()->first},
                      {"ratio", medians.rbegin()->second / medians.begin()->second}});
  }
  for (const Row& ratio : ratios) report.add("ratios", ratio);
}

}  // namespace

void measure_initiation(const Options& options, Report& report) {
  report.note("clock_ns", clock_ns());
  report.note("initiation", "the start alone, of rank 0, with one look at the clock");
  for (const std::string& way : options.ways) {
    const Job job(way == "progress" ? Mode::kProgress : Mode::kOwner);
    if (job.size() < 2) throw std::runtime_error("initiation needs two ranks: esp-run -n 2");
    measure_way(job, way, options, report);
  }
}

}  // namespace espalier::bench
