// The actions in which no other rank has a part: moves that take time, in any order, and fail;
// indices that are opened from outside; segments that are handed out.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "coll/engine/engine.hpp"
#include "core/kernels/isa.hpp"

namespace espalier {
namespace {

// Carries out moves when told, in any order.
class LateMover final : public Mover {
 public:
  Posted move(const Move& move, Completion& op) noexcept override {
    if (refuse_next) {
      refuse_next = false;
      return Posted::kRetry;
    }
    Late late{move, Operands(move.operands, move.operands + move.operand_count), &op, {}};
    late.move.operands = nullptr;
    pending.push_back(std::move(late));
    return Posted::kPending;
  }
  Posted repack(const Repack& repack, Completion& op) noexcept override {
    pending.push_back({{}, {}, &op, repack});
    return Posted::kPending;
  }
  std::byte* allocate(std::uint64_t bytes) noexcept override {
    ++blocks;
    return new (std::nothrow) std::byte[bytes];
  }
  void release(std::byte* memory, std::uint64_t) noexcept override {
    --blocks;
    delete[] memory;
  }
  std::string why() const override { return "the mover's words"; }
  void cancel(Completion& op) noexcept override {
    std::erase_if(pending, [&](const Late& late) { return late.op == &op; });
    ++canceled;
  }
  void complete(std::size_t at, Status status = {}) {
    Late late = std::move(pending[at]);
    pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(at));
    auto* dst = static_cast<std::byte*>(late.move.dst);
    if (const Repack& r = late.repack; r.pattern != nullptr) {
      if (status.ok() && r.packs) pack(*r.pattern, r.form, r.run, r.elements, r.at, r.bytes);
      if (status.ok() && !r.packs) unpack(*r.pattern, r.form, r.elements, r.run, r.at, r.bytes);
    } else if (status.ok() && late.operands.size() == 1) {
      std::copy_n(static_cast<const std::byte*>(late.operands[0]), late.move.bytes(), dst);
    } else if (status.ok()) {
      std::vector<std::byte> scratch;
      late.move.combiner->combine(dst, late.operands.data(), late.operands.size(),
                                  late.move.elements, scratch);
    }
    late.op->complete(status);
  }

  using Operands = std::vector<const void*>;
  struct Late {
    Move move;
    Operands operands;
    Completion* op;
    Repack repack;
  };
  std::vector<Late> pending;
  int canceled = 0;
  int blocks = 0;  // of its memory, that are out
  bool refuse_next = false;
};

// A wire to oneself that is never used.
class NoWire final : public Wire {
 public:
  WireCaps caps(Rank) const noexcept override { return {}; }
  Posted send(const Send&, SendOp&) noexcept override { return Posted::kRetry; }
  Posted publish(const Send&, const Group&, SendOp&) noexcept override { return Posted::kRetry; }
  Posted recv(const SegmentId&, std::uint32_t, RecvOp&) noexcept override {
    return Posted::kPending;
  }
  void release(RecvOp&) noexcept override { ++released; }
  void cancel(RecvOp&) noexcept override {}
  void cancel(SendOp&) noexcept override {}
  int progress() noexcept override { return 0; }
  int released = 0;
};

// One rank's engine, with a plan of its own making in the place of the one for a call.
struct EngineMoves : testing::Test {
  EngineMoves() {
    auto membership = std::make_shared<Membership>();
    membership->ranks = {0, 1};
    team.wire = &wire;
    team.segment_limit = 1 << 20;
    team.set_membership(0, std::move(membership));
    std::iota(input.begin(), input.end(), 1);
  }
  ~EngineMoves() override { engine.fail(team, Status(ESP_ERR_CANCELED), "over"); }

