#include "accel/shim/types.hpp"

#include <array>
#include <vector>

namespace espalier::accel {
namespace {

// Handles and what they stand for; filled once, then only read.
template <typename Value, std::size_t kSlots>
class HandleTable {
 public:
  void put(std::uint64_t key, Value value) noexcept {
    std::size_t i = slot(key);
    while (used_[i] && keys_[i] != key) i = (i + 1) % kSlots;
    used_[i] = true;
    keys_[i] = key;
    values_[i] = value;
  }
  const Value* find(std::uint64_t key) const noexcept {
    for (std::size_t i = slot(key); used_[i]; i = (i + 1) % kSlots) {
      if (keys_[i] == key) return &values_[i];
    }
    return nullptr;
  }

 private:
  static std::size_t slot(std::uint64_t key) noexcept {
    return (key * 0x9e3779b97f4a7c15ULL) >> 48 & (kSlots - 1);
  }
  std::array<std::uint64_t, kSlots> keys_ = {};
  std::array<Value, kSlots> values_ = {};
  std::array<bool, kSlots> used_ = {};
};

HandleTable<esp_type, 256> g_types;
HandleTable<Extent, 256> g_extents;
HandleTable<esp_op, 64> g_ops;

void add(MPI_Datatype type, esp_type as) noexcept {
  if (type == MPI_DATATYPE_NULL) return;  // this MPI was built without it
  int size = 0;
  if (PMPI_Type_size(type, &size) != MPI_SUCCESS || size == 0) return;
  const std::size_t bytes = esp_type_size(as);
  MPI_Aint low = 0, extent = 0;
  PMPI_Type_get_extent(type, &low, &extent);
  // Pairs have gaps inside: their extent is what is moved.
  if (static_cast<std::size_t>(extent) == bytes) g_types.put(bits_of(type), as);
}

esp_type integer_of(std::size_t bytes, bool is_signed) noexcept {
  switch (bytes) {
    case 1:
      return is_signed ? ESP_INT8 : ESP_UINT8;
    case 2:
      return is_signed ? ESP_INT16 : ESP_UINT16;
    case 4:
      return is_signed ? ESP_INT32 : ESP_UINT32;
    default:
      return is_signed ? ESP_INT64 : ESP_UINT64;
  }
}

template <typename Integer>
void add_integer(MPI_Datatype type) noexcept {
  add(type, integer_of(sizeof(Integer), std::is_signed_v<Integer>));
}

void learn_integers() noexcept {
  add_integer<signed char>(MPI_SIGNED_CHAR);
  add_integer<unsigned char>(MPI_UNSIGNED_CHAR);
  add_integer<short>(MPI_SHORT);
  add_integer<unsigned short>(MPI_UNSIGNED_SHORT);
  add_integer<int>(MPI_INT);
  add_integer<unsigned>(MPI_UNSIGNED);
  add_integer<long>(MPI_LONG);
  add_integer<unsigned long>(MPI_UNSIGNED_LONG);
  add_integer<long long>(MPI_LONG_LONG);
  add_integer<unsigned long long>(MPI_UNSIGNED_LONG_LONG);
  add_integer<std::int8_t>(MPI_INT8_T);
  add_integer<std::int16_t>(MPI_INT16_T);
  add_integer<std::int32_t>(MPI_INT32_T);
  add_integer<std::int64_t>(MPI_INT64_T);
  add_integer<std::uint8_t>(MPI_UINT8_T);
  add_integer<std::uint16_t>(MPI_UINT16_T);
  add_integer<std::uint32_t>(MPI_UINT32_T);
  add_integer<std::uint64_t>(MPI_UINT64_T);
  add_integer<MPI_Aint>(MPI_AINT);
  add_integer<MPI_Offset>(MPI_OFFSET);
  add_integer<MPI_Count>(MPI_COUNT);
  add(MPI_INTEGER, ESP_INT32);
  add(MPI_LOGICAL, ESP_INT32);
  add(MPI_BYTE, ESP_BYTE);
  add(MPI_C_BOOL, ESP_BOOL);
}

void learn_others() noexcept {
  add(MPI_FLOAT, ESP_FLOAT);
  add(MPI_DOUBLE, ESP_DOUBLE);
  add(MPI_LONG_DOUBLE, ESP_LONG_DOUBLE);
  add(MPI_REAL, ESP_FLOAT);
  add(MPI_DOUBLE_PRECISION, ESP_DOUBLE);
  add(MPI_C_FLOAT_COMPLEX, ESP_COMPLEX_FLOAT);
  add(MPI_C_DOUBLE_COMPLEX, ESP_COMPLEX_DOUBLE);
  add(MPI_C_LONG_DOUBLE_COMPLEX, ESP_COMPLEX_LONG_DOUBLE);
  add(MPI_COMPLEX, ESP_COMPLEX_FLOAT);
  add(MPI_DOUBLE_COMPLEX, ESP_COMPLEX_DOUBLE);
  add(MPI_2INT, ESP_2INT);
  add(MPI_FLOAT_INT, ESP_FLOAT_INT);
  add(MPI_DOUBLE_INT, ESP_DOUBLE_INT);
  add(MPI_LONG_INT, ESP_LONG_INT);
  add(MPI_SHORT_INT, ESP_SHORT_INT);
  add(MPI_LONG_DOUBLE_INT, ESP_LONG_DOUBLE_INT);
  add(MPI_2INTEGER, ESP_2INT);
}

// Types whose extent is all data; others are asked for each time.
void learn_extents() noexcept {
  const MPI_Datatype known[] = {
      MPI_CHAR,    MPI_SIGNED_CHAR,      MPI_UNSIGNED_CHAR, MPI_BYTE,      MPI_SHORT,
      MPI_INT,     MPI_UNSIGNED,         MPI_LONG,          MPI_LONG_LONG, MPI_UNSIGNED_LONG,
      MPI_INT32_T, MPI_INT64_T,          MPI_UINT32_T,      MPI_UINT64_T,  MPI_FLOAT,
      MPI_DOUBLE,  MPI_INTEGER,          MPI_REAL,          MPI_CHARACTER, MPI_LOGICAL,
      MPI_COMPLEX, MPI_DOUBLE_PRECISION, MPI_DOUBLE_COMPLEX};
  for (const MPI_Datatype type : known) {
    int size = 0;
    if (type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) != MPI_SUCCESS || size == 0)
      continue;
    g_extents.put(bits_of(type), {size, size, true});
  }
}

// Whether its elements lie as bytes do: predefined, or one after the other of such.
bool is_plain(MPI_Datatype type, std::int64_t size) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  MPI_Aint low = 0, extent = 0;
  PMPI_Type_get_extent(type, &low, &extent);
  if (low != 0 || extent != size) return false;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (combiner == MPI_COMBINER_NAMED) return true;
  if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP) return false;
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  int count = 1;
  PMPI_Type_get_contents(type, integers, addresses, 1, &count, nullptr, &inner);
  int inner_size = 0;
  PMPI_Type_size(inner, &inner_size);
  const bool plain = is_plain(inner, inner_size);
  PMPI_Type_get_envelope(inner, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) PMPI_Type_free(&inner);
  return plain;
}

}  // namespace

