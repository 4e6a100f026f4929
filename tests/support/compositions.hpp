// An operator that does not commute, and what it makes of known elements. path: setup
#pragma once

#include <string>
#include <vector>

#include "tests/support/rank_check.hpp"

namespace test {

// x -> a x + b modulo 2^32, packed into an ESP_UINT64. Composition is associative and does not
// commute, so that a result shows the order in which it was made.
inline std::uint64_t affine(std::uint32_t a, std::uint32_t b) {
  return std::uint64_t{a} << 32 | b;
}

inline std::uint64_t compose(std::uint64_t first, std::uint64_t second) {
  const auto a1 = static_cast<std::uint32_t>(first >> 32), b1 = static_cast<std::uint32_t>(first);
  const auto a2 = static_cast<std::uint32_t>(second >> 32), b2 = static_cast<std::uint32_t>(second);
  return affine(a1 * a2, a2 * b1 + b2);
}

inline std::uint64_t element_of(int rank, std::size_t index) {
  return affine(static_cast<std::uint32_t>(2 * rank + 3), static_cast<std::uint32_t>(index) + 7u);
}

// Counts elements through its context.
inline void apply_compose(const void* in, void* inout, std::size_t count, esp_type type,
                          void* context) {
  CHECK_EQ(type, ESP_UINT64, "in an operator");
  const auto* lower = static_cast<const std::uint64_t*>(in);
  auto* higher = static_cast<std::uint64_t*>(inout);
  for (std::size_t i = 0; i < count; ++i) higher[i] = compose(lower[i], higher[i]);
  *static_cast<std::size_t*>(context) += count;
}

// Of the elements of the first `ranks` ranks.
inline void check_composed(const std::vector<std::uint64_t>& result, int ranks,
                           const std::string& what) {
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::uint64_t expected = element_of(0, i);
    for (int r = 1; r < ranks; ++r) expected = compose(expected, element_of(r, i));
    CHECK_EQ(result[i], expected, "{} element {}", what, i);
    if (result[i] != expected) return;
  }
}

}  // namespace test
