// Blocks of bytes in guarded memory, every byte of which is checked: those of blocks, those between
// them and those around. path: setup
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "tests/support/rank_check.hpp"

namespace test {

// Bytes that show whose they are and where they stood.
inline std::vector<unsigned char> pattern(int seed, std::size_t bytes) {
  std::vector<unsigned char> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    data[i] = static_cast<unsigned char>(static_cast<std::size_t>(seed) * 31 + i * 7 + i / 251);
  }
  return data;
}

// What the block that `from` sends to `to` holds; allgathers send the same to everybody.
inline std::vector<unsigned char> block_data(int from, int to, std::size_t bytes) {
  return pattern(from * 17 + to, bytes);
}

// Lengths of blocks: none of some, nearly all of one, all different, none at all.
inline std::vector<std::vector<std::size_t>> unequal_counts(int size) {
  const auto members = static_cast<std::size_t>(size);
  std::vector<std::vector<std::size_t>> all(5, std::vector<std::size_t>(members, 0));
  for (std::size_t r = 0; r < members; ++r) {
    all[0][r] = r % 3 == 1 ? 0 : 1 + r;
    all[1][r] = r == members - 1 ? 70'000 : r % 2;
    all[2][r] = r == 0 ? 30'000 : 1;
    all[3][r] = 900 + 13 * r;
  }
  return all;
}

// Where the blocks of all members lie, in elements.
struct Layout {
  std::vector<std::size_t> counts;
  std::vector<std::size_t> displs;  // empty: one block after the other

  const std::size_t* displacements() const { return displs.empty() ? nullptr : displs.data(); }
  std::size_t begin(std::size_t member) const {
    if (!displs.empty()) return displs[member];
    std::size_t at = 0;
    for (std::size_t r = 0; r < member; ++r) at += counts[r];
    return at;
  }
  // Elements up to the end of the last one.
  std::size_t extent() const {
    std::size_t end = 0;
    for (std::size_t r = 0; r < counts.size(); ++r) end = std::max(end, begin(r) + counts[r]);
    return end;
  }
};

inline Layout packed(std::vector<std::size_t> counts) {
  return {std::move(counts), {}};
}

// The last member's block first, with a gap before each.
inline Layout scattered(std::vector<std::size_t> counts, std::size_t gap) {
  Layout layout{std::move(counts), {}};
  layout.displs.resize(layout.counts.size());
  std::size_t at = gap;
  for (std::size_t r = layout.counts.size(); r-- > 0;) {
    layout.displs[r] = at;
    at += layout.counts[r] + gap;
  }
  return layout;
}

// Memory for a layout, and what it has to hold in the end.
class BlockBuffer {
 public:
  BlockBuffer(const Layout& layout, std::size_t element_bytes)
      : layout_(layout),
        element_(element_bytes),
        bytes_(layout.extent() * element_bytes + 2 * kGuard, kFill),
        expected_(bytes_) {}

  void* data() { return bytes_.data() + kGuard; }
  std::size_t block_bytes(std::size_t member) const { return layout_.counts[member] * element_; }

  // Now, and unless something else is expected, in the end.
  void put(std::size_t member, const std::vector<unsigned char>& block) {
    std::copy(block.begin(), block.end(), bytes_.begin() + position(member));
    expect(member, block);
  }
  void expect(std::size_t member, const std::vector<unsigned char>& block) {
    std::copy(block.begin(), block.end(), expected_.begin() + position(member));
  }
  void check(const std::string& what) const {
    if (std::memcmp(bytes_.data(), expected_.data(), bytes_.size()) == 0) {
      CHECK(true, "");
      return;
    }
    const auto wrong = std::mismatch(bytes_.begin(), bytes_.end(), expected_.begin()).first;
    CHECK(false, "{}: byte {} of {} is wrong", what, wrong - bytes_.begin() - kGuard,
          layout_.extent() * element_);
  }

 private:
  static constexpr std::ptrdiff_t kGuard = 64;
  static constexpr unsigned char kFill = 0xA5;

  std::ptrdiff_t position(std::size_t member) const {
    return kGuard + static_cast<std::ptrdiff_t>(layout_.begin(member) * element_);
  }

  const Layout layout_;
  std::size_t element_;
  std::vector<unsigned char> bytes_, expected_;
};

}  // namespace test
