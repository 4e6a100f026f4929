// Values for collectives: what each rank contributes and what must come out, computed without the
// library.
//
// Values repeat with kPeriod, so that any count can be filled and checked from a small table. They
// are chosen so that every result is exact in every type, in any order of combination: a wrong
// result is a lost, doubled or misplaced contribution, never rounding. path: setup
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "espalier/espalier.hpp"

namespace test {

inline constexpr std::size_t kPeriod = 61;  // Prime: does not hide multiples of a segment.

// Calls f with a value of the C++ type behind the esp_type.
template <typename F>
auto with_type(esp_type type, F&& f) {
  switch (type) {
    case ESP_BYTE:
      return f(std::byte{});
    case ESP_INT8:
      return f(std::int8_t{});
    case ESP_INT16:
      return f(std::int16_t{});
    case ESP_INT32:
      return f(std::int32_t{});
    case ESP_INT64:
      return f(std::int64_t{});
    case ESP_UINT8:
      return f(std::uint8_t{});
    case ESP_UINT16:
      return f(std::uint16_t{});
    case ESP_UINT32:
      return f(std::uint32_t{});
    case ESP_UINT64:
      return f(std::uint64_t{});
    case ESP_HALF:
      return f(esp::Half{});
    case ESP_BFLOAT16:
      return f(esp::BFloat16{});
    case ESP_FLOAT:
      return f(float{});
    case ESP_DOUBLE:
      return f(double{});
    case ESP_LONG_DOUBLE:
      return f(static_cast<long double>(0));
    case ESP_COMPLEX_FLOAT:
      return f(std::complex<float>{});
    case ESP_COMPLEX_DOUBLE:
      return f(std::complex<double>{});
    case ESP_COMPLEX_LONG_DOUBLE:
      return f(std::complex<long double>{});
    case ESP_BOOL:
      return f(bool{});
    case ESP_FLOAT_INT:
      return f(esp::ValueIndex<float>{});
    case ESP_DOUBLE_INT:
      return f(esp::ValueIndex<double>{});
    case ESP_LONG_INT:
      return f(esp::ValueIndex<long>{});
    case ESP_2INT:
      return f(esp::ValueIndex<int>{});
    case ESP_SHORT_INT:
      return f(esp::ValueIndex<short>{});
    default:
      return f(esp::ValueIndex<long double>{});
  }
}

template <typename T>
inline constexpr bool kIsComplex = false;
template <typename T>
inline constexpr bool kIsComplex<std::complex<T>> = true;
template <typename T>
inline constexpr bool kIsPair = false;
template <typename T>
inline constexpr bool kIsPair<esp::ValueIndex<T>> = true;
template <typename T>
inline constexpr bool kIsShortFloat =
    std::is_same_v<T, esp::Half> || std::is_same_v<T, esp::BFloat16>;

// Small integers to and from 16-bit floats; exact for |x| <= 256 and powers of two up to 2^15.
template <typename T>
T short_float(double x) {
  if (x == 0) return T{0};
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent) * 2;  // In [1, 2).
  constexpr int kBits = std::is_same_v<T, esp::Half> ? 10 : 7;
  constexpr int kBias = std::is_same_v<T, esp::Half> ? 15 : 127;
  const auto mantissa = static_cast<unsigned>((fraction - 1) * (1 << kBits));
  const unsigned sign = x < 0 ? 0x8000u : 0u;
  const unsigned biased = static_cast<unsigned>(exponent - 1 + kBias);
  return T{static_cast<std::uint16_t>(sign | biased << kBits | mantissa)};
}
template <typename T>
double wide(T x) {
  constexpr int kBits = std::is_same_v<T, esp::Half> ? 10 : 7;
  constexpr int kBias = std::is_same_v<T, esp::Half> ? 15 : 127;
  const int magnitude = x.bits & 0x7fff;
  if (magnitude == 0) return 0;
  const double fraction = 1 + std::ldexp(magnitude & ((1 << kBits) - 1), -kBits);
  const double value = std::ldexp(fraction, (magnitude >> kBits) - kBias);
  return (x.bits & 0x8000) != 0 ? -value : value;
}

// A small integer as a T.
template <typename T>
T number(long x) {
  if constexpr (std::is_same_v<T, std::byte>)
    return static_cast<std::byte>(x);
  else if constexpr (kIsShortFloat<T>)
    return short_float<T>(static_cast<double>(x));
  else if constexpr (kIsComplex<T>)
    return T(static_cast<typename T::value_type>(x));
  else if constexpr (std::is_same_v<T, bool>)
    return x != 0;
  else
    return static_cast<T>(x);
}

// Of these values every sum is the same.
inline esp_op model_of(esp_op op) {
  return op == ESP_SUM_REPRODUCIBLE ? static_cast<esp_op>(ESP_SUM) : op;
}

