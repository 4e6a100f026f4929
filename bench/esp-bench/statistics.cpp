#include "esp-bench/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace espalier::bench {
namespace {

double median_of_sorted(const std::vector<double>& sorted) {
  const std::size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[middle];
  return (sorted[middle - 1] + sorted[middle]) / 2.0;
}

}  // namespace

Summary summarize(std::vector<double> samples) {
  Summary summary;
  if (samples.empty()) return summary;
  std::sort(samples.begin(), samples.end());
  summary.samples = samples.size();
  summary.min = samples.front();
  summary.median = median_of_sorted(samples);
  const auto rank = static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(samples.size())));
  summary.p99 = samples[rank - 1];
  for (double& sample : samples) sample = std::fabs(sample - summary.median);
  std::sort(samples.begin(), samples.end());
  summary.mad = median_of_sorted(samples);
  return summary;
}

}  // namespace espalier::bench
