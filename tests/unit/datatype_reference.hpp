// A slow, straightforward model of the types and operators, independent of the kernels: what the
// unit tests compare them with. Also random elements with many special values.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>

#include "core/datatype.hpp"

namespace espalier::reference {

// A 16-bit float with the given number of explicit fraction bits (10: IEEE half, 7: bfloat16),
// converted by arithmetic on doubles.
template <int fraction_bits>
struct Float16 {
  static constexpr int kBias = (1 << (14 - fraction_bits)) - 1;
  static constexpr int kExponentMask = 2 * kBias + 1;
  static constexpr int kOne = 1 << fraction_bits;
  std::uint16_t bits;

  double value() const {
    const int exponent = (bits >> fraction_bits) & kExponentMask;
    const int fraction = bits & (kOne - 1);
    double magnitude = 0;
    if (exponent == kExponentMask) {
      magnitude = fraction != 0 ? std::nan("") : HUGE_VAL;
    } else if (exponent == 0) {
      magnitude = std::ldexp(fraction, 1 - kBias - fraction_bits);
    } else {
      magnitude = std::ldexp(kOne + fraction, exponent - kBias - fraction_bits);
    }
    return std::copysign(magnitude, (bits & 0x8000) != 0 ? -1.0 : 1.0);
  }

