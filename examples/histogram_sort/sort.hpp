// One sort of the keys of all ranks, in one of the variants:
//
//   blocking    exchanges all blocks by a blocking call, then merges them
//   offloaded   the same by a started call, of which a thread of the library drives the progress
//   partial     the same, but blocks are merged in groups as they land, while others still come
//
// Collective. path: data
#pragma once

#include <cstdint>
#include <espalier/espalier.hpp>
#include <span>
#include <vector>

#include "keys.hpp"
#include "options.hpp"

namespace sorting {

// Seconds of one rank; an array, so that ranks can compare them.
enum Phase { kSort, kSplitters, kExchange, kMerge, kTotal, kPhaseCount };
using Seconds = std::array<double, kPhaseCount>;

struct Sorted {
  std::vector<Key> keys;
  Seconds seconds{};
  double overlapped = 0;  // Seconds of kMerge before the last block was taken.
  double turn = 0;        // Seconds of exchange and merge of the slowest rank.
  int rounds = 0;         // Histograms.
};

// `sizes`: how many keys each rank gets; they add up to all that there are. Of several turns of
// exchange and merge the one counts that took the median time.
Sorted sort_keys(esp::TeamRef world, Variant variant, const Options& options, std::vector<Key> keys,
                 std::span<const std::uint64_t> sizes);

// Collective. What is wrong with the result, equal on all ranks; "": nothing. `input`: the digest
// of this rank's keys before.
std::string check_sorted(esp::TeamRef world, const Digest& input, std::span<const Key> sorted,
                         std::span<const std::uint64_t> sizes);

}  // namespace sorting
