// What esp-run's daemons say of a fence: read back, and read from bytes that are damaged. Such a
// frame comes from a process that has shown the job's secret, and must not end the launcher.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/prng.hpp"
#include "tools/esp-run/frame.hpp"

namespace esp_run {
namespace {

using Ranks = std::vector<std::int32_t>;

std::string pack(const Ranks& ranks, const std::string& data) {
  return pack_fence(ranks, data.data(), data.size());
}

TEST(Fence, ReadsBack) {
  for (const Ranks& ranks : {Ranks{}, Ranks{0}, Ranks{7, -1, 2147483647}}) {
    for (const std::string& data : {std::string(), std::string("\0x", 2), std::string(5000, 'a')}) {
      const auto read = unpack_fence(pack(ranks, data));
      ASSERT_TRUE(read.has_value());
      EXPECT_EQ(read->ranks, ranks);
      EXPECT_EQ(read->data, data);
    }
  }
}

TEST(Fence, MoreRanksThanThereAreBytesAreRefused) {
  const std::string good = pack({1, 2, 3}, "");
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
    EXPECT_FALSE(unpack_fence(good.substr(0, bytes)).has_value()) << bytes;
  }
  for (const std::uint64_t count :
       {std::uint64_t{4}, std::uint64_t{1} << 30, std::uint64_t{1} << 62, std::uint64_t{1} << 63,
        (std::uint64_t{1} << 62) + 3, UINT64_MAX, UINT64_MAX / 4}) {
    std::string bad = good;
    std::memcpy(bad.data(), &count, sizeof count);
    EXPECT_FALSE(unpack_fence(bad).has_value()) << count;
  }
}

// What is read says all that stands there, and no more.
TEST(Fence, DamagedOnesAreReadAsTheyStandOrRefused) {
  espalier::Prng prng(1);
  int read_ones = 0;
  for (int i = 0; i < 20'000; ++i) {
    Ranks ranks(prng.below(20));
    for (auto& rank : ranks) rank = static_cast<std::int32_t>(prng.next());
    std::string bytes = pack(ranks, std::string(prng.below(100), 'd'));
    for (std::uint64_t flips = 1 + prng.below(4); flips > 0; --flips) {
      // Mostly in the count.
      const std::size_t at = prng.below(prng.chance(0.7) ? 8 : bytes.size());
      bytes[at] = static_cast<char>(prng.chance(0.5) ? prng.below(30) : prng.next());
    }
    if (prng.chance(0.3)) bytes.resize(prng.below(bytes.size() + 1));
    if (prng.chance(0.1)) bytes += bytes;
    const auto read = unpack_fence(bytes);
    std::uint64_t count = 0;
    if (bytes.size() >= sizeof count) std::memcpy(&count, bytes.data(), sizeof count);
    const bool fits = bytes.size() >= 8 && count <= (bytes.size() - 8) / 4;
    ASSERT_EQ(read.has_value(), fits) << count << " ranks in " << bytes.size() << " bytes";
    if (!read) continue;
    ++read_ones;
    EXPECT_EQ(pack(read->ranks, read->data), bytes);
  }
  EXPECT_GT(read_ones, 2000);
}

}  // namespace
}  // namespace esp_run
