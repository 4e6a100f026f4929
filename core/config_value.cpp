#include "core/config_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <vector>

namespace espalier {
namespace {

// Locale-independent, unlike std::tolower.
constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_text(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

template <typename T>
std::optional<T> parse_whole(std::string_view text) noexcept {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stopped_at, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stopped_at != end) return std::nullopt;
  return value;
}

constexpr std::string_view kSizeLetters = "kmgt";

// "", "B", "K", "KB", "KiB": the power of 1024, or nothing.
std::optional<unsigned> parse_size_suffix(std::string_view suffix) noexcept {
  if (suffix.empty() || same_text(suffix, "b")) return 0;
  const std::size_t power = kSizeLetters.find(lower(suffix.front()));
  if (power == std::string_view::npos) return std::nullopt;
  suffix.remove_prefix(1);
  if (!suffix.empty() && !same_text(suffix, "b") && !same_text(suffix, "ib")) return std::nullopt;
  return static_cast<unsigned>(power) + 1;
}

}  // namespace

std::optional<bool> parse_bool(std::string_view text) noexcept {
  static constexpr std::string_view kNames[] = {"0",  "1",   "off",   "on",
                                                "no", "yes", "false", "true"};
  const auto index = parse_name(text, kNames);
  if (!index) return std::nullopt;
  return *index % 2 == 1;
}

std::optional<std::int64_t> parse_integer(std::string_view text) noexcept {
  return parse_whole<std::int64_t>(text);
}

std::optional<double> parse_number(std::string_view text) noexcept {
  const auto value = parse_whole<double>(text);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_size(std::string_view text) noexcept {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_whole<std::uint64_t>(text.substr(0, digits));
  const auto power = parse_size_suffix(text.substr(digits));
  if (!number || !power) return std::nullopt;
  const std::uint64_t unit = std::uint64_t{1} << (10 * *power);
  if (*number > ~std::uint64_t{0} / unit) return std::nullopt;
  return *number * unit;
}

std::string_view next_field(std::string_view& text, char separator) noexcept {
  const std::size_t at = std::min(text.find(separator), text.size());
  const std::string_view field = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return field;
}

std::optional<std::size_t> parse_name(std::string_view text,
                                      std::span<const std::string_view> names) noexcept {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (same_text(text, names[i])) return i;
  }
  return std::nullopt;
}

std::string format_size(std::uint64_t bytes) {
  static constexpr std::string_view kSuffixes[] = {"", "K", "M", "G", "T"};
  std::size_t power = 0;
  while (bytes != 0 && bytes % 1024 == 0 && power + 1 < std::size(kSuffixes)) {
    bytes /= 1024;
    ++power;
  }
  return fmt::format("{}{}", bytes, kSuffixes[power]);
}

std::string join_or(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);  // distances from a's prefix to all prefixes of b
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace espalier
