// Decomposable functions: aggregates of what comes in parts, and in which order parts may be used.
//
// A function is decomposable if it can be had of a run of values (accumulate) and of its results on
// two runs (merge). What it says of itself decides what may be done with it:
//   associative: results may be merged in any grouping, their order kept: aggregate_by_tree;
//   commutative: and in any order. That includes the grouping of what came before and after, so
//                aggregate_by_arrival needs both.
// Others are refused when they are compiled. find_lie() looks for values on which a claim is false.
//
//   struct Sum {
//     using Value = int;
//     using Partial = long;
//     static constexpr bool kCommutative = true, kAssociative = true;
//     Partial accumulate(std::span<const Value> run) const;
//     Partial merge(Partial lower, Partial higher) const;  // `lower`: of what stands before
//   };
//
// Source of the terms: Yu, Gunda, Isard, SOSP '09. path: setup
#ifndef ESPALIER_CPP_DECOMPOSABLE_HPP
#define ESPALIER_CPP_DECOMPOSABLE_HPP

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace esp {

template <typename D>
concept Decomposable = requires(const D& function, std::span<const typename D::Value> run,
                                typename D::Partial partial) {
  { function.accumulate(run) } -> std::convertible_to<typename D::Partial>;
  {
    function.merge(std::move(partial), std::move(partial))
  } -> std::convertible_to<typename D::Partial>;
  { D::kCommutative } -> std::convertible_to<bool>;
  { D::kAssociative } -> std::convertible_to<bool>;
};
template <typename D>
concept AssociativeFunction = Decomposable<D> && D::kAssociative;
template <typename D>
concept CommutativeFunction = AssociativeFunction<D> && D::kCommutative;

// What hands out runs of values until there are none: a callable that returns an optional of
// something with `data` (a range of D::Value) and `block` (which run it is), as a Segment has.
template <typename N, typename D>
concept RunsOf = requires(N& next, decltype(*next()) run) {
  { std::span<const typename D::Value>(run.data) };
  { run.block } -> std::convertible_to<std::size_t>;
  { next().has_value() } -> std::same_as<bool>;
};

// Of all runs, each merged as it comes; nothing when there was none.
template <CommutativeFunction D, RunsOf<D> N>
std::optional<typename D::Partial> aggregate_by_arrival(const D& function, N&& next) {
  std::optional<typename D::Partial> all;
  while (auto run = next()) {
    typename D::Partial one = function.accumulate(std::span<const typename D::Value>(run->data));
    all = all ? function.merge(std::move(*all), std::move(one)) : std::move(one);
  }
  return all;
}

namespace detail {

// A binary tree over runs in the order of their numbers. What two neighbours have come to is merged
// as soon as both are there.
template <AssociativeFunction D>
class Tree {
 public:
  using Partial = typename D::Partial;

  Tree(const D& function, std::size_t runs)
      : function_(function), leaves_(std::bit_ceil(runs)), nodes_(2 * leaves_) {}

  std::size_t leaves() const noexcept { return leaves_; }
  // Node 1 is the root, those below node i are 2 i and 2 i + 1; a run's is leaves + block.
  void put(std::size_t block, Partial partial) {
    std::size_t node = leaves_ + block;
    nodes_[node] = std::move(partial);
    for (; node > 1 && nodes_[node ^ 1]; node /= 2) {
      nodes_[node / 2] = merged(nodes_[node & ~std::size_t{1}], nodes_[node | 1]);
    }
  }
  // Of all that has been put; some runs may never have come.
  std::optional<Partial> result(std::size_t node = 1) {
    if (nodes_[node] || node >= leaves_) return std::move(nodes_[node]);
    std::optional<Partial> lower = result(2 * node), higher = result(2 * node + 1);
    if (!lower || !higher) return lower ? std::move(lower) : std::move(higher);
    return merged(lower, higher);
  }

 private:
  Partial merged(std::optional<Partial>& lower, std::optional<Partial>& higher) {
    Partial both = function_.merge(std::move(*lower), std::move(*higher));
    lower.reset();
    higher.reset();
    return both;
  }

  const D& function_;
  std::size_t leaves_;
  std::vector<std::optional<Partial>> nodes_;
};

}  // namespace detail

// Of runs 0 to runs - 1, which come in any order, each at most once and whole. They are merged in
// the order of their numbers, grouped by what is there first to be merged: neighbours in a tree.
// Nothing when there was none, or one had a number that is not below `runs`.
template <AssociativeFunction D, RunsOf<D> N>
std::optional<typename D::Partial> aggregate_by_tree(const D& function, std::size_t runs,
                                                     N&& next) {
  if (runs == 0) return std::nullopt;
  detail::Tree<D> tree(function, runs);
  while (auto run = next()) {
    const auto block = static_cast<std::size_t>(run->block);
    if (block >= runs) return std::nullopt;
    tree.put(block, function.accumulate(std::span<const typename D::Value>(run->data)));
  }
  return tree.result();
}

// ---- is it true? ----

enum class Claim { kDecomposable, kCommutative, kAssociative };
struct Lie {
  Claim claim;
  std::uint64_t round;  // in which it was found: the same seed finds it there again
};

// For tests. Draws runs of values from `generator(std::mt19937_64&)`, which returns a
// std::vector<Value>, and compares (by ==) what must be equal by what the function claims: of
// commutative ones a b = b a, of associative ones (a b) c = a (b c), and of all that the function
// of a run is that of its two parts. Finding nothing proves nothing; what it finds is a lie.
template <Decomposable D, typename G>
  requires std::equality_comparable<typename D::Partial> &&
           std::is_invocable_r_v<std::vector<typename D::Value>, G&, std::mt19937_64&>
std::optional<Lie> find_lie(const D& function, G&& generator, std::uint64_t seed,
                            std::uint64_t rounds) {
  using Values = std::vector<typename D::Value>;
  std::mt19937_64 random(seed);
  const auto of = [&](const Values& values) -> typename D::Partial {
    return function.accumulate(std::span<const typename D::Value>(values));
  };
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const Values a = generator(random), b = generator(random), c = generator(random);
    const auto ab = [&] { return function.merge(of(a), of(b)); };
    if (D::kCommutative && !(ab() == function.merge(of(b), of(a)))) {
      return Lie{Claim::kCommutative, round};
    }
    if (D::kAssociative &&
        !(function.merge(ab(), of(c)) == function.merge(of(a), function.merge(of(b), of(c))))) {
      return Lie{Claim::kAssociative, round};
    }
    Values both = a;
    both.insert(both.end(), b.begin(), b.end());
    if (!(of(both) == ab())) return Lie{Claim::kDecomposable, round};
  }
  return std::nullopt;
}

}  // namespace esp

#endif  // ESPALIER_CPP_DECOMPOSABLE_HPP
