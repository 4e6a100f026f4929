// error: kAssociative.* evaluated to .*false
// What depends on the grouping of its operands is not aggregated by a tree.
#include "espalier/espalier.hpp"

struct Difference {
  using Value = int;
  using Partial = long;
  static constexpr bool kCommutative = false, kAssociative = false;
  long accumulate(std::span<const int> run) const { return run[0]; }
  long merge(long lower, long higher) const { return lower - higher; }
};

struct Run {
  int block;
  std::span<const int> data;
};

std::optional<long> f(std::optional<Run> (&next)()) {
  return esp::aggregate_by_tree(Difference{}, 4, next);
}
