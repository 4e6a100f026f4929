// Minimum, maximum, minloc and maxloc: a total order on elements, so that the result never depends
// on the order of combining.
//
// Floating-point values are compared as integers ("keys"), by a bijection under which -0 < +0 and
// every NaN precedes every number for the minimum and follows every number for the maximum: a NaN
// always wins and its bits are passed on. Reading the bits as a signed integer and flipping the
// magnitude of negative ones sorts
//     -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN;
// one wrapping addition then rotates the NaNs of the wrong end to the other end. Integers cost a
// few instructions more than a minps, but do not depend on the order of the operands.
// Included by the combine_*.cpp only: see kernel_table.hpp. Threads: any. path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/kernels/operations.hpp"

namespace espalier {
namespace {

enum class Extreme { kMin, kMax };

// Bits of positive infinity in an integer of the type's size. x87's 80 bits are shifted to the top.
template <typename T>
struct FloatFormat;
template <>
struct FloatFormat<Half> {
  using Key = std::int16_t;
  static constexpr Key kInfinity = 0x7c00;
};
template <>
struct FloatFormat<Bfloat16> {
  using Key = std::int16_t;
  static constexpr Key kInfinity = 0x7f80;
};
template <>
struct FloatFormat<float> {
  using Key = std::int32_t;
  static constexpr Key kInfinity = 0x7f800000;
};
template <>
struct FloatFormat<double> {
  using Key = std::int64_t;
  static constexpr Key kInfinity = 0x7ff0000000000000;
};
template <>
struct FloatFormat<long double> {
  using Key = __int128;
  static constexpr Key kInfinity =
      kValueBytes<long double> == 10 ? Key{0x7fff8000} << 96 : Key{0x7fff0000} << 96;
};

template <typename Key>
struct UnsignedKey : std::make_unsigned<Key> {};
template <>
struct UnsignedKey<__int128> {  // make_unsigned knows it only with GNU extensions.
  using type = unsigned __int128;
};

#if defined(__CUDA_ARCH__)
// The value, of which the compiler knows nothing. For NVIDIA's devices clang 16 makes bfe.u64 of an
// arithmetic shift and a mask, also where the mask keeps bits that the shift copied: these are
// lost.
inline std::int16_t hidden(std::int16_t value) {
  asm("" : "+h"(value));
  return value;
}
inline std::int32_t hidden(std::int32_t value) {
  asm("" : "+r"(value));
  return value;
}
inline std::int64_t hidden(std::int64_t value) {
  asm("" : "+l"(value));
  return value;
}
#endif

// Integers are their own keys.
template <typename T, Extreme extreme, bool is_integer = std::is_integral_v<T>>
struct Ordered : Plain<T> {};

template <typename T, Extreme extreme>
struct Ordered<T, extreme, false> {
  using Accumulator = typename FloatFormat<T>::Key;
  using Unsigned = typename UnsignedKey<Accumulator>::type;
  static constexpr std::size_t kBytes = sizeof(T);
  static_assert(sizeof(Accumulator) == kBytes);

  static constexpr Unsigned kGreatest = static_cast<Unsigned>(~Unsigned{0}) >> 1;
  static constexpr Unsigned kNans =
      static_cast<Unsigned>(kGreatest - Unsigned{FloatFormat<T>::kInfinity});
  static constexpr Unsigned kRotation =
      extreme == Extreme::kMin ? kNans : static_cast<Unsigned>(Unsigned{0} - kNans);
  static constexpr int kPaddingBits = 8 * static_cast<int>(kBytes - kValueBytes<T>);

  static Accumulator read(const std::byte* from) {
    const auto bits = static_cast<Accumulator>(load<Unsigned>(from) << kPaddingBits);
    return static_cast<Accumulator>(static_cast<Unsigned>(flip_negative(bits)) + kRotation);
  }
  static void write(std::byte* to, Accumulator key) {
    const auto sorted = static_cast<Accumulator>(static_cast<Unsigned>(key) - kRotation);
    store(to, static_cast<Unsigned>(static_cast<Unsigned>(flip_negative(sorted)) >> kPaddingBits));
  }

 private:
  // Its own inverse. A comparison, not a shift: AVX2 lacks the arithmetic shift of 64-bit integers.
  static Accumulator flip_negative(Accumulator bits) {
#if defined(__CUDA_ARCH__)
    const Accumulator signs = hidden(static_cast<Accumulator>(bits >> (8 * kBytes - 1)));
    return static_cast<Accumulator>(bits ^ static_cast<Accumulator>(signs & kGreatest));
#else
    return static_cast<Accumulator>(bits ^ static_cast<Accumulator>(bits < 0 ? kGreatest : 0));
#endif
  }
};

template <typename T>
struct Minimum : Ordered<T, Extreme::kMin> {
  using Key = typename Ordered<T, Extreme::kMin>::Accumulator;
  static Key combine(Key a, Key b) { return b < a ? b : a; }
};

template <typename T>
struct Maximum : Ordered<T, Extreme::kMax> {
  using Key = typename Ordered<T, Extreme::kMax>::Accumulator;
  static Key combine(Key a, Key b) { return a < b ? b : a; }
};

// Among equal values the lower index wins. & and | instead of && and ||: no branches.
template <typename PairType, Extreme extreme>
struct Locate {
  using Value = decltype(PairType::value);
  using Order = Ordered<Value, extreme>;
  using Key = typename Order::Accumulator;
  using Accumulator = Pair<Key>;
  static constexpr std::size_t kBytes = sizeof(PairType);
  static constexpr std::size_t kIndexAt = offsetof(PairType, index);
  static constexpr std::size_t kEnd = kIndexAt + sizeof(std::int32_t);

  static Accumulator read(const std::byte* from) {
    return {Order::read(from), load<std::int32_t>(from + kIndexAt)};
  }
  static void write(std::byte* to, Accumulator pair) {
    Order::write(to, pair.value);
    __builtin_memset(to + sizeof(Value), 0, kIndexAt - sizeof(Value));
    store(to + kIndexAt, pair.index);
    __builtin_memset(to + kEnd, 0, kBytes - kEnd);
  }
  static Accumulator combine(Accumulator a, Accumulator b) {
    const bool ahead = extreme == Extreme::kMin ? b.value < a.value : a.value < b.value;
    const bool take_b = ahead | ((b.value == a.value) & (b.index < a.index));
    return {take_b ? b.value : a.value, take_b ? b.index : a.index};
  }
};

}  // namespace
}  // namespace espalier
