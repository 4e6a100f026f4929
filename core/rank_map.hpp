// RankMap: rank to index, for the ranks that were met.
//
// Open addressing with linear probing; nothing is taken out, so a probe ends at the first empty
// slot. Its size follows the ranks that were met, never the size of the job.
// Values. path: data (find), slow (insert)
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/status.hpp"

namespace espalier {

class RankMap {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // kNone: not there. Answers for any rank, kNoRank included.
  std::uint32_t find(Rank rank) const noexcept {
    for (std::size_t at = home(rank);; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.rank == rank) return slot.index;
      if (slot.rank == kNoRank) return kNone;
    }
  }
  // A rank that is not there.
  void insert(Rank rank, std::uint32_t index) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    place({rank, index});
    ++size_;
  }
  std::size_t bytes() const noexcept { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    Rank rank = kNoRank;
    std::uint32_t index = kNone;
  };

  // Fibonacci hashing: neighbours, which are met together, are spread.
  std::size_t home(Rank rank) const noexcept {
    return static_cast<std::size_t>((static_cast<std::uint32_t>(rank) * 0x9E3779B1U) >> 8) & mask_;
  }
  void place(const Slot& slot) noexcept {
    std::size_t at = home(slot.rank);
    while (slots_[at].rank != kNoRank) at = (at + 1) & mask_;
    slots_[at] = slot;
  }
  void grow() {
    const std::vector<Slot> old = std::move(slots_);
    slots_.assign(2 * old.size(), Slot{});
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.rank != kNoRank) place(slot);
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(4);
  std::size_t mask_ = 3;
  std::size_t size_ = 0;
};

}  // namespace espalier
