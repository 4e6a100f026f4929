// Prng: xoshiro256** 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number generators",
// 2021), seeded through splitmix64 as its authors advise.
//
// Our own, because std distributions differ between standard libraries and a seed must replay
// anywhere. Not for secrets. Value type; threads: each its own. path: data
#pragma once

#include <bit>
#include <cstdint>

#include "core/assert.hpp"

namespace espalier {

// One step of splitmix64: advances `state` and returns a well-mixed number. Also a good hash of a
// counter.
constexpr std::uint64_t splitmix64(std::uint64_t& state) noexcept {
  state += 0x9E3779B97F4A7C15u;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

class Prng {
 public:
  explicit constexpr Prng(std::uint64_t seed) noexcept {
    for (std::uint64_t& word : state_) word = splitmix64(seed);
  }

  constexpr std::uint64_t next() noexcept {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform in [0, bound), without bias (Lemire 2019: multiply, reject the short interval).
  constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    ESP_ASSERT(bound > 0);
    const std::uint64_t reject = (0 - bound) % bound;
    while (true) {
      const unsigned __int128 product = static_cast<unsigned __int128>(next()) * bound;
      if (static_cast<std::uint64_t>(product) >= reject) {
        return static_cast<std::uint64_t>(product >> 64);
      }
    }
  }

  // Uniform in [low, high], both included.
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) noexcept {
    ESP_ASSERT(low <= high);
    const std::uint64_t span =
        static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    const std::uint64_t offset = span == 0 ? next() : below(span);  // 0: the whole range
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
  }

  // Uniform in [0, 1), 53 bits.
  constexpr double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  constexpr bool chance(double probability) noexcept { return unit() < probability; }

 private:
  std::uint64_t state_[4] = {};
};

}  // namespace espalier