  // `elements` ints in segments of two.
  Plan plan_of(std::uint64_t elements) const {
    Plan plan;
    plan.collective = Collective::kBcast;
    plan.size = 2;
    plan.element_bytes = sizeof(int);
    plan.piece_elements = 2;
    for (Layout& layout : plan.layouts) layout.elements = elements;
    return plan;
  }
  static Vertex copy_vertex(std::uint16_t window) {
    Vertex copy;
    copy.action = Action::kCombine;
    copy.dst = Place::kOutput;
    copy.window = window;
    copy.operands = {{.place = Place::kInput}};
    return copy;
  }
  Engine::Started start(Plan plan) {
    plan.finish();
    call.collective = Collective::kBcast;
    call.count = plan.layout(Place::kOutput).elements;
    call.element_bytes = sizeof(int);
    call.input = input.data();
    call.output = output.data();
    team.plans.add(PlanKey::of(call), std::move(plan));
    auto started = engine.start(team, call, {finish, this});
    EXPECT_TRUE(started.ok());
    return *started;
  }
  static void finish(void* self, Status status) noexcept {
    auto& test = *static_cast<EngineMoves*>(self);
    ++test.finished;
    test.status = status;
  }

  Counters counters;
  Trace trace;
  Tuning tuning;
  Engine engine{counters, trace, tuning};
  NoWire wire;
  Team team;
  LateMover mover;
  Call call;
  std::vector<int> input = std::vector<int>(40), output = std::vector<int>(40, -1);
  int finished = 0;
  Status status;
};

TEST_F(EngineMoves, CompleteLateAndInAnyOrder) {
  call.mover = &mover;
  Plan plan = plan_of(40);
  plan.vertices.push_back(copy_vertex(4));
  EXPECT_FALSE(start(std::move(plan)).done);
  std::mt19937 random(5);
  std::size_t most = 0;
  while (finished == 0) {
    most = std::max(most, mover.pending.size());
    ASSERT_FALSE(mover.pending.empty());
    mover.complete(random() % mover.pending.size());
    engine.progress();
  }
  EXPECT_EQ(most, 4u);  // the window
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(output, input);
}

TEST_F(EngineMoves, ARefusedMoveIsTriedAgain) {
  call.mover = &mover;
  mover.refuse_next = true;
  Plan plan = plan_of(2);
  plan.vertices.push_back(copy_vertex(1));
  EXPECT_FALSE(start(std::move(plan)).done);
  EXPECT_TRUE(mover.pending.empty());
  engine.progress();
  ASSERT_EQ(mover.pending.size(), 1u);
  mover.complete(0);
  engine.progress();
  EXPECT_EQ(finished, 1);
  EXPECT_EQ(output[1], 2);
}

TEST_F(EngineMoves, AFailureEndsTheOperationAndTakesTheOthersBack) {
  call.mover = &mover;
  Plan plan = plan_of(40);
  plan.vertices.push_back(copy_vertex(4));
  start(std::move(plan));
  ASSERT_EQ(mover.pending.size(), 4u);
  mover.complete(2, Status(ESP_ERR_SYSTEM));
  engine.progress();
  engine.progress();
  EXPECT_EQ(finished, 1);
  EXPECT_EQ(status.code(), ESP_ERR_SYSTEM);
  EXPECT_EQ(mover.canceled, 3);
  EXPECT_TRUE(team.failed());
}

// What depends on a move waits for its completion, not for its post.
TEST_F(EngineMoves, OthersWaitForTheCompletion) {
  call.mover = &mover;
  Plan plan = plan_of(2);
  plan.vertices.push_back(copy_vertex(1));
  Vertex again = copy_vertex(1);
  again.operands = {{.place = Place::kInput}, {.place = Place::kOutput}};
  again.needs = {{.vertex = 0}};
  plan.vertices.push_back(again);
  call.combiner = Combiner(combine_kernel_for(best_isa(), ESP_SUM, ESP_INT32), ESP_INT32);
  start(std::move(plan));
  ASSERT_EQ(mover.pending.size(), 1u);
  mover.complete(0);
  engine.progress();
  ASSERT_EQ(mover.pending.size(), 1u);
  mover.complete(0);
  engine.progress();
  EXPECT_EQ(finished, 1);
  EXPECT_EQ(output[0], 2);
  EXPECT_EQ(output[1], 4);
}

}  // namespace
}  // namespace espalier
