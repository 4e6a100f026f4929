// Deliveries of operations that take lines: all at once, when everything has come. path: short
#pragma once

#include "coll/team/team.hpp"

namespace espalier {

// Hands what a member of the team has got to the call's consumer, block by block.
void deliver_all(const Team& team, const Call& call) noexcept;

}  // namespace espalier
