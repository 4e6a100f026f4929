// A publication to readers that several wires reach is one: each reader gets it once, whichever
// wire refuses, fails or is late, and nothing completes before all have it.
#include <gtest/gtest.h>

#include <deque>
#include <utility>
#include <vector>

#include "coll/engine/engine.hpp"
#include "tests/support/allocations.hpp"

namespace espalier {
namespace {

// Answers as it was told to, then kPending; notes what it is asked.
class ToldWire final : public Wire {
 public:
  struct ToldGroup final : Group {
    ToldGroup(std::span<const Rank> readers, const ToldWire& told) : Group(readers), wire(told) {}
    Rank late() const noexcept override { return wire.late; }
    const ToldWire& wire;
  };
  std::unique_ptr<Group> open_group(std::span<const Rank> to) override {
    return std::make_unique<ToldGroup>(to, *this);
  }
  WireCaps caps(Rank) const noexcept override { return {}; }
  Posted send(const Send&, SendOp&) noexcept override { return Posted::kDone; }
  Posted publish(const Send&, const Group& group, SendOp& op) noexcept override {
    ++posts;
    readers = group.readers();
    Posted answer = Posted::kPending;
    if (!answers.empty()) {
      answer = answers.front();
      answers.pop_front();
    }
    if (answer == Posted::kPending) pending = &op;
    if (answer != Posted::kRetry) ++taken;
    return answer;
  }
  Posted recv(const SegmentId&, std::uint32_t, RecvOp&) noexcept override {
    return Posted::kPending;
  }
  void release(RecvOp&) noexcept override {}
  void cancel(RecvOp&) noexcept override {}
  void cancel(SendOp& op) noexcept override {
    EXPECT_EQ(&op, pending);
    pending = nullptr;
    ++canceled;
  }
  int progress() noexcept override { return 0; }

  void end(Status status = {}) { std::exchange(pending, nullptr)->complete(status); }

  std::deque<Posted> answers;
  SendOp* pending = nullptr;
  std::span<const Rank> readers;
  Rank late = kNoRank;
  int posts = 0, taken = 0, canceled = 0;
};

struct Whole : SendOp {
  Whole() : SendOp(note) {}
  static void note(Completion& op, Status how) noexcept {
    auto& self = static_cast<Whole&>(op);
    ++self.fired;
    self.status = how;
  }
  int fired = 0;
  Status status;
};

constexpr Status kDied(ESP_ERR_PEER_DIED, 4);

struct TeamGroupTest : testing::Test {
  std::vector<TeamGroup::Reader> mixed() {
    return {{&near, 1}, {&far, 4}, {&near, 2}, {&far, 5}, {&other, 7}};
  }
  Posted publish(TeamGroup& group) { return group.publish(send, op); }

