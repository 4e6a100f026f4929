#include "core/crc32c.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "core/prng.hpp"

namespace espalier {
namespace {

std::uint32_t sum_of(std::string_view text) {
  return crc32c(std::as_bytes(std::span(text)));
}

// RFC 3720, appendix B.4, and the customary check value.
TEST(Crc32c, GivesThePublishedSums) {
  EXPECT_EQ(sum_of("123456789"), 0xE3069283U);
  EXPECT_EQ(sum_of(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(sum_of(std::string(32, '\xff')), 0x62A8AB43U);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  EXPECT_EQ(sum_of(rising), 0x46DD794EU);
  EXPECT_EQ(sum_of(""), 0U);
}

TEST(Crc32c, BothWaysAreEqual) {
  Prng prng(1);
  std::vector<std::byte> bytes(5000);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.next());
  for (int i = 0; i < 2000; ++i) {
    const std::size_t begin = prng.below(64);
    const std::size_t length = prng.below(i % 2 == 0 ? 64 : bytes.size() - begin);
    const auto part = std::span<const std::byte>(bytes).subspan(begin, length);
    ASSERT_EQ(crc32c_hardware(part), crc32c_portable(part)) << begin << " + " << length;
  }
}

}  // namespace
}  // namespace espalier
