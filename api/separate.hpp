// Separate: an exchange with neighbours whose partitions are messages of their own.
//
// Values only. path: setup
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coll/team/team.hpp"

namespace espalier::api {

struct SeparateBlocks {
  std::vector<std::size_t> counts, displs;
};

// What the changed call points to.
struct Separate {
  Neighbors near;
  SeparateBlocks out, in;  // of what is sent, and what comes
};

// Makes of a checked neighbor_alltoall(v) one whose blocks are the parts of the blocks of the
// original: so many of each destination's and each source's. `id`: as Neighbors::id. False: there
// would be more edges between two than there may be.
bool separate(Call& call, const std::vector<int>& out_parts, const std::vector<int>& in_parts,
              std::uint32_t id, Separate& made);

}  // namespace espalier::api
