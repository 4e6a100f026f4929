// RankList: some ranks in ascending order, and the position of each, found at once.
// Values. path: data (index_of), setup (the rest)
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "core/rank_map.hpp"

namespace espalier {

class RankList {
 public:
  RankList() = default;
  RankList(std::initializer_list<Rank> ranks) {
    for (const Rank rank : ranks) push_back(rank);
  }

  void push_back(Rank rank) {
    contiguous_ = ranks_.empty() || (contiguous_ && rank == ranks_.back() + 1);
    index_.insert(rank, static_cast<std::uint32_t>(ranks_.size()));
    ranks_.push_back(rank);
  }
  // RankMap::kNone: it is none of them.
  std::uint32_t index_of(Rank rank) const noexcept {
    if (!contiguous_) return index_.find(rank);
    const auto at = static_cast<std::uint32_t>(rank - ranks_[0]);
    return at < ranks_.size() ? at : RankMap::kNone;
  }
  bool contains(Rank rank) const noexcept { return index_of(rank) != RankMap::kNone; }

  Rank operator[](std::size_t n) const noexcept { return ranks_[n]; }
  Rank front() const noexcept { return ranks_.front(); }
  std::size_t size() const noexcept { return ranks_.size(); }
  auto begin() const noexcept { return ranks_.begin(); }
  auto end() const noexcept { return ranks_.end(); }
  std::span<const Rank> all() const noexcept { return ranks_; }
  friend bool operator==(const RankList& list, const std::vector<Rank>& ranks) noexcept {
    return list.ranks_ == ranks;
  }

 private:
  std::vector<Rank> ranks_;
  RankMap index_;
  bool contiguous_ = false;
};

}  // namespace espalier
