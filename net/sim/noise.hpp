// Noise: when the operating system takes a processor away (a *detour*).
//
// Per rank an endless, sorted, non-overlapping sequence of detours, a pure function of (description,
// seed, rank): periodic with a random phase, durations from a distribution, or a recorded trace
// that is repeated with a random phase. `finish` is all that the simulator asks: work of w
// nanoseconds that starts at t is done when? Times are nanoseconds. Threads: owner (it remembers
// where in the sequence it is). path: data
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
  double hertz = 0;             // detours per second and rank
  std::uint64_t low_ns = 0;     // kUniform: [low, high]; kFixed: low; kExponential: mean is low
  std::uint64_t high_ns = 0;
  std::vector<Detour> trace;    // kTrace: one period, sorted
  std::uint64_t period_ns = 0;  // kTrace

  // Share of the processor that is taken, 0..1.
  double share() const noexcept;
};

// "none", "uniform:10hz:0-10ms", "fixed:1000hz:25us", "exponential:10hz:2.5ms", "trace:FILE" (lines
// "begin_us length_us", '#' comments). ESP_ERR_ARGUMENT with what is wrong.
Result<NoiseSpec> parse_noise(std::string_view text);
std::string to_text(const NoiseSpec& spec);

// One rank's detours.
class Noise {
 public:
  Noise(const NoiseSpec& spec, std::uint64_t seed, std::uint32_t rank) noexcept;

  // When work of `work_ns` is done that may begin at `start_ns`. Starts must not decrease.
  std::uint64_t finish(std::uint64_t start_ns, std::uint64_t work_ns) noexcept;
  // All detours that begin before `end_ns`, for tests and for the real injector.
  static std::vector<Detour> list(const NoiseSpec& spec, std::uint64_t seed, std::uint32_t rank,
                                  std::uint64_t end_ns);

 private:
  Detour next() noexcept;

  const NoiseSpec* spec_;
  Prng prng_;
  std::uint64_t period_begin_ns_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t phase_ns_ = 0;
  Detour current_;
};

}  // namespace espalier::sim
