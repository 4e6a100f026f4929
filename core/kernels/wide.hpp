// Operations on several neighbouring elements at once, for the two types where compilers make
// little of the loop over single elements: 16-bit floats, which are added and multiplied as float.
//
// Lanes are independent, and each gives the bits of the single-element operation. Included by the
// combine_*.cpp only: see kernel_table.hpp. Threads: any. path: data
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/kernels/operations.hpp"

#if defined(__F16C__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace espalier {
namespace {

// Wide<Op>::Type does what Op does to kLanes elements; void where Op is good enough.
template <typename Op>
struct Wide {
  using Type = void;
};

template <esp_op op, typename T>
T add_or_multiply(T a, T b) {
  static_assert(op == ESP_SUM || op == ESP_PROD);
  return op == ESP_SUM ? a + b : a * b;
}

// Two in a 32-bit integer: no lane ever changes its width, which costs most of the time otherwise.
template <esp_op op>
struct BfloatPair : Plain<std::uint32_t> {
  static constexpr std::size_t kLanes = 2;
  static std::uint32_t combine(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t low = one(a << 16, b << 16) >> 16;
    return low | one(a & 0xffff0000u, b & 0xffff0000u);
  }

 private:
  static std::uint32_t one(std::uint32_t a, std::uint32_t b) {
    return bfloat16_in_float(add_or_multiply<op>(float_from_bits(a), float_from_bits(b)));
  }
};

template <>
struct Wide<Sum<Bfloat16>> {
  using Type = BfloatPair<ESP_SUM>;
};
template <>
struct Wide<Product<Bfloat16>> {
  using Type = BfloatPair<ESP_PROD>;
};

// With the processor's conversions, which GCC 12 does not use by itself. Eight at a time with
// AVX-512 too: GCC 12 warns about its own intrinsics for sixteen.
#if defined(__F16C__)
#define ESP_HALF_VECTORS
using HalfVector = __m128i;
using FloatVector = __m256;
inline FloatVector widen(HalfVector v) {
  return _mm256_cvtph_ps(v);
}
inline HalfVector narrow(FloatVector v) {
  return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
}
#elif defined(__aarch64__)
#define ESP_HALF_VECTORS
using HalfVector = float16x4_t;
using FloatVector = float32x4_t;
inline FloatVector widen(HalfVector v) {
  return vcvt_f32_f16(v);
}
inline HalfVector narrow(FloatVector v) {
  return vcvt_f16_f32(v);
}
#endif

#if defined(ESP_HALF_VECTORS)
template <esp_op op>
struct HalfLanes {
  using Accumulator = HalfVector;
  static constexpr std::size_t kBytes = sizeof(HalfVector);
  static constexpr std::size_t kLanes = kBytes / sizeof(Half);
  static HalfVector read(const std::byte* from) {
    HalfVector v;
    __builtin_memcpy(&v, from, kBytes);
    return v;
  }
  static void write(std::byte* to, HalfVector v) { __builtin_memcpy(to, &v, kBytes); }
  static HalfVector combine(HalfVector a, HalfVector b) {
    const FloatVector x = widen(a);
    const FloatVector y = widen(b);
    return narrow(op == ESP_SUM ? x + y : x * y);
  }
};

template <>
struct Wide<Sum<Half>> {
  using Type = HalfLanes<ESP_SUM>;
};
template <>
struct Wide<Product<Half>> {
  using Type = HalfLanes<ESP_PROD>;
};
#endif

}  // namespace
}  // namespace espalier
