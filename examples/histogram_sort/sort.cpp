#include "sort.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "exchange.hpp"
#include "splitters.hpp"

namespace sorting {
namespace {

// How many keys lie before the part of each rank but the first.
std::vector<std::uint64_t> targets_of(std::span<const std::uint64_t> sizes) {
  std::vector<std::uint64_t> targets;
  for (std::size_t rank = 1; rank < sizes.size(); ++rank) {
    targets.push_back(before(sizes, static_cast<int>(rank)));
  }
  return targets;
}

// Of all ranks' keys.
SplitterSearch::Range range_of(esp::TeamRef world, std::span<const Key> sorted) {
  std::array<Key, 2> highest{0, 0};  // Of the keys, and of their complements.
  if (!sorted.empty()) highest = {sorted.back(), ~sorted.front()};
  world.allreduce_in_place(highest, esp::kMax).check();
  return {~highest[1], highest[0]};
}

struct Cuts {
  std::vector<std::size_t> positions;
  int rounds = 0;
};

Cuts find_cuts(esp::TeamRef world, std::span<const Key> sorted,
               std::span<const std::uint64_t> sizes) {
  const std::vector<std::uint64_t> targets = targets_of(sizes);
  if (targets.empty()) return {};
  SplitterSearch search(targets, range_of(world, sorted));
  while (!search.done()) {
    std::vector<std::uint64_t> counts = count_up_to(sorted, search.candidates());
    world.allreduce_in_place(counts, esp::kSum).check();
    search.narrow(counts);
  }
  const Ties ties = count_ties(sorted, search.splitters());
  std::vector<std::uint64_t> below(targets.size()), equal_before(targets.size(), 0);
  world.allreduce(ties.below, below, esp::kSum).check();
  world.exscan(ties.equal, equal_before, esp::kSum).check();
  return {cut(ties, targets, below, equal_before), search.rounds()};
}

// Turns of exchange and merge with the same keys.
struct Turns {
  Exchanged exchanged;  // The times of the median turn.
  double slowest;       // Its seconds, of the rank that took longest.
};

Turns take_turns(esp::TeamRef world, Variant variant, const Options& options,
                 std::span<const Key> sorted, std::span<const std::size_t> cuts) {
  std::vector<Exchanged> turns;
  std::vector<double> seconds;
  std::vector<Key> keys;
  for (int turn = 0; turn < options.exchanges; ++turn) {
    world.barrier().check();
    Exchanged one = exchange(world, variant, options, sorted, cuts);
    seconds.push_back(one.exchange + one.merge);
    keys = std::move(one.keys);
    turns.push_back(std::move(one));
  }
  world.allreduce_in_place(seconds, esp::kMax).check();
  std::vector<std::size_t> order(turns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2);
  std::nth_element(order.begin(), middle, order.end(),
                   [&](std::size_t a, std::size_t b) { return seconds[a] < seconds[b]; });
  turns[*middle].keys = std::move(keys);
  return {std::move(turns[*middle]), seconds[*middle]};
}

}  // namespace

Sorted sort_keys(esp::TeamRef world, Variant variant, const Options& options, std::vector<Key> keys,
                 std::span<const std::uint64_t> sizes) {
  Sorted result;
  world.barrier().check();
  const double begin = esp_time();
  std::sort(keys.begin(), keys.end());
  const double sorted = esp_time();
  const Cuts cuts = find_cuts(world, keys, sizes);
  const double found = esp_time();
  auto [exchanged, slowest] = take_turns(world, variant, options, keys, cuts.positions);
  result.seconds = {sorted - begin, found - sorted, exchanged.exchange, exchanged.merge,
                    found - begin + exchanged.exchange + exchanged.merge};
  result.overlapped = exchanged.overlapped;
  result.turn = slowest;
  result.rounds = cuts.rounds;
  result.keys = std::move(exchanged.keys);
  return result;
}

std::string check_sorted(esp::TeamRef world, const Digest& input, std::span<const Key> sorted,
                         std::span<const std::uint64_t> sizes) {
  const auto me = static_cast<std::size_t>(world.rank());
  const Digest output = digest(sorted);
  std::array sums{input.count,  input.first,  input.second,
                  output.count, output.first, output.second};
  world.allreduce_in_place(sums, esp::kSum).check();

  // The first and the last key of each rank, and whether it has any.
  std::array<Key, 3> ends{0, 0, 0};
  if (!sorted.empty()) ends = {sorted.front(), sorted.back(), 1};
  std::vector<Key> all(3 * sizes.size());
  world.allgather(ends, all).check();

  std::array<std::uint64_t, 2> unsound{!std::is_sorted(sorted.begin(), sorted.end()),
                                       sorted.size() != sizes[me]};
  world.allreduce_in_place(unsound, esp::kSum).check();
  if (unsound[0] > 0) return fmt::format("the keys of {} ranks are not sorted", unsound[0]);
  if (unsound[1] > 0) return fmt::format("{} ranks have a wrong number of keys", unsound[1]);
  Key last = 0;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    if (all[3 * rank + 2] == 0) continue;
    if (all[3 * rank] < last) return fmt::format("rank {} has keys that belong before it", rank);
    last = all[3 * rank + 1];
  }
  if (!std::equal(sums.begin(), sums.begin() + 3, sums.begin() + 3)) {
    return "the result is no permutation of the keys";
  }
  return "";
}

}  // namespace sorting
