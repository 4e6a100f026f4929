// Nothing asks for memory after the first call of a shape, of any collective by any algorithm; of
// irregular ones, whatever the counts of the later calls are.
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
    Call call;
    call.collective = collective;
    call.count = count;
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
    const auto started = engine_.start(team_, call, {});
    ASSERT_TRUE(started.ok()) << started.error().text;
    while (team_.active != nullptr) engine_.progress();
  }

 private:
  Counters counters_;
  Trace trace_;
  Engine engine_{counters_, trace_, {}};
  AgreeableWire wire_;
  Team team_;
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

}  // namespace
}  // namespace espalier
