// Steps: a function of the step of a vertex: whom it talks to, or which block it is about.
//
// Sender and receiver compute it alike, each from its own parameters, so that a plan holds no list
// but where an order of ranks is nobody's function: tables belong to the plan (Plan::tables).
// Ring, hypercube and one-factor are Kowalewski's peer functions of direct exchanges (section 4.4);
// the one-factor printed there is no involution, this one is.
// Values only. path: data
#pragma once

#include <algorithm>
#include <cstdint>

namespace espalier {

struct Steps {
  enum class Kind : std::uint8_t {
    kAffine,     // (first + stride * k) mod modulus; modulus 0: `first`, whatever the step
    kXor,        // first ^ (k + 1)
    kOneFactor,  // partner of `first` in round k of a schedule of `modulus` members; itself: idle
    kDigit,      // the k-th number whose digit of weight `stride` to the base `modulus` is `first`
    kTable,      // entry (first + stride * k) mod modulus of `table`, which has `modulus` entries
  };

  Kind kind = Kind::kAffine;
  std::int32_t first = 0;
  std::int32_t stride = 0;
  std::int32_t modulus = 0;
  const std::int32_t* table = nullptr;

  static constexpr Steps constant(std::int32_t value) noexcept {
    return {Kind::kAffine, value, 0, 0};
  }
  static constexpr Steps affine(std::int32_t first, std::int32_t stride,
                                std::int32_t modulus) noexcept {
    return {Kind::kAffine, first, stride, modulus};
  }
  constexpr bool is_constant() const noexcept { return modulus == 0 && kind == Kind::kAffine; }

  constexpr std::int32_t at(std::uint32_t k) const noexcept {
    if (is_constant()) return first;
    const std::int64_t step = k;
    switch (kind) {
      case Kind::kXor:
        return first ^ static_cast<std::int32_t>(k + 1);
      case Kind::kOneFactor:
        return partner(step);
      case Kind::kTable:
        return table[wrap(first + stride * step, modulus)];
      case Kind::kDigit:
        return static_cast<std::int32_t>(step / stride * stride * modulus +
                                         std::int64_t{first} * stride + step % stride);
      default:
        return wrap(first + stride * step, modulus);
    }
  }
  // Steps of kOneFactor that visit everybody.
  static constexpr std::uint32_t one_factor_rounds(std::int32_t members) noexcept {
    return static_cast<std::uint32_t>(members % 2 == 0 ? members - 1 : members);
  }
  // Tables are equal when their entries are.
  friend bool operator==(const Steps& a, const Steps& b) noexcept {
    const bool same =
        a.kind == b.kind && a.first == b.first && a.stride == b.stride && a.modulus == b.modulus;
    if (!same || a.kind != Kind::kTable) return same;
    return std::equal(a.table, a.table + a.modulus, b.table);
  }

 private:
  static constexpr std::int32_t wrap(std::int64_t value, std::int64_t modulus) noexcept {
    const std::int64_t rest = value % modulus;
    return static_cast<std::int32_t>(rest < 0 ? rest + modulus : rest);
  }
  // Odd: i and j meet in round (i + j) mod p, and i idles in round 2i mod p. Even: the last member
  // meets whoever idles in the schedule of the others.
  constexpr std::int32_t partner(std::int64_t round) const noexcept {
    if (modulus % 2 != 0) return wrap(round - first, modulus);
    const std::int32_t others = modulus - 1;
    const std::int32_t idle = wrap(round * (modulus / 2), others);
    if (first == others) return idle;
    return first == idle ? others : wrap(round - first, others);
  }
};

}  // namespace espalier
