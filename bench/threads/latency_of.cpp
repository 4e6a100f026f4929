#include "threads/latency_of.hpp"

#include <vector>

namespace espalier::bench {
namespace {

PingPongResult play(const LatencyWay& way, const PingPong& cell, int threads) {
  std::vector<std::unique_ptr<Line>> owned;
  std::vector<Line*> lines;
  for (int thread = 0; thread < threads; ++thread) {
    owned.push_back(way.make_line(thread, threads));
    lines.push_back(owned.back().get());
  }
  if (way.asks) return ask(lines, cell);
  answer(lines, cell);
  return {};
}

}  // namespace

void measure_latency_of(const LatencyWay& way, const Options& options, Report& report) {
  for (const std::string& form : options.forms) {
    if (form == "blocking" && !way.blocks) continue;
    for (const int threads : options.threads) {
      if (way.one_thread && threads != 1) continue;
      for (const std::size_t bytes : options.bytes) {
        const PingPong cell{bytes, options.iterations_of(bytes), form == "started",
                            options.limit_s};
        const PingPongResult result = play(way, cell, threads);
        way.barrier();
        report.add("rows", {{"way", way.name},
                            {"form", form},
                            {"threads", threads},
                            {"bytes", bytes},
                            {"iterations", result.iterations},
                            {"mean_us", result.half_us.mean},
                            {"median_us", result.half_us.median},
                            {"sd_us", result.half_us.deviation},
                            {"min_us", result.half_us.min},
                            {"warm_ups", result.warm_ups},
                            {"steady", result.steady},
                            {"crowded", report.is_crowded(threads + way.more_threads)},
                            {"correct", result.correct}});
      }
    }
  }
}

}  // namespace espalier::bench
