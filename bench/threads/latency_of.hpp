// The cells of a latency measurement, of whatever library: forms, numbers of threads, sizes.
// path: setup
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "threads/options.hpp"
#include "threads/ping_pong.hpp"
#include "threads/report.hpp"

namespace espalier::bench {

// The end of a thread's channel; `threads`: how many there are at a time.
using LineMaker = std::function<std::unique_ptr<Line>(int thread, int threads)>;

struct LatencyWay {
  std::string name;
  bool asks = false;        // this rank is the asking one
  bool one_thread = false;  // calls may come from one thread only
  bool blocks = true;       // calls may block
  int more_threads = 0;     // of the library, in each rank
  LineMaker make_line;
  std::function<void()> barrier;
};

constexpr const char* kLatencyNote = "half a round trip; steady: batches of the warm-up within 5 %";

// Collective over the two ranks.
void measure_latency_of(const LatencyWay& way, const Options& options, Report& report);

}  // namespace espalier::bench
