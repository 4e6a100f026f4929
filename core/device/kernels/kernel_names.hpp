// Names of the kernels on devices, the same in PTX and among the host's (host_kernels.hpp).
//
// Values only. path: setup
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "core/kernels/elements.hpp"
#include "espalier/espalier.h"

namespace espalier::device {

inline constexpr std::string_view kCopyRowsKernel = "esp_copy_rows";

struct ReductionName {
  esp_op op;
  esp_type type;
  const char* name;
};
inline constexpr ReductionName kReductionNames[] = {
#define ESP_REDUCTION(name, element, op, type) {op, type, "esp_" #name "_" #element},
#include "core/device/kernels/reductions.def"
};

// The type whose kernel computes the same: where signs do not matter an unsigned one.
consteval esp_type type_of_kernel(esp_op op, esp_type type) {
  if (op == ESP_MIN || op == ESP_MAX) return type;
  switch (type) {
    case ESP_BYTE:
    case ESP_BOOL:
    case ESP_INT8:
      return ESP_UINT8;
    case ESP_INT16:
      return ESP_UINT16;
    case ESP_INT32:
      return ESP_UINT32;
    case ESP_INT64:
      return ESP_UINT64;
    default:
      return type;
  }
}

template <esp_op op, esp_type type>
consteval const char* find_reduction() {
  if constexpr (op_applies(op, kTypeClass<type>)) {
    constexpr esp_op same_op = op == ESP_SUM_REPRODUCIBLE ? ESP_SUM : op;
    for (const ReductionName& entry : kReductionNames) {
      if (entry.op == same_op && entry.type == type_of_kernel(op, type)) return entry.name;
    }
  }
  return nullptr;
}

using ReductionTable = std::array<const char*, std::size_t{ESP_OP_BUILTIN_COUNT} * ESP_TYPE_COUNT>;
template <std::size_t... i>
consteval ReductionTable make_reduction_table(std::index_sequence<i...>) {
  return {find_reduction<static_cast<esp_op>(i / ESP_TYPE_COUNT),
                         static_cast<esp_type>(i % ESP_TYPE_COUNT)>()...};
}
inline constexpr ReductionTable kReductions =
    make_reduction_table(std::make_index_sequence<std::tuple_size_v<ReductionTable>>());

// nullptr: there is none, and the host reduces. Of any integers, as callers hand them in.
constexpr const char* reduction_name(esp_op op, esp_type type) noexcept {
  const auto row = static_cast<std::size_t>(op);
  const auto column = static_cast<std::size_t>(type);
  if (row >= ESP_OP_BUILTIN_COUNT || column >= ESP_TYPE_COUNT) return nullptr;
  return kReductions[row * ESP_TYPE_COUNT + column];
}

}  // namespace espalier::device
