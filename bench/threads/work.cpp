#include "threads/work.hpp"

#include <algorithm>
#include <cmath>

#include "esp-bench/clock.hpp"

namespace espalier::bench {

Work::Work() {
  for (int row = 0; row < kSide; ++row) {
    for (int column = 0; column < kSide; ++column) {
      a_[row][column] = 0.25F * static_cast<float>(row + 1);
      b_[row][column] = 0.125F * static_cast<float>(column + 1);
      c_[row][column] = 0.0F;
    }
  }
  // The shortest of several: a stranger's time slice is not the work.
  constexpr int kTries = 20, kUnits = 2000;
  run(kUnits);
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const std::int64_t begin = now_ns();
    run(kUnits);
    const double unit_ns = static_cast<double>(now_ns() - begin) / kUnits;
    unit_ns_ = attempt == 0 ? unit_ns : std::min(unit_ns_, unit_ns);
  }
}

std::int64_t Work::units_of(double us) const {
  return std::max<std::int64_t>(1, std::llround(us * 1e3 / unit_ns_));
}

void Work::run(std::int64_t units) {
  for (std::int64_t unit = 0; unit < units; ++unit) {
    for (int row = 0; row < kSide; ++row) {
      for (int column = 0; column < kSide; ++column) {
        float sum = 0.0F;
        for (int k = 0; k < kSide; ++k) sum += a_[row][k] * b_[k][column];
        c_[row][column] = sum;
      }
    }
    // The matrices may have been read and changed here, for all that the compiler knows.
    asm volatile("" : : "r"(&a_), "r"(&b_), "r"(&c_) : "memory");
  }
}

}  // namespace espalier::bench
