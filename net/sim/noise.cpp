#include "net/sim/noise.hpp"

#include <algorithm>
#include <cmath>

#include "core/assert.hpp"
#include "core/clock.hpp"

namespace espalier::sim {
namespace {

// Exponentially distributed with mean 1, by comparisons alone (von Neumann, "Various techniques
// used in connection with random digits", 1951): no logarithm, whose last bit differs between
// libraries.
double exponential(Prng& prng) noexcept {
  for (double whole = 0.0;; whole += 1.0) {
    const double first = prng.unit();
    double least = first;
    unsigned falling = 1;
    for (double draw = prng.unit(); draw < least; draw = prng.unit()) {
      least = draw;
      ++falling;
    }
    if (falling % 2 == 1) return whole + first;
  }
}

constexpr std::uint32_t kNobody = ~0U;  // whose phase is that of aligned detours

Prng generator(std::uint64_t seed, std::uint32_t rank) noexcept {
  const std::uint64_t mixed = splitmix64(seed);
  std::uint64_t state = mixed ^ rank;
  return Prng(splitmix64(state));
}

}  // namespace

std::uint64_t NoiseSpec::period() const noexcept {
  if (kind == Kind::kNone) return 0;
  if (kind == Kind::kTrace) return period_ns;
  return static_cast<std::uint64_t>(
      std::llround(static_cast<double>(kNanosecondsPerSecond) / hertz));
}

double NoiseSpec::share() const noexcept {
  const auto period = static_cast<double>(this->period());
  const auto low = static_cast<double>(low_ns);
  switch (kind) {
    case Kind::kNone:
      return 0.0;
    case Kind::kUniform:
      return (low + static_cast<double>(high_ns)) / 2.0 / period;
    case Kind::kFixed:
      return low / period;
    case Kind::kExponential:  // cut at the period
      return low > 0.0 ? low * -std::expm1(-period / low) / period : 0.0;
    case Kind::kTrace: {
      std::uint64_t taken = 0;
      for (const Detour& detour : trace) taken += detour.length_ns;
      return static_cast<double>(taken) / period;
    }
  }
  return 0.0;
}

Noise::Noise(const NoiseSpec& spec, std::uint64_t seed, std::uint32_t rank) noexcept
    : spec_(&spec),
      prng_(generator(seed, rank)),
      period_ns_(spec.share() > 0.0 ? spec.period() : 0) {
  // In [1, period]: what begins at -phase belongs to the period in which time 0 lies.
  if (period_ns_ == 0) return;
  const std::uint64_t phase = prng_.below(period_ns_);
  phase_ns_ = period_ns_ - (spec.aligned ? generator(seed, kNobody).below(period_ns_) : phase);
}

std::uint64_t Noise::draw_length() noexcept {
  switch (spec_->kind) {
    case NoiseSpec::Kind::kUniform:
      return spec_->low_ns + prng_.below(spec_->high_ns - spec_->low_ns + 1);
    case NoiseSpec::Kind::kExponential: {
      const double length = exponential(prng_) * static_cast<double>(spec_->low_ns);
      return length < static_cast<double>(period_ns_) ? static_cast<std::uint64_t>(length)
                                                      : period_ns_;
    }
    default:
      return spec_->low_ns;
  }
}

// The detour `number_` on a time that begins one phase early, so that it is never negative.
Detour Noise::draw() noexcept {
  if (spec_->kind != NoiseSpec::Kind::kTrace) return {number_++ * period_ns_, draw_length()};
  const std::size_t count = spec_->trace.size();
  const Detour& detour = spec_->trace[number_ % count];
  const std::uint64_t begin = number_++ / count * period_ns_ + detour.begin_ns;
  return {begin, detour.length_ns};
}

Detour Noise::next() noexcept {
  if (period_ns_ == 0) return {kNever, 0};
  while (true) {
    const Detour detour = draw();
    const std::uint64_t end = detour.begin_ns + detour.length_ns;
    if (detour.length_ns == 0 || end <= phase_ns_) continue;
    const std::uint64_t begin = std::max(detour.begin_ns, phase_ns_);
    return {begin - phase_ns_, end - begin};
  }
}

std::uint64_t Noise::finish(std::uint64_t start_ns, std::uint64_t work_ns) noexcept {
  ESP_ASSERT(start_ns >= free_ns_);
  std::uint64_t at = start_ns;
  // A detour in the way: one that has not ended when the work may begin and begins by then or, once
  // the work is under way, before it is done.
  while (current_.begin_ns <= at || current_.begin_ns < at + work_ns) {
    const std::uint64_t end = current_.begin_ns + current_.length_ns;
    if (current_.begin_ns > at) {
      work_ns -= current_.begin_ns - at;
      at = end;
    } else {
      at = std::max(at, end);
    }
    current_ = next();
  }
  free_ns_ = at + work_ns;
  return free_ns_;
}

std::vector<Detour> Noise::list(const NoiseSpec& spec, std::uint64_t seed, std::uint32_t rank,
                                std::uint64_t end_ns) {
  Noise noise(spec, seed, rank);
  std::vector<Detour> detours;
  for (Detour detour = noise.next(); detour.begin_ns < end_ns; detour = noise.next()) {
    detours.push_back(detour);
  }
  return detours;
}

}  // namespace espalier::sim
