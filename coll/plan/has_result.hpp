// Is there anything that a member gets of an operation, in the memory of its output? Values only;
// any thread. path: setup, short
#pragma once

#include "coll/plan/collective.hpp"

namespace espalier {

// The first of an exscan gets nothing, nor does a scatter's root whose block stays in the input.
inline bool has_result(Collective collective, std::int32_t rank, std::int32_t root,
                       bool in_place) noexcept {
  const CollectiveTraits& traits = traits_of(collective);
  const bool is_root = rank == root;
  if (traits.output == Extent::kNone) return false;
  if (collective == Collective::kExscan && rank == 0) return false;
  if (traits.root_gets) return is_root;
  const bool stays = traits.root_sends && traits.input != Extent::kNone && in_place;
  return !(stays && is_root);
}

}  // namespace espalier
