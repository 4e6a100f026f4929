// Conversions of half and bfloat16, exhaustively where the space is small.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "core/half.hpp"
#include "tests/unit/datatype_reference.hpp"

namespace espalier {
namespace {

// As objects: the functions themselves are always inlined and have no address.
constexpr auto kToHalf = [](float value) { return to_half(value); };
constexpr auto kToBfloat16 = [](float value) { return to_bfloat16(value); };

// A NaN comes back with its quiet bit set and its payload.
template <typename T, std::uint32_t kInfinity, std::uint32_t kQuiet, typename Narrow>
void expect_round_trip(Narrow narrow) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float wide = to_float(T{static_cast<std::uint16_t>(bits)});
    const bool is_nan = (bits & 0x7fff) > kInfinity;
    ASSERT_EQ(std::isnan(wide), is_nan) << bits;
    ASSERT_EQ(narrow(wide).bits, is_nan ? (bits | kQuiet) : bits) << bits;
  }
}

TEST(Half, AllValuesSurviveTheRoundTrip) {
  expect_round_trip<Half, 0x7c00, 0x200>(kToHalf);
}

TEST(Bfloat16, AllValuesSurviveTheRoundTrip) {
  expect_round_trip<Bfloat16, 0x7f80, 0x40>(kToBfloat16);
}

TEST(Half, AllValuesAreThoseOfTheFormat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const double half = reference::Half{pattern}.value();
    ASSERT_TRUE(reference::same(static_cast<double>(to_float(Half{pattern})), half)) << bits;
    const double bfloat = reference::Bfloat16{pattern}.value();
    ASSERT_TRUE(reference::same(static_cast<double>(to_float(Bfloat16{pattern})), bfloat)) << bits;
  }
}

// Around every value and every midpoint of two neighbours: exactly there, one float to either side.
template <typename T, typename Model, std::uint32_t kInfinity, typename Narrow>
void expect_rounding(Narrow narrow) {
  for (std::uint32_t bits = 0; bits < kInfinity; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits);
    const auto high = static_cast<std::uint16_t>(bits + 1);
    const float below = to_float(T{low});
    const double above = high == kInfinity
                             ? 2.0 * below - to_float(T{static_cast<std::uint16_t>(low - 1)})
                             : to_float(T{high});
    const auto middle = static_cast<float>((below + above) / 2);
    for (const float center : {below, middle}) {
      for (const float value :
           {std::nextafter(center, 0.0f), center, std::nextafter(center, HUGE_VALF)}) {
        ASSERT_EQ(narrow(value).bits, Model::round(value).bits) << std::hexfloat << value;
        ASSERT_EQ(narrow(-value).bits, Model::round(-value).bits) << std::hexfloat << -value;
      }
    }
    ASSERT_EQ(narrow(middle).bits, (low & 1) == 0 ? low : high) << "ties to even, " << bits;
  }
}

TEST(Half, RoundsToNearestEven) {
  expect_rounding<Half, reference::Half, 0x7c00>(kToHalf);
}

TEST(Bfloat16, RoundsToNearestEven) {
  expect_rounding<Bfloat16, reference::Bfloat16, 0x7f80>(kToBfloat16);
}

TEST(Half, RandomFloatsRoundAsTheModel) {
  reference::Random random(7);
  for (int i = 0; i < 1'000'000; ++i) {
    const float value = float_from_bits(static_cast<std::uint32_t>(random()));
    if (std::isnan(value)) continue;
    ASSERT_EQ(to_half(value).bits, reference::Half::round(value).bits) << std::hexfloat << value;
    ASSERT_EQ(to_bfloat16(value).bits, reference::Bfloat16::round(value).bits)
        << std::hexfloat << value;
  }
}

TEST(Half, OverflowGivesInfinityAndNanStaysNan) {
  EXPECT_EQ(to_half(65504.0f).bits, 0x7bff);
  EXPECT_EQ(to_half(65519.996f).bits, 0x7bff);
  EXPECT_EQ(to_half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_half(-1e30f).bits, 0xfc00);
  EXPECT_EQ(to_half(HUGE_VALF).bits, 0x7c00);
  EXPECT_EQ(to_bfloat16(3.4028235e38f).bits, 0x7f80);
  // Payload in the bits that narrowing drops: must not become an infinity.
  EXPECT_EQ(to_half(float_from_bits(0x7f800001)).bits, 0x7e00);
  EXPECT_EQ(to_bfloat16(float_from_bits(0xff800001)).bits, 0xffc0);
}

}  // namespace
}  // namespace espalier