  // To nearest, ties to even (nearbyint in the default rounding mode).
  static Float16 round(double value) {
    const int sign = std::signbit(value) ? 0x8000 : 0;
    const int infinity = kExponentMask << fraction_bits;
    const double magnitude = std::fabs(value);
    int bits = 0;
    if (std::isnan(value)) {
      bits = infinity | kOne / 2;
    } else if (std::isinf(value)) {
      bits = infinity;
    } else if (magnitude != 0) {
      const int exponent = std::max(std::ilogb(magnitude), 1 - kBias);
      const int units =
          static_cast<int>(std::nearbyint(std::ldexp(magnitude, fraction_bits - exponent)));
      // `units` has its leading one at bit fraction_bits, except for subnormals; a carry of the
      // rounding moves on to the next exponent, at the end to infinity.
      bits = std::min(((exponent + kBias - 1) << fraction_bits) + units, infinity);
    }
    return Float16{static_cast<std::uint16_t>(sign | bits)};
  }
};
using Half = Float16<10>;
using Bfloat16 = Float16<7>;

template <typename T>
struct Pair {
  T value;
  int index;
};

template <typename T>
inline constexpr bool kIsFloat16 = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>;
template <typename T>
inline constexpr bool kIsFloating = kIsFloat16<T> || std::is_floating_point_v<T>;
template <typename T>
inline constexpr bool kIsComplex = false;
template <typename T>
inline constexpr bool kIsComplex<std::complex<T>> = true;
template <typename T>
inline constexpr bool kIsPair = false;
template <typename T>
inline constexpr bool kIsPair<Pair<T>> = true;

// Calls visit(T{}) with the C++ type of `type`.
template <typename Visit>
void visit_type(esp_type type, Visit visit) {
  switch (type) {
    case ESP_BYTE:
    case ESP_UINT8:
    case ESP_BOOL:
      return visit(std::uint8_t{});
    case ESP_INT8:
      return visit(std::int8_t{});
    case ESP_INT16:
      return visit(std::int16_t{});
    case ESP_INT32:
      return visit(std::int32_t{});
    case ESP_INT64:
      return visit(std::int64_t{});
    case ESP_UINT16:
      return visit(std::uint16_t{});
    case ESP_UINT32:
      return visit(std::uint32_t{});
    case ESP_UINT64:
      return visit(std::uint64_t{});
    case ESP_HALF:
      return visit(Half{});
    case ESP_BFLOAT16:
      return visit(Bfloat16{});
    case ESP_FLOAT:
      return visit(float{});
    case ESP_DOUBLE:
      return visit(double{});
    case ESP_LONG_DOUBLE:
      return visit(static_cast<long double>(0));
    case ESP_COMPLEX_FLOAT:
      return visit(std::complex<float>{});
    case ESP_COMPLEX_DOUBLE:
      return visit(std::complex<double>{});
    case ESP_COMPLEX_LONG_DOUBLE:
      return visit(std::complex<long double>{});
    case ESP_FLOAT_INT:
      return visit(Pair<float>{});
    case ESP_DOUBLE_INT:
      return visit(Pair<double>{});
    case ESP_LONG_INT:
      return visit(Pair<long>{});
    case ESP_2INT:
      return visit(Pair<int>{});
    case ESP_SHORT_INT:
      return visit(Pair<short>{});
    case ESP_LONG_DOUBLE_INT:
      return visit(Pair<long double>{});
    case ESP_TYPE_COUNT:
    case ESP_TYPE_HIGHEST:
      break;
  }
}

// ---- operators

template <typename T>
bool is_nan(const T& a) {
  if constexpr (kIsFloat16<T>) {
    return std::isnan(a.value());
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(a);
  } else {
    return false;
  }
}

// Whether a comes before b on the number line, where -0 comes before +0.
template <typename T>
bool below(const T& a, const T& b) {
  if constexpr (kIsFloat16<T>) {
    return below(a.value(), b.value());
  } else if constexpr (std::is_floating_point_v<T>) {
    return a < b || (a == b && std::signbit(a) && !std::signbit(b));
  } else {
    return a < b;
  }
}

// Whether b beats a as the minimum or maximum; a NaN beats every number.
template <typename T>
bool beats(bool minimum, const T& b, const T& a) {
  if (is_nan(a) || is_nan(b)) return is_nan(b) && !is_nan(a);
  return minimum ? below(b, a) : below(a, b);
}

template <typename T>
T arithmetic(esp_op op, const T& a, const T& b) {
  if constexpr (kIsFloat16<T>) {
    return T::round(arithmetic(op, static_cast<float>(a.value()), static_cast<float>(b.value())));
  } else if constexpr (kIsComplex<T>) {
    using Real = typename T::value_type;
    if (op == ESP_SUM) return {a.real() + b.real(), a.imag() + b.imag()};
    // Volatile: every product is rounded, no fused multiply-add.
    const volatile Real rr = a.real() * b.real(), ii = a.imag() * b.imag();
    const volatile Real ri = a.real() * b.imag(), ir = a.imag() * b.real();
    return {rr - ii, ri + ir};
  } else if constexpr (std::is_floating_point_v<T>) {
    return op == ESP_SUM ? a + b : a * b;
  } else {
    using Wide = unsigned __int128;
    return static_cast<T>(op == ESP_SUM ? static_cast<Wide>(a) + static_cast<Wide>(b)
                                        : static_cast<Wide>(a) * static_cast<Wide>(b));
  }
}

template <typename T>
T integer_operator(esp_op op, T a, T b) {
  switch (op) {
    case ESP_LAND:
      return a && b;
    case ESP_LOR:
      return a || b;
    case ESP_LXOR:
      return !a != !b;
    case ESP_BAND:
      return static_cast<T>(a & b);
    case ESP_BOR:
      return static_cast<T>(a | b);
    default:
      return static_cast<T>(a ^ b);
  }
}

template <typename T>
T apply(esp_op op, const T& a, const T& b) {
  if (op == ESP_SUM_REPRODUCIBLE) return apply<T>(ESP_SUM, a, b);  // of integers
  if (op == ESP_SUM || op == ESP_PROD) {
    if constexpr (!kIsPair<T>) return arithmetic(op, a, b);
  } else if (op == ESP_MIN || op == ESP_MAX) {
    if constexpr (!kIsPair<T> && !kIsComplex<T>) return beats(op == ESP_MIN, b, a) ? b : a;
  } else if (op == ESP_MINLOC || op == ESP_MAXLOC) {
    if constexpr (kIsPair<T>) {
      if (beats(op == ESP_MINLOC, b.value, a.value)) return b;
      if (beats(op == ESP_MINLOC, a.value, b.value)) return a;
      return b.index < a.index ? b : a;
    }
  } else {
    if constexpr (std::is_integral_v<T>) return integer_operator(op, a, b);
  }
  std::abort();  // The operator is not defined for the type.
}

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// dst[i] = src[0][i] op src[1][i] op ..., from left to right.
inline void combine(esp_op op, esp_type type, std::byte* dst, const void* const* src, std::size_t k,
                    std::size_t count) {
  visit_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = i * sizeof(T);
      T value = load<T>(static_cast<const std::byte*>(src[0]) + at);
      for (std::size_t j = 1; j < k; ++j) {
        value = apply(op, value, load<T>(static_cast<const std::byte*>(src[j]) + at));
      }
      std::memcpy(dst + at, &value, sizeof value);
    }
  });
}

