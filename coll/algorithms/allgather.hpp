// What the makers of allgathers share: a plan under construction, the own block on its way into it,
// and the copies at the end. Private to coll/algorithms/allgather*.cpp.
//
// Values only; any thread. path: setup
#pragma once

#include <vector>

#include "coll/algorithms/builder.hpp"

namespace espalier {

class AllgatherParts {
 protected:
  // `run`: blocks that are sent as one.
  AllgatherParts(const PlanRequest& request, std::uint32_t run)
      : builder_(request, 1, run), me_(request.rank), size_(request.size) {}

  Vertex vertex(Action action, std::int32_t first_block, std::uint32_t run = 1) const;
  // The input into block `to` of `place`.
  VertexId copy_own(Place place, std::int32_t to);
  // Block k of `from` into the output's block `to`, step by step, when all needed have come.
  void unpack(Place from, const Steps& to, const std::vector<VertexId>& needed);
  // Members in the order of nodes, by position; without nodes in their own order.
  Steps members_in_order(const TeamNodes* nodes);

  Builder builder_;
  std::int32_t me_;
  std::int32_t size_;
};

}  // namespace espalier
