#include "net/tcp/look_pace.hpp"

#include <gtest/gtest.h>

namespace espalier::test {
namespace {

constexpr std::uint64_t kDistance = 4'000;

// `finds` looks a distance apart; the time of the last.
std::uint64_t stream(net::LookPace& pace, std::uint32_t finds, std::uint64_t from_ns) {
  for (std::uint32_t k = 0; k < finds; ++k) pace.stream(true, from_ns + k * kDistance);
  return from_ns + (finds - 1) * kDistance;
}

TEST(LookPace, AStreamKeepsTheDistanceFromItsEighthFindInTime) {
  net::LookPace pace(kDistance);
  const std::uint64_t begin = 1'000'000;
  EXPECT_EQ(stream(pace, net::LookPace::kStreamFrom, begin), begin + 7 * kDistance);
  EXPECT_EQ(pace.next_ns(), 0U) << "the first find is late: there was none before";
  EXPECT_TRUE(pace.in_stream());
  pace.stream(true, begin + 8 * kDistance);
  EXPECT_EQ(pace.next_ns(), begin + 9 * kDistance);
  pace.stream(false, begin + 9 * kDistance);
  EXPECT_EQ(pace.next_ns(), 0U) << "the rest of a frame is not kept waiting";
  pace.stream(true, begin + 10 * kDistance);
  EXPECT_EQ(pace.next_ns(), begin + 11 * kDistance) << "but it ends no stream";
}

TEST(LookPace, WhoeverElseIsHeardEndsIt) {
  net::LookPace pace(kDistance);
  const std::uint64_t last = stream(pace, 20, 1'000'000);
  ASSERT_NE(pace.next_ns(), 0U);
  pace.other();
  EXPECT_EQ(pace.next_ns(), 0U);
  EXPECT_FALSE(pace.in_stream());
  pace.stream(true, last + kDistance);
  EXPECT_EQ(pace.next_ns(), 0U) << "it has to begin anew";
}

TEST(LookPace, HurryEndsOneDistance) {
  net::LookPace pace(kDistance);
  const std::uint64_t last = stream(pace, 20, 1'000'000);
  pace.hurry();
  EXPECT_EQ(pace.next_ns(), 0U);
  pace.stream(true, last + kDistance);
  EXPECT_EQ(pace.next_ns(), last + 2 * kDistance);
}

TEST(LookPace, ALateFindBeginsAnew) {
  net::LookPace pace(kDistance);
  const std::uint64_t last = stream(pace, 20, 1'000'000);
  const std::uint64_t late = last + net::LookPace::kLateDistances * kDistance + 1;
  pace.stream(true, late);
  EXPECT_EQ(pace.next_ns(), 0U);
  EXPECT_FALSE(pace.in_stream());
}

TEST(LookPace, WithoutADistanceThereIsNone) {
  net::LookPace pace(0);
  for (std::uint64_t k = 1; k < 100; ++k) {
    pace.stream(true, 1'000'000 + k);
    EXPECT_EQ(pace.next_ns(), 0U);
  }
}

}  // namespace
}  // namespace espalier::test
