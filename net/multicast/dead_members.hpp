// DeadMembers: those of a group that have died, by their index: as many as there were deaths, never
// as many as there are members.
// Values. path: data (has), slow (add)
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace espalier::multicast {

class DeadMembers {
 public:
  DeadMembers() = default;
  DeadMembers(std::initializer_list<std::uint32_t> members) {
    for (const std::uint32_t member : members) add(member);
  }

  bool has(std::uint32_t member) const noexcept {
    return !sorted_.empty() && std::binary_search(sorted_.begin(), sorted_.end(), member);
  }
  // False: it was dead before.
  bool add(std::uint32_t member) {
    const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), member);
    if (at != sorted_.end() && *at == member) return false;
    sorted_.insert(at, member);
    return true;
  }

 private:
  std::vector<std::uint32_t> sorted_;
};

}  // namespace espalier::multicast
