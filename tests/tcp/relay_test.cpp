// Relays that stop or swallow for a while, in the middle of traffic in both directions.
#include <algorithm>

#include "tests/tcp/connections.hpp"

namespace espalier::test {
namespace {

// Segments of all sizes, both ways, that do not fit into sockets.
Messages both_ways() {
  Messages all = make_flow(0, 1, FlowId(5, 0, 0), 12, 700'001);
  for (auto& m : make_flow(1, 0, FlowId(5, 0, 0), 12, 900'003)) all.push_back(std::move(m));
  for (auto& m : make_flow(1, 0, FlowId(5, 0, 1), 16, 77)) all.push_back(std::move(m));
  return all;
}

void start(RelayWorld& world, Messages& all) {
  for (auto& m : all) {
    (void)m->receive(world.wire(m->to));
    ASSERT_NE(m->send(world.wire(m->from)), Posted::kRetry);
  }
}

bool all_received(const Messages& all) {
  return received(all);
}

void set(RelayWorld& world, const RelayPolicy& policy) {
  world.relay(0, 1).policy = world.relay(1, 0).policy = policy;
}

void run_for(World& world, std::uint64_t ns) {
  SteadyClock clock;
  const std::uint64_t begin = clock.now_ns();
  while (clock.now_ns() - begin < ns) {
    if (step(world) == 0) {
      for (const Rank r : {0, 1}) world.wire(r).idle();
    }
  }
}

// For longer than the silence that a machine is given up for: its kernel answers.
TEST(TcpRelay, WhatIsFrozenAndThawedGoesOn) {
  net::TcpOptions options = loopback();
  options.silence_ns = 2 * kNanosecondsPerSecond;
  RelayWorld world(2, options, {});
  connect_pair(world);
  Messages all = both_ways();
  start(world, all);
  for (int i = 0; i < 20; ++i) (void)step(world);
  set(world, {.frozen = true});
  run_for(world, 3 * kNanosecondsPerSecond);
  EXPECT_FALSE(all_received(all));
  for (const Rank r : {0, 1}) EXPECT_TRUE(world.frames(r).state(1 - r).ok());
  set(world, {});
  ASSERT_TRUE(step_until(world, [&] { return all_received(all); }));
  for (auto& m : all) m->check();
}

TEST(TcpRelay, EveryByteIsLateAndNothingIsLost) {
  RelayWorld world(2, loopback(), {.chunk_bytes = 100'000, .delay_ns = 2'000'000});
  Messages all = both_ways();
  SteadyClock clock;
  const std::uint64_t begin = clock.now_ns();
  start(world, all);
  ASSERT_TRUE(step_until(world, [&] { return all_received(all); }));
  EXPECT_GE(clock.now_ns() - begin, 4'000'000U) << "a handshake, there and back";
  for (auto& m : all) m->check();
}

// TCP does not do that, and payloads are not checked; but what comes after the hole is no frame.
TEST(TcpRelay, AHoleInAStreamLosesTheRankByName) {
  Messages all, more;  // outlive the world: the sender may not know yet that its peer has gone
  RelayWorld world(2, loopback(), {});
  connect_pair(world);
  Ends ends(world);
  settle(world);
  all = make_flow(1, 0, FlowId(5, 0, 0), 12, 900'003);
  start(world, all);
  for (int i = 0; i < 40; ++i) (void)step(world);
  ASSERT_FALSE(all_received(all));
  set(world, {.swallow = true});
  run_for(world, 50'000'000);
  set(world, {});
  more = make_flow(1, 0, FlowId(5, 0, 1), 4, 900'003);
  start(world, more);
  ASSERT_TRUE(step_until(world, [&] { return ends.over() && all_received(all); }));
  EXPECT_EQ(world.frames(0).state(1).rank(), 1);
  EXPECT_EQ(world.frames(0).state(1).code(), ESP_ERR_NETWORK);
  ends.expect_all_ended(ESP_ERR_NETWORK);
}

}  // namespace
}  // namespace espalier::test
