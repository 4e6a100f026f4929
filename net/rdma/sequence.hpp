// Sequence: number of a packet in the stream to one peer, modulo 2^32.
//
// Comparable within half the circle, which is far more than a window. Values. path: data
#pragma once

#include <cstdint>

namespace espalier::rdma {

struct Sequence {
  std::uint32_t value = 0;

  constexpr Sequence operator+(std::uint32_t steps) const noexcept {
    return Sequence{value + steps};
  }
  // How many steps from `other` to here; negative: here is before it.
  constexpr std::int32_t operator-(Sequence other) const noexcept {
    return static_cast<std::int32_t>(value - other.value);
  }
  constexpr bool before(Sequence other) const noexcept { return *this - other < 0; }

  friend constexpr bool operator==(Sequence, Sequence) noexcept = default;
};

}  // namespace espalier::rdma
