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
  for (const std::size_t bytes : {0u, 1u, 4095u, 4096u, 4097u, 4160u, 8191u}) {
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

}  // namespace
}  // namespace espalier
