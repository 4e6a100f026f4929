// copy_bytes: the same bytes as memcpy, wherever the two ranges stand in their pages, and none
// else.
#include "core/copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace espalier {
namespace {

constexpr std::size_t kPage = 4096, kGuard = 128;

TEST(Copy, CopiesWhateverTheDistanceModuloAPage) {
  std::vector<std::byte> source(4 * kPage), target(source.size());
  for (std::size_t i = 0; i < source.size(); ++i)
    source[i] = static_cast<std::byte>(i * 7 + i / 256);
  for (const std::size_t bytes : {0u, 1u, 2048u, 2049u, 2112u, 4096u, 8191u}) {
    for (std::size_t from = kGuard; from < kGuard + 3; ++from) {
      for (std::size_t to = kGuard; to < kGuard + 70; ++to) {
        std::fill(target.begin(), target.end(), std::byte{0xee});
        copy_bytes(&target[to], &source[from], bytes);
        EXPECT_TRUE(std::equal(&source[from], &source[from] + bytes, &target[to]));
        for (std::size_t i = 1; i <= kGuard; ++i) {
          ASSERT_EQ(target[to - i], std::byte{0xee}) << bytes << " " << from << " " << to;
          ASSERT_EQ(target[to + bytes + i - 1], std::byte{0xee})
              << bytes << " " << from << " " << to;
        }
      }
    }
  }
}

TEST(Copy, BackwardsIsTheSame) {
  std::vector<std::byte> source(1000), target(1000);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i);
  for (std::size_t bytes = 0; bytes <= source.size(); ++bytes) {
    std::fill(target.begin(), target.end(), std::byte{0xee});
    copy_backwards(target.data(), source.data(), bytes);
    ASSERT_TRUE(std::equal(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(bytes),
                           target.begin()));
    if (bytes < target.size()) {
      ASSERT_EQ(target[bytes], std::byte{0xee});
    }
  }
}

TEST(Copy, MovesWithinOneArray) {
  for (const std::ptrdiff_t distance : {-5000, -1, 0, 1, 16, 4112, 8191, 8192, 8208}) {
    std::vector<std::byte> array(6 * kPage), moved;
    for (std::size_t i = 0; i < array.size(); ++i)
      array[i] = static_cast<std::byte>(i * 7 + i / 256);
    moved = array;
    const auto from = static_cast<std::ptrdiff_t>(6000);
    move_bytes(&moved[static_cast<std::size_t>(from + distance)], &moved[6000], 2 * kPage);
    EXPECT_TRUE(std::equal(&array[6000], &array[6000] + 2 * kPage, moved.begin() + from + distance))
        << distance;
  }
}

}  // namespace
}  // namespace espalier
