// Bytes that say who wrote them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/prng.hpp"

namespace espalier::test {

// Payload of one segment: different for every (seed, offset).
inline void fill(void* data, std::uint64_t bytes, std::uint64_t seed) {
  auto* out = static_cast<std::byte*>(data);
  std::uint64_t state = seed;
  for (std::uint64_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = splitmix64(state);
    std::memcpy(out + i, &word, std::min<std::uint64_t>(8, bytes - i));
  }
}

inline bool holds(const void* data, std::uint64_t bytes, std::uint64_t seed) {
  std::vector<std::byte> expected(bytes);
  fill(expected.data(), bytes, seed);
  return bytes == 0 || std::memcmp(data, expected.data(), bytes) == 0;
}

}  // namespace espalier::test
