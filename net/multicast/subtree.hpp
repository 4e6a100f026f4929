// Subtree: the members below one, in the tree of one source: what they have, and what they want.
//
// Ownership: values; rebuild() alone allocates. Threads: owner. path: data, rebuild() slow
#pragma once

#include <span>
#include <vector>

#include "net/multicast/sequence_set.hpp"

namespace espalier::multicast {

struct Child {
  std::uint32_t member = 0;  // its index
  Rank rank = kNoRank;
  bool probe = false;  // it is to be asked what it has
  Sequence acked;      // everything before has arrived in its subtree
  SubtreeState state;
  SequenceSet wants;  // packets that it has asked for

  // It has everything before `stable`.
  void settle(Sequence stable) noexcept {
    for (; acked.before(stable); acked = acked + 1) wants.remove(acked);
  }
};

struct Merged {
  Sequence acked;
  SubtreeState state;
};

class Subtree {
 public:
  // These are the children now. Those that were not before have at least what is stable, and are
  // to be asked what else.
  void rebuild(std::span<const std::uint32_t> members, std::span<const Rank> ranks,
               Sequence stable) {
    std::vector<Child> children;
    children.reserve(members.size());
    for (const std::uint32_t member : members) {
      if (const Child* known = find(member)) {
        children.push_back(*known);
        continue;
      }
      Child child;
      child.member = member;
      child.rank = ranks[member];
      child.probe = true;
      child.acked = stable;
      child.state.slowest = child.rank;
      children.push_back(child);
    }
    children_ = std::move(children);
  }

  Child* find(std::uint32_t member) noexcept {
    for (Child& child : children_) {
      if (child.member == member) return &child;
    }
    return nullptr;
  }
  std::span<Child> children() noexcept { return children_; }

  // What a child says. False: it has said more before.
  static bool acknowledge(Child& child, Sequence acked, const SubtreeState& state) noexcept {
    if (acked.before(child.acked)) return false;
    child.settle(acked);
    child.state = state;
    return true;
  }
  // Everything before `stable` has arrived everywhere.
  void settle(Sequence stable) noexcept {
    for (Child& child : children_) child.settle(stable);
  }

  // The least of what the children have and of `own`.
  Merged merged(Merged own) const noexcept;

 private:
  std::vector<Child> children_;
};

}  // namespace espalier::multicast