void learn_types() {
  learn_integers();
  learn_others();
  learn_extents();
  const std::pair<MPI_Op, esp_op> ops[] = {
      {MPI_SUM, ESP_SUM},   {MPI_PROD, ESP_PROD},     {MPI_MIN, ESP_MIN},
      {MPI_MAX, ESP_MAX},   {MPI_LAND, ESP_LAND},     {MPI_LOR, ESP_LOR},
      {MPI_LXOR, ESP_LXOR}, {MPI_BAND, ESP_BAND},     {MPI_BOR, ESP_BOR},
      {MPI_BXOR, ESP_BXOR}, {MPI_MINLOC, ESP_MINLOC}, {MPI_MAXLOC, ESP_MAXLOC}};
  for (const auto& [theirs, ours] : ops) g_ops.put(bits_of(theirs), ours);
}

std::optional<esp_type> reducible(MPI_Datatype type) noexcept {
  const esp_type* found = g_types.find(bits_of(type));
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

std::optional<esp_op> predefined(MPI_Op op) noexcept {
  const esp_op* found = g_ops.find(bits_of(op));
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

bool extent_of(MPI_Datatype type, Extent& extent) {
  if (const Extent* known = g_extents.find(bits_of(type))) [[likely]] {
    extent = *known;
    return true;
  }
  if (type == MPI_DATATYPE_NULL) return false;
  MPI_Count size = 0, low = 0, whole = 0;
  if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size == MPI_UNDEFINED) return false;
  PMPI_Type_get_extent_x(type, &low, &whole);
  extent = {size, whole, is_plain(type, size)};
  return true;
}

}  // namespace espalier::accel
