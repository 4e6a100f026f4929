#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <thread>

#include "core/attended_clock.hpp"
#include "core/clock.hpp"
#include "core/counters.hpp"
#include "core/prng.hpp"

namespace espalier {
namespace {

TEST(Clock, SteadyNeverGoesBack) {
  SteadyClock clock;
  std::uint64_t last = clock.now_ns();
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = clock.now_ns();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(Clock, ManualMovesOnlyWhenTold) {
  ManualClock clock(5);
  EXPECT_EQ(clock.now_ns(), 5u);
  EXPECT_EQ(clock.now_ns(), 5u);
  clock.advance_ns(10);
  EXPECT_EQ(clock.now_ns(), 15u);
}

TEST(AttendedClock, CountsWhileItIsLookedAt) {
  ManualClock steady(1000);
  AttendedClock clock(steady, 50);
  EXPECT_EQ(clock.now_ns(), 1000u);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    steady.advance_ns(50);
    ASSERT_EQ(clock.now_ns(), 1000 + 50 * i);
  }
}

TEST(AttendedClock, CountsALongDistanceForNoMoreThanAShortOne) {
  ManualClock steady(1000);
  AttendedClock clock(steady, 50);
  steady.advance_ns(3'600 * kNanosecondsPerSecond);
  EXPECT_EQ(clock.now_ns(), 1050u);
  EXPECT_EQ(clock.now_ns(), 1050u);
  steady.advance_ns(51);
  EXPECT_EQ(clock.now_ns(), 1100u);
  steady.advance_ns(7);
  EXPECT_EQ(clock.now_ns(), 1107u);
}

TEST(AttendedClock, CountsASleepThatWasMeant) {
  ManualClock steady(1000);
  AttendedClock clock(steady, 50);
  clock.sleeps(300);
  steady.advance_ns(300);
  EXPECT_EQ(clock.now_ns(), 1300u);
  steady.advance_ns(300);
  EXPECT_EQ(clock.now_ns(), 1350u) << "it was one sleep";
  clock.sleeps(300);
  steady.advance_ns(100);
  EXPECT_EQ(clock.now_ns(), 1450u) << "it was woken";
  clock.sleeps(300);
  steady.advance_ns(1'000'000);
  EXPECT_EQ(clock.now_ns(), 1750u);
}

TEST(Clock, DeadlinesSaturate) {
  EXPECT_EQ(deadline_after(100, 1.5), 1'500'000'100u);
  EXPECT_EQ(deadline_after(100, 0.0), kNever);
  EXPECT_EQ(deadline_after(100, -1.0), kNever);
  EXPECT_EQ(deadline_after(100, 1e30), kNever);
}

// First outputs of the authors' splitmix64.c for seed 1234567.
TEST(Prng, Splitmix64MatchesItsReference) {
  std::uint64_t state = 1234567;
  EXPECT_EQ(splitmix64(state), 6457827717110365317u);
  EXPECT_EQ(splitmix64(state), 3203168211198807973u);
  EXPECT_EQ(splitmix64(state), 9817491932198370423u);
}

// A literal transcription of the authors' xoshiro256starstar.c.
struct ReferenceXoshiro {
  std::uint64_t s[4];
  static std::uint64_t rotl(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::uint64_t next() {
    const std::uint64_t result = rotl(s[1] * 5, 7) * 9;
    const std::uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
  }
};

TEST(Prng, MatchesXoshiro256StarStar) {
  std::uint64_t seed = 42;
  ReferenceXoshiro reference{};
  for (auto& word : reference.s) word = splitmix64(seed);
  Prng prng(42);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(prng.next(), reference.next()) << i;
}

TEST(Prng, BoundedNumbersAreInRangeAndEven) {
  Prng prng(7);
  std::array<int, 10> seen{};
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) ++seen[prng.below(10)];
  // 10 % each; six standard deviations of the binomial are 570.
  for (const int count : seen) EXPECT_NEAR(count, kDraws / 10, 570);
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t value = prng.between(-3, 3);
    ASSERT_TRUE(-3 <= value && value <= 3);
    ASSERT_LT(prng.unit(), 1.0);
  }
  EXPECT_EQ(prng.below(1), 0u);
  EXPECT_EQ(prng.between(INT64_MIN, INT64_MIN), INT64_MIN);
  (void)prng.between(INT64_MIN, INT64_MAX);
}

TEST(PrngDeathTest, EmptyRange) {
  Prng prng(1);
  EXPECT_DEATH((void)prng.below(0), "bound > 0");
}

TEST(Counters, TableCoversEveryCounterOnce) {
  std::set<std::string> names;
  Counters counters;
  for (const CounterInfo& info : counter_table()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    (counters.*info.member) += 1;  // a member listed twice would reach 2
  }
  for (const CounterInfo& info : counter_table()) {
    EXPECT_EQ((counters.*info.member).value(), 1u) << info.name;
  }
  EXPECT_EQ(names.size() * sizeof(Counter), sizeof(Counters));
}

TEST(Counters, OthersMayReadWhileTheOwnerWrites) {
  Counters counters;
  std::thread owner([&] {
    for (int i = 0; i < 100000; ++i) ++counters.parks;
  });
  std::uint64_t last = 0;
  while (last < 100000) {
    const std::uint64_t value = counters.parks.value();
    ASSERT_GE(value, last);
    last = value;
  }
  owner.join();
}

}  // namespace
}  // namespace espalier
