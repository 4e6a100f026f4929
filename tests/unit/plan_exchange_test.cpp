// Allgather, alltoall and scans, interpreted for all ranks together: every size, uniform and random
// lengths, gaps between blocks, in place.
#include <algorithm>

#include "tests/unit/exchange_cases.hpp"
#include "tests/unit/plan_hazards.hpp"

namespace espalier::plan_check {
namespace {

using std::string_literals::operator""s;

#ifdef ESPALIER_SANITIZED
constexpr std::int32_t kExchangeSizeMax = 17;
#else
constexpr std::int32_t kExchangeSizeMax = 64;
#endif

bool check_all(const std::vector<Plan>& plans, const PlanRequest& request, std::uint64_t seed) {
  for (const Schedule& schedule : schedules(seed, request.size)) {
    if (!expect_correct(plans, request, schedule)) return false;
  }
  return true;
}

void check_regular(PlanRequest request) {
  for (const std::uint64_t elements : {0, 1, 5}) {
    if (request.size > 20 && elements > 1) break;
    request.elements = elements;
    if (!check_all(make_plans(request), request, elements + 1)) return;
  }
}

void check_irregular(const PlanRequest& request) {
  std::mt19937 random(static_cast<unsigned>(request.size));
  for (const bool gaps : {false, true}) {
    const auto sent = random_lengths(request.size, request.in_place, random);
    const IrregularPlans made(request, sent, gaps, random);
    if (!check_all(made.plans(), request, static_cast<std::uint64_t>(gaps) + 1)) return;
  }
}

class Exchanges : public testing::TestWithParam<Case> {};

TEST_P(Exchanges, EverySize) {
  for (std::int32_t size = 1; size <= kExchangeSizeMax; size += size < 18 ? 1 : 5) {
    PlanRequest request = exchange(GetParam().collective, GetParam().algorithm, size);
    request.radix = GetParam().radix;
    request.in_place = GetParam().in_place;
    const bool of_powers =
        request.algorithm == ESP_ALGORITHM_XOR ||
        (request.algorithm == ESP_ALGORITHM_DOUBLING && !traits_of(request.collective).reduces);
    if (of_powers && !is_power_of_two(size)) {
      EXPECT_EQ(make_plan(request).error().status.code(), ESP_ERR_UNSUPPORTED);
      continue;
    }
    if (is_irregular(request.collective)) {
      check_irregular(request);
    } else {
      check_regular(request);
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Exchanges, testing::ValuesIn(kCases));

// Many segments per block, more than any window.
TEST(ExchangePlans, LongBlocks) {
  for (const Case& c : kCases) {
    for (const std::int32_t window : {1, 4, 64}) {
      PlanRequest request = exchange(c.collective, c.algorithm, 4);
      request.radix = c.radix;
      request.in_place = c.in_place;
      request.window_send = window;
      request.window_recv = std::min(2 * window, 64);
      request.elements = 401;
      if (is_irregular(c.collective)) {
        std::mt19937 random(7);
        const std::vector<Counts> sent(4, Counts{150, 0, 150, 150});
        if (request.in_place) continue;
        const IrregularPlans made(request, sent, true, random);
        ASSERT_TRUE(check_all(made.plans(), request, 3));
      } else {
        ASSERT_TRUE(check_all(make_plans(request), request, 3));
      }
    }
  }
}

// Every pair meets once, and partners are mutual (Kowalewski's printed function is not).
TEST(ExchangePlans, OneFactorPairs) {
  for (std::int32_t size = 2; size <= 65; ++size) {
    const std::uint32_t rounds = Steps::one_factor_rounds(size);
    for (std::int32_t me = 0; me < size; ++me) {
      std::vector<int> met(static_cast<std::size_t>(size), 0);
      const Steps mine{Steps::Kind::kOneFactor, me, 0, size};
      for (std::uint32_t k = 0; k < rounds; ++k) {
        const std::int32_t partner = mine.at(k);
        ASSERT_TRUE(0 <= partner && partner < size);
        const Steps theirs{Steps::Kind::kOneFactor, partner, 0, size};
        EXPECT_EQ(theirs.at(k), me);
        ++met[static_cast<std::size_t>(partner)];
      }
      EXPECT_EQ(met[static_cast<std::size_t>(me)], size % 2);
      met[static_cast<std::size_t>(me)] = 1;
      EXPECT_EQ(std::count(met.begin(), met.end(), 1), size);
    }
  }
}

// A plan is as large for a million ranks as for a thousand, or with the logarithm.
TEST(ExchangePlans, OfAMillionRanks) {
  constexpr std::int32_t kRanks = 1 << 20;
  for (const Case& c : kCases) {
    PlanRequest request = exchange(c.collective, c.algorithm, kRanks);
    request.radix = c.radix;
    request.in_place = c.in_place;
    request.elements = 1;
    request.rank = 777'777;
    const Result<Plan> plan = make_plan(request);
    // Publications name their readers, who share memory.
    const bool leads = c.algorithm == ESP_ALGORITHM_TREE && !has_shapes(c.collective);
    if (c.algorithm == ESP_ALGORITHM_PUBLISH || leads) continue;
    ASSERT_TRUE(plan.ok()) << collective_name(c.collective) << plan.error().text;
    std::size_t edges = 0;
    for (const Vertex& v : plan.value().vertices) edges += v.needs.size() + v.peers.size();
    const bool rounds = c.algorithm == ESP_ALGORITHM_BRUCK ||
                        c.algorithm == ESP_ALGORITHM_DOUBLING ||
                        c.algorithm == ESP_ALGORITHM_HALVING;
    const std::size_t digits = static_cast<std::size_t>(c.radix) * 20;
    const bool tree = c.algorithm == ESP_ALGORITHM_TREE;  // a child a digit
    EXPECT_LE(plan.value().vertices.size(), rounds ? 5 * digits
                                            : tree ? 44
                                                   : 5)
        << collective_name(c.collective);
    EXPECT_LE(edges, rounds ? digits * digits * 2 : tree ? 44 : 8) << collective_name(c.collective);
  }
}

// ---- variants of direct exchanges ----

bool exchanges_directly(const Case& c) {
  const CollectiveTraits& traits = traits_of(c.collective);
  const bool all = traits.input == traits.output && traits.input >= Extent::kPerMember;
  return all && c.algorithm != ESP_ALGORITHM_BRUCK && c.algorithm != ESP_ALGORITHM_TREE;
}

// Steps of several segments, windows that are narrower than a step, and wider.
TEST(ExchangeVariants, EveryDirectExchange) {
  for (const Case& c : kCases) {
    if (!exchanges_directly(c)) continue;
    for (const esp_variant variant : {ESP_VARIANT_WAITALL, ESP_VARIANT_BLOCKING}) {
      for (const std::int32_t size : {1, 2, 4, 5, 8, 9, 16, 17}) {
        for (const std::int32_t window : {1, 2, 5}) {
          PlanRequest request = exchange(c.collective, c.algorithm, size);
          if (!fits_team(c.collective, c.algorithm, size)) continue;
          request.in_place = c.in_place;
          request.variant = variant;
          request.window_send = window;
          request.window_recv = window + 1;
          if (is_irregular(c.collective)) {
            check_irregular(request);
          } else {
            check_regular(request);
          }
          ASSERT_FALSE(HasFailure());
        }
      }
    }
  }
}

TEST(ExchangeVariants, NoHazards) {
  for (const Case& c : kCases) {
    if (!exchanges_directly(c) || is_irregular(c.collective)) continue;
    for (const esp_variant variant : {ESP_VARIANT_WAITALL, ESP_VARIANT_BLOCKING}) {
      PlanRequest request = exchange(c.collective, c.algorithm, 4);
      request.in_place = c.in_place;
      request.variant = variant;
      request.elements = 5;
      const std::vector<Plan> plans = make_plans(request);
      ASSERT_EQ(find_hazard(plans, std::vector<std::int64_t>(4, c.in_place ? 0 : -1)), "");
    }
  }
}

// A batch of steps opens when all before it are complete, whatever number of pieces each side has.
TEST(ExchangeVariants, BatchesOpen) {
  const Indices mine{24, 3}, other{16, 2};  // 8 steps
  EXPECT_EQ(mine.opened(other, 0, 3), 9U);
  EXPECT_EQ(mine.opened(other, 5, 3), 9U);
  EXPECT_EQ(mine.opened(other, 6, 3), 18U);
  EXPECT_EQ(mine.opened(other, 16, 3), 24U);
  EXPECT_EQ(mine.before_batch(other, 8, 3), 0U);
  EXPECT_EQ(mine.before_batch(other, 9, 3), 6U);
  EXPECT_EQ(mine.before_batch(other, 23, 3), 12U);
  for (std::uint32_t batch = 1; batch <= 9; ++batch) {
    for (std::uint32_t i = 0; i < mine.count; ++i) {
      for (std::uint32_t done = 0; done <= other.count; ++done) {
        EXPECT_EQ(i < mine.opened(other, done, batch), mine.before_batch(other, i, batch) <= done);
      }
    }
  }
}

// Both directions wait for both; windows are those of the request, batches as long as that of
// sends.
TEST(ExchangeVariants, Edges) {
  PlanRequest request = exchange(Collective::kAlltoall, ESP_ALGORITHM_ONE_FACTOR, 8);
  request.elements = 1;
  // Of what is received and sent: from "window" on.
  const auto ends = [&](esp_variant variant) {
    request.variant = variant;
    const std::string text = make_plans(request)[3].to_text();
    const std::size_t recv = text.find("window", text.find("v0: recv"));
    const std::size_t sent = text.find("window", text.find("send input"));
    const auto line = [&](std::size_t at) { return text.substr(at, text.find('\n', at) - at); };
    return std::pair(line(recv), line(sent));
  };
  EXPECT_EQ(ends(ESP_VARIANT_EVENT), std::pair("window 3"s, "window 2"s));
  EXPECT_EQ(ends(ESP_VARIANT_WAITALL),
            std::pair("window 3 needs v0[batches of 2], v1[batches of 2]"s,
                      "window 2 needs v0[batches of 2], v1[batches of 2]"s));
  EXPECT_EQ(ends(ESP_VARIANT_BLOCKING),
            std::pair("window 3 needs v0[batches of 1], v1[batches of 1]"s,
                      "window 2 needs v0[batches of 1], v1[batches of 1]"s));
  EXPECT_EQ(make_plans(request)[0].algorithm, "one-factor blocking, 8 blocks of 1 segment of 8 B");
}

TEST(ExchangePlans, Refusals) {
  const auto refusal = [](const PlanRequest& request) {
    const Result<Plan> plan = make_plan(request);
    return plan.ok() ? std::string("accepted") : plan.error().text;
  };
  PlanRequest request = exchange(Collective::kAlltoallv, ESP_ALGORITHM_BRUCK, 4);
  EXPECT_EQ(refusal(request), "alltoallv has no Bruck algorithm");
  request = exchange(Collective::kAllgather, ESP_ALGORITHM_BRUCK, 4);
  request.radix = 65;
  EXPECT_EQ(refusal(request), "radix 65 of Bruck's algorithm is not in 2..64");
  request.elements = std::uint64_t{1} << 60;
  EXPECT_NE(refusal(request).find("address space"), std::string::npos);
  request = exchange(Collective::kAlltoall, ESP_ALGORITHM_BRUCK, 4);
  request.variant = ESP_VARIANT_WAITALL;
  EXPECT_EQ(refusal(request), "alltoall by Bruck has the event variant alone");
  request = exchange(Collective::kScan, ESP_ALGORITHM_TREE, 4);
  EXPECT_EQ(refusal(request), "scan has no tree algorithm");
}

}  // namespace
}  // namespace espalier::plan_check
