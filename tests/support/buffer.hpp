// A buffer of elements between two guards: shows whether a call wrote outside, or wrote at all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tests/support/values.hpp"

namespace test {

class Buffer {
 public:
  Buffer(esp_type type, std::size_t count)
      : type_(type), count_(count), bytes_(count * esp_type_size(type) + 2 * kGuard, kFill) {}

  void* data() noexcept { return bytes_.data() + kGuard; }
  const void* data() const noexcept { return bytes_.data() + kGuard; }

  // Repeats a table of kPeriod elements over the buffer.
  void fill(const std::vector<unsigned char>& table) {
    const std::size_t total = bytes_.size() - 2 * kGuard;
    for (std::size_t at = 0; at < total; at += table.size()) {
      std::copy_n(table.begin(), std::min(table.size(), total - at), bytes_.data() + kGuard + at);
    }
  }
  void clear() { std::fill(bytes_.begin(), bytes_.end(), kFill); }
  // Position of the first wrong element, or the count.
  std::size_t first_wrong(const std::vector<unsigned char>& table) const {
    return first_difference(type_, data(), count_, table);
  }
  bool guards_intact() const {
    const auto is_fill = [](unsigned char c) { return c == kFill; };
    return std::all_of(bytes_.begin(), bytes_.begin() + kGuard, is_fill) &&
           std::all_of(bytes_.end() - kGuard, bytes_.end(), is_fill);
  }
  bool untouched() const {
    return std::all_of(bytes_.begin(), bytes_.end(), [](unsigned char c) { return c == kFill; });
  }

 private:
  static constexpr std::ptrdiff_t kGuard = 64;
  static constexpr unsigned char kFill = 0xA5;

  esp_type type_;
  std::size_t count_;
  std::vector<unsigned char> bytes_;
};

}  // namespace test
