// Meeting: those who make teams together: all members of the parent, by its collectives, or listed
// ones alone, by messages that are matched by the caller's tag and meet no receive of the user's.
// Threads: any. path: setup
#pragma once

#include <span>
#include <vector>

#include "api/api.hpp"

namespace espalier::api {

struct Meeting {
  esp_team& parent;
  Purpose purpose = Purpose::kUser;  // of all members
  std::span<const int> listed;       // ranks in the parent, this one's among them; empty: all
  std::uint64_t tag = 0;             // of listed ones

  std::size_t size() const noexcept {
    return listed.empty() ? static_cast<std::size_t>(parent.team.size()) : listed.size();
  }
  // Rank in the parent of the i-th.
  int member(std::size_t i) const noexcept {
    return listed.empty() ? static_cast<int>(i) : listed[i];
  }
  // This rank is the i-th.
  std::size_t place() const noexcept;
  // Replaces the words by their sums over those who meet. Blocks. Of listed ones an error at one is
  // told to all that its tree reaches; the tag is not to be used again then.
  esp_status sum(std::vector<std::uint64_t>& words) const;
};

}  // namespace espalier::api
