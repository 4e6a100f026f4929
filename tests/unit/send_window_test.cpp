#include "net/rdma/send_window.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "net/rdma/packet_budget.hpp"

namespace espalier::rdma {
namespace {

constexpr RoundTripLimits kLimits = {1000, 100, 100'000};
constexpr std::uint64_t kRoundTrip = 200;

// A window and what it would send to an adapter.
struct Sender {
  explicit Sender(std::uint32_t first = 0, std::uint32_t permission = kWindowMax)
      : window({first}), begin{first} {
    ack.expected = begin;
    ack.limit = begin + permission;
    EXPECT_EQ(window.acknowledge(ack, 0, kLimits), nullptr);
  }
  // New packets; returns how many could be sent.
  std::uint32_t send(std::uint32_t count) {
    std::uint32_t sent = 0;
    for (; sent < count && window.open(); ++sent) {
      const auto number = static_cast<std::uint32_t>(window.next() - begin);
      flights[number].packet = &packets[number];
      window.sent(flights[number], now, kLimits);
    }
    return sent;
  }
  // Repetitions; returns their numbers.
  std::set<std::int32_t> repeat() {
    std::set<std::int32_t> numbers;
    while (Flight* flight = window.lost()) {
      numbers.insert(flight->sequence - begin);
      window.sent_again(*flight, now);
    }
    return numbers;
  }
  // All before `expected`, and these; returns what it ends.
  std::set<std::int32_t> acknowledge(std::uint32_t expected,
                                     std::initializer_list<std::uint32_t> early = {}) {
    ack.expected = begin + expected;
    ack.limit = ack.expected + kWindowMax;
    ack.arrived = {};
    for (const std::uint32_t number : early) ack.arrived.set(number - expected - 1);
    std::set<std::int32_t> done;
    for (Flight* f = window.acknowledge(ack, now, kLimits); f != nullptr; f = f->next) {
      done.insert(f->sequence - begin);
    }
    return done;
  }

  SendWindow window;
  Sequence begin;
  Acknowledgement ack;
  std::uint64_t now = 1'000'000;
  std::array<Packet, 1000> packets;
  std::array<Flight, 1000> flights;
};

using Numbers = std::set<std::int32_t>;

TEST(SendWindow, BeginsWithTheFirstPermission) {
  SendWindow window({7});
  Packet packet;
  std::array<Flight, 10> flights;
  std::uint32_t sent = 0;
  for (; window.open(); ++sent) {
    flights[sent].packet = &packet;
    window.sent(flights[sent], 0, kLimits);
  }
  EXPECT_EQ(sent, kFirstPermission);
  EXPECT_EQ(window.next(), Sequence{7} + kFirstPermission);
}

TEST(SendWindow, AcknowledgementsEndPacketsInAnyOrder) {
  for (const std::uint32_t first : {0U, 0xfffffffcU, 0x7ffffffeU}) {
    Sender s(first);
    EXPECT_EQ(s.send(8), 8U);
    EXPECT_EQ(s.acknowledge(2), (Numbers{0, 1}));
    EXPECT_EQ(s.acknowledge(2, {3, 4}), (Numbers{3, 4}));
    EXPECT_EQ(s.acknowledge(2, {3, 4}), Numbers{});
    EXPECT_EQ(s.window.in_flight(), 4U);
    EXPECT_EQ(s.acknowledge(8), (Numbers{2, 5, 6, 7}));
    EXPECT_TRUE(s.window.idle());
    EXPECT_EQ(s.window.deadline_ns(), kNever);
  }
}

TEST(SendWindow, StaleAndImpossibleAcknowledgementsSayNothing) {
  Sender s;
  s.send(8);
  (void)s.acknowledge(5);
  EXPECT_EQ(s.acknowledge(3, {6}), Numbers{});
  EXPECT_EQ(s.acknowledge(9), Numbers{});
  EXPECT_EQ(s.window.in_flight(), 3U);
  Acknowledgement greedy;
  greedy.expected = s.begin + 5;
  greedy.limit = greedy.expected + kWindowMax + 1;
  EXPECT_EQ(s.window.acknowledge(greedy, s.now, kLimits), nullptr);
}

TEST(SendWindow, IsBoundByPermissionCongestionAndReach) {
  Sender few(0, 6);
  EXPECT_EQ(few.send(100), 6U);
  Sender many;
  EXPECT_EQ(many.send(100), many.window.congestion().window());
  // The first one missing: no more than the selective acknowledgement reaches.
  Sender stuck;
  std::uint32_t sent = stuck.send(16);
  for (int i = 0; i < 400; ++i) {
    ++stuck.now;
    stuck.ack.arrived = {};
    for (std::uint32_t bit = 0; bit + 1 < sent; ++bit) stuck.ack.arrived.set(bit);
    stuck.ack.expected = stuck.begin;
    (void)stuck.window.acknowledge(stuck.ack, stuck.now, kLimits);
    sent += stuck.send(10);
  }
  EXPECT_EQ(sent, kWindowMax);
}

TEST(SendWindow, ThreeLaterArrivalsMakeALoss) {
  Sender s;
  s.send(8);
  s.now += kRoundTrip;
  (void)s.acknowledge(0, {1, 2});
  EXPECT_EQ(s.repeat(), Numbers{});
  (void)s.acknowledge(0, {1, 2, 3});
  EXPECT_EQ(s.repeat(), Numbers{0});
  EXPECT_EQ(s.repeat(), Numbers{});  // once
  EXPECT_EQ(s.window.fast(), 1U);
}

TEST(SendWindow, ALostRepetitionIsNoticedByWhatWasSentAfterIt) {
  Sender s;
  s.send(4);
  s.now += kRoundTrip;
  (void)s.acknowledge(0, {1, 2, 3});
  EXPECT_EQ(s.repeat(), Numbers{0});
  EXPECT_EQ(s.send(4), 4U);
  s.now += kRoundTrip;
  (void)s.acknowledge(0, {1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(s.repeat(), Numbers{0});
}

TEST(SendWindow, WhatHasNotLeftIsNotLost) {
  Sender s;
  s.send(8);
  s.packets[0].in_flight = 1;
  s.now += kRoundTrip;
  (void)s.acknowledge(0, {1, 2, 3, 4});
  EXPECT_EQ(s.repeat(), Numbers{});
  s.window.time_out(s.window.deadline_ns(), kLimits);
  EXPECT_EQ(s.repeat(), Numbers{5});  // and packet 0 is the other one of two
}

TEST(SendWindow, ATimeOutRepeatsEverythingSlowly) {
  Sender s;
  s.send(8);
  EXPECT_EQ(s.window.deadline_ns(), s.now + kLimits.initial_ns);
  s.now = s.window.deadline_ns();
  s.window.time_out(s.now, kLimits);
  EXPECT_EQ(s.repeat(), (Numbers{0, 1}));  // the window is two now
  (void)s.acknowledge(2);
  EXPECT_EQ(s.repeat(), (Numbers{2, 3, 4, 5}));
}

TEST(SendWindow, TimeOutsDoubleUpToALimitAndAreCounted) {
  Sender s;
  s.send(1);
  std::uint64_t last = kLimits.initial_ns;
  for (std::uint32_t i = 1; i <= 12; ++i) {
    s.now = s.window.deadline_ns();
    s.window.time_out(s.now, kLimits);
    const std::uint64_t wait = s.window.deadline_ns() - s.now;
    EXPECT_EQ(wait, std::min(2 * last, kLimits.max_ns));
    last = wait;
    EXPECT_EQ(s.window.attempts(), i);
    EXPECT_EQ(s.repeat(), Numbers{0});
  }
  EXPECT_EQ(s.window.unanswered_since_ns(), 1'000'000U);
  (void)s.acknowledge(1);
  EXPECT_EQ(s.window.attempts(), 0U);
}

// An adapter whose cable is pulled may keep a packet for ever.
TEST(SendWindow, WhatStaysWithTheAdapterIsAnAttempt) {
  Sender s;
  s.send(4);
  // Perhaps some had left before.
  s.packets[2].in_flight = s.packets[3].in_flight = 1;
  for (std::uint32_t i = 1; i <= 6; ++i) {
    s.now = s.window.deadline_ns();
    s.window.time_out(s.now, kLimits);
    EXPECT_EQ(s.repeat(), Numbers{});
    EXPECT_EQ(s.window.attempts(), i);
  }
  EXPECT_EQ(s.window.unanswered_since_ns(), 1'000'000U);
}

TEST(SendWindow, OnlyPacketsSentOnceAreMeasured) {
  Sender s;
  s.send(1);
  s.now = s.window.deadline_ns();
  s.window.time_out(s.now, kLimits);
  EXPECT_EQ(s.repeat(), Numbers{0});
  s.now += 5;
  (void)s.acknowledge(1);
  EXPECT_EQ(s.window.round_trip().smoothed_ns(), 0U);  // Karn's rule
  s.send(1);
  s.now += kRoundTrip;
  s.ack.held_ns = 50;  // the receiver waited so long
  (void)s.acknowledge(2);
  EXPECT_EQ(s.window.round_trip().smoothed_ns(), kRoundTrip - 50);
}

TEST(RoundTrip, FollowsRfc6298) {
  RoundTrip trip;
  EXPECT_EQ(trip.timeout_ns(kLimits), kLimits.initial_ns);
  trip.sample(800);
  EXPECT_EQ(trip.smoothed_ns(), 800U);
  EXPECT_EQ(trip.deviation_ns(), 400U);
  EXPECT_EQ(trip.timeout_ns(kLimits), 800U + 4 * 400);
  trip.sample(1600);
  EXPECT_EQ(trip.smoothed_ns(), 800U - 100 + 200);
  EXPECT_EQ(trip.deviation_ns(), 400U - 100 + 200);
  trip.back_off();
  trip.back_off();
  EXPECT_EQ(trip.timeout_ns(kLimits), 4 * (900U + 4 * 500));
  trip.sample(900);
  EXPECT_LT(trip.timeout_ns(kLimits), 900U + 4 * 500);
  for (int i = 0; i < 200; ++i) trip.sample(10);
  EXPECT_EQ(trip.timeout_ns(kLimits), kLimits.min_ns);
  for (int i = 0; i < 40; ++i) trip.back_off();
  EXPECT_EQ(trip.timeout_ns(kLimits), kLimits.max_ns);
}

TEST(Congestion, HalvesOncePerRoundTripAndGrowsByOne) {
  Congestion window;
  const std::uint32_t first = window.window();
  for (std::uint32_t i = 0; i < first; ++i) window.acknowledged();
  EXPECT_EQ(window.window(), 2 * first);  // it doubles up to the first loss
  window.lost({10}, {40});
  EXPECT_EQ(window.window(), first);
  window.lost({11}, {40});
  window.lost({39}, {41});
  EXPECT_EQ(window.window(), first);
  window.advanced({40});
  window.lost({41}, {60});
  EXPECT_EQ(window.window(), first / 2);
  const std::uint32_t low = window.window();
  for (std::uint32_t i = 0; i < low; ++i) window.acknowledged();
  EXPECT_EQ(window.window(), low + 1);
  window.timed_out({80});
  EXPECT_EQ(window.window(), 2U);
  for (int i = 0; i < 100'000; ++i) window.acknowledged();
  EXPECT_EQ(window.window(), kWindowMax);
}

TEST(PacketBudget, PromisesNoMoreThanItsHalf) {
  PacketBudget budget(128);
  budget.add_peer();
  std::uint32_t one = kFirstPermission + budget.renew(kFirstPermission);
  EXPECT_EQ(one, 64U);  // all of the half
  budget.add_peer();
  std::uint32_t two = kFirstPermission;
  EXPECT_EQ(budget.renew(two), 0U);
  EXPECT_EQ(budget.promised(), 64U + kFirstPermission);  // what newcomers take
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t used = std::min(one, 3U);
    budget.use(used);
    one -= used;
    one += budget.renew(one);
    two += budget.renew(two);
    EXPECT_LE(budget.promised(), 64U + kFirstPermission);
    EXPECT_EQ(budget.promised(), one + two);
  }
  EXPECT_EQ(one, 32U);
  EXPECT_EQ(two, 32U);
  budget.remove_peer(two);
  EXPECT_EQ(one + budget.renew(one), 64U);
}

TEST(PacketBudget, EveryPeerMayAlwaysSendSomething) {
  PacketBudget budget(16);
  for (int i = 0; i < 100; ++i) budget.add_peer();
  budget.use(kFirstPermission);
  EXPECT_EQ(budget.renew(0), kFirstPermission);
}

}  // namespace
}  // namespace espalier::rdma
