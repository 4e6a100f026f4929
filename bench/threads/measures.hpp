// What esp-threads measures. All are collective over the ranks that were started, make a job for
// each way, and throw where the ranks do not fit. path: setup
#pragma once

#include "threads/options.hpp"
#include "threads/report.hpp"

namespace espalier::bench {

void measure_latency(const Options& options, Report& report);
void measure_initiation(const Options& options, Report& report);
void measure_wake(const Options& options, Report& report);
void measure_bandwidth(const Options& options, Report& report);
void measure_overlap(const Options& options, Report& report);

}  // namespace espalier::bench
