// Where the members of a team are, by the job's directory and what settings follow of it. Equal on
// all members. path: setup
#pragma once

#include <memory>
#include <vector>

#include "api/handles.hpp"

namespace espalier {

// `members`: job ranks, this one's among them.
std::shared_ptr<Membership> make_membership(const esp_job& job, std::vector<Rank> members);

}  // namespace espalier
