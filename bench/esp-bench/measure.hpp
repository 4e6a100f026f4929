// One row of results: an operation at one size, timed in batches.
//
// Method, the same for every library. A *sample* is: rewrite the buffers (untimed), barrier, read
// the clock, `batch` calls back to back on different buffers, read the clock. Its value is the
// *makespan* per call: (last end - first begin over the ranks that take part) / batch. The clock
// is shared by all processes of the machine; where ranks are on several machines (emulated nodes do
// not count) the slowest rank's own duration replaces it. A makespan cannot be lowered by letting
// a root return early, and it counts the wake-up of the last rank. The batch hides the skew with
// which ranks leave the barrier and the 20 ns of a clock read; it is as long as the ring of
// buffers, shorter only when a sample would take more than a tenth of the budget.
// The samples per row follow from the budget; warm-up is a doubling sequence of batches.
// path: setup
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "esp-bench/backend.hpp"
#include "esp-bench/buffer_memory.hpp"
#include "esp-bench/options.hpp"
#include "esp-bench/statistics.hpp"

namespace espalier::bench {

struct Row {
  OpKind kind = OpKind::kBarrier;
  std::size_t bytes = 0;
  std::string choice;            // describe(Choice)
  std::string refusal;           // why the library cannot do it that way; then nothing below is set
  std::size_t batch = 0;         // calls per sample
  Summary time_us;               // per call (per message for p2p), makespan
  double mean_rank_us = 0;       // median over samples of the mean over ranks of their own duration
  double run_delay_share = 0.0;  // worst rank: time runnable but not running / elapsed
  bool correct = false;          // on all ranks
};

// A row that is not measured, and why.
Row refused_row(OpKind kind, std::size_t bytes, const Choice& choice, std::string why);

// Collective over all ranks; the row is the same on all of them.
Row measure(Backend& backend, BufferMemory& memory, OpKind kind, std::size_t bytes,
            const Choice& choice, const Options& options, bool shared_clock);

}  // namespace espalier::bench
