// Noise: detours of one rank, and what they do to work.
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <set>

#include "core/clock.hpp"
#include "net/sim/duration.hpp"
#include "net/sim/noise.hpp"
#include "tests/unit/temporary_folder.hpp"

namespace espalier::sim {
namespace {

constexpr std::uint64_t kSecond = kNanosecondsPerSecond;

NoiseSpec must_parse_noise(std::string_view text) {
  const auto spec = parse_noise(text);
  EXPECT_TRUE(spec.ok()) << (spec.ok() ? "" : spec.error().text);
  return spec.ok() ? spec.value() : NoiseSpec{};
}

NoiseSpec a_trace() {
  const auto spec = parse_noise_trace(
      "# a recording\nperiod_us 1000\n10 5\n 20.5  0.25 # short\n\n100 0\n900 100\n", "t");
  EXPECT_TRUE(spec.ok()) << (spec.ok() ? "" : spec.error().text);
  return spec.value();
}

std::vector<NoiseSpec> all_kinds() {
  return {must_parse_noise("uniform:10hz:0-10ms"),
          must_parse_noise("uniform:1000hz:100-200us"),
          must_parse_noise("fixed:1000hz:25us"),
          must_parse_noise("exponential:10hz:2.5ms"),
          must_parse_noise("exponential:100hz:6ms"),
          a_trace(),
          must_parse_noise("none")};
}

TEST(SimDuration, ReadsUnitsAndRefusesTheRest) {
  EXPECT_EQ(parse_duration("25us"), 25'000u);
  EXPECT_EQ(parse_duration("2.5ms"), 2'500'000u);
  EXPECT_EQ(parse_duration("10s"), 10 * kSecond);
  EXPECT_EQ(parse_duration("0ns"), 0u);
  for (const char* bad : {"", "5", "ms", "-1ms", "1 ms", "1h", "1e3ms", "1..2ms", "99999999999s"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
}

TEST(SimDuration, TextReadsBackAsTheSameValue) {
  Prng prng(1);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t ns = prng.next() >> (14 + prng.below(50));  // up to 13 days
    EXPECT_EQ(parse_duration(format_duration(ns)), ns) << format_duration(ns);
  }
}

TEST(SimNoise, TenHertzOfZeroToTenMillisecondsIsFivePercent) {
  EXPECT_DOUBLE_EQ(must_parse_noise("uniform:10hz:0-10ms").share(), 0.05);
  EXPECT_DOUBLE_EQ(must_parse_noise("uniform:10hz:0-20ms").share(), 0.10);
  EXPECT_DOUBLE_EQ(must_parse_noise("fixed:10hz:2.5ms").share(), 0.025);
  EXPECT_DOUBLE_EQ(a_trace().share(), 0.10525);
  EXPECT_EQ(must_parse_noise("none").share(), 0.0);
}

TEST(SimNoise, ShareOverALongTimeIsShare) {
  for (const NoiseSpec& spec : all_kinds()) {
    // 20,000 periods: the mean of what is drawn is known to a percent or better.
    const std::uint64_t end = 20'000 * std::max<std::uint64_t>(spec.period(), 1);
    double taken = 0;
    for (const Detour& detour : Noise::list(spec, 7, 3, end)) {
      taken += static_cast<double>(detour.length_ns);
    }
    EXPECT_NEAR(taken / static_cast<double>(end), spec.share(), 0.025 * spec.share())
        << to_text(spec);
  }
}

TEST(SimNoise, IsAsLikelyAtTimeZeroAsLater) {
  const NoiseSpec spec = must_parse_noise("fixed:10hz:50ms");  // takes half of the time
  int interrupted = 0;
  for (std::uint32_t rank = 0; rank < 4000; ++rank) {
    interrupted += Noise::list(spec, 1, rank, 1).size() == 1;
  }
  EXPECT_NEAR(interrupted, 2000, 160);  // five standard deviations
}

TEST(SimNoise, IsSortedAndDoesNotOverlap) {
  for (const NoiseSpec& spec : all_kinds()) {
    for (std::uint32_t rank = 0; rank < 50; ++rank) {
      std::uint64_t end = 0;
      for (const Detour& detour : Noise::list(spec, 11, rank, 50 * spec.period())) {
        EXPECT_GE(detour.begin_ns, end);
        EXPECT_GT(detour.length_ns, 0u);
        end = detour.begin_ns + detour.length_ns;
      }
    }
  }
}

bool same(const std::vector<Detour>& a, const std::vector<Detour>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Detour& x, const Detour& y) {
    return x.begin_ns == y.begin_ns && x.length_ns == y.length_ns;
  });
}

TEST(SimNoise, IsAFunctionOfSeedAndRank) {
  for (const NoiseSpec& spec : all_kinds()) {
    if (spec.kind == NoiseSpec::Kind::kNone) continue;
    const std::uint64_t end = 10 * spec.period();
    std::set<std::uint64_t> ends_of_the_second;
    for (std::uint32_t rank = 0; rank < 64; ++rank) {
      const auto detours = Noise::list(spec, 5, rank, end);
      EXPECT_TRUE(same(detours, Noise::list(spec, 5, rank, end)));
      EXPECT_FALSE(same(detours, Noise::list(spec, 6, rank, end))) << to_text(spec);
      ends_of_the_second.insert(detours.at(1).begin_ns + detours.at(1).length_ns);
    }
    EXPECT_EQ(ends_of_the_second.size(), 64u) << "phases differ by rank: " << to_text(spec);
  }
}

// They begin together, a period apart, and last as long as each rank draws.
TEST(SimNoise, AlignedDetoursBeginTogether) {
  const NoiseSpec spec = must_parse_noise("uniform:10hz:1-20ms:aligned");
  std::set<std::uint64_t> begins, lengths;
  for (std::uint32_t rank = 0; rank < 64; ++rank) {
    const auto detours = Noise::list(spec, 5, rank, 10 * spec.period());
    // The first may be the rest of one that has begun before.
    const std::size_t second = detours.at(0).begin_ns == 0 ? 1 : 0;
    begins.insert(detours.at(second).begin_ns);
    lengths.insert(detours.at(second).length_ns);
    EXPECT_EQ(detours.at(second + 1).begin_ns - detours.at(second).begin_ns, spec.period());
  }
  EXPECT_EQ(begins.size(), 1u);
  EXPECT_EQ(lengths.size(), 64u);
  const auto other = Noise::list(spec, 6, 0, 10 * spec.period());
  EXPECT_FALSE(begins.contains(other.at(other.at(0).begin_ns == 0 ? 1 : 0).begin_ns));
}

TEST(SimNoise, ATraceIsRepeatedWithAPhase) {
  const NoiseSpec spec = a_trace();
  const auto detours = Noise::list(spec, 3, 0, 10 * spec.period_ns);
  // Per period three detours; from the first whole 10..15 on they follow as recorded.
  std::size_t first = 1;
  while (detours.at(first).length_ns != 5'000) ++first;
  ASSERT_LE(first, 3u);
  for (std::size_t i = first; i + 3 < detours.size(); i += 3) {
    EXPECT_EQ(detours[i + 1].begin_ns - detours[i].begin_ns, 10'500u);
    EXPECT_EQ(detours[i + 1].length_ns, 250u);
    EXPECT_EQ(detours[i + 2].begin_ns - detours[i].begin_ns, 890'000u);
    EXPECT_EQ(detours[i + 2].length_ns, 100'000u);
    EXPECT_EQ(detours[i + 3].begin_ns - detours[i].begin_ns, 1'000'000u);
  }
}

// The definition of finish(), over the whole list.
std::uint64_t finish_by_list(const std::vector<Detour>& detours, std::uint64_t start,
                             std::uint64_t work) {
  std::uint64_t at = start;
  for (const Detour& detour : detours) {
    const std::uint64_t end = detour.begin_ns + detour.length_ns;
    if (end <= at) continue;
    if (detour.begin_ns > at) {
      const std::uint64_t before = detour.begin_ns - at;
      if (work <= before) break;
      work -= before;
    }
    at = end;
  }
  return at + work;
}

TEST(SimNoise, FinishIsWhatTheListSays) {
  for (const NoiseSpec& spec : all_kinds()) {
    const std::uint64_t period = std::max<std::uint64_t>(spec.period(), 1000);
    for (std::uint32_t rank = 0; rank < 40; ++rank) {
      const auto detours = Noise::list(spec, 9, rank, 2000 * period);
      Noise noise(spec, 9, rank);
      Prng prng(rank);
      std::uint64_t at = 0;
      for (int i = 0; i < 300; ++i) {
        // Work and idle times from nothing to several periods, most of them short.
        const std::uint64_t start = at + (prng.chance(0.5) ? 0 : prng.below(period));
        const std::uint64_t longest[] = {1, 5000, period / 10, 3 * period};
        const std::uint64_t work = prng.below(longest[prng.below(4)]);
        at = noise.finish(start, work);
        ASSERT_EQ(at, finish_by_list(detours, start, work)) << to_text(spec) << " " << start;
      }
    }
  }
}

TEST(SimNoise, WorkThatEndsWhereADetourBeginsIsNotDelayed) {
  const NoiseSpec spec = must_parse_noise("fixed:1000hz:25us");
  const auto detours = Noise::list(spec, 2, 0, kSecond);
  const Detour second = detours.at(1), third = detours.at(2);
  const std::uint64_t free = second.begin_ns + second.length_ns;
  const std::uint64_t gap = third.begin_ns - free;
  EXPECT_EQ(Noise(spec, 2, 0).finish(free, gap), third.begin_ns);
  EXPECT_EQ(Noise(spec, 2, 0).finish(free, gap + 1), third.begin_ns + third.length_ns + 1);
  EXPECT_EQ(Noise(spec, 2, 0).finish(third.begin_ns, 0), third.begin_ns + third.length_ns);
  EXPECT_EQ(Noise(spec, 2, 0).finish(second.begin_ns + 1, 7), free + 7);
}

TEST(SimNoiseParse, TextReadsBack) {
  for (const char* text :
       {"none", "uniform:10hz:0ns-10ms", "uniform:2.5hz:5us-10ms", "fixed:1000hz:25us",
        "exponential:10hz:2.5ms", "uniform:10hz:0ns-20ms:aligned", "fixed:10hz:5ms:aligned",
        "exponential:10hz:2ms:aligned"}) {
    EXPECT_EQ(to_text(must_parse_noise(text)), text);
  }
  const NoiseSpec spec = must_parse_noise("uniform:10hz:2-10ms");
  EXPECT_EQ(spec.low_ns, 2'000'000u);
  EXPECT_EQ(spec.high_ns, 10'000'000u);
}

TEST(SimNoiseParse, SaysWhatIsWrong) {
  const struct {
    const char* text;
    const char* reason;
  } cases[] = {
      {"", "there is no kind \"\""},
      {"gauss:10hz:1ms", "there is no kind \"gauss\""},
      {"uniform:10:0-10ms", "\"10\" is not a frequency"},
      {"uniform:0hz:0-10ms", "not a frequency"},
      {"uniform:10hz:10ms", "cannot read the length \"10ms\""},
      {"uniform:10hz:10-5ms", "cannot read the length"},
      {"fixed:10hz", "cannot read the length \"\""},
      {"fixed:10hz:100ms", "detours of 100ms at 10hz leave no time for work"},
      {"exponential:10hz:25us:3", "cannot read the length"},
      {"fixed:10hz:aligned", "cannot read the length"},
      {"uniform:10hz:0-10ms:together", "cannot read the length"},
      {"trace:", "the name of a file is missing"},
      {"trace:/nonexistent/file", "cannot read the file: No such file"},
      {"trace:/", "cannot read the file: Is a directory"},
  };
  for (const auto& c : cases) {
    const auto spec = parse_noise(c.text);
    ASSERT_FALSE(spec.ok()) << c.text;
    EXPECT_EQ(spec.error().status.code(), ESP_ERR_ARGUMENT);
    EXPECT_NE(spec.error().text.find(c.reason), std::string::npos) << spec.error().text;
    EXPECT_NE(spec.error().text.find("uniform:10hz:0-10ms"), std::string::npos)
        << "shows the forms";
  }
}

TEST(SimNoiseParse, TraceFilesAreReadAndErrorsNameTheLine) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/noise.txt";
  const auto parse_file = [&](const char* content) {
    std::ofstream(path) << content;
    return parse_noise("trace:" + path);
  };
  const auto spec = parse_file("1.5 2\r\n\t10 20 # the last one gives the period\n");
  ASSERT_TRUE(spec.ok()) << spec.error().text;
  ASSERT_EQ(spec.value().trace.size(), 2u);
  EXPECT_EQ(spec.value().trace[0].begin_ns, 1'500u);
  EXPECT_EQ(spec.value().period_ns, 30'000u);
  EXPECT_EQ(to_text(spec.value()), "trace:" + path);

  const struct {
    const char* content;
    const char* place_and_reason;
  } cases[] = {
      {"1 2\n3\n", ":2: expected \"begin_us length_us\""},
      {"1 2 3\n", ":1: expected"},
      {"# c\n\nx 2\n", ":3: \"x\" is not a number"},
      {"1 -2\n", ":1: \"-2\" is not a number"},
      {"10 5\n12 1\n", ":2: the detour begins before the end of the one above"},
      {"period_us 0\n1 2\n", ":1: \"0\" is not a positive number"},
      {"period_us 9\nperiod_us 9\n", ":2: the period was given before"},
      {"# nothing\n", ":1: the trace has no detour"},
      {"5 5\nperiod_us 9\n", ":2: the last detour ends after the period"},
      {"0 5\n5 5\n", ":2: the detours leave no time for work"},
  };
  for (const auto& c : cases) {
    const auto failure = parse_file(c.content);
    ASSERT_FALSE(failure.ok()) << c.content;
    EXPECT_EQ(failure.error().text.find(path + c.place_and_reason), 0u) << failure.error().text;
  }
}

}  // namespace
}  // namespace espalier::sim
