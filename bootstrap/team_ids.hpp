// TeamIds: numbers for the teams that a job's ranks make.
//
// Ids must differ between any two teams that share two ranks, and none is used twice: what comes
// late must not be taken for another team's. The parent's first member gives them out: numbers of
// its own, with its rank in the job in the low bits. Threads: owner. path: slow
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/wire.hpp"

namespace espalier {

class TeamIds {
 public:
  TeamIds(Rank me, int job_size) noexcept
      : me_(static_cast<std::uint32_t>(me)),
        step_(std::bit_ceil(static_cast<std::uint32_t>(job_size))) {}

  // The first of `count` ids, more than there may be in the end: return_unused() follows. 0: there
  // is none left.
  std::uint32_t reserve(std::uint32_t count) noexcept {
    if (next_ > last_number()) return 0;
    const std::uint32_t first = next_ * step_ + me_;
    next_ += count;
    return first;
  }
  // Of those only the first `needed` are used. No effect if others were reserved meanwhile.
  void return_unused(std::uint32_t first, std::uint32_t count, std::uint32_t needed) noexcept {
    const std::uint32_t number = first / step_;
    if (next_ == number + count) next_ = number + needed;
  }

  // Whether there are so many from `first` on; and one of them. Equal on all ranks.
  bool has(std::uint32_t first, std::size_t count) const noexcept {
    return first != 0 && count <= last_number() + 1 - std::size_t{first / step_};
  }
  std::uint32_t id(std::uint32_t first, std::uint32_t position) const noexcept {
    return first + position * step_;
  }

 private:
  std::uint32_t last_number() const noexcept { return ((1U << FlowId::kTeamBits) - 1) / step_; }

  std::uint32_t me_, step_;
  std::uint32_t next_ = 1;  // 0 is the world
};

}  // namespace espalier
