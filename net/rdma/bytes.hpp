// Numbers in messages: little-endian, at any address.
// path: data
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>

namespace espalier::rdma {

static_assert(std::endian::native == std::endian::little, "byte order: swap in store and load");

template <typename T>
void store(std::byte* at, T value) noexcept {
  std::memcpy(at, &value, sizeof value);
}
template <typename T>
T load(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace espalier::rdma
