// TeamIds: the numbers of the teams that this rank becomes a member of.
//
// A rank has no number twice, in its whole job: what comes late must not be taken for another
// team's. The members of a parent agree on a number in the exchanges that make the teams: it is the
// largest that one of them offers, and all groups of one split have the same, because no rank is in
// two of them. A number is spent by the members alone, so there are 2^24 - 1 teams for each rank,
// however many ranks the job has.
//
// Splits may run at once, from several threads, on parents that share ranks. Then the number that a
// parent agrees on may be spent by another, on some rank, since that rank offered: it refuses it,
// and all members of this parent agree on another one. A number that was claimed and then refused
// elsewhere is lost. Threads: owner. path: slow
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/prng.hpp"
#include "core/wire.hpp"

namespace espalier {

class TeamIds {
 public:
  static constexpr std::uint32_t kLast = (1U << FlowId::kTeamBits) - 1;

  // `used`: the first so many numbers are spent. 0 is the world's.
  explicit TeamIds(std::uint32_t used = 1) noexcept : next_(used) {}

  // The least number that this rank can take; larger than kLast: there is none left. `lead` leaves
  // out so many, as far as there are more.
  std::uint32_t offer(std::uint32_t lead = 0) const noexcept {
    return next_ >= kLast ? next_ : next_ + std::min(lead, kLast - next_);
  }
  // How far to go ahead in the n-th further attempt (n from 1). Two parents that share ranks have
  // different ids, so in the end they lead differently and no longer meet.
  static std::uint32_t lead(std::uint32_t parent_id, unsigned attempt) noexcept {
    const std::uint32_t range = 1U << std::min(attempt, 10U);
    std::uint64_t seed = std::uint64_t{attempt} << 32 | parent_id;
    return static_cast<std::uint32_t>(splitmix64(seed) % range);
  }
  // False: it is spent.
  bool claim(std::uint32_t number) noexcept {
    if (number < next_) return false;
    next_ = number + 1;
    return true;
  }

 private:
  std::uint32_t next_;
};

}  // namespace espalier
