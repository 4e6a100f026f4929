// Allgather, alltoall and scans, interpreted for all ranks together: every size, uniform and random
// lengths, gaps between blocks, in place.
#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

#include "coll/plan/binding.hpp"
#include "tests/unit/plan_cases.hpp"

namespace espalier::plan_check {
namespace {

#ifdef ESPALIER_SANITIZED
constexpr std::int32_t kSizeMax = 17;
#else
constexpr std::int32_t kSizeMax = 64;
#endif

using Counts = std::vector<std::size_t>;

// Zeros among them, and one that is much longer.
Counts random_counts(std::int32_t size, std::mt19937& random) {
  Counts counts(static_cast<std::size_t>(size));
  for (std::size_t& count : counts) count = random() % 3 == 0 ? 0 : random() % 4;
  counts[random() % counts.size()] = 9;
  return counts;
}

// In another order than that of ranks, a gap before each.
Counts scattered(const Counts& counts, std::mt19937& random) {
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  Counts displs(counts.size());
  std::size_t at = 0;
  for (const std::size_t block : order) {
    at += random() % 2;
    displs[block] = at;
    at += counts[block];
  }
  return displs;
}

// Plans of an irregular call, bound.
class IrregularPlans {
 public:
  // sent[s][r]: elements from s to r; of an allgatherv a row for all.
  IrregularPlans(const PlanRequest& request, const std::vector<Counts>& sent, bool gaps,
                 std::mt19937& random) {
    const auto size = static_cast<std::size_t>(request.size);
    const bool gathers = request.collective == Collective::kAllgatherv;
    for (const Plan& plan : make_plans(request)) {
      const auto me = static_cast<std::size_t>(plan.rank);
      Call& call = *calls_.emplace_back(std::make_unique<Call>());
      call.in = gathers ? Counts{} : sent[me];
      call.out = sent[0];
      for (std::size_t s = 0; !gathers && s < size; ++s) call.out[s] = sent[s][me];
      if (gaps && !gathers) call.in_displs = scattered(call.in, random);
      if (gaps) call.out_displs = scattered(call.out, random);
      if (request.in_place) {
        call.in = call.out;
        call.in_displs = call.out_displs;
      }
      const auto displs = [](const Counts& of) { return of.empty() ? nullptr : of.data(); };
      const Result<Plan> made = bound(plan, {call.in.data(), displs(call.in_displs)},
                                      {call.out.data(), displs(call.out_displs)}, call.binding);
      if (!made) {
        ADD_FAILURE() << made.error().text;
        continue;
      }
      plans_.push_back(made.value());
    }
  }
  const std::vector<Plan>& plans() const { return plans_; }

