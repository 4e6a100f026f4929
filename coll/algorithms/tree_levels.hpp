// Levels of a tree: one tree over one team whose inner parts follow the machine (Luo et al., HPDC
// 2018, section 3: "chain of chains").
//
// A level cuts the team into groups of `ranks` consecutive ranks, such as those of a socket or a
// node. The members of a group (ranks, or groups of the level before) form a tree of the level's
// shape; its head stands for the group outside. What is outside of all levels forms a tree of the
// request's own shape. A group's head is its first rank, or the root where that is inside.
//
//   levels {4 ranks, chain}, chain outside, root 0, 12 ranks:   0 -- 1 -- 2 -- 3
//                                                               4 -- 5 -- 6 -- 7   and 0 -- 4 -- 8
//                                                               8 -- 9 -- 10 -- 11
//
// Values; any thread. path: setup
#pragma once

#include <array>
#include <cstdint>

#include "espalier/espalier.h"

namespace espalier {

struct TreeLevel {
  std::int32_t ranks = 0;             // per group; 0: no level, and none after it
  esp_shape shape = ESP_SHAPE_CHAIN;  // not AUTO, not two-tree
  std::int32_t radix = 2;
  friend bool operator==(const TreeLevel&, const TreeLevel&) = default;
};

// From the inside to the outside. Groups hold whole groups of the level before.
using TreeLevels = std::array<TreeLevel, 4>;

inline std::size_t level_count(const TreeLevels& levels) noexcept {
  std::size_t count = 0;
  while (count < levels.size() && levels[count].ranks > 0) ++count;
  return count;
}

}  // namespace espalier
