// ForgottenTeams: teams whose members receive nothing any more, for transports: what comes for them
// is dropped. Numbers of teams are not used again. Threads: owner. path: slow
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/wire.hpp"

namespace espalier {

class ForgottenTeams {
 public:
  void add(std::uint32_t team) {
    if (teams_.size() <= team) teams_.resize(team + std::size_t{1});
    teams_[team] = true;
  }
  // Is the flow one of theirs?
  bool has(std::uint64_t flow) const noexcept {
    const std::uint32_t team = FlowId::team_of(flow);
    return team < teams_.size() && teams_[team];
  }

 private:
  std::vector<bool> teams_;  // by number
};

}  // namespace espalier
