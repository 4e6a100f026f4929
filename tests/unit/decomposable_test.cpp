// Decomposable functions: aggregates in any order of arrival, and claims that are not true.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "espalier/espalier.hpp"

namespace {

struct Sum {
  using Value = int;
  using Partial = long;
  static constexpr bool kCommutative = true, kAssociative = true;
  long accumulate(std::span<const int> run) const {
    return std::accumulate(run.begin(), run.end(), 0L);
  }
  long merge(long lower, long higher) const { return lower + higher; }
};

struct Range {  // smallest and largest
  using Value = int;
  using Partial = std::pair<int, int>;
  static constexpr bool kCommutative = true, kAssociative = true;
  Partial accumulate(std::span<const int> run) const {
    const auto [least, most] = std::minmax_element(run.begin(), run.end());
    return {*least, *most};
  }
  Partial merge(Partial a, Partial b) const {
    return {std::min(a.first, b.first), std::max(a.second, b.second)};
  }
};

struct Sorted {
  using Value = int;
  using Partial = std::vector<int>;
  static constexpr bool kCommutative = true, kAssociative = true;
  Partial accumulate(std::span<const int> run) const {
    Partial sorted(run.begin(), run.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }
  Partial merge(const Partial& a, const Partial& b) const {
    Partial both;
    std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
  }
};

struct Text {  // in order, so that an exchange shows
  using Value = char;
  using Partial = std::string;
  static constexpr bool kCommutative = false, kAssociative = true;
  std::string accumulate(std::span<const char> run) const { return {run.begin(), run.end()}; }
  std::string merge(const std::string& a, const std::string& b) const { return a + b; }
};

struct Difference {  // claims too much
  using Value = int;
  using Partial = long;
  static constexpr bool kCommutative = true, kAssociative = false;
  long accumulate(std::span<const int> run) const {
    return std::accumulate(run.begin() + 1, run.end(), long{run[0]}, std::minus<>());
  }
  long merge(long lower, long higher) const { return lower - higher; }
};

struct Average {  // likewise
  using Value = int;
  using Partial = double;
  static constexpr bool kCommutative = true, kAssociative = true;
  double accumulate(std::span<const int> run) const {
    return std::accumulate(run.begin(), run.end(), 0.0) / static_cast<double>(run.size());
  }
  double merge(double lower, double higher) const { return (lower + higher) / 2; }
};

struct FirstOfRun : Sum {  // its claims are true of merge, but a run is not made of its parts
  long accumulate(std::span<const int> run) const { return run[0]; }
};

static_assert(esp::CommutativeFunction<Sum> && esp::AssociativeFunction<Text>);
static_assert(!esp::CommutativeFunction<Text> && !esp::AssociativeFunction<Difference>);
static_assert(!esp::Decomposable<int>);

std::vector<int> numbers(std::mt19937_64& random) {
  std::vector<int> drawn(1 + random() % 4);
  for (int& one : drawn) one = static_cast<int>(random() % 100);
  return drawn;
}

TEST(Decomposable, LiesAreFound) {
  constexpr std::uint64_t kSeed = 1, kRounds = 200;
  EXPECT_FALSE(esp::find_lie(Sum{}, numbers, kSeed, kRounds));
  EXPECT_FALSE(esp::find_lie(Range{}, numbers, kSeed, kRounds));
  EXPECT_FALSE(esp::find_lie(Sorted{}, numbers, kSeed, kRounds));
  const auto letters = [](std::mt19937_64& random) {
    return std::vector<char>(random() % 3, static_cast<char>('a' + random() % 26));
  };
  EXPECT_FALSE(esp::find_lie(Text{}, letters, kSeed, kRounds));
  const auto difference = esp::find_lie(Difference{}, numbers, kSeed, kRounds);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->claim, esp::Claim::kCommutative);
  EXPECT_TRUE(esp::find_lie(Difference{}, numbers, kSeed, difference->round + 1));
  const auto average = esp::find_lie(Average{}, numbers, kSeed, kRounds);
  ASSERT_TRUE(average);
  EXPECT_EQ(average->claim, esp::Claim::kAssociative);
  const auto first = esp::find_lie(FirstOfRun{}, numbers, kSeed, kRounds);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->claim, esp::Claim::kDecomposable);
}

template <typename T>
struct Run {
  std::size_t block;
  std::vector<T> data;
};

// Hands out runs 0 to count - 1 but for `missing`, in an order drawn by `seed`.
template <typename T>
auto shuffled(std::size_t count, std::size_t missing, std::uint64_t seed) {
  std::vector<Run<T>> runs;
  for (std::size_t i = 0; i < count; ++i) {
    if (i != missing) runs.push_back({i, {static_cast<T>('a' + i), static_cast<T>('A' + i)}});
  }
  std::mt19937_64 random(seed);
  std::shuffle(runs.begin(), runs.end(), random);
  return [runs]() mutable -> std::optional<Run<T>> {
    if (runs.empty()) return std::nullopt;
    Run<T> last = runs.back();
    runs.pop_back();
    return last;
  };
}

TEST(Decomposable, AnyOrderOfArrivalGivesTheSame) {
  for (std::size_t count = 1; count <= 17; ++count) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const std::size_t missing = seed % 2 == 0 ? count : seed % count;
      std::string text;
      std::vector<int> values;
      for (std::size_t i = 0; i < count; ++i) {
        if (i == missing) continue;
        text += {static_cast<char>('a' + i), static_cast<char>('A' + i)};
        values.insert(values.end(), {static_cast<int>('a' + i), static_cast<int>('A' + i)});
      }
      const auto in_order =
          esp::aggregate_by_tree(Text{}, count, shuffled<char>(count, missing, seed));
      EXPECT_EQ(in_order.value_or(""), text);
      const auto sum = esp::aggregate_by_arrival(Sum{}, shuffled<int>(count, missing, seed));
      EXPECT_EQ(sum.value_or(0), Sum{}.accumulate(values));
      const auto sorted = esp::aggregate_by_arrival(Sorted{}, shuffled<int>(count, missing, seed));
      EXPECT_EQ(sorted.value_or(std::vector<int>()), Sorted{}.accumulate(values));
    }
  }
  EXPECT_FALSE(esp::aggregate_by_tree(Text{}, 0, shuffled<char>(0, 0, 0)));
  EXPECT_FALSE(esp::aggregate_by_tree(Text{}, 2, shuffled<char>(3, 3, 0))) << "a run too many";
}

}  // namespace