// ---- comparison: the same value, where all NaNs are alike but -0 and +0 differ

template <typename T>
bool same(const T& a, const T& b) {
  if constexpr (kIsComplex<T>) {
    return same(a.real(), b.real()) && same(a.imag(), b.imag());
  } else if constexpr (kIsPair<T>) {
    return same(a.value, b.value) && a.index == b.index;
  } else if constexpr (kIsFloating<T>) {
    return (is_nan(a) && is_nan(b)) || (!is_nan(a) && !is_nan(b) && !below(a, b) && !below(b, a));
  } else {
    return a == b;
  }
}

// Index of the first element that differs, or count.
inline std::size_t first_difference(esp_type type, const std::byte* a, const std::byte* b,
                                    std::size_t count) {
  if (std::memcmp(a, b, count * type_size(type)) == 0) return count;
  std::size_t first = count;
  visit_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < count && first == count; ++i) {
      if (!same(load<T>(a + i * sizeof(T)), load<T>(b + i * sizeof(T)))) first = i;
    }
  });
  return first;
}

template <typename T>
bool any_nan(const T& a) {
  if constexpr (kIsComplex<T>) {
    return is_nan(a.real()) || is_nan(a.imag());
  } else if constexpr (kIsPair<T>) {
    return is_nan(a.value);
  } else {
    return is_nan(a);
  }
}

inline bool has_nan(esp_type type, const std::byte* element) {
  bool found = false;
  visit_type(type, [&](auto zero) { found = any_nan(load<decltype(zero)>(element)); });
  return found;
}

// ---- random elements

using Random = std::mt19937_64;

template <typename T>
T random_element(Random& random) {
  const std::uint64_t choice = random() % 32;
  const std::uint64_t bits = random();
  if constexpr (kIsFloat16<T>) {
    if (choice < 16) return T{static_cast<std::uint16_t>(bits)};  // Specials are not rare.
    return T::round(random_element<double>(random));
  } else if constexpr (kIsComplex<T>) {
    using Real = typename T::value_type;
    return {random_element<Real>(random), random_element<Real>(random)};
  } else if constexpr (kIsPair<T>) {
    T pair;
    std::memset(static_cast<void*>(&pair), static_cast<int>(bits & 0xff), sizeof pair);
    pair.value = static_cast<decltype(pair.value)>(static_cast<int>(bits >> 8 & 7) - 4);
    if (choice < 4) pair.value = random_element<decltype(pair.value)>(random);
    pair.index = static_cast<int>(bits >> 16 & 15) - 8;  // Ties in value and in index.
    if constexpr (std::is_floating_point_v<decltype(pair.value)>) {
      pair.value = std::isnan(pair.value) ? std::fabs(pair.value) : pair.value;  // One NaN: ties.
    }
    return pair;
  } else if constexpr (std::is_floating_point_v<T>) {
    using Limits = std::numeric_limits<T>;
    const T specials[] = {T(0),          T(1),          Limits::infinity(),   Limits::quiet_NaN(),
                          Limits::max(), Limits::min(), Limits::denorm_min(), Limits::epsilon()};
    const T sign = (bits & 1) != 0 ? T(-1) : T(1);
    if (choice < 8) return std::copysign(specials[choice], sign);
    const T fraction = std::ldexp(static_cast<T>(bits >> 1), -63) + 1;
    return sign * std::ldexp(fraction, static_cast<int>(random() % 24) - 12);
  } else {
    using Limits = std::numeric_limits<T>;
    const T specials[] = {0, 0, 0, 1, Limits::min(), Limits::max()};
    return choice < 6 ? specials[choice] : static_cast<T>(bits);
  }
}

inline void fill(esp_type type, Random& random, std::byte* to, std::size_t count) {
  visit_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < count; ++i) {
      const T value = random_element<T>(random);
      std::memcpy(to + i * sizeof(T), &value, sizeof(T));
    }
  });
}

}  // namespace espalier::reference
