// The setting TUNING: where the profile of this job is. path: setup
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coll/choice/profile.hpp"
#include "core/config.hpp"

namespace espalier {

// Where a profile is looked for, best first, that no setting names. Without a home there is one
// place less.
std::vector<std::string> profile_places();

// nullptr: there is none, or it is off. A file that the setting names must be there and right
// (ESP_ERR_CONFIG); what is wrong with one that was only found is added to `config.warnings`.
Result<std::shared_ptr<const Profile>> find_profile(Config& config);

}  // namespace espalier
