// Faults: reading descriptions, and what is drawn from them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/clock.hpp"
#include "core/prng.hpp"
#include "net/sim/faults.hpp"

namespace espalier::sim {
namespace {

constexpr std::uint64_t kHorizon = 1'000'000;

FaultSpec must_parse(std::string_view text) {
  const auto spec = parse_faults(text);
  EXPECT_TRUE(spec.ok()) << (spec.ok() ? "" : spec.error().text);
  return spec.ok() ? spec.value() : FaultSpec{};
}

TEST(SimFaults, ReadsEveryName) {
  const FaultSpec spec = must_parse(
      "loss=0.01,duplicate=0.02,reorder=0.03,corrupt=0.04,branch-loss=0.07,rnr=0.05,echo=0.06,"
      "delay=0.1:5us,retry=0.5,no-memory=1,"
      "clog=2,partition=3,crash=4,slow=5,break=6,overrun=7,heal=2ms");
  EXPECT_EQ(spec.loss, 0.01);
  EXPECT_EQ(spec.duplicate, 0.02);
  EXPECT_EQ(spec.reorder, 0.03);
  EXPECT_EQ(spec.corrupt, 0.04);
  EXPECT_EQ(spec.branch_loss, 0.07);
  EXPECT_EQ(spec.rnr, 0.05);
  EXPECT_EQ(spec.echo, 0.06);
  EXPECT_EQ(spec.delay, 0.1);
  EXPECT_EQ(spec.delay_ns, 5'000u);
  EXPECT_EQ(spec.retry, 0.5);
  EXPECT_EQ(spec.no_memory, 1.0);
  EXPECT_EQ(spec.clogs, 2u);
  EXPECT_EQ(spec.one_way_partitions, 3u);
  EXPECT_EQ(spec.crashes, 4u);
  EXPECT_EQ(spec.slow_ranks, 5u);
  EXPECT_EQ(spec.breaks, 6u);
  EXPECT_EQ(spec.overruns, 7u);
  EXPECT_EQ(spec.heal_ns, 2'000'000u);
}

TEST(SimFaults, NothingIsNothing) {
  for (const char* text : {"", "none", "loss=0,crash=0", "heal=1ms", "delay=0:5us"}) {
    EXPECT_FALSE(must_parse(text).any()) << text;
  }
  EXPECT_EQ(to_text(FaultSpec{}), "none");
  for (const char* text : {"loss=0.5", "slow=1", "delay=0.1:5us"}) {
    EXPECT_TRUE(must_parse(text).any()) << text;
  }
}

TEST(SimFaults, TextReadsBack) {
  Prng prng(4);
  for (int i = 0; i < 500; ++i) {
    FaultSpec spec;
    for (double* share :
         {&spec.loss, &spec.duplicate, &spec.reorder, &spec.corrupt, &spec.branch_loss, &spec.rnr,
          &spec.echo, &spec.retry, &spec.no_memory, &spec.delay}) {
      if (prng.chance(0.5)) *share = prng.unit();
    }
    if (spec.delay > 0) spec.delay_ns = prng.below(kHorizon);
    for (std::uint32_t* count : {&spec.clogs, &spec.one_way_partitions, &spec.crashes,
                                 &spec.slow_ranks, &spec.breaks, &spec.overruns}) {
      if (prng.chance(0.5)) *count = static_cast<std::uint32_t>(prng.below(10));
    }
    if (prng.chance(0.5)) spec.heal_ns = 1 + prng.below(kHorizon);
    EXPECT_EQ(must_parse(to_text(spec)), spec) << to_text(spec);
  }
}

TEST(SimFaults, SaysWhatIsWrong) {
  const struct {
    const char* text;
    const char* reason;
  } cases[] = {
      {"lost=0.1",
       "in \"lost=0.1\" expected one of the names loss, duplicate, reorder, corrupt, "
       "branch-loss, rnr, echo, retry, no-memory, delay, clog, partition, crash, slow, break, "
       "overrun or heal"},
      {"loss", "in \"loss\" expected a share from 0 to 1"},
      {"loss=1.1", "expected a share from 0 to 1"},
      {"loss=0.1,", "in \"\" expected one of the names"},
      {"crash=-1", "in \"crash=-1\" expected a number from 0 to 10000"},
      {"crash=1.5", "expected a number"},
      {"delay=0.1", "as in delay=0.1:5us"},
      {"delay=2:5us", "as in delay=0.1:5us"},
      {"retry=0.1,heal=3", "in \"heal=3\" expected a time, as in heal=2ms"},
  };
  for (const auto& c : cases) {
    const auto spec = parse_faults(c.text);
    ASSERT_FALSE(spec.ok()) << c.text;
    EXPECT_EQ(spec.error().status.code(), ESP_ERR_ARGUMENT);
    EXPECT_NE(spec.error().text.find(c.reason), std::string::npos) << spec.error().text;
  }
}

std::vector<FaultEvent> of_kind(const std::vector<FaultEvent>& events, FaultEvent::Kind kind) {
  std::vector<FaultEvent> some;
  std::copy_if(events.begin(), events.end(), std::back_inserter(some),
               [kind](const FaultEvent& event) { return event.kind == kind; });
  return some;
}

TEST(SimFaults, DrawsWhatWasAskedForWithinTheHorizon) {
  const FaultSpec spec = must_parse("clog=5,partition=4,crash=3,slow=2");
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto events = draw_faults(spec, 8, kHorizon, seed);
    EXPECT_EQ(events.size(), 14u);
    EXPECT_TRUE(std::is_sorted(
        events.begin(), events.end(),
        [](const FaultEvent& a, const FaultEvent& b) { return a.begin_ns < b.begin_ns; }));
    for (const FaultEvent& event : events) {
      const bool is_crash = event.kind == FaultEvent::Kind::kCrash;
      const bool is_path =
          event.kind == FaultEvent::Kind::kClog || event.kind == FaultEvent::Kind::kPartition;
      EXPECT_LT(event.begin_ns, kHorizon);
      EXPECT_GT(event.end_ns, event.begin_ns);
      EXPECT_TRUE(is_crash ? event.end_ns == kNever : event.end_ns <= kHorizon);
      EXPECT_TRUE(0 <= event.from && event.from < 8);
      EXPECT_TRUE(is_path ? 0 <= event.to && event.to < 8 && event.to != event.from
                          : event.to == -1);
    }
    std::set<std::int32_t> dead;
    for (const FaultEvent& crash : of_kind(events, FaultEvent::Kind::kCrash)) {
      dead.insert(crash.from);
    }
    EXPECT_EQ(dead.size(), 3u) << "different ranks crash";
  }
}

TEST(SimFaults, EndWithTheHeal) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const FaultEvent& event :
         draw_faults(must_parse("clog=5,crash=2,heal=1us"), 8, kHorizon, seed)) {
      EXPECT_LT(event.begin_ns, 1000u);
      EXPECT_TRUE(event.end_ns <= 1000 || event.kind == FaultEvent::Kind::kCrash);
    }
  }
}

