// Durations in text: "25us", "2.5ms", "10s", "100ns", read exactly to the nanosecond.
//
// Threads: any. path: setup
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::sim {

// A non-negative decimal number and its unit (ns, us, ms, s). Nothing when the text is not that, or
// beyond 100 years.
std::optional<std::uint64_t> parse_duration(std::string_view text) noexcept;
// In the largest unit of which it is at least one: 2500000 -> "2.5ms"; parse_duration reads it back
// as the same value (below 13 days, where a double tells nanoseconds apart).
std::string format_duration(std::uint64_t ns);

}  // namespace espalier::sim
