// Partial completion, interpreted for all ranks together: whatever the maker, every element of a
// result is delivered once, final and never written again, and nothing of an input is read before
// it is ready, in whatever order its parts become so.
#include <algorithm>

#include "tests/unit/plan_hazards.hpp"
#include "tests/unit/plan_makers.hpp"

namespace espalier::plan_check {
namespace {

#ifdef ESPALIER_SANITIZED
constexpr std::int32_t kPartialSizes[] = {1, 2, 5, 8};
#else
constexpr std::int32_t kPartialSizes[] = {1, 2, 3, 4, 7, 8, 13, 16, 21};
#endif

bool may_await(const PlanRequest& request) {
  return !(request.in_place && replaces_blocks(request.collective) &&
           !traits_of(request.collective).root_sends && !traits_of(request.collective).reduces);
}

bool check_all(const std::vector<Plan>& plans, const PlanRequest& request, std::uint64_t seed) {
  for (const Schedule& schedule : schedules(seed, request.size)) {
    // The last member's input is not read, and may be overwritten at any time.
    const bool unread = request.collective == Collective::kExscan && request.awaits;
    // Nor is there an order of arrival in place.
    if ((unread || request.places) && schedule.in_place) continue;
    if (!expect_correct(plans, request, schedule)) return false;
  }
  return true;
}

// Everything that may be asked for together, and each by itself.
std::vector<PlanRequest> with_parts(PlanRequest request, bool may_place) {
  std::vector<PlanRequest> all;
  for (int parts = 1; parts < 8; ++parts) {
    request.delivers = (parts & 1) != 0;
    request.awaits = (parts & 2) != 0;
    request.places = (parts & 4) != 0;
    if (request.awaits && !may_await(request)) continue;
    if (request.places && (!may_place || request.in_place || !request.delivers)) continue;
    all.push_back(request);
  }
  return all;
}

class PartialExchanges : public testing::TestWithParam<plan_check::Case> {};

TEST_P(PartialExchanges, AreDeliveredOnce) {
  const plan_check::Case& c = GetParam();
  for (const std::int32_t size : kPartialSizes) {
    PlanRequest plain = exchange(c.collective, c.algorithm, size);
    plain.radix = c.radix;
    plain.in_place = c.in_place;
    plain.elements = 5;
    plain.root = traits_of(c.collective).rooted ? size / 2 : 0;
    if (!make_plan(plain)) continue;  // for 2^n members alone
    const bool blocks = traits_of(c.collective).output == Extent::kPerMember ||
                        traits_of(c.collective).output == Extent::kCounts;
    for (const PlanRequest& request : with_parts(plain, blocks)) {
      if (is_irregular(request.collective)) {
        std::mt19937 random(static_cast<unsigned>(size));
        const auto sent = random_lengths(size, request.in_place, random);
        const IrregularPlans made(request, sent, !request.places, random);
        ASSERT_TRUE(check_all(made.plans(), request, 1));
      } else {
        ASSERT_TRUE(check_all(make_plans(request), request, 2));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PartialExchanges, testing::ValuesIn(kCases));

TEST(PartialPlans, OfTreesAndNodes) {
  for (const MadeRequest& made : made_requests()) {
    for (PlanRequest request : with_parts(made.request, false)) {
      const std::vector<Plan> plans = make_plans(request);
      if (request.nodes.follow) request.commutative = false;  // combined in the order of nodes
      ASSERT_TRUE(check_all(plans, request, 5)) << made.name;
    }
  }
}

TEST(PartialPlans, OfEveryShape) {
  for (const Collective collective :
       {Collective::kBcast, Collective::kReduce, Collective::kAllreduce}) {
    for (const ShapeCase& shape : shape_cases()) {
      PlanRequest plain = call(collective, 9, 7);
      plain.shape = shape.shape;
      plain.radix = shape.radix;
      plain.root = collective == Collective::kAllreduce ? 0 : 3;
      for (const PlanRequest& request : with_parts(plain, false)) {
        ASSERT_TRUE(check_all(make_plans(request), request, 4));
      }
    }
    for (const esp_algorithm algorithm : {ESP_ALGORITHM_PUBLISH, ESP_ALGORITHM_SPREAD}) {
      PlanRequest plain = call(collective, 6, 7);
      plain.algorithm = algorithm;
      if (!make_plan(plain)) continue;
      for (const PlanRequest& request : with_parts(plain, false)) {
        ASSERT_TRUE(check_all(make_plans(request), request, 4));
      }
    }
  }
}

// A plan that nobody asks anything of has no vertex more.
TEST(PartialPlans, CostNothingUnasked) {
  for (const MadeRequest& made : made_requests()) {
    for (const Plan& plan : make_plans(made.request)) {
      for (const Vertex& v : plan.vertices) {
        EXPECT_NE(v.action, Action::kAwait);
        EXPECT_NE(v.action, Action::kDeliver);
      }
    }
  }
}

// Bruck's rounds bring 1, 2, 4, ... blocks that are final: these are handed out round by round.
TEST(PartialPlans, BruckDeliversByRounds) {
  for (const std::int32_t size : {2, 8, 13, 16}) {
    PlanRequest request = exchange(Collective::kAlltoall, ESP_ALGORITHM_BRUCK, size);
    request.elements = 1;
    request.delivers = true;
    request.rank = size - 1;
    Result<Plan> plan = make_plan(request);
    ASSERT_TRUE(plan.ok());
    std::vector<std::uint32_t> counts;
    for (const Vertex& v : plan->vertices) {
      if (v.action == Action::kDeliver) counts.push_back(v.steps);
    }
    ASSERT_FALSE(counts.empty());
    EXPECT_EQ(counts[0], 1U);  // the own one
    std::uint32_t filled = 1;
    for (std::size_t round = 1; round < counts.size(); ++round) {
      const std::uint32_t left = static_cast<std::uint32_t>(size) - filled;
      EXPECT_EQ(counts[round], std::min(filled, left)) << size << " ranks, round " << round;
      filled += counts[round];
    }
    EXPECT_EQ(filled, static_cast<std::uint32_t>(size));
  }
}

// Elements that copies of a rank's plan read.
std::uint64_t copied(const PlanRequest& request) {
  Result<Plan> plan = make_plan(request);
  std::uint64_t elements = 0;
  for (const Vertex& v : plan->vertices) {
    if (v.action != Action::kCombine || v.operands.size() != 1) continue;
    if (v.operands[0].place == Place::kView) continue;
    for (std::uint32_t i = 0; i < v.indices.count; ++i) elements += plan->length_elements(v, i);
  }
  return elements;
}

// Nothing is put in order: of an alltoall the last round's blocks are not copied, which are half of
// all, and of an allgather none but the own one.
TEST(PartialPlans, BruckWithoutAnOrderCopiesLess) {
  for (const std::int32_t size : {4, 8, 13, 32}) {
    PlanRequest request = exchange(Collective::kAlltoall, ESP_ALGORITHM_BRUCK, size);
    request.elements = 1;
    request.delivers = true;
    const std::uint64_t ordered = copied(request);
    request.places = true;
    std::uint64_t last = 1;
    while (2 * last < static_cast<std::uint64_t>(size)) last *= 2;
    EXPECT_EQ(ordered - copied(request), static_cast<std::uint64_t>(size) - last) << size;
    request.collective = Collective::kAllgather;
    EXPECT_EQ(copied(request), 1U);
  }
}

}  // namespace
}  // namespace espalier::plan_check
