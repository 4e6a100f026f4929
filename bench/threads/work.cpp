#include "threads/work.hpp"

#include <algorithm>
#include <array>
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
  // The median: a stranger's time slice is not the work, but that other ranks work, too, is.
  constexpr int kTries = 21, kUnits = 2000;
  std::array<double, kTries> tries = {};
  run(kUnits);
  for (double& unit_ns : tries) {
    const std::int64_t begin = now_ns();
    run(kUnits);
    unit_ns = static_cast<double>(now_ns() - begin) / kUnits;
  }
  std::nth_element(tries.begin(), tries.begin() + kTries / 2, tries.end());
  unit_ns_ = tries[kTries / 2];
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
