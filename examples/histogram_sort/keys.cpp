#include "keys.hpp"

#include <algorithm>
#include <cmath>

namespace sorting {
namespace {

// The finalizer of splitmix64.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

// In [0, 1).
double fraction(std::uint64_t random) {
  return static_cast<double>(random >> 11) * 0x1p-53;
}

Key whole(std::uint64_t value, Type type) {
  const auto number = static_cast<std::int64_t>(value);
  return type == Type::kInt64 ? to_key(number) : to_key(static_cast<double>(number));
}

}  // namespace

Key make_key(const Recipe& recipe, std::uint64_t index, std::uint64_t count) {
  constexpr std::uint64_t kFewValues = 7;
  constexpr double kRange = 1e6;
  const std::uint64_t random = mixed(mixed(recipe.seed) + index);
  switch (recipe.kind) {
    case Kind::kUniform:
      return recipe.type == Type::kInt64 ? random : to_key((2 * fraction(random) - 1) * kRange);
    case Kind::kSkewed: {  // Half of the keys are in less than a hundredth of the range.
      const double value = std::pow(fraction(random), 8) * kRange;
      return recipe.type == Type::kInt64 ? to_key(static_cast<std::int64_t>(value)) : to_key(value);
    }
    case Kind::kEqual:
      return whole(recipe.seed, recipe.type);
    case Kind::kFew:
      return whole(random % kFewValues, recipe.type);
    case Kind::kSorted:
      return whole(index, recipe.type);
    case Kind::kReversed:
      return whole(count - 1 - index, recipe.type);
  }
  return 0;
}

std::vector<std::uint64_t> spread(std::uint64_t total, int ranks, Spread how) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(ranks), 0);
  const std::size_t step = how == Spread::kHalf ? 2 : 1;
  const std::size_t holders = how == Spread::kOne ? 1 : (counts.size() + step - 1) / step;
  for (std::size_t i = 0; i < holders; ++i) {
    counts[i * step] = total / holders + (i < total % holders ? 1 : 0);
  }
  return counts;
}

std::uint64_t before(std::span<const std::uint64_t> counts, int rank) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts.first(static_cast<std::size_t>(rank))) sum += count;
  return sum;
}

Digest digest(std::span<const Key> keys) {
  Digest sum{keys.size(), 0, 0};
  for (const Key key : keys) {
    sum.first += mixed(key);
    sum.second += mixed(~key * 3);
  }
  return sum;
}

}  // namespace sorting
