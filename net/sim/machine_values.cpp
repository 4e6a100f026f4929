#include "net/sim/machine_values.hpp"

#include <cmath>
#include <span>

#include "core/config_value.hpp"

namespace espalier::sim {
namespace {

struct QuantityUnit {
  std::string_view name;
  double factor;
};
constexpr QuantityUnit kTimes[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr QuantityUnit kRates[] = {{"B/s", 1},         {"kB/s", 1e3},  {"MB/s", 1e6},
                                   {"GB/s", 1e9},      {"TB/s", 1e12}, {"Mbit/s", 1e6 / 8},
                                   {"Gbit/s", 1e9 / 8}};

// The number in the unit of factor 1.
std::optional<double> parse_quantity(std::string_view text,
                                     std::span<const QuantityUnit> units) noexcept {
  const std::size_t space = text.find_last_of(" \t");
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(0, text.find_last_not_of(" \t", space) + 1);
  const auto number = parse_number(digits);
  for (const QuantityUnit& unit : units) {
    if (number && unit.name == text.substr(space + 1)) return *number * unit.factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> parse_nanoseconds(std::string_view text) noexcept {
  const auto time = parse_quantity(text, kTimes);
  return time && *time >= 0 ? time : std::nullopt;
}

std::optional<double> parse_ns_per_byte(std::string_view text) noexcept {
  const auto rate = parse_quantity(text, kRates);
  if (!rate || *rate <= 0) return std::nullopt;
  return 1e9 / *rate;
}

std::optional<std::uint32_t> parse_count(std::string_view text) noexcept {
  const auto number = parse_integer(text);
  if (!number || *number < 1 || *number > 0xffffffffll) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept {
  static constexpr QuantityUnit kSizes[] = {{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}};
  const auto bytes = parse_quantity(text, kSizes);
  const bool whole = bytes && *bytes >= 0 && *bytes <= 0x1p52 && *bytes == std::floor(*bytes);
  if (!whole) return std::nullopt;
  return static_cast<std::uint64_t>(*bytes);
}

std::optional<Carrier> parse_carrier(std::string_view text) noexcept {
  for (std::size_t i = 0; i < kCarrierNames.size(); ++i) {
    if (text == kCarrierNames[i]) return static_cast<Carrier>(i);
  }
  return std::nullopt;
}

std::optional<bool> parse_peer_lanes(std::string_view text) noexcept {
  if (text != "host" && text != "own") return std::nullopt;
  return text == "own";
}

}  // namespace espalier::sim
