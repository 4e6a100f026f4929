// How one element enters, is combined in, and leaves an accumulator: one struct per operator.
//
// Elements are read and written by memcpy of constant size, which compilers turn into unaligned
// (vector) loads and stores. Included by the combine_*.cpp only, hence the unnamed namespace: see
// kernel_table.hpp. Threads: any. path: data
#pragma once

#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/half.hpp"
#include "core/kernels/elements.hpp"

namespace espalier {
namespace {

// Bytes of T that carry its value; x87's long double has ten, then padding.
template <typename T>
constexpr std::size_t kValueBytes =
    std::is_same_v<T, long double> && LDBL_MANT_DIG == 64 ? 10 : sizeof(T);

template <typename T>
T load(const std::byte* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof(T));
  return value;
}

// Padding is written as zero: results are the same bytes everywhere.
template <typename T>
void store(std::byte* to, const T& value) {
  __builtin_memcpy(to, &value, kValueBytes<T>);
  if constexpr (kValueBytes<T> < sizeof(T)) {
    __builtin_memset(to + kValueBytes<T>, 0, sizeof(T) - kValueBytes<T>);
  }
}

// ---- sum and product

template <typename T>
T add(T a, T b) {
  return static_cast<T>(a + b);
}
template <typename T>
T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(1u * a * b);  // Unsigned: two uint16 would be promoted to int.
  } else {
    return a * b;
  }
}
// Float sums and products of two halves or bfloats, rounded once more, are correctly rounded
// (float's 24 bits >= 2 * 11 + 2), bfloat16 subnormals apart.
inline Half add(Half a, Half b) {
  return to_half(to_float(a) + to_float(b));
}
inline Half multiply(Half a, Half b) {
  return to_half(to_float(a) * to_float(b));
}
inline Bfloat16 add(Bfloat16 a, Bfloat16 b) {
  return to_bfloat16(to_float(a) + to_float(b));
}
inline Bfloat16 multiply(Bfloat16 a, Bfloat16 b) {
  return to_bfloat16(to_float(a) * to_float(b));
}

// Accumulator and element are the same; signed integers are handled as unsigned, which wrap.
template <typename T>
struct Plain {
  using Accumulator = T;
  static constexpr std::size_t kBytes = sizeof(T);
  static T read(const std::byte* from) { return load<T>(from); }
  static void write(std::byte* to, T value) { store(to, value); }
};

template <typename T>
struct Plain<Complex<T>> {
  using Accumulator = Complex<T>;
  static constexpr std::size_t kBytes = sizeof(Complex<T>);
  static Complex<T> read(const std::byte* from) {
    return {load<T>(from), load<T>(from + sizeof(T))};
  }
  static void write(std::byte* to, Complex<T> value) {
    store(to, value.real);
    store(to + sizeof(T), value.imaginary);
  }
};

template <typename T>
struct Sum : Plain<T> {
  static T combine(T a, T b) { return add(a, b); }
};
template <typename T>
struct Sum<Complex<T>> : Plain<Complex<T>> {
  static Complex<T> combine(Complex<T> a, Complex<T> b) {
    return {a.real + b.real, a.imaginary + b.imaginary};
  }
};

template <typename T>
struct Product : Plain<T> {
  static T combine(T a, T b) { return multiply(a, b); }
};
// A product that is rounded before it is added. GCC 12 recognises the multiplication of complex
// numbers and fuses it (vfmaddsub) although -ffp-contract=off forbids that; not through this.
template <typename T>
T rounded(T product) {
#if __has_builtin(__builtin_assoc_barrier)
  return __builtin_assoc_barrier(product);
#else
  return product;
#endif
}

// The textbook formula, without the recovery of infinities of C's Annex G.
template <typename T>
struct Product<Complex<T>> : Plain<Complex<T>> {
  static Complex<T> combine(Complex<T> a, Complex<T> b) {
    return {rounded(a.real * b.real) - rounded(a.imaginary * b.imaginary),
            rounded(a.real * b.imaginary) + rounded(a.imaginary * b.real)};
  }
};

// ---- logical and bitwise operators, on unsigned integers

template <typename T>
struct Logical : Plain<T> {
  static T read(const std::byte* from) { return static_cast<T>(load<T>(from) != 0); }
};
template <typename Base>
struct And : Base {
  using T = typename Base::Accumulator;
  static T combine(T a, T b) { return static_cast<T>(a & b); }
};
template <typename Base>
struct Or : Base {
  using T = typename Base::Accumulator;
  static T combine(T a, T b) { return static_cast<T>(a | b); }
};
template <typename Base>
struct Xor : Base {
  using T = typename Base::Accumulator;
  static T combine(T a, T b) { return static_cast<T>(a ^ b); }
};

}  // namespace
}  // namespace espalier
