// From sorted keys of each rank, cut at the splitters, to the sorted keys of its part: all blocks
// go to their ranks and are merged there. path: data
#pragma once

#include <espalier/espalier.hpp>
#include <span>
#include <vector>

#include "keys.hpp"
#include "options.hpp"

namespace sorting {

struct Exchanged {
  std::vector<Key> keys;
  // Seconds: waiting for blocks, merging, and of this what was done before the last one was taken.
  double exchange = 0, merge = 0, overlapped = 0;
};

// `cuts`: where the blocks for ranks 1, 2, ... begin. Collective.
Exchanged exchange(esp::TeamRef world, Variant variant, const Options& options,
                   std::span<const Key> sorted, std::span<const std::size_t> cuts);

}  // namespace sorting
