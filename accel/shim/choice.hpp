// Choice: which side does the calls of one operation, size and communicator: Espalier or the MPI.
//
// The first calls are timed in rounds, a few of the one side, then as many of the other, twice.
// Each round begins with a call that does not count. After each call that is timed all members
// meet, so the next one begins on all at once. What counts is the mean of the time of the call and
// of the time until all have met: a side whose calls return early, and leave the work to others, is
// not faster for that. Of each side's times the upper half is left out, for it is what other
// programs of the machine have cost. What all members have found is added up, and the side that is
// faster stays. Every step depends on the number of the call alone, so all members are on one side.
// Threads: one at a time. path: data
#pragma once

#include <array>
#include <cstdint>
#include <memory>

namespace espalier::accel {

enum class Side : unsigned char { kOurs, kMpi };

// Of one kind of calls of this rank, for the report.
struct Tally {
  std::uint64_t calls = 0;
  std::uint64_t started = 0;  // others, of which no time is known
  std::uint64_t bytes = 0;    // of both
  double seconds = 0;
};

class Choice {
 public:
  // Larger messages are timed less often.
  void begin(std::uint64_t bytes, bool measures);
  // Known without timing.
  void begin(Side side) noexcept;
  bool has_begun() const noexcept { return begun_; }

  // What the next call is.
  Side side() const noexcept;
  bool is_timed() const noexcept { return times_ != nullptr; }
  // It has taken so long, and so long until all had met.
  void count(double seconds, double until_met) noexcept;
  // All calls that are timed have been made: the sums of both sides over the members are wanted.
  bool wants_sums() const noexcept { return times_ != nullptr && calls_ == 4 * round_; }
  std::array<double, 2> own_times() noexcept;
  void decide(const std::array<double, 2>& sums) noexcept;
  bool is_decided() const noexcept { return begun_ && times_ == nullptr; }
  const std::array<double, 2>& sums() const noexcept { return sums_; }

  std::array<Tally, 2> tally;  // by Side

 private:
  static constexpr std::uint32_t kTimedMax = 8;  // in a round
  using Times = std::array<std::array<float, 2 * kTimedMax>, 2>;

  Side chosen_ = Side::kOurs;
  bool begun_ = false;
  std::uint32_t round_ = 0;  // calls of one
  std::uint32_t calls_ = 0;
  std::array<std::uint32_t, 2> timed_ = {};
  std::array<double, 2> sums_ = {};
  std::unique_ptr<Times> times_;  // while it is open
};

}  // namespace espalier::accel
