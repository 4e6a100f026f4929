// The inner loop of Floyd-Warshall: one row of distances against the row of the step.
//
// Infinity is half of the type's maximum, so that the sum of two infinities does not overflow and
// min() brings it back: saturation without a branch.
// path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace asp {

template <typename Distance>
inline constexpr Distance kInfinity = std::numeric_limits<Distance>::max() / 2;

// row[j] = min(row[j], through + pivot[j]) for `count` elements. The rows do not overlap.
template <typename Distance>
using Relax = void (*)(Distance* row, const Distance* pivot, Distance through, std::size_t count);

// The fastest form that this processor runs.
template <typename Distance>
Relax<Distance> choose_relax();

extern template Relax<std::int32_t> choose_relax<std::int32_t>();
extern template Relax<std::int64_t> choose_relax<std::int64_t>();

}  // namespace asp
