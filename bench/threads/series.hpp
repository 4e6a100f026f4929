// Statistics of times: mean and deviation, which published figures have, quantiles, and when a
// measurement is warm. path: setup
#pragma once

#include <vector>

namespace espalier::bench {

struct Series {
  double mean = 0.0;
  double deviation = 0.0;  // standard, of the samples
  double median = 0.0;
  double p90 = 0.0;  // smallest sample that 90 % do not exceed
  double min = 0.0;
};

// All zero when there are no samples.
Series describe(std::vector<double> samples);

// Warm-up in batches: at least 20 iterations, and until the means of the last four batches deviate
// by 5 % of their mean at most, or 200 iterations are done.
class WarmUp {
 public:
  static constexpr int kBatch = 5;
  static constexpr int kMost = 200;
  static constexpr double kSteady = 0.05;

  // The mean of one more batch.
  void add(double mean) { means_.push_back(mean); }
  bool is_steady() const;
  bool is_over() const { return iterations() >= kMost || is_steady(); }
  int iterations() const { return static_cast<int>(means_.size()) * kBatch; }

 private:
  static constexpr std::size_t kLooksBack = 4;  // batches: 20 iterations
  std::vector<double> means_;
};

}  // namespace espalier::bench
