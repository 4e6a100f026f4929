// Order statistics of samples: median, median absolute deviation, 99th percentile.
//
// Robust ones only: a mean over samples of a shared machine says more about its neighbours.
// path: setup
#pragma once

#include <cstddef>
#include <vector>

namespace espalier::bench {

struct Summary {
  std::size_t samples = 0;
  double median = 0.0;
  double mad = 0.0;  // median of |sample - median|, not scaled to a standard deviation
  double p99 = 0.0;  // smallest sample that 99 % do not exceed
  double min = 0.0;
};

// All zero when there are no samples.
Summary summarize(std::vector<double> samples);

}  // namespace espalier::bench
