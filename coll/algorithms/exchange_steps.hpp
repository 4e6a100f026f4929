// The steps of an exchange between the heads of nodes.
//
// In each step heads form groups and send each other what they have: numbers in a mixed radix, one
// digit per step, the lowest first. One step of all is the shortest way for messages that cost
// little; steps of two, recursive doubling, send the fewest. Groups of several sizes: Ruefenacht,
// Bull, Booth, "Generalisation of recursive doubling for AllReduce", Parallel Computing 69 (2017).
//
// Values only; any thread. path: setup
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace espalier {

struct ExchangeSteps {
  static constexpr std::size_t kMax = 8;
  std::array<std::int32_t, kMax> groups = {};  // heads per group, by step
  std::size_t count = 0;

  std::int32_t messages() const noexcept;  // that a head sends, and that it receives
  std::int32_t largest() const noexcept;
};

// The fewest steps in which no group has more than `radix` (>= 2) heads, groups as equal as may be:
// 12 in radix 8 is 4 x 3. Where `nodes` (>= 1) has no such divisors some group is larger.
ExchangeSteps exchange_steps(std::int32_t nodes, std::int32_t radix) noexcept;

}  // namespace espalier
