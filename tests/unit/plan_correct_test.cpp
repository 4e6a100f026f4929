// Every plan, interpreted for all ranks together: results, orders of combination, no deadlock.
#include "tests/unit/plan_cases.hpp"

namespace espalier::plan_check {
namespace {

// Under sanitizers, large teams are tried with three roots instead of all, and the largest not at
// all.
#ifdef ESPALIER_SANITIZED
constexpr std::int32_t kAllRootsUpTo = 17, kSizeMax = 33;
#else
constexpr std::int32_t kAllRootsUpTo = 64, kSizeMax = 64;
#endif

std::vector<std::int32_t> roots(std::int32_t size) {
  std::vector<std::int32_t> result;
  for (std::int32_t root = 0; root < size; ++root) {
    const bool telling = root == 1 || root == size / 2 || root == size - 1;
    if (size <= kAllRootsUpTo || telling) result.push_back(root);
  }
  return result;
}

// Sizes around powers of the radixes, where trees change form.
const std::vector<std::int32_t>& telling_sizes() {
  static const std::vector<std::int32_t> sizes = {2, 3, 4, 5, 7, 8, 9, 10, 16, 17, 33};
  return sizes;
}

// One of the schedules per case, another one for the next.
void check_tree(PlanRequest request, std::uint64_t& turn) {
  for (const ShapeCase& shape : shape_cases()) {
    request.shape = shape.shape;
    request.radix = shape.radix;
    const std::vector<Plan> plans = make_plans(request);
    ++turn;
    const std::vector<Schedule> all = schedules(turn, request.size);
    if (!expect_correct(plans, request, all[turn % all.size()])) return;
  }
}

class RootedPlans : public testing::TestWithParam<std::pair<Collective, bool>> {};

TEST_P(RootedPlans, EverySizeEveryShape) {
  std::uint64_t turn = 0;
  for (std::int32_t size = 1; size <= kSizeMax; ++size) {
    for (const std::int32_t root : roots(size)) {
      PlanRequest request = call(GetParam().first, size, size <= 17 ? 3 : 2);
      request.root = root;
      request.commutative = GetParam().second;
      check_tree(request, turn);
      if (HasFailure()) return;
    }
  }
}

TEST_P(RootedPlans, EveryVariantAndSegmentCount) {
  std::uint64_t turn = 0;
  for (const std::int32_t size : telling_sizes()) {
    for (const std::uint64_t segments : {1, 2, 17, 70}) {
      for (int variant = 0; variant < ESP_VARIANT_COUNT; ++variant) {
        PlanRequest request = call(GetParam().first, size, segments);
        request.root = static_cast<std::int32_t>(turn % static_cast<std::uint64_t>(size));
        request.commutative = GetParam().second;
        request.variant = static_cast<esp_variant>(variant);
        check_tree(request, turn);
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, RootedPlans,
                         testing::Values(std::make_pair(Collective::kBcast, true),
                                         std::make_pair(Collective::kReduce, true),
                                         std::make_pair(Collective::kReduce, false)));

class RootlessPlans : public testing::TestWithParam<std::pair<Collective, bool>> {};

TEST_P(RootlessPlans, EverySizeShapeAndVariant) {
  std::uint64_t turn = 0;
  for (std::int32_t size = 1; size <= kSizeMax; ++size) {
    for (int variant = 0; variant < ESP_VARIANT_COUNT; ++variant) {
      PlanRequest request = call(GetParam().first, size, size < 20 ? 17 : 3);
      request.commutative = GetParam().second;
      request.variant = static_cast<esp_variant>(variant);
      check_tree(request, turn);
      if (HasFailure()) return;
    }
  }
}

TEST_P(RootlessPlans, EverySegmentCount) {
  std::uint64_t turn = 0;
  for (const std::int32_t size : telling_sizes()) {
    for (const std::uint64_t segments : {1, 2, 3, 70, 130}) {
      PlanRequest request = call(GetParam().first, size, segments);
      request.commutative = GetParam().second;
      check_tree(request, turn);
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, RootlessPlans,
                         testing::Values(std::make_pair(Collective::kAllreduce, true),
                                         std::make_pair(Collective::kAllreduce, false),
                                         std::make_pair(Collective::kBarrier, true)));

TEST(PublishPlans, EverySizeAndRoot) {
  for (const Collective collective :
       {Collective::kBcast, Collective::kAllreduce, Collective::kBarrier}) {
    for (std::int32_t size = 1; size <= kSizeMax; ++size) {
      PlanRequest request = call(collective, size, size < 20 ? 70 : 3);
      request.algorithm = ESP_ALGORITHM_PUBLISH;
      request.commutative = size % 2 == 0;
      for (const std::int32_t root : roots(size)) {
        request.root = root;
        const auto seed = static_cast<std::uint64_t>(size + root);
        ASSERT_TRUE(expect_correct_under_all_schedules(request, seed));
        if (collective != Collective::kBcast) break;
      }
    }
  }
}

TEST(SpreadPlans, EverySize) {
  for (std::int32_t size = 1; size <= kSizeMax; ++size) {
    PlanRequest request = call(Collective::kAllreduce, size, 1);
    request.algorithm = ESP_ALGORITHM_SPREAD;
    for (const std::uint64_t pieces : {1, 2, 3, 9, 70}) {
      if (pieces * static_cast<std::uint64_t>(size) > 130) break;
      request.elements = pieces * 4 * static_cast<std::uint64_t>(size) - 3;
      ASSERT_TRUE(expect_correct_under_all_schedules(request, pieces));
    }
  }
}

TEST(SpreadPlans, FewerElementsThanRanks) {
  for (const std::uint64_t elements : {0, 1, 2, 6}) {
    PlanRequest request = call(Collective::kAllreduce, 7, 1);
    request.algorithm = ESP_ALGORITHM_SPREAD;
    request.elements = elements;
    ASSERT_TRUE(expect_correct_under_all_schedules(request, elements));
  }
}

TEST(Plans, EveryWindow) {
  for (const std::int32_t send : {1, 2, 7, 64}) {
    for (const std::int32_t recv : {1, 3, 48, 64}) {
      for (const Collective collective :
           {Collective::kBcast, Collective::kReduce, Collective::kAllreduce}) {
        for (int algorithm = ESP_ALGORITHM_TREE; algorithm < ESP_ALGORITHM_COUNT; ++algorithm) {
          PlanRequest request = call(collective, 9, 150);
          request.algorithm = static_cast<esp_algorithm>(algorithm);
          request.shape = ESP_SHAPE_KNOMIAL;
          request.radix = 3;
          request.window_send = send;
          request.window_recv = recv;
          const auto seed = static_cast<std::uint64_t>(send * recv);
          if (!make_plan(request)) continue;
          ASSERT_TRUE(expect_correct_under_all_schedules(request, seed));
        }
      }
    }
  }
}

// Many seeds on trees where the segments of several children meet.
TEST(Plans, ManyRandomOrders) {
  for (const Collective collective : {Collective::kReduce, Collective::kAllreduce}) {
    for (const std::int32_t window : {1, 2, 4}) {
      PlanRequest request = call(collective, 13, 40);
      request.shape = ESP_SHAPE_KARY;
      request.radix = 3;
      request.window_send = window;
      request.window_recv = 4 * window;
      const std::vector<Plan> plans = make_plans(request);
      for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const Schedule schedule{.order = Order::kRandom, .seed = seed, .in_place = true};
        ASSERT_TRUE(expect_correct(plans, request, schedule));
      }
    }
  }
}

TEST(Plans, EmptyMessagesStillTravel) {
  for (const Collective collective :
       {Collective::kBcast, Collective::kReduce, Collective::kAllreduce}) {
    PlanRequest request = call(collective, 6, 1);
    request.elements = 0;
    ASSERT_TRUE(expect_correct_under_all_schedules(request, 1));
    EXPECT_FALSE(make_plans(request)[0].vertices.empty());
  }
}

}  // namespace
}  // namespace espalier::plan_check
