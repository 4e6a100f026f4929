// The parts of histogram_sort that need no communication: the order of keys, merging, and the
// search for splitters, of which the ranks are played by one process.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "merge.hpp"
#include "options.hpp"
#include "splitters.hpp"

namespace sorting {
namespace {

using Keys = std::vector<Key>;

TEST(Key, IsOrderedAsValuesAre) {
  const auto rises = [](auto values, Type type) {
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      EXPECT_LT(to_key(values[i]), to_key(values[i + 1])) << values[i];
    }
    for (const auto value : values) {
      const Key bits = std::bit_cast<Key>(value);
      EXPECT_EQ(key_of_bits(bits, type), to_key(value));
      EXPECT_EQ(bits_of_key(to_key(value), type), bits);
    }
  };
  using Whole = std::numeric_limits<std::int64_t>;
  using Real = std::numeric_limits<double>;
  rises(std::vector<std::int64_t>{Whole::min(), -7, -1, 0, 1, 42, Whole::max()}, Type::kInt64);
  rises(std::vector{-Real::quiet_NaN(), -Real::infinity(), -1e300, -1.5, -Real::denorm_min(), -0.0,
                    0.0, Real::min(), 2.0, Real::max(), Real::infinity(), Real::quiet_NaN()},
        Type::kDouble);
}

TEST(Spread, GivesAllKeysAndLeavesRanksEmpty) {
  using Counts = std::vector<std::uint64_t>;
  EXPECT_EQ(spread(10, 4, Spread::kEven), (Counts{3, 3, 2, 2}));
  EXPECT_EQ(spread(10, 5, Spread::kHalf), (Counts{4, 0, 3, 0, 3}));
  EXPECT_EQ(spread(10, 3, Spread::kOne), (Counts{10, 0, 0}));
  EXPECT_EQ(before(Counts{3, 3, 2, 2}, 2), 6U);
}

TEST(Digest, TellsMultisetsApartWhateverTheirOrder) {
  EXPECT_EQ(digest(Keys{1, 2, 2}), digest(Keys{2, 1, 2}));
  EXPECT_NE(digest(Keys{1, 2, 2}), digest(Keys{1, 1, 2}));
  EXPECT_NE(digest(Keys{0}), digest(Keys{}));
}

Keys some_keys(Kind kind, std::uint64_t count, std::uint64_t seed) {
  Keys keys;
  for (std::uint64_t i = 0; i < count; ++i) {
    keys.push_back(make_key({kind, Type::kInt64, seed}, i, count));
  }
  return keys;
}

TEST(Merge, OfAnyNumberOfRuns) {
  for (std::size_t runs = 0; runs <= 17; ++runs) {
    std::vector<Keys> blocks;
    Keys expected;
    for (std::size_t i = 0; i < runs; ++i) {
      blocks.push_back(some_keys(i % 2 == 0 ? Kind::kFew : Kind::kUniform, i * i % 11, i));
      std::sort(blocks.back().begin(), blocks.back().end());
      expected.insert(expected.end(), blocks.back().begin(), blocks.back().end());
    }
    std::sort(expected.begin(), expected.end());
    const std::vector<sorting::Run> spans(blocks.begin(), blocks.end());
    Keys merged(expected.size());
    merge(spans, merged.data());
    EXPECT_EQ(merged, expected) << runs;
    for (const std::size_t size : {1U, 2U, 3U, 16U, 40U}) {
      GroupMerge groups(size, runs);
      for (const sorting::Run& run : spans) groups.add(run);
      std::fill(merged.begin(), merged.end(), 0);
      groups.finish(merged.data());
      EXPECT_EQ(merged, expected) << runs << " in groups of " << size;
    }
  }
}

Keys sums_of(const std::vector<Keys>& of_ranks) {
  Keys sums(of_ranks[0].size(), 0);
  for (const Keys& one : of_ranks) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += one[i];
  }
  return sums;
}

