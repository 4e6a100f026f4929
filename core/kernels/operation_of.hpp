// Which operation an operator is for elements of a type.
//
// For all kernels: those of the processors (combine_loops.hpp) and those of devices
// (core/device/kernels), which so compute the same. Threads: any. path: data
#pragma once

#include <type_traits>

#include "core/kernels/operations.hpp"
#include "core/kernels/ordering.hpp"

namespace espalier {
namespace {

// Where signs do not matter, signed integers share the code of the unsigned ones.
template <typename T>
consteval auto unsigned_like() {
  if constexpr (std::is_integral_v<T>) {
    return std::make_unsigned_t<T>{};
  } else {
    return T{};
  }
}

template <int op, typename T>
consteval auto operation_of() {
  using U = decltype(unsigned_like<T>());
  if constexpr (op == ESP_SUM || op == ESP_SUM_REPRODUCIBLE) {
    return Sum<U>{};
  } else if constexpr (op == ESP_PROD) {
    return Product<U>{};
  } else if constexpr (op == ESP_MIN) {
    return Minimum<T>{};
  } else if constexpr (op == ESP_MAX) {
    return Maximum<T>{};
  } else if constexpr (op == ESP_LAND) {
    return And<Logical<U>>{};
  } else if constexpr (op == ESP_LOR) {
    return Or<Logical<U>>{};
  } else if constexpr (op == ESP_LXOR) {
    return Xor<Logical<U>>{};
  } else if constexpr (op == ESP_BAND) {
    return And<Plain<U>>{};
  } else if constexpr (op == ESP_BOR) {
    return Or<Plain<U>>{};
  } else if constexpr (op == ESP_BXOR) {
    return Xor<Plain<U>>{};
  } else if constexpr (op == ESP_MINLOC) {
    return Locate<T, Extreme::kMin>{};
  } else {
    static_assert(op == ESP_MAXLOC);
    return Locate<T, Extreme::kMax>{};
  }
}

}  // namespace
}  // namespace espalier