TEST(SimFaults, OneRankSurvivesAndOneRankHasNoPath) {
  const FaultSpec spec = must_parse("clog=5,partition=5,crash=50,slow=50");
  const auto of_four = draw_faults(spec, 4, kHorizon, 1);
  EXPECT_EQ(of_kind(of_four, FaultEvent::Kind::kCrash).size(), 3u);
  EXPECT_EQ(of_kind(of_four, FaultEvent::Kind::kSlow).size(), 4u);
  const auto of_one = draw_faults(spec, 1, kHorizon, 1);
  ASSERT_EQ(of_one.size(), 1u);
  EXPECT_EQ(of_one[0].kind, FaultEvent::Kind::kSlow);
  EXPECT_TRUE(draw_faults(spec, 4, 0, 1).empty());
}

TEST(SimFaults, AreAFunctionOfTheSeedAndKindsDoNotDisturbEachOther) {
  const FaultSpec clogs = must_parse("clog=6");
  const FaultSpec both = must_parse("clog=6,crash=2");
  const auto first = draw_faults(clogs, 16, kHorizon, 1);
  EXPECT_EQ(first, draw_faults(clogs, 16, kHorizon, 1));
  EXPECT_NE(first, draw_faults(clogs, 16, kHorizon, 2));
  EXPECT_EQ(first, of_kind(draw_faults(both, 16, kHorizon, 1), FaultEvent::Kind::kClog));
}

}  // namespace
}  // namespace espalier::sim
