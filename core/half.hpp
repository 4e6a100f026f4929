// IEEE binary16 and bfloat16 as bit patterns, and their conversions to and from float.
//
// Both directions are free of branches, so loops over them vectorise; narrowing rounds to nearest,
// ties to even; a NaN stays a NaN (quieted, upper payload bits kept), overflow gives infinity,
// subnormals are exact even when the processor flushes float subnormals to zero. The functions are
// always inlined: translation units compiled for different instruction sets include this file, and
// the linker must not pick an out-of-line copy of one for another. Threads: any. path: data
#pragma once

#include <cstdint>

namespace espalier {

struct Half {
  std::uint16_t bits;
};

struct Bfloat16 {
  std::uint16_t bits;
};

[[gnu::always_inline]] constexpr std::uint32_t float_bits(float value) noexcept {
  return __builtin_bit_cast(std::uint32_t, value);
}

[[gnu::always_inline]] constexpr float float_from_bits(std::uint32_t bits) noexcept {
  return __builtin_bit_cast(float, bits);
}

[[gnu::always_inline]] constexpr float to_float(Half half) noexcept {
  constexpr std::uint32_t kRebias = (127u - 15u) << 23;
  constexpr std::uint32_t kSmallestNormal = kRebias + (1u << 23);  // 2^-14
  const std::uint32_t wide = half.bits;
  const std::uint32_t sign = (wide & 0x8000u) << 16;
  const std::uint32_t magnitude = (wide & 0x7fffu) << 13;
  const std::uint32_t normal = magnitude + kRebias;
  const std::uint32_t special = normal + kRebias;  // Exponent 31 becomes 255.
  // As the fraction of a normal number with the exponent of 2^-14; taking 2^-14 away is exact.
  const std::uint32_t subnormal =
      float_bits(float_from_bits(magnitude + kSmallestNormal) - float_from_bits(kSmallestNormal));
  const std::uint32_t finite = magnitude < (1u << 23) ? subnormal : normal;
  return float_from_bits(sign | (magnitude >= (31u << 23) ? special : finite));
}

[[gnu::always_inline]] constexpr Half to_half(float value) noexcept {
  constexpr std::uint32_t kRebias = (127u - 15u) << 23;
  const std::uint32_t bits = float_bits(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // Rounding may carry into the exponent, up to infinity: that is the right result.
  const std::uint32_t odd = (magnitude >> 13) & 1u;
  const std::uint32_t normal = (magnitude - kRebias + 0xfffu + odd) >> 13;
  // One unit in the last place of [0.5, 1) is 2^-24, the smallest half: the addition rounds.
  const std::uint32_t subnormal = float_bits(float_from_bits(magnitude) + 0.5f) - float_bits(0.5f);
  const std::uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  const std::uint32_t special = magnitude > 0x7f800000u ? nan : 0x7c00u;
  const std::uint32_t finite = magnitude < (113u << 23) ? subnormal : normal;
  const std::uint32_t unsigned_half = magnitude >= (143u << 23) ? special : finite;
  return Half{static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | unsigned_half)};
}

[[gnu::always_inline]] constexpr float to_float(Bfloat16 value) noexcept {
  return float_from_bits(static_cast<std::uint32_t>(value.bits) << 16);
}

// The bits of the float nearest to `value` that is a bfloat16: the upper half is that bfloat16, the
// lower half is zero.
[[gnu::always_inline]] constexpr std::uint32_t bfloat16_in_float(float value) noexcept {
  const std::uint32_t bits = float_bits(value);
  const std::uint32_t odd = (bits >> 16) & 1u;
  const std::uint32_t rounded = bits + 0x7fffu + odd;
  const std::uint32_t nan = bits | 0x400000u;
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return (is_nan ? nan : rounded) & 0xffff0000u;
}

[[gnu::always_inline]] constexpr Bfloat16 to_bfloat16(float value) noexcept {
  return Bfloat16{static_cast<std::uint16_t>(bfloat16_in_float(value) >> 16)};
}

}  // namespace espalier
