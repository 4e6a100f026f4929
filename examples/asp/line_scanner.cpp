#include "line_scanner.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <utility>

namespace asp {
namespace {

// Garbage must not reach the terminal, nor a megabyte of it.
std::string printable(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string out;
  for (const char c : text.substr(0, kShown)) {
    out += (c >= 0x20 && c < 0x7f) ? std::string(1, c)
                                   : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text.size() > kShown ? out + "..." : out;
}

}  // namespace

std::string read_text_file(const std::string& path, std::uint64_t bytes_max) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    throw FileError(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  if (!S_ISREG(info.st_mode)) throw FileError(fmt::format("{}: not a regular file", path));
  const auto bytes = static_cast<std::uint64_t>(info.st_size);
  if (bytes > bytes_max) {
    throw FileError(fmt::format("{}: {} bytes, at most {} are accepted", path, bytes, bytes_max));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(bytes), '\0');
  if (!file || !file.read(text.data(), static_cast<std::streamsize>(bytes))) {
    throw FileError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  return text;
}

LineScanner::LineScanner(std::string path, std::string_view text)
    : path_(std::move(path)), rest_(text) {}

bool LineScanner::next_line() {
  while (!rest_.empty()) {
    const std::size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++line_number_;
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    if (line_.find_first_not_of(" \t") != std::string_view::npos) return true;
  }
  line_ = {};
  return false;
}

const std::vector<std::string_view>& LineScanner::split(std::string_view separators) {
  fields_.clear();
  std::string_view rest = line_;
  while (true) {
    const std::size_t begin = rest.find_first_not_of(separators);
    if (begin == std::string_view::npos) return fields_;
    rest.remove_prefix(begin);
    const std::size_t end = rest.find_first_of(separators);
    fields_.push_back(rest.substr(0, end));
    if (end == std::string_view::npos) return fields_;
    rest.remove_prefix(end);
  }
}

std::int64_t LineScanner::integer(std::string_view field, std::string_view what, std::int64_t min,
                                  std::int64_t max) const {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  const bool whole = error == std::errc() && end == field.data() + field.size();
  if (!whole || value < min || value > max) {
    fail_expected(fmt::format("{} (a whole number from {} to {})", what, min, max), field);
  }
  return value;
}

double LineScanner::real(std::string_view field, std::string_view what) const {
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size() || !std::isfinite(value)) {
    fail_expected(fmt::format("{} (a number)", what), field);
  }
  return value;
}

void LineScanner::fail_expected(std::string_view expected) const {
  fail_expected(expected, line_);
}

void LineScanner::fail_expected(std::string_view expected, std::string_view found) const {
  fail(fmt::format("expected {}, found '{}'", expected, printable(found)));
}

void LineScanner::fail(std::string_view message) const {
  throw FileError(fmt::format("{}:{}: {}", path_, line_number_, message));
}

}  // namespace asp
