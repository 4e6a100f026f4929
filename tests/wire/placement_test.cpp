// Large frames over simulated connections: those that the adapter writes in several parts, breaks
// between them, and what is taken back or lost while it writes.
#include <algorithm>

#include "conformance.hpp"
#include "net/rdma/landings.hpp"
#include "tests/harness/rdma_world.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t kPlacedBytes = (3 << 20) + 1;  // three parts of 1 MiB, and one of a byte
constexpr std::uint64_t kWhole = 1'800'000;            // ns that they take, and a little more
constexpr std::byte kUntouched{0x11};

RdmaWorldOptions placing() {
  RdmaWorldOptions options;
  options.registers = true;
  return options;
}

// Rank 0 sends to rank 1, which has announced where to.
class Placements : public ::testing::Test {
 protected:
  explicit Placements(const RdmaWorldOptions& options = placing()) : world_(2, options) {
    meet(world_, 0, 1, 0);
    EXPECT_TRUE(world_.connections(0).up(1));
  }
  std::unique_ptr<Message> announced(std::uint64_t bytes = kPlacedBytes) {
    auto m = std::make_unique<Message>(0, 1, FlowId(1, 0, flows_), bytes, flows_);
    ++flows_;
    EXPECT_EQ(m->receive(world_.wire(1)), Posted::kPending);
    settle(world_);
    return m;
  }
  void send(Message& m) {
    EXPECT_EQ(m.send(world_.wire(0)), Posted::kPending);
    (void)world_.frames(0).progress();
  }
  const rdma::ConnectionStatistics& sender() { return world_.connections(0).statistics(); }
  const rdma::ConnectionStatistics& receiver() { return world_.connections(1).statistics(); }
  // No place is left over from what came: as many frames as there are places are placed.
  void expect_all_places() {
    const std::uint64_t placed = sender().placed;
    std::vector<std::unique_ptr<Message>> all;
    for (std::uint32_t i = 0; i < rdma::kLandingSlots; ++i) all.push_back(announced(20'000));
    for (auto& m : all) ASSERT_EQ(m->send(world_.wire(0)), Posted::kPending);
    for (auto& m : all) finish(world_, *m);
    EXPECT_EQ(sender().placed - placed, rdma::kLandingSlots);
  }

  RdmaWorld world_;
  std::uint64_t flows_ = 0;
};

TEST_F(Placements, ComeInPartsOfAMebibyte) {
  for (const std::uint64_t bytes :
       {kPlacedBytes, kPlacedBytes - 1, kPlacedBytes - 2, std::uint64_t{1} << 20}) {
    const std::uint64_t parts = (bytes + (1 << 20) - 1) >> 20;
    auto m = announced(bytes);
    const std::uint64_t executed = world_.connection_net().counts().executed;
    const rdma::ConnectionStatistics before = sender();
    const std::uint64_t registrations = world_.connections(0).registrations();
    send(*m);
    world_.pass(kWhole);
    EXPECT_EQ(world_.connection_net().counts().executed - executed, parts) << bytes;
    finish(world_, *m);
    EXPECT_EQ(sender().placed - before.placed, 1U);
    EXPECT_EQ(world_.connections(0).registrations() - registrations, 1U);
    EXPECT_EQ(sender().copied_bytes, before.copied_bytes);
  }
  EXPECT_EQ(world_.counters(0).segments_placed.value(), sender().placed);
  expect_all_places();
}

// At every stage, at either end: what was not told is sent again, as messages.
TEST_F(Placements, ABreakBetweenTheParts) {
  const std::uint64_t placed = sender().placed;
  std::uint64_t breaks = 0;
  for (std::uint64_t time_ns = 0; time_ns < kWhole; time_ns += 61'000) {
    for (const Rank at : {0, 1}) {
      auto m = announced();
      send(*m);
      world_.pass(time_ns);
      world_.connection_net().break_path(at, 1 - at);
      ++breaks;
      finish(world_, *m);
      settle(world_);
    }
  }
  // Counted with their last part, which the break may forestall: parts are small after breaks.
  EXPECT_GE(sender().placed - placed, breaks / 3);
  EXPECT_GE(sender().repeated, breaks / 2);
  expect_all_places();
}

// The connection is stopped, for nothing else keeps the adapter from writing there.
TEST_F(Placements, AReceiveCancelledBetweenTheParts) {
  std::uint64_t cancelled = 0;
  for (std::uint64_t time_ns = 0; time_ns < kWhole; time_ns += 71'000) {
    auto m = announced();
    send(*m);
    world_.pass(time_ns);
    const std::uint64_t rebuilds = receiver().rebuilds;
    world_.wire(1).cancel(m->received);
    std::fill(m->target.begin(), m->target.end(), kUntouched);
    Message again(0, 1, m->flow, kPlacedBytes, m->seed);
    // At once, or when the connection is there again.
    if (++cancelled % 4 == 0) settle(world_);
    (void)again.receive(world_.wire(1));
    ASSERT_TRUE(step_until(world_, [&] { return again.received.complete(); }));
    again.check();
    ASSERT_TRUE(step_until(world_, [&] { return m->sent.complete(); }));
    settle(world_);
    EXPECT_EQ(receiver().rebuilds - rebuilds, 1U) << time_ns;
    EXPECT_EQ(m->received.fired, 0);
    EXPECT_TRUE(std::all_of(m->target.begin(), m->target.end(),
                            [](std::byte b) { return b == kUntouched; }));
  }
  expect_all_places();
}

// Likewise: the adapter reads from memory that is the user's again.
TEST_F(Placements, ASendCancelledBetweenTheParts) {
  for (std::uint64_t time_ns = 0; time_ns < kWhole; time_ns += 61'000) {
    auto m = announced();
    send(*m);
    world_.pass(time_ns);
    const std::uint64_t rebuilds = sender().rebuilds;
    world_.wire(0).cancel(m->sent);
    std::fill(m->source.begin(), m->source.end(), kUntouched);
    ASSERT_TRUE(step_until(world_, [&] { return m->received.complete(); }));
    m->check();
    settle(world_);
    EXPECT_EQ(m->sent.fired, 0);
    EXPECT_EQ(sender().rebuilds - rebuilds, 1U) << time_ns;
  }
  expect_all_places();
}

struct FromPlainMemory : Placements {
  FromPlainMemory() : Placements({}) {}
};

// The receiver's memory is registered, the sender's is not: the parts go through packets.
TEST_F(FromPlainMemory, PartsAreAsLargeAsPackets) {
  std::byte* target = world_.shared(1, kPlacedBytes);
  for (std::uint64_t time_ns = 0; time_ns < kWhole; time_ns += 151'000) {
    Message m(0, 1, FlowId(1, 0, flows_), kPlacedBytes, flows_);
    ++flows_;
    std::fill(target, target + kPlacedBytes, kUntouched);
    m.received.dst = target;
    m.received.bytes = kPlacedBytes;
    m.received.posted = world_.wire(1).recv({0, m.flow, 0, 1, 0}, 1, m.received);
    settle(world_);
    const std::uint64_t copied = sender().copied_bytes;
    send(m);
    world_.pass(time_ns);
    if (time_ns > 0) world_.connection_net().break_path(0, 1);
    ASSERT_TRUE(step_until(world_, [&] { return m.complete(); }));
    EXPECT_TRUE(holds(target, kPlacedBytes, m.seed)) << time_ns;
    EXPECT_GE(sender().copied_bytes - copied, kPlacedBytes);
  }
  EXPECT_GT(sender().rebuilds, 5U);
}

// Rank 1 hears nothing of rank 0 any more but what its adapter writes, and gives it up while a
// placement is in flight: whose receive has ended with an error uses its memory for something else.
TEST_F(Placements, NothingIsWrittenForAPeerThatTheDatagramsLost) {
  world_.datagram_net().silence(0, 1);
  std::vector<std::unique_ptr<Message>> all;
  const auto next = [&] {
    all.push_back(std::make_unique<Message>(0, 1, FlowId(1, 0, flows_), kPlacedBytes, flows_));
    ++flows_;
    (void)all.back()->receive(world_.wire(1));
    (void)all.back()->send(world_.wire(0));
  };
  for (int i = 0; i < 3; ++i) next();
  const auto lost = [&] { return !world_.frames(1).state(0).ok(); };
  for (int rounds = 0; rounds < 100'000 && !lost(); ++rounds) {
    for (const Rank r : {0, 1}) (void)world_.frames(r).progress();
    world_.pass(5'000);
    std::size_t open = 0;
    for (auto& m : all) open += m->received.complete() ? 0 : 1;
    for (; open < 3 && !lost(); ++open) next();
  }
  ASSERT_TRUE(lost());
  EXPECT_GT(sender().placed, 50U) << "connections went on";
  std::vector<Message*> failed;
  const std::uint64_t executed = world_.connection_net().counts().executed;
  for (auto& m : all) {
    if (m->received.status.ok()) continue;
    EXPECT_EQ(m->received.fired, 1);
    EXPECT_EQ(m->received.status.code(), ESP_ERR_PEER_DIED);
    std::fill(m->target.begin(), m->target.end(), kUntouched);
    failed.push_back(m.get());
  }
  EXPECT_GE(failed.size(), 3U);
  world_.pass(10'000'000);  // nobody looks
  for (int i = 0; i < 1000; ++i) {
    for (const Rank r : {0, 1}) (void)world_.frames(r).progress();
    world_.pass(5'000);
  }
  EXPECT_EQ(world_.connection_net().counts().executed, executed);
  for (const Message* m : failed) {
    EXPECT_TRUE(std::all_of(m->target.begin(), m->target.end(),
                            [](std::byte b) { return b == kUntouched; }));
  }
  for (const Rank r : {0, 1}) world_.close(r);
}

}  // namespace
}  // namespace espalier::test
