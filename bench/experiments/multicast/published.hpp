// The sections of docs/results/multicast_published.md, simulated when they are asked for.
// path: setup
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/experiments/multicast/published_runs.hpp"

namespace espalier::experiments {

inline constexpr double kMostDeviation = 0.10;
inline constexpr std::uint64_t kLargeBytes = 2 << 20;

// first, 2 first, 4 first, ... up to last.
std::vector<std::uint32_t> powers(std::uint32_t first, std::uint32_t last);

// A simulated time beside the model's.
struct Beside {
  double simulated = 0, model = 0;

  double off() const { return simulated / model - 1; }
  std::string cells() const;
};
// What was aimed at, and whether it was met.
std::string aim_text(double worst);

// Broadcasts of kLargeBytes, one of each source.
Broadcasts of_sources(Way way, std::uint32_t nodes, std::uint32_t sources, bool at_once,
                      double setup_ns);
std::string sources_section();
std::string overlap_section();

// What a packet takes over ln(nodes), least squares: base + slope x.
struct Line {
  double base = 0, slope = 0;
};
Line fit_line(std::span<const double> x, std::span<const double> y);
struct Fitted {
  Line line;         // nanoseconds of a packet
  double worst = 0;  // deviation from it
  std::vector<double> times_ns;

  double a() const { return 1e3 / line.slope; }  // t_o(n) = ln(n) / a microseconds
};
// Of a broadcast by the protocol, in a network in which packets take growth_ns ln(nodes) more.
Fitted fit_protocol(double growth_ns, std::span<const std::uint32_t> nodes, std::uint64_t bytes);
std::string fit_section();

}  // namespace espalier::experiments
