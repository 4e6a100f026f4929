#include "tools/esp-tune/race.hpp"

#include <algorithm>
#include <limits>

namespace esp_tune {
namespace {

constexpr double kWorthIt = 0.95;

// Both have a time for each round, the named one until it fell out.
bool is_faster(const Runner& named, const Runner& rules) {
  std::size_t won = 0;
  for (std::size_t round = 0; round < named.us.size(); ++round) {
    if (named.us[round] < rules.us[round]) ++won;
  }
  return named.median() < kWorthIt * rules.median() && 5 * won >= 4 * named.us.size();
}

}  // namespace

double Runner::median() const {
  std::vector<double> sorted = us;
  std::sort(sorted.begin(), sorted.end());
  return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

void drop_slow(std::vector<Runner>& runners, double factor) {
  double best = std::numeric_limits<double>::max();
  for (const Runner& runner : runners) {
    if (!runner.out && runner.ran()) best = std::min(best, runner.median());
  }
  for (std::size_t k = 1; k < runners.size(); ++k) {
    Runner& runner = runners[k];
    if (runner.ran() && runner.median() > factor * best) runner.out = true;
  }
}

std::vector<std::size_t> fastest_named(const std::vector<Runner>& runners) {
  std::vector<std::size_t> order;
  for (std::size_t k = 1; k < runners.size(); ++k) {
    if (runners[k].ran()) order.push_back(k);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return runners[a].median() < runners[b].median();
  });
  return order;
}

Verdict judge(const std::vector<Runner>& runners) {
  const std::vector<std::size_t> named = fastest_named(runners);
  Verdict verdict;
  for (const std::size_t k : named) {
    if (runners[k].out || !is_faster(runners[k], runners[0])) continue;
    verdict.chosen = k;
    break;
  }
  if (!named.empty() && named[0] != verdict.chosen) verdict.next = named[0];
  if (verdict.chosen == 0) return verdict;
  // The rules count among the others.
  const auto second =
      std::find_if(named.begin(), named.end(), [&](std::size_t k) { return k != verdict.chosen; });
  const bool rules = second == named.end() || runners[0].median() < runners[*second].median();
  verdict.next = rules ? 0 : *second;
  return verdict;
}

}  // namespace esp_tune