// What rank contributes at an index.
template <typename T>
T contribution(esp_op op, int rank, std::size_t index) {
  const long i = static_cast<long>(index % kPeriod);
  const long spread = (i * 31 + rank * 17) % 101;
  if constexpr (kIsPair<T>) {
    return T{number<decltype(T::value)>((i * 5 + rank * 3) % 4), rank};  // With many ties.
  } else {
    if (op == ESP_SUM) {
      if constexpr (kIsComplex<T>)
        return T(number<T>((i + rank) % 7).real(), number<T>(rank % 3).real());
      return number<T>((i + rank) % 7);
    }
    if (op == ESP_PROD) {
      if constexpr (kIsComplex<T>) return (i + rank) % 3 == 0 ? T(0, 1) : T(1, 0);
      return number<T>((i + rank) % 4 == 0 ? 2 : 1);
    }
    if (op == ESP_MIN || op == ESP_MAX)
      return number<T>(std::is_signed_v<T> ? spread - 50 : spread);
    if (op == ESP_LAND || op == ESP_LOR || op == ESP_LXOR) {
      return number<T>((i * 7 + rank * 3) % 13 == 0 || (op == ESP_LOR && i % 2 == 0) ? 0
                                                                                     : rank + 1);
    }
    return number<T>(spread * 0x01010101 + rank);
  }
}

// `low` comes from the lower ranks.
template <typename T>
T combine(esp_op op, T low, T high) {
  if constexpr (kIsPair<T>) {
    if (low.value == high.value)
      return T{low.value, low.index < high.index ? low.index : high.index};
    return (op == ESP_MINLOC) == (low.value < high.value) ? low : high;
  } else if constexpr (kIsShortFloat<T>) {
    return short_float<T>(combine<double>(op, wide(low), wide(high)));
  } else if constexpr (kIsComplex<T>) {
    return op == ESP_SUM ? low + high : low * high;
  } else if constexpr (std::is_floating_point_v<T>) {
    if (op == ESP_SUM) return low + high;
    if (op == ESP_PROD) return low * high;
    return (op == ESP_MIN) == (low < high) ? low : high;
  } else {
    const auto a = static_cast<std::uint64_t>(low), b = static_cast<std::uint64_t>(high);
    switch (op) {
      case ESP_SUM:
        return static_cast<T>(a + b);
      case ESP_PROD:
        return static_cast<T>(a * b);
      case ESP_MIN:
        return low < high ? low : high;
      case ESP_MAX:
        return low < high ? high : low;
      case ESP_LAND:
        return static_cast<T>(a != 0 && b != 0);
      case ESP_LOR:
        return static_cast<T>(a != 0 || b != 0);
      case ESP_LXOR:
        return static_cast<T>((a != 0) != (b != 0));
      case ESP_BAND:
        return static_cast<T>(a & b);
      case ESP_BOR:
        return static_cast<T>(a | b);
      default:
        return static_cast<T>(a ^ b);
    }
  }
}

// By value: padding and the sign of zero do not count.
template <typename T>
bool equal(const T& a, const T& b) {
  if constexpr (kIsShortFloat<T>)
    return wide(a) == wide(b);
  else
    return a == b;
}

// One period of rank's contribution, and of the result over the ranks [0, size).
template <typename T>
std::vector<unsigned char> to_bytes(const T (&table)[kPeriod]) {
  std::vector<unsigned char> bytes(sizeof table);
  std::memcpy(bytes.data(), table, sizeof table);
  return bytes;
}

inline std::vector<unsigned char> contribution_table(esp_type type, esp_op asked, int rank) {
  const esp_op op = model_of(asked);
  return with_type(type, [&](auto tag) {
    using T = decltype(tag);
    T table[kPeriod];
    std::memset(static_cast<void*>(table), 0, sizeof table);
    for (std::size_t i = 0; i < kPeriod; ++i) table[i] = contribution<T>(op, rank, i);
    return to_bytes(table);
  });
}

inline std::vector<unsigned char> result_table(esp_type type, esp_op asked, int size) {
  const esp_op op = model_of(asked);
  return with_type(type, [&](auto tag) {
    using T = decltype(tag);
    T table[kPeriod];
    std::memset(static_cast<void*>(table), 0, sizeof table);
    for (std::size_t i = 0; i < kPeriod; ++i) {
      table[i] = contribution<T>(op, 0, i);
      for (int r = 1; r < size; ++r) table[i] = combine<T>(op, table[i], contribution<T>(op, r, i));
    }
    return to_bytes(table);
  });
}

// Index of the first of `count` elements that differs from the repeated table, or `count`.
inline std::size_t first_difference(esp_type type, const void* data, std::size_t count,
                                    const std::vector<unsigned char>& table) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  const std::size_t element = table.size() / kPeriod;
  for (std::size_t begin = 0; begin < count; begin += kPeriod) {
    const std::size_t length = count - begin < kPeriod ? count - begin : kPeriod;
    if (std::memcmp(bytes + begin * element, table.data(), length * element) == 0) continue;
    const std::size_t at = with_type(type, [&](auto tag) {
      using T = decltype(tag);
      for (std::size_t i = 0; i < length; ++i) {
        T actual, expected;
        std::memcpy(static_cast<void*>(&actual), bytes + (begin + i) * element, sizeof(T));
        std::memcpy(static_cast<void*>(&expected), table.data() + i * element, sizeof(T));
        if (!equal(actual, expected)) return i;
      }
      return length;
    });
    if (at < length) return begin + at;
  }
  return count;
}

}  // namespace test
