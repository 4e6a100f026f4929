#include "core/datatype.hpp"

#include <array>
#include <utility>

#include "core/kernels/elements.hpp"
#include "core/reproducible_sum.hpp"

namespace espalier {
namespace {

struct TypeInfo {
  std::size_t bytes;
  TypeClass type_class;
};

template <std::size_t... type>
consteval std::array<TypeInfo, ESP_TYPE_COUNT> make_types(std::index_sequence<type...>) {
  return {TypeInfo{sizeof(Element<static_cast<esp_type>(type)>),
                   kTypeClass<static_cast<esp_type>(type)>}...};
}
constexpr auto kTypes = make_types(std::make_index_sequence<ESP_TYPE_COUNT>());

// In the order of esp_type.
constexpr const char* kTypeNames[] = {"byte",
                                      "int8",
                                      "int16",
                                      "int32",
                                      "int64",
                                      "uint8",
                                      "uint16",
                                      "uint32",
                                      "uint64",
                                      "half",
                                      "bfloat16",
                                      "float",
                                      "double",
                                      "long_double",
                                      "complex_float",
                                      "complex_double",
                                      "complex_long_double",
                                      "bool",
                                      "float_int",
                                      "double_int",
                                      "long_int",
                                      "2int",
                                      "short_int",
                                      "long_double_int"};
static_assert(std::size(kTypeNames) == ESP_TYPE_COUNT);

// In the order of the operators.
constexpr const char* kOpNames[] = {"sum",
                                    "prod",
                                    "min",
                                    "max",
                                    "land",
                                    "lor",
                                    "lxor",
                                    "band",
                                    "bor",
                                    "bxor",
                                    "minloc",
                                    "maxloc",
                                    "sum_reproducible"};
static_assert(std::size(kOpNames) == ESP_OP_BUILTIN_COUNT);

// The caller may hand us any integer; negative ones become large.
constexpr bool known(esp_type type) noexcept {
  return static_cast<std::size_t>(type) < ESP_TYPE_COUNT;
}

}  // namespace

std::size_t type_size(esp_type type) noexcept {
  return known(type) ? kTypes[type].bytes : 0;
}

const char* type_name(esp_type type) noexcept {
  return known(type) ? kTypeNames[type] : "unknown";
}

const char* op_name(esp_op op) noexcept {
  if (op < 0) return "unknown";
  return op < ESP_OP_BUILTIN_COUNT ? kOpNames[op] : "user";
}

bool op_defined(esp_op op, esp_type type) noexcept {
  if (!known(type)) return false;
  const bool has_form = op == ESP_SUM_REPRODUCIBLE && reproducible_form(type) != nullptr;
  return has_form || op_applies(op, kTypes[type].type_class);
}

bool op_exact(esp_op op, esp_type type) noexcept {
  if (!op_defined(op, type)) return false;
  const bool arithmetic = op == ESP_SUM || op == ESP_PROD;
  return !arithmetic || kTypes[type].type_class == TypeClass::kInteger;
}

}  // namespace espalier
