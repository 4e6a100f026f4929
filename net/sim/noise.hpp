// Noise: when the operating system takes a processor away (a *detour*).
//
// Per rank an endless, sorted, non-overlapping sequence of detours, a pure function of
// (description, seed, rank): periodic with a random phase, durations from a distribution, or a
// recorded trace that is repeated with a random phase. The sequence is stationary: at time 0 a
// detour may be under way (its remainder is the first one), so any stretch of time loses the same
// share on average. Aligned detours begin together on all ranks, with lengths of their own: the
// phase is the seed's. `finish` is all that the simulator asks: work of w nanoseconds that starts
// at t is done when?
//
// A trace file has lines "begin_us length_us" in order of time, without overlaps; '#' begins a
// comment. A line "period_us N" says how long the recording was; without it the end of the last
// detour counts. esp-noise --record writes such files.
//
// Times are nanoseconds. Threads: owner (it remembers where in the sequence it is). path: data
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/prng.hpp"
#include "core/status.hpp"

namespace espalier::sim {

struct Detour {
  std::uint64_t begin_ns = 0;
  std::uint64_t length_ns = 0;
};

struct NoiseSpec {
  enum class Kind : std::uint8_t { kNone, kUniform, kFixed, kExponential, kTrace };
  Kind kind = Kind::kNone;
  double hertz = 0;          // detours per second and rank
  bool aligned = false;      // they begin together
  std::uint64_t low_ns = 0;  // kUniform: [low, high]; kFixed: low; kExponential: mean is low,
                             // cut at the period
  std::uint64_t high_ns = 0;
  std::vector<Detour> trace;    // kTrace: one period, sorted
  std::uint64_t period_ns = 0;  // kTrace
  std::string file;             // kTrace: where it was read

  // From the begin of a detour to that of the next; kTrace: of the recording.
  std::uint64_t period() const noexcept;
  // Share of the processor that is taken, 0..1.
  double share() const noexcept;
};

// "none", "uniform:10hz:0-10ms", "fixed:1000hz:25us", "exponential:10hz:2.5ms", "trace:FILE"; the
// middle three with ":aligned" after them, too.
// ESP_ERR_ARGUMENT with what is wrong, for a file with "FILE:LINE: ".
Result<NoiseSpec> parse_noise(std::string_view text);
Result<NoiseSpec> parse_noise_trace(std::string_view text, std::string_view file_name);
std::string to_text(const NoiseSpec& spec);

// One rank's detours. Borrows the description.
class Noise {
 public:
  Noise(const NoiseSpec& spec, std::uint64_t seed, std::uint32_t rank) noexcept;

  // When work of `work_ns` is done that may begin at `start_ns`: it begins outside of detours and
  // is stretched by those that begin before it is done. One processor: a start must not lie before
  // the last result.
  std::uint64_t finish(std::uint64_t start_ns, std::uint64_t work_ns) noexcept;
  // The detours in order, for users that do not call finish(); none has length 0. {kNever, 0} when
  // there will be none.
  Detour next() noexcept;
  // All detours that begin before `end_ns`, for tests and for the real injector.
  static std::vector<Detour> list(const NoiseSpec& spec, std::uint64_t seed, std::uint32_t rank,
                                  std::uint64_t end_ns);

 private:
  Detour draw() noexcept;
  std::uint64_t draw_length() noexcept;

  const NoiseSpec* spec_;
  Prng prng_;
  std::uint64_t period_ns_;     // 0: there are no detours
  std::uint64_t phase_ns_ = 0;  // detour k (trace: repetition k) begins at k * period - phase
  std::uint64_t number_ = 0;    // of the next one
  std::uint64_t free_ns_ = 0;   // the last result of finish()
  Detour current_;              // the one that finish() looks at next; at first an empty one
};

}  // namespace espalier::sim
