// GroupTree: who repairs whom, for each source: a k-ary tree over the members, numbered from the
// source on, so that every source has another tree and the work is shared.
//
// Members that died are skipped: their children belong to the nearest living member above them. If
// the source itself died its successor is the root: the first living member after it. A member is
// named by its index among the sorted ranks. Pure. path: data (parent), slow (children)
#pragma once

#include <cstdint>
#include <vector>

#include "core/assert.hpp"
#include "net/multicast/dead_members.hpp"

namespace espalier::multicast {

class GroupTree {
 public:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  GroupTree(std::uint32_t members, std::uint32_t degree) noexcept
      : members_(members), degree_(degree) {
    ESP_ASSERT(members > 0 && degree > 0);
  }

  // The source, or who stands in for it; kNobody: all are dead.
  std::uint32_t root(std::uint32_t source, const DeadMembers& dead) const noexcept {
    for (std::uint32_t place = 0; place < members_; ++place) {
      if (!dead.has(member_at(source, place))) return member_at(source, place);
    }
    return kNobody;
  }

  // kNobody: `member` is the root.
  std::uint32_t parent(std::uint32_t source, std::uint32_t member,
                       const DeadMembers& dead) const noexcept {
    std::uint32_t place = place_of(source, member);
    while (place > 0) {
      place = (place - 1) / degree_;
      if (!dead.has(member_at(source, place))) return member_at(source, place);
    }
    const std::uint32_t top = root(source, dead);
    return top == member ? kNobody : top;
  }

  // Those whose parent is `member`. Equal on all that know of the same deaths.
  void children(std::uint32_t source, std::uint32_t member, const DeadMembers& dead,
                std::vector<std::uint32_t>& found) const {
    found.clear();
    const std::uint32_t place = place_of(source, member);
    add_below(source, place, dead, found);
    // A successor inherits from the dead source, and is one of those below it.
    if (place > 0 && dead.has(source) && root(source, dead) == member) {
      std::vector<std::uint32_t> others;
      add_below(source, 0, dead, others);
      for (const std::uint32_t other : others) {
        if (other != member) found.push_back(other);
      }
    }
  }

 private:
  std::uint32_t place_of(std::uint32_t source, std::uint32_t member) const noexcept {
    return (member + members_ - source) % members_;
  }
  std::uint32_t member_at(std::uint32_t source, std::uint32_t place) const noexcept {
    return (source + place) % members_;
  }
  void add_below(std::uint32_t source, std::uint32_t place, const DeadMembers& dead,
                 std::vector<std::uint32_t>& found) const {
    for (std::uint32_t i = 1; i <= degree_ && place * degree_ + i < members_; ++i) {
      const std::uint32_t child = place * degree_ + i;
      if (!dead.has(member_at(source, child))) {
        found.push_back(member_at(source, child));
      } else {
        add_below(source, child, dead, found);
      }
    }
  }

  std::uint32_t members_, degree_;
};

}  // namespace espalier::multicast