  ToldWire near, far, other;
  Send send;
  Whole op;
};

TEST_F(TeamGroupTest, OneWireIsAskedItself) {
  const std::vector<TeamGroup::Reader> readers = {{&near, 3}, {&near, 1}};
  TeamGroup group(readers);
  near.answers = {Posted::kRetry, Posted::kDone, Posted::kPending};
  EXPECT_EQ(publish(group), Posted::kRetry);
  EXPECT_FALSE(group.is_half_made(op));
  EXPECT_EQ(publish(group), Posted::kDone);
  EXPECT_EQ(publish(group), Posted::kPending);
  EXPECT_EQ(near.pending, &op);
  EXPECT_EQ(std::vector<Rank>(near.readers.begin(), near.readers.end()), (std::vector<Rank>{3, 1}));
  group.cancel(op);
  EXPECT_EQ(near.canceled, 1);
}

TEST_F(TeamGroupTest, EachWireGetsItsReadersAndTheLastOneCompletes) {
  TeamGroup group(mixed());
  other.answers = {Posted::kDone};
  EXPECT_EQ(publish(group), Posted::kPending);
  EXPECT_EQ(std::vector<Rank>(near.readers.begin(), near.readers.end()), (std::vector<Rank>{1, 2}));
  EXPECT_EQ(std::vector<Rank>(far.readers.begin(), far.readers.end()), (std::vector<Rank>{4, 5}));
  EXPECT_EQ(std::vector<Rank>(other.readers.begin(), other.readers.end()), (std::vector<Rank>{7}));
  far.end();
  EXPECT_EQ(op.fired, 0);
  near.end();
  EXPECT_EQ(op.fired, 1);
  EXPECT_TRUE(op.status.ok());
  near.answers = far.answers = other.answers = {Posted::kDone};
  EXPECT_EQ(publish(group), Posted::kDone);
  EXPECT_EQ(op.fired, 1);
}

TEST_F(TeamGroupTest, WhoHasItIsNotAskedAgain) {
  TeamGroup group(mixed());
  near.answers = {Posted::kDone};
  far.answers = {Posted::kRetry, Posted::kRetry, Posted::kDone};
  EXPECT_EQ(publish(group), Posted::kRetry);
  EXPECT_TRUE(group.is_half_made(op));
  other.end();  // Before all have it.
  EXPECT_EQ(op.fired, 0);
  EXPECT_EQ(publish(group), Posted::kRetry);
  EXPECT_EQ(publish(group), Posted::kDone);
  EXPECT_FALSE(group.is_half_made(op));
  EXPECT_EQ(near.posts, 1);
  EXPECT_EQ(other.posts, 1);
  EXPECT_EQ(far.posts, 3);
  EXPECT_EQ(op.fired, 0);
}

TEST_F(TeamGroupTest, RefusedByAllIsNothing) {
  TeamGroup group(mixed());
  near.answers = far.answers = other.answers = {Posted::kRetry};
  EXPECT_EQ(publish(group), Posted::kRetry);
  EXPECT_FALSE(group.is_half_made(op));
  EXPECT_EQ(op.chain, nullptr);
}

TEST_F(TeamGroupTest, TheFirstFailureEndsItAndTakesTheOthersBack) {
  for (const bool half_made : {false, true}) {
    ToldWire a, b, c;
    const std::vector<TeamGroup::Reader> readers = {{&a, 1}, {&b, 4}, {&c, 7}};
    TeamGroup group(readers);
    Whole whole;
    if (half_made) c.answers = {Posted::kRetry};
    EXPECT_EQ(group.publish(send, whole), half_made ? Posted::kRetry : Posted::kPending);
    b.end(kDied);
    EXPECT_EQ(whole.fired, 1);
    EXPECT_EQ(whole.status, kDied);
    EXPECT_EQ(a.canceled, 1);
    EXPECT_EQ(c.canceled, half_made ? 0 : 1);
    EXPECT_FALSE(group.is_half_made(whole));
  }
}

TEST_F(TeamGroupTest, CancelTakesAllPartsBack) {
  TeamGroup group(mixed());
  far.answers = {Posted::kRetry};
  near.answers = {Posted::kDone};
  EXPECT_EQ(publish(group), Posted::kRetry);
  group.cancel(op);
  EXPECT_EQ(other.canceled, 1);
  EXPECT_EQ(near.canceled + far.canceled, 0);
  EXPECT_FALSE(group.is_half_made(op));
  EXPECT_EQ(publish(group), Posted::kPending);  // Everybody again.
  EXPECT_EQ(near.taken, 2);
  group.cancel(op);
  EXPECT_EQ(op.fired, 0);
}

TEST_F(TeamGroupTest, SharesAreUsedAgain) {
  TeamGroup group(mixed());
  Whole second;
  near.answers = far.answers = other.answers = {Posted::kDone};
  EXPECT_EQ(publish(group), Posted::kDone);
  EXPECT_EQ(group.publish(send, op), Posted::kPending);
  EXPECT_EQ(group.publish(send, second), Posted::kPending);
  group.cancel(second);
  const std::uint64_t before = test::allocations();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(group.publish(send, second), Posted::kPending);
    group.cancel(second);
  }
  EXPECT_EQ(test::allocations(), before);
  EXPECT_EQ(op.fired + second.fired, 0);
}

TEST_F(TeamGroupTest, OfAWireThatKnowsWhoIsLateNobodyElseIsAwaited) {
  TeamGroup group(mixed());
  EXPECT_EQ(group.awaited(), (std::vector<Rank>{1, 2, 4, 5, 7}));
  far.late = 5;
  EXPECT_EQ(group.awaited(), (std::vector<Rank>{1, 2, 5, 7}));
}

// ---- the engine over two wires ----

// Members 0 and 1 are on one node, 2 and 3 on another.
struct EngineGroups : testing::Test {
  struct Routes final : WireRoutes {
    explicit Routes(Wire& to) : wire(to) {}
    Wire& wire_to(Rank) noexcept override { return wire; }
    Wire& wire;
  };
  EngineGroups() {
    auto membership = std::make_shared<Membership>();
    membership->ranks = {10, 11, 12, 13};
    membership->nodes = TeamNodes::of(std::vector<std::int32_t>{0, 0, 1, 1});
    team.wire = &near;
    team.network = &routes;
    team.segment_limit = 1 << 20;
    team.set_membership(0, std::move(membership));
  }
  ~EngineGroups() override { engine.fail(team, Status(ESP_ERR_CANCELED), "over"); }

