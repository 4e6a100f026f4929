// Nothing asks for memory after the first call of a shape, of any collective by any algorithm; of
// irregular ones, whatever the counts of the later calls are. Nor do the rounds of a persistent one
// look for a plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "coll/engine/engine.hpp"
#include "core/kernels/isa.hpp"
#include "tests/support/allocations.hpp"

namespace espalier {
namespace {

constexpr int kMembers = 8;
constexpr std::size_t kMost = 5000;  // elements of a block

// Does all that it is asked at once.
class AgreeableWire final : public Wire {
 public:
  WireCaps caps(Rank) const noexcept override { return {}; }
  Posted send(const Send&, SendOp&) noexcept override { return Posted::kDone; }
  Posted publish(const Send&, const Group&, SendOp&) noexcept override { return Posted::kDone; }
  Posted recv(const SegmentId&, std::uint32_t, RecvOp& op) noexcept override {
    op.status = {};
    op.view = data_.data();
    return Posted::kDone;
  }
  void release(RecvOp&) noexcept override {}
  void cancel(RecvOp&) noexcept override {}
  void cancel(SendOp&) noexcept override {}
  int progress() noexcept override { return 0; }

 private:
  std::vector<std::byte> data_ = std::vector<std::byte>(kMost * kMembers * sizeof(int));
};

class Caller {
 public:
  Caller() {
    auto membership = std::make_shared<Membership>();
    membership->ranks.resize(kMembers);
    std::iota(membership->ranks.begin(), membership->ranks.end(), 0);
    team_.wire = &wire_;
    team_.segment_limit = 4096;
    team_.set_membership(3, std::move(membership));
  }

  void call(Collective collective, esp_algorithm algorithm, bool in_place, std::size_t count) {
    const Call call = call_of(collective, algorithm, in_place, count);
    const auto started = engine_.start(team_, call, {});
    ASSERT_TRUE(started.ok()) << started.error().text;
    finish();
  }
  Instance* bind(Call call) {
    call.purpose = Purpose::kPersistent;
    auto bound = engine_.bind(team_, call);
    EXPECT_TRUE(bound.ok()) << bound.error().text;
    return bound.ok() ? *bound : nullptr;
  }
  void round(Instance& instance) {
    (void)engine_.start(instance, {});
    finish();
  }
  void forget_counts() { counts_.assign(counts_.size(), ~std::size_t{0} / 2); }
  Engine& engine() noexcept { return engine_; }
  const Counters& counters() const noexcept { return counters_; }
  Team& team() noexcept { return team_; }

  Call call_of(Collective collective, esp_algorithm algorithm, bool in_place, std::size_t count) {
    Call call;
    call.collective = collective;
    call.count = call.own_count = count;
    if (traits_of(collective).neighbors) call.neighbors = &near_;
    call.type = ESP_INT32;
    call.element_bytes = sizeof(int);
    call.in_place = in_place;
    call.input = in_place ? output_.data() : input_.data();
    call.output = output_.data();
    call.options.algorithm = algorithm;
    call.combiner = Combiner(kernel_, ESP_INT32);
    if (is_irregular(collective)) {
      std::fill(counts_.begin(), counts_.end(), count);
      counts_[1] = 0;
      call.count = 0;
      call.in_counts = call.out_counts = counts_.data();
    }
    return call;
  }

 private:
  void finish() {
    while (team_.active != nullptr) engine_.progress();
  }

  Counters counters_;
  Trace trace_;
  Engine engine_{counters_, trace_, {}};
  AgreeableWire wire_;
  Team team_;
  Neighbors near_ = {1, 1, {0, 1, 2}, {0, 1, 2}, {0, 0, 0}, {0, 0, 0}};
  CombineKernel kernel_ = combine_kernel_for(best_isa(), ESP_SUM, ESP_INT32);
  std::vector<int> input_ = std::vector<int>(kMost * kMembers);
  std::vector<int> output_ = std::vector<int>(kMost * kMembers);
  std::vector<std::size_t> counts_ = std::vector<std::size_t>(kMembers);
};

TEST(EngineAllocations, NoneAfterTheFirstCallOfAShape) {
  for (std::size_t c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    for (int a = ESP_ALGORITHM_TREE; a < ESP_ALGORITHM_COUNT; ++a) {
      const auto algorithm = static_cast<esp_algorithm>(a);
      if (!has_algorithm(collective, algorithm)) continue;
      for (const bool in_place : {false, true}) {
        Caller caller;
        caller.call(collective, algorithm, in_place, kMost);
        const std::uint64_t before = test::allocations();
        caller.call(collective, algorithm, in_place, kMost);
        if (is_irregular(collective)) {
          for (const std::size_t count : {0, 1, 999}) {
            caller.call(collective, algorithm, in_place, count);
          }
        }
        EXPECT_EQ(test::allocations(), before)
            << collective_name(collective) << " " << algorithm_name(algorithm)
            << (in_place ? " in place" : "");
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(EngineAllocations, RoundsOfAPersistentCallStayBound) {
  for (std::size_t c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    for (int a = ESP_ALGORITHM_TREE; a < ESP_ALGORITHM_COUNT; ++a) {
      const auto algorithm = static_cast<esp_algorithm>(a);
      if (!has_algorithm(collective, algorithm)) continue;
      SCOPED_TRACE(std::string(collective_name(collective)) + " " + algorithm_name(algorithm));
      Caller caller;
      Instance* instance = caller.bind(caller.call_of(collective, algorithm, true, kMost));
      ASSERT_NE(instance, nullptr);
      caller.forget_counts();  // arrays are the caller's again
      EXPECT_EQ(caller.team().sequence, 0u) << "nothing is entered before the first round";
      caller.round(*instance);
      const std::uint64_t before = test::allocations();
      for (int k = 0; k < 3; ++k) caller.round(*instance);
      EXPECT_EQ(test::allocations(), before);
      EXPECT_EQ(caller.counters().plans_built.value(), 1u);
      EXPECT_EQ(caller.counters().plans_reused.value(), 0u);
      EXPECT_EQ(caller.counters().operations.value(), 4u);
      EXPECT_EQ(caller.team().sequence, 4u);
      // Another call of the shape has an instance of its own, which it gives back.
      caller.call(collective, algorithm, true, kMost);
      EXPECT_EQ(instance->entry->in_use, 1u);
      PlanEntry* entry = instance->entry;
      caller.engine().give_back(*instance);
      EXPECT_EQ(entry->in_use, 0u);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(EngineAllocations, RoundsOfAPersistentMessageAreItsFlowsNext) {
  Caller caller;
  std::vector<std::byte> data(100'000);
  const Engine::Flow flow = {Engine::Direction::kSend, data.data(), data.size(), 1, 7, true};
  auto bound = caller.engine().bind_flow(caller.team(), flow);
  ASSERT_TRUE(bound.ok()) << bound.error().text;
  Instance& instance = **bound;
  caller.round(instance);
  const std::uint64_t before = test::allocations();
  for (std::uint64_t k = 2; k < 5; ++k) {
    caller.round(instance);
    EXPECT_EQ(instance.sequence, k);
  }
  EXPECT_EQ(test::allocations(), before);
  EXPECT_EQ(caller.team().flow(1, 7).sent, 4u);
  EXPECT_EQ(caller.counters().plans_built.value(), 1u);
  caller.engine().give_back(instance);
}

}  // namespace
}  // namespace espalier
