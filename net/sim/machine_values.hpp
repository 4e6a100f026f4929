// Machine values: what the words of a machine file mean.
//
// Readers return nothing when the whole text is not a value of the kind. Any thread. path: setup
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "net/sim/machine.hpp"

namespace espalier::sim {

// Levels from the outside to the inside. A machine has some of them, "node" and "core" always.
inline constexpr std::array<std::string_view, 9> kLevelNames = {
    "cluster", "group", "switch", "node", "board", "socket", "numa", "cache", "core"};
inline constexpr std::array<std::string_view, 3> kCarrierNames = {"device", "copy", "pull"};

// "1.3 us": a number of at least 0, and ns, us, ms or s.
std::optional<double> parse_nanoseconds(std::string_view text) noexcept;
// "8 GB/s": a number above 0, and B/s, kB/s, MB/s, GB/s, TB/s, Mbit/s or Gbit/s, powers of 1000.
// Answers nanoseconds per byte.
std::optional<double> parse_ns_per_byte(std::string_view text) noexcept;
// 1..2^32 - 1.
std::optional<std::uint32_t> parse_count(std::string_view text) noexcept;
// "16 KiB": a whole number of bytes, with B, KiB or MiB.
std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept;
std::optional<Carrier> parse_carrier(std::string_view text) noexcept;
// "host" or "own": whether copies between devices have lanes of their own.
std::optional<bool> parse_peer_lanes(std::string_view text) noexcept;

}  // namespace espalier::sim
