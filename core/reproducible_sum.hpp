// ReproducibleSum: a sum of floating-point numbers that does not depend on their order or grouping.
//
// Bits of all weights belong to fixed *bins* of 32 bits each, and a number is the sum of the digits
// that it has in these. A sum keeps the bin that holds the leading bit of the largest number and
// the two below it; in each it adds digits as integers, which nothing rounds and which commute. Of
// lower bins nothing is kept. What came first does not matter: a bin that is kept at the end was
// never below those that were kept before, so no digit of it has been dropped.
//
//                   2^79      2^48  2^47      2^16  2^15     2^-16
//   1.5 * 2^70     [00..01100..00 ][      0       ][      0       ]   highest bin: of 2^48
//   2^33 + 2^-30   [      0       ][00..00100..00 ][      0       ]   2^-30: dropped
//
// It is after Demmel and Nguyen's indexed sums (Ahrens, Demmel, Nguyen, ACM TOMS 46:3, 2020), with
// integers for their floating-point bins: there is nothing to carry, because a reduction has no
// more contributions than a team has members. Bound on error, special values, cost:
// docs/datatypes.md. Nothing here computes in floating point, so that rounding modes do not matter.
//
// Values only. path: data
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/element_form.hpp"

namespace espalier {

// All zero bits: the sum of no numbers.
struct ReproducibleSum {
  static constexpr int kBins = 3;
  static constexpr int kBinBits = 32;
  // So many numbers at most: their digits fit.
  static constexpr std::uint32_t kNumbersMax = 0x7fffffff;
  enum Special : std::uint32_t { kInfinity = 1, kNegativeInfinity = 2, kNan = 4 };

  std::int32_t top = 0;             // number of the highest bin
  std::uint32_t special = 0;        // of those met
  std::int64_t digits[kBins] = {};  // of bin top, top - 1, ...

  void add(const ReproducibleSum& other) noexcept {
    if (top != other.top) [[unlikely]] {
      *this = sum_apart(*this, other);
      return;
    }
    special |= other.special;
    for (int i = 0; i < kBins; ++i) digits[i] += other.digits[i];
  }
  friend bool operator==(const ReproducibleSum&, const ReproducibleSum&) = default;

 private:
  // Of different bins. By value: who adds many keeps them in registers.
  static ReproducibleSum sum_apart(ReproducibleSum a, ReproducibleSum b) noexcept;
};
static_assert(sizeof(ReproducibleSum) == 32);

// Elements of the type as such sums, of complex ones as two. nullptr: the type is not of
// floating-point numbers, or of ones with more than 64 digits (AArch64's long double).
const ElementForm* reproducible_form(esp_type type) noexcept;

}  // namespace espalier
