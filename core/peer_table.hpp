// PeerTable: what an owner keeps for each rank that it has met, found by rank.
//
// Visits go in the order of meeting, which is the same in every run of a deterministic program.
// Ownership: owns the entries, which do not move and stay until its end. Threads: owner.
// path: data (find), slow (meet)
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/rank_map.hpp"

namespace espalier {

template <typename Entry>
class PeerTable {
 public:
  // nullptr: not met. Answers for any rank, kNoRank included.
  Entry* find(Rank rank) const noexcept {
    const std::uint32_t index = index_.find(rank);
    return index != RankMap::kNone ? met_[index].second.get() : nullptr;
  }
  // Keeps the entry of a rank that has none yet.
  Entry& meet(Rank rank, std::unique_ptr<Entry> entry) {
    index_.insert(rank, static_cast<std::uint32_t>(met_.size()));
    met_.emplace_back(rank, std::move(entry));
    return *met_.back().second;
  }
  // visit(rank, entry); it may meet others, which are visited too.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t n = 0; n < met_.size(); ++n) visit(met_[n].first, *met_[n].second);
  }
  template <typename Predicate>
  bool all_of(Predicate&& holds) const {
    for (const auto& [rank, entry] : met_) {
      if (!holds(*entry)) return false;
    }
    return true;
  }

 private:
  RankMap index_;
  std::vector<std::pair<Rank, std::unique_ptr<Entry>>> met_;
};

}  // namespace espalier