// Cuts the keys of all ranks as histogram_sort does; the parts, each put together and sorted.
std::vector<Keys> partition(std::vector<Keys> ranks, const Keys& targets, int most_rounds) {
  SplitterSearch::Range range{std::numeric_limits<Key>::max(), 0};
  for (Keys& keys : ranks) {
    std::sort(keys.begin(), keys.end());
    if (keys.empty()) continue;
    range = {std::min(range.lowest, keys.front()), std::max(range.highest, keys.back())};
  }
  SplitterSearch search(targets, range);
  while (!search.done()) {
    std::vector<Keys> counts;
    for (const Keys& keys : ranks) counts.push_back(count_up_to(keys, search.candidates()));
    search.narrow(sums_of(counts));
  }
  EXPECT_LE(search.rounds(), most_rounds);
  std::vector<Keys> below, equal;
  for (const Keys& keys : ranks) {
    Ties ties = count_ties(keys, search.splitters());
    below.push_back(ties.below);
    equal.push_back(ties.equal);
  }
  const Keys all_below = sums_of(below);
  Keys equal_before(targets.size(), 0);
  std::vector<Keys> parts(targets.size() + 1);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    auto cuts = cut({below[rank], equal[rank]}, targets, all_below, equal_before);
    for (std::size_t i = 0; i < targets.size(); ++i) equal_before[i] += equal[rank][i];
    EXPECT_TRUE(std::is_sorted(cuts.begin(), cuts.end()));
    cuts.push_back(ranks[rank].size());
    std::size_t begin = 0;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      for (; begin < cuts[part]; ++begin) parts[part].push_back(ranks[rank][begin]);
    }
  }
  for (Keys& part : parts) std::sort(part.begin(), part.end());
  return parts;
}

TEST(Splitters, CutExactlyWhateverTheKeysAndTheirPlaces) {
  constexpr std::uint64_t kKeys = 501;
  for (const Kind kind :
       {Kind::kUniform, Kind::kSkewed, Kind::kEqual, Kind::kFew, Kind::kSorted, Kind::kReversed}) {
    for (const Spread how : {Spread::kEven, Spread::kHalf, Spread::kOne}) {
      const Keys keys = some_keys(kind, kKeys, 3);
      std::vector<Keys> ranks;
      auto next = keys.begin();
      for (const std::uint64_t count : spread(kKeys, 7, how)) {
        ranks.emplace_back(next, next + static_cast<std::ptrdiff_t>(count));
        next += static_cast<std::ptrdiff_t>(count);
      }
      const Keys targets{0, 0, 1, 100, 100, 250, 500, 501, 501};
      const std::vector<Keys> parts = partition(ranks, targets, 16);
      Keys together;
      for (std::size_t part = 0; part < parts.size(); ++part) {
        const Key end = part < targets.size() ? targets[part] : kKeys;
        together.insert(together.end(), parts[part].begin(), parts[part].end());
        EXPECT_EQ(together.size(), end);
      }
      Keys expected = keys;
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(together, expected);
    }
  }
}

TEST(Splitters, OfTheExtremesEndInTime) {
  const Keys ends{0, std::numeric_limits<Key>::max()};
  const std::vector<Keys> parts = partition({ends, {}, ends}, {1, 2, 3, 4}, 16);
  EXPECT_EQ(parts, (std::vector<Keys>{{0}, {0}, {ends[1]}, {ends[1]}, {}}));
  EXPECT_EQ(partition({{}, {}}, {0}, 0), (std::vector<Keys>{{}, {}}));
  // Equal keys are found by the range alone.
  EXPECT_EQ(partition({{5, 5}, {5}}, {2}, 0), (std::vector<Keys>{{5, 5}, {5}}));
}

TEST(CommandLine, ReadsOptions) {
  const std::vector<const char*> words{"sort",   "--variant", "blocking", "x.bin",   "--type",
                                       "double", "--spread",  "half",     "--sizes", "same"};
  const auto line = parse_command_line(static_cast<int>(words.size()), words.data());
  ASSERT_TRUE(line.options.has_value()) << line.text;
  EXPECT_EQ(line.options->file, "x.bin");
  EXPECT_EQ(line.options->recipe.type, Type::kDouble);
  EXPECT_EQ(line.options->spread, Spread::kHalf);
  EXPECT_TRUE(line.options->keep_sizes);
  EXPECT_EQ(line.options->variants, std::vector{Variant::kBlocking});
}

}  // namespace
}  // namespace sorting
