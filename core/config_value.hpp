// Reading and writing the values of configuration knobs: pure functions on text.
//
// Readers return nothing when the whole text is not a value of the type. Threads: any. path: setup
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace espalier {

// 0 1, off on, no yes, false true; case does not matter.
std::optional<bool> parse_bool(std::string_view text) noexcept;
std::optional<std::int64_t> parse_integer(std::string_view text) noexcept;
// Finite decimal number.
std::optional<double> parse_number(std::string_view text) noexcept;
// A number of bytes with an optional suffix: B, K, KB, KiB, M, ..., T; all powers of 1024.
std::optional<std::uint64_t> parse_size(std::string_view text) noexcept;
// Takes the text before the first separator off, and the separator; all of it without one.
std::string_view next_field(std::string_view& text, char separator) noexcept;
// The position of `text` in `names`; case does not matter.
std::optional<std::size_t> parse_name(std::string_view text,
                                      std::span<const std::string_view> names) noexcept;

// The shortest exact form: 65536 -> "64K", 1000 -> "1000".
std::string format_size(std::uint64_t bytes);
// "a, b or c".
std::string join_or(std::span<const std::string_view> names);

// Levenshtein distance, ignoring case.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace espalier
