#include "relax.hpp"

namespace asp {
namespace {

// Written so that the compiler vectorises it (this file is built with -O3; a test looks for the
// vector minimum in the result): no branch, no overlap, one type.
template <typename Distance>
[[gnu::always_inline]] inline void relax_body(Distance* __restrict row,
                                              const Distance* __restrict pivot, Distance through,
                                              std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) {
    const Distance candidate = through + pivot[j];
    row[j] = candidate < row[j] ? candidate : row[j];
  }
}

template <typename Distance>
void relax_baseline(Distance* row, const Distance* pivot, Distance through, std::size_t count) {
  relax_body(row, pivot, through, count);
}

#if defined(__x86_64__)
// The x86-64 baseline has no 32-bit minimum; AVX2 does eight at a time.
template <typename Distance>
[[gnu::target("avx2")]] void relax_avx2(Distance* row, const Distance* pivot, Distance through,
                                        std::size_t count) {
  relax_body(row, pivot, through, count);
}
#endif

}  // namespace

template <typename Distance>
Relax<Distance> choose_relax() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return relax_avx2<Distance>;
#endif
  return relax_baseline<Distance>;
}

template Relax<std::int32_t> choose_relax<std::int32_t>();
template Relax<std::int64_t> choose_relax<std::int64_t>();

}  // namespace asp
