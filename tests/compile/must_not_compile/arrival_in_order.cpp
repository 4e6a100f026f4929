// error: kCommutative.* evaluated to .*false
// What depends on the order of its operands is not aggregated as they come.
#include "espalier/espalier.hpp"

struct Join {
  using Value = char;
  using Partial = std::string;
  static constexpr bool kCommutative = false, kAssociative = true;
  std::string accumulate(std::span<const char> run) const { return {run.begin(), run.end()}; }
  std::string merge(const std::string& a, const std::string& b) const { return a + b; }
};

struct Run {
  int block;
  std::span<const char> data;
};

std::optional<std::string> f(std::optional<Run> (&next)()) {
  return esp::aggregate_by_arrival(Join{}, next);
}
