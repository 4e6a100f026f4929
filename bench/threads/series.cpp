#include "threads/series.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace espalier::bench {
namespace {

double quantile_of_sorted(const std::vector<double>& sorted, double part) {
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace

Series describe(std::vector<double> samples) {
  Series series;
  if (samples.empty()) return series;
  const auto count = static_cast<double>(samples.size());
  series.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  double squares = 0.0;
  for (const double sample : samples) squares += (sample - series.mean) * (sample - series.mean);
  series.deviation = samples.size() > 1 ? std::sqrt(squares / (count - 1.0)) : 0.0;
  std::sort(samples.begin(), samples.end());
  const std::size_t middle = samples.size() / 2;
  series.median =
      samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2.0;
  series.p90 = quantile_of_sorted(samples, 0.9);
  series.min = samples.front();
  return series;
}

bool WarmUp::is_steady() const {
  if (means_.size() < kLooksBack) return false;
  const Series last = describe({means_.end() - kLooksBack, means_.end()});
  return last.deviation <= kSteady * last.mean;
}

}  // namespace espalier::bench
