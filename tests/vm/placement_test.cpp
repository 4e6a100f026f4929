// Large segments over RC on real ports: written in several parts, and taken back half-way.
#include <algorithm>
#include <memory>

#include "tests/vm/verbs_world.hpp"
#include "tests/wire/conformance.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t kPartBytes = (3 << 20) + 1;  // three parts of 1 MiB, and one of a byte
constexpr std::byte kOtherByte{0x11};

// Rank 0 sends to rank 1, which has announced where to. Memory is registered for each operation.
class VerbsPlacements : public ::testing::Test {
 protected:
  VerbsPlacements() : world_(2, Over::kConnections, "") { meet(world_, 0, 1, 0); }

  std::unique_ptr<Message> announced() {
    auto m = std::make_unique<Message>(0, 1, FlowId(1, 0, flows_), kPartBytes, flows_);
    ++flows_;
    const std::uint64_t arrivals = world_.port(0).arrivals;
    EXPECT_EQ(m->receive(world_.wire(1)), Posted::kPending);
    EXPECT_TRUE(step_until(world_, [&] { return world_.port(0).arrivals > arrivals; }));
    return m;
  }
  const rdma::ConnectionStatistics& counts(Rank r) { return world_.connections(r).statistics(); }

  VerbsWorld world_;
  std::uint64_t flows_ = 0;
};

TEST_F(VerbsPlacements, ComeInPartsOfAMebibyte) {
  ASSERT_TRUE(world_.connections(0).up(1));
  for (int i = 0; i < 3; ++i) {
    auto m = announced();
    const rdma::ConnectionStatistics before = counts(0);
    const std::uint64_t sends = world_.port(0).sends;
    ASSERT_EQ(m->send(world_.wire(0)), Posted::kPending);
    finish(world_, *m);
    EXPECT_EQ(counts(0).placed - before.placed, 1U);
    EXPECT_EQ(counts(0).copied_bytes, before.copied_bytes);
    // And what goes back and forth beside it.
    EXPECT_GE(world_.port(0).sends - sends, 4U);
    EXPECT_LE(world_.port(0).sends - sends, 12U);
  }
  EXPECT_EQ(counts(0).rebuilds, 0U);
}

// The adapter still writes there: the connection is stopped and made again.
TEST_F(VerbsPlacements, AReceiveCancelledBetweenTheParts) {
  for (const int looks : {0, 1, 3, 10}) {
    auto m = announced();
    Message again(0, 1, m->flow, kPartBytes, m->seed);
    ASSERT_EQ(m->send(world_.wire(0)), Posted::kPending);
    for (int i = 0; i < looks; ++i) (void)world_.frames(0).progress();
    ASSERT_FALSE(m->received.complete());
    const std::uint64_t connections = counts(1).connections;
    world_.wire(1).cancel(m->received);
    std::fill(m->target.begin(), m->target.end(), kOtherByte);
    (void)again.receive(world_.wire(1));
    ASSERT_TRUE(step_until(world_, [&] { return again.received.complete(); }));
    again.check();
    ASSERT_TRUE(step_until(world_, [&] { return m->sent.complete(); }));
    settle(world_);
    EXPECT_GT(counts(1).connections, connections) << looks;
    EXPECT_EQ(m->received.fired, 0);
    EXPECT_TRUE(std::all_of(m->target.begin(), m->target.end(),
                            [](std::byte b) { return b == kOtherByte; }));
  }
}

// Likewise: it still reads.
TEST_F(VerbsPlacements, ASendCancelledBetweenTheParts) {
  for (const int looks : {0, 1, 3, 10}) {
    auto m = announced();
    ASSERT_EQ(m->send(world_.wire(0)), Posted::kPending);
    for (int i = 0; i < looks; ++i) (void)world_.frames(1).progress();
    ASSERT_FALSE(m->sent.complete());
    const std::uint64_t connections = counts(0).connections;
    world_.wire(0).cancel(m->sent);
    std::fill(m->source.begin(), m->source.end(), kOtherByte);
    ASSERT_TRUE(step_until(world_, [&] { return m->received.complete(); }));
    m->check();
    settle(world_);
    EXPECT_GT(counts(0).connections, connections) << looks;
    EXPECT_EQ(m->sent.fired, 0);
  }
}

}  // namespace
}  // namespace espalier::test
