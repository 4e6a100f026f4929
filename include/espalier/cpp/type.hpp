// Element types: which esp_type a C++ type is, decided at compile time.
//
// Integers go by size and sign, so `long` works everywhere; char is the integer it is on the
// machine. Half, BFloat16 and ValueIndex are the library's types that C++20 has no name for. A type
// of your own with the layout of one of these joins in by specialising esp::TypeOf. path: setup
#ifndef ESPALIER_CPP_TYPE_HPP
#define ESPALIER_CPP_TYPE_HPP

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>

#include "espalier/espalier.h"

namespace esp {

// IEEE 754 binary16 and bfloat16, as bits.
struct Half {
  std::uint16_t bits;
  friend bool operator==(const Half&, const Half&) = default;
};
struct BFloat16 {
  std::uint16_t bits;
  friend bool operator==(const BFloat16&, const BFloat16&) = default;
};

// For kMinLoc and kMaxLoc: T is float, double, long, int, short or long double.
template <typename T>
struct ValueIndex {
  T value;
  int index;
  friend bool operator==(const ValueIndex&, const ValueIndex&) = default;
};

template <typename T>
struct TypeOf;  // No definition: not an element type.

template <esp_type kType>
using TypeConstant = std::integral_constant<esp_type, kType>;

namespace detail {
template <typename T>
constexpr esp_type integer_type() {
  constexpr bool is_signed = std::is_signed_v<T>;
  if constexpr (sizeof(T) == 1) return is_signed ? ESP_INT8 : ESP_UINT8;
  if constexpr (sizeof(T) == 2) return is_signed ? ESP_INT16 : ESP_UINT16;
  if constexpr (sizeof(T) == 4) return is_signed ? ESP_INT32 : ESP_UINT32;
  if constexpr (sizeof(T) == 8) return is_signed ? ESP_INT64 : ESP_UINT64;
}
}  // namespace detail

template <std::integral T>
  requires(!std::same_as<T, bool> && sizeof(T) <= 8)
struct TypeOf<T> : TypeConstant<detail::integer_type<T>()> {};

template <>
struct TypeOf<bool> : TypeConstant<ESP_BOOL> {};
template <>
struct TypeOf<std::byte> : TypeConstant<ESP_BYTE> {};
template <>
struct TypeOf<Half> : TypeConstant<ESP_HALF> {};
template <>
struct TypeOf<BFloat16> : TypeConstant<ESP_BFLOAT16> {};
template <>
struct TypeOf<float> : TypeConstant<ESP_FLOAT> {};
template <>
struct TypeOf<double> : TypeConstant<ESP_DOUBLE> {};
template <>
struct TypeOf<long double> : TypeConstant<ESP_LONG_DOUBLE> {};
template <>
struct TypeOf<std::complex<float>> : TypeConstant<ESP_COMPLEX_FLOAT> {};
template <>
struct TypeOf<std::complex<double>> : TypeConstant<ESP_COMPLEX_DOUBLE> {};
template <>
struct TypeOf<std::complex<long double>> : TypeConstant<ESP_COMPLEX_LONG_DOUBLE> {};
template <>
struct TypeOf<ValueIndex<float>> : TypeConstant<ESP_FLOAT_INT> {};
template <>
struct TypeOf<ValueIndex<double>> : TypeConstant<ESP_DOUBLE_INT> {};
template <>
struct TypeOf<ValueIndex<long>> : TypeConstant<ESP_LONG_INT> {};
template <>
struct TypeOf<ValueIndex<int>> : TypeConstant<ESP_2INT> {};
template <>
struct TypeOf<ValueIndex<short>> : TypeConstant<ESP_SHORT_INT> {};
template <>
struct TypeOf<ValueIndex<long double>> : TypeConstant<ESP_LONG_DOUBLE_INT> {};

template <typename T>
inline constexpr esp_type type_of = TypeOf<std::remove_cv_t<T>>::value;

template <typename T>
concept Element =
    std::is_trivially_copyable_v<T> && requires { TypeOf<std::remove_cv_t<T>>::value; };

// What a buffer is. The name is for those who pass a single value: compilers print it.
template <typename R>
concept RangeOrUseEspOneForASingleValue =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R>;

// A contiguous range of elements that can be read, and one that can be written through (a borrowed
// view may be passed as a temporary, a container may not, as for any view).
template <typename R>
concept Readable = RangeOrUseEspOneForASingleValue<R> && Element<std::ranges::range_value_t<R>>;
template <typename R>
concept Writable = Readable<R> && std::ranges::borrowed_range<R> &&
                   !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;
// What is read later than the call: no container that ends with it.
template <typename R>
concept ReadableLater = Readable<R> && std::ranges::borrowed_range<R>;
template <typename A, typename B>
concept SameElement = std::same_as<std::ranges::range_value_t<A>, std::ranges::range_value_t<B>>;
// What is written where elements of A are read.
template <typename B, typename A>
concept WritableLike = Writable<B> && SameElement<A, B>;

// One value as a buffer: esp::one(sum).
template <typename T>
constexpr std::span<T, 1> one(T& value) noexcept {
  return std::span<T, 1>(&value, 1);
}

}  // namespace esp

#endif  // ESPALIER_CPP_TYPE_HPP
