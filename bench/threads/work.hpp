// Work that a caller does meanwhile: small matrix products, in units of about a microsecond or
// less, which no compiler can leave out. path: setup
#pragma once

#include <cstdint>

namespace espalier::bench {

class Work {
 public:
  // Measures how long a unit takes here and now.
  Work();

  // How many units take about so long; at least one.
  std::int64_t units_of(double us) const;
  void run(std::int64_t units);

 private:
  static constexpr int kSide = 8;
  float a_[kSide][kSide], b_[kSide][kSide], c_[kSide][kSide];
  double unit_ns_ = 0.0;
};

}  // namespace espalier::bench
