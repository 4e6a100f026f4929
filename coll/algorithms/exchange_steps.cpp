#include "coll/algorithms/exchange_steps.hpp"

#include <algorithm>

namespace espalier {
namespace {

// Nodes that so many steps of this group reach.
std::int64_t reach(std::int32_t group, std::size_t steps) noexcept {
  std::int64_t nodes = 1;
  while (steps-- > 0) nodes = std::min<std::int64_t>(nodes * group, INT32_MAX);
  return nodes;
}

ExchangeSteps split(std::int32_t nodes, std::size_t steps) noexcept {
  ExchangeSteps made;
  for (std::int32_t left = nodes; left > 1; --steps) {
    std::int32_t group = 2;
    while (left % group != 0 || reach(group, steps) < left) ++group;
    made.groups[made.count++] = group;
    left /= group;
  }
  return made;
}

}  // namespace

std::int32_t ExchangeSteps::messages() const noexcept {
  std::int32_t sent = 0;
  for (std::size_t k = 0; k < count; ++k) sent += groups[k] - 1;
  return sent;
}

std::int32_t ExchangeSteps::largest() const noexcept {
  return *std::max_element(groups.begin(), groups.end());
}

ExchangeSteps exchange_steps(std::int32_t nodes, std::int32_t radix) noexcept {
  std::size_t steps = 1;
  while (steps < ExchangeSteps::kMax && reach(radix, steps) < nodes) ++steps;
  const ExchangeSteps fewest = split(nodes, steps);
  // More steps may find smaller divisors.
  for (; steps < ExchangeSteps::kMax && reach(2, steps) < nodes; ++steps) {
    const ExchangeSteps made = split(nodes, steps);
    if (made.largest() <= radix) return made;
  }
  return fewest;
}

}  // namespace espalier