  void publish() {
    Call call;
    call.collective = Collective::kBcast;
    call.count = data.size();
    call.input = call.output = data.data();
    call.options.algorithm = ESP_ALGORITHM_PUBLISH;
    const auto started = engine.start(team, call, {});
    ASSERT_TRUE(started.ok()) << started.error().text;
  }

  Counters counters;
  Trace trace;
  Engine engine{counters, trace, {}};
  ToldWire near, far;
  Routes routes{far};
  std::vector<std::byte> data = std::vector<std::byte>(100);
  Team team;
};

TEST_F(EngineGroups, APublicationOverTwoWiresIsOneVertex) {
  far.answers = {Posted::kRetry, Posted::kPending};
  near.answers = {Posted::kDone};
  publish();
  EXPECT_EQ(near.taken, 1);
  EXPECT_EQ(far.taken, 0);
  while (far.taken == 0) (void)engine.progress();
  EXPECT_EQ(std::vector<Rank>(near.readers.begin(), near.readers.end()), std::vector<Rank>{11});
  EXPECT_EQ(std::vector<Rank>(far.readers.begin(), far.readers.end()), (std::vector<Rank>{12, 13}));
  EXPECT_NE(team.active, nullptr);
  far.end();
  (void)engine.progress();
  EXPECT_EQ(team.active, nullptr);
  EXPECT_EQ(near.posts, 1);
}

TEST_F(EngineGroups, WhoIsLateIsAwaited) {
  publish();
  ASSERT_NE(team.active, nullptr);
  EXPECT_EQ(awaited(*team.active), (std::vector<int>{1, 2, 3}));
  far.late = 13;
  EXPECT_EQ(awaited(*team.active), (std::vector<int>{1, 3}));
  EXPECT_EQ(partners(*team.active), (std::vector<int>{1, 2, 3}));
}

TEST_F(EngineGroups, AHalfMadePublicationIsTakenBack) {
  far.answers = {Posted::kRetry};
  publish();
  ASSERT_NE(near.pending, nullptr);
  engine.fail(team, Status(ESP_ERR_CANCELED), "over");
  EXPECT_EQ(near.pending, nullptr);
  EXPECT_EQ(near.canceled, 1);
  EXPECT_EQ(team.active, nullptr);
}

TEST_F(EngineGroups, AHalfMadePublicationMayFail) {
  far.answers = {Posted::kRetry};
  publish();
  ASSERT_NE(near.pending, nullptr);
  near.end(Status(ESP_ERR_PEER_DIED, 11));
  (void)engine.progress();
  EXPECT_EQ(team.active, nullptr);
  EXPECT_EQ(team.fault.code(), ESP_ERR_PEER_DIED);
  EXPECT_EQ(far.taken, 0);
}

}  // namespace
}  // namespace espalier