 private:
  struct Call {
    Counts in, out, in_displs, out_displs;
    Binding binding;
  };
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<Plan> plans_;
};

PlanRequest exchange(Collective collective, esp_algorithm algorithm, std::int32_t size) {
  PlanRequest request;
  request.collective = collective;
  request.algorithm = algorithm;
  request.size = size;
  request.element_bytes = 8;
  request.segment_bytes = 16;
  request.window_send = 2;
  request.window_recv = 3;
  return request;
}

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

void check_irregular(const PlanRequest& request, bool symmetric) {
  std::mt19937 random(static_cast<unsigned>(request.size));
  for (const bool gaps : {false, true}) {
    std::vector<Counts> sent;
    for (std::int32_t s = 0; s < request.size; ++s) {
      sent.push_back(random_counts(request.size, random));
      for (std::size_t r = 0; symmetric && r < sent.size(); ++r) sent.back()[r] = sent[r].back();
    }
    for (std::size_t s = 0; symmetric && s < sent.size(); ++s) {
      for (std::size_t r = 0; r < s; ++r) sent[r][s] = sent[s][r];
    }
    const IrregularPlans made(request, sent, gaps, random);
    if (!check_all(made.plans(), request, static_cast<std::uint64_t>(gaps) + 1)) return;
  }
}

bool is_power_of_two(std::int32_t size) {
  return (size & (size - 1)) == 0;
}

struct Case {
  Collective collective;
  esp_algorithm algorithm;
  std::int32_t radix = 2;
  bool in_place = false;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << collective_name(c.collective) << " " << algorithm_name(c.algorithm) << " " << c.radix
       << (c.in_place ? " in place" : "");
}

class Exchanges : public testing::TestWithParam<Case> {};

TEST_P(Exchanges, EverySize) {
  for (std::int32_t size = 1; size <= kSizeMax; size += size < 18 ? 1 : 5) {
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
      check_irregular(request, request.in_place);
    } else {
      check_regular(request);
    }
    if (HasFailure()) return;
  }
}

constexpr Case kCases[] = {
    {Collective::kAllgather, ESP_ALGORITHM_PUBLISH},
    {Collective::kAllgather, ESP_ALGORITHM_RING},
    {Collective::kAllgather, ESP_ALGORITHM_DOUBLING},
    {Collective::kAllgather, ESP_ALGORITHM_BRUCK, 2},
    {Collective::kAllgather, ESP_ALGORITHM_BRUCK, 3},
    {Collective::kAllgather, ESP_ALGORITHM_BRUCK, 64},
    {Collective::kAllgatherv, ESP_ALGORITHM_PUBLISH},
    {Collective::kAllgatherv, ESP_ALGORITHM_RING},
    {Collective::kAllgatherv, ESP_ALGORITHM_DOUBLING},
    {Collective::kAllgatherv, ESP_ALGORITHM_BRUCK, 2},
    {Collective::kAllgatherv, ESP_ALGORITHM_BRUCK, 5},
    {Collective::kAlltoall, ESP_ALGORITHM_RING},
    {Collective::kAlltoall, ESP_ALGORITHM_RING, 2, true},
    {Collective::kAlltoall, ESP_ALGORITHM_ONE_FACTOR},
    {Collective::kAlltoall, ESP_ALGORITHM_ONE_FACTOR, 2, true},
    {Collective::kAlltoall, ESP_ALGORITHM_XOR},
    {Collective::kAlltoall, ESP_ALGORITHM_XOR, 2, true},
    {Collective::kAlltoall, ESP_ALGORITHM_BRUCK, 2},
    {Collective::kAlltoall, ESP_ALGORITHM_BRUCK, 3, true},
    {Collective::kAlltoall, ESP_ALGORITHM_BRUCK, 7},
    {Collective::kAlltoallv, ESP_ALGORITHM_RING},
    {Collective::kAlltoallv, ESP_ALGORITHM_RING, 2, true},
    {Collective::kAlltoallv, ESP_ALGORITHM_ONE_FACTOR},
    {Collective::kAlltoallv, ESP_ALGORITHM_ONE_FACTOR, 2, true},
    {Collective::kAlltoallv, ESP_ALGORITHM_XOR},
    {Collective::kScan, ESP_ALGORITHM_RING},
    {Collective::kScan, ESP_ALGORITHM_DOUBLING},
    {Collective::kExscan, ESP_ALGORITHM_RING},
    {Collective::kExscan, ESP_ALGORITHM_DOUBLING},
};

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
    if (c.algorithm == ESP_ALGORITHM_PUBLISH) continue;  // names its readers, who share memory
    ASSERT_TRUE(plan.ok()) << collective_name(c.collective) << plan.error().text;
    std::size_t edges = 0;
    for (const Vertex& v : plan.value().vertices) edges += v.needs.size() + v.peers.size();
    const bool rounds = c.algorithm == ESP_ALGORITHM_BRUCK || c.algorithm == ESP_ALGORITHM_DOUBLING;
    const std::size_t digits = static_cast<std::size_t>(c.radix) * 20;
    EXPECT_LE(plan.value().vertices.size(), rounds ? 5 * digits : 4)
        << collective_name(c.collective);
    EXPECT_LE(edges, rounds ? digits * digits * 2 : 8) << collective_name(c.collective);
  }
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
  request = exchange(Collective::kScan, ESP_ALGORITHM_TREE, 4);
  EXPECT_EQ(refusal(request), "scan has no tree algorithm");
}

}  // namespace
}  // namespace espalier::plan_check
