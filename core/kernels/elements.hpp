// The C++ type behind each esp_type, and which operators MPI defines for it.
//
// Only types and functions that are evaluated while compiling, so that translation units for
// different instruction sets may include it (see kernel_table.hpp). Threads: any. path: setup
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "core/half.hpp"
#include "espalier/espalier.h"

namespace espalier {

// C's complex types: an array of two, real part first.
template <typename Real>
struct Complex {
  Real real;
  Real imaginary;
};

// Layout of the pair types of minloc and maxloc.
template <typename Value>
struct Pair {
  Value value;
  std::int32_t index;
};

enum class TypeClass : std::uint8_t { kByte, kInteger, kFloating, kComplex, kBool, kPair };

template <typename T, TypeClass type_class>
struct ElementType {
  using Type = T;
  static constexpr TypeClass kClass = type_class;
};

// In the order of esp_type. Bool is one byte, read as "not zero".
using ElementTypes = std::tuple<
    ElementType<std::uint8_t, TypeClass::kByte>, ElementType<std::int8_t, TypeClass::kInteger>,
    ElementType<std::int16_t, TypeClass::kInteger>, ElementType<std::int32_t, TypeClass::kInteger>,
    ElementType<std::int64_t, TypeClass::kInteger>, ElementType<std::uint8_t, TypeClass::kInteger>,
    ElementType<std::uint16_t, TypeClass::kInteger>,
    ElementType<std::uint32_t, TypeClass::kInteger>,
    ElementType<std::uint64_t, TypeClass::kInteger>, ElementType<Half, TypeClass::kFloating>,
    ElementType<Bfloat16, TypeClass::kFloating>, ElementType<float, TypeClass::kFloating>,
    ElementType<double, TypeClass::kFloating>, ElementType<long double, TypeClass::kFloating>,
    ElementType<Complex<float>, TypeClass::kComplex>,
    ElementType<Complex<double>, TypeClass::kComplex>,
    ElementType<Complex<long double>, TypeClass::kComplex>,
    ElementType<std::uint8_t, TypeClass::kBool>, ElementType<Pair<float>, TypeClass::kPair>,
    ElementType<Pair<double>, TypeClass::kPair>, ElementType<Pair<long>, TypeClass::kPair>,
    ElementType<Pair<int>, TypeClass::kPair>, ElementType<Pair<short>, TypeClass::kPair>,
    ElementType<Pair<long double>, TypeClass::kPair>>;
static_assert(std::tuple_size_v<ElementTypes> == ESP_TYPE_COUNT);
static_assert(sizeof(bool) == 1 && sizeof(int) == 4);

template <esp_type type>
using Element = typename std::tuple_element_t<type, ElementTypes>::Type;
template <esp_type type>
inline constexpr TypeClass kTypeClass = std::tuple_element_t<type, ElementTypes>::kClass;

// The table of MPI 4.1, section 6.9.2 (predefined reduction operations) and 6.9.4 (minloc, maxloc).
// The reproducible sum of floating-point elements combines another form of theirs
// (core/reproducible_sum.hpp).
[[gnu::always_inline]] constexpr bool op_applies(esp_op op, TypeClass type_class) noexcept {
  switch (op) {
    case ESP_SUM:
    case ESP_PROD:
      return type_class == TypeClass::kInteger || type_class == TypeClass::kFloating ||
             type_class == TypeClass::kComplex;
    case ESP_MIN:
    case ESP_MAX:
      return type_class == TypeClass::kInteger || type_class == TypeClass::kFloating;
    case ESP_LAND:
    case ESP_LOR:
    case ESP_LXOR:
      return type_class == TypeClass::kInteger || type_class == TypeClass::kBool;
    case ESP_BAND:
    case ESP_BOR:
    case ESP_BXOR:
      return type_class == TypeClass::kInteger || type_class == TypeClass::kByte;
    case ESP_SUM_REPRODUCIBLE:
      return type_class == TypeClass::kInteger;
    case ESP_MINLOC:
    case ESP_MAXLOC:
      return type_class == TypeClass::kPair;
    default:
      return false;
  }
}

}  // namespace espalier
