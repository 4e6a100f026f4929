#include "net/sim/duration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/config_value.hpp"

namespace espalier::sim {
namespace {

struct TimeUnit {
  std::string_view name;
  double ns;
};
constexpr TimeUnit kUnits[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1.0}};
constexpr double kLongestNs = 100.0 * 365.25 * 86400.0 * 1e9;

}  // namespace

std::optional<std::uint64_t> parse_duration(std::string_view text) noexcept {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = parse_number(text.substr(0, digits));
  if (!number) return std::nullopt;
  for (const TimeUnit& unit : kUnits) {
    if (text.substr(digits) != unit.name) continue;
    const double ns = *number * unit.ns;
    if (ns > kLongestNs) return std::nullopt;
    return static_cast<std::uint64_t>(std::llround(ns));
  }
  return std::nullopt;
}

std::string format_duration(std::uint64_t ns) {
  // The shortest decimal that a double reads back, which rounds to the same nanosecond.
  for (const TimeUnit& unit : kUnits) {
    const double count = static_cast<double>(ns) / unit.ns;
    if (count >= 1.0) return fmt::format("{}{}", count, unit.name);
  }
  return "0ns";
}

}  // namespace espalier::sim
