#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/prng.hpp"
#include "net/multicast/group_receiver.hpp"
#include "net/multicast/group_sender.hpp"
#include "net/multicast/history.hpp"
#include "net/multicast/loss_meter.hpp"

namespace espalier::multicast {
namespace {

using Verdict = GroupReceiver::Verdict;
constexpr AskTimes kAskTimes = {100, 1000};
constexpr ProbeTimes kProbeTimes = {500, 4000};
constexpr std::uint32_t kFirsts[] = {0, 0xfffffff8, 0x7ffffffe};

struct Arrivals {
  explicit Arrivals(std::uint32_t first_number, std::uint32_t window = 16)
      : first{first_number}, receiver(first, window) {}
  Verdict arrive(std::uint32_t number) { return receiver.arrived(first + number, now, repairs); }
  std::uint32_t take() {
    std::uint32_t taken = 0;
    for (; receiver.ready(); ++taken) receiver.advance();
    return taken;
  }
  std::vector<Range> ask(std::size_t most = kRangesMax) {
    std::vector<Range> ranges(most);
    ranges.resize(receiver.ask(now, kAskTimes, ranges));
    for (Range& range : ranges) range.first.value -= first.value;
    return ranges;
  }
  Sequence first;
  GroupReceiver receiver;
  Histogram repairs;
  std::uint64_t now = 5000;
};
using Ranges = std::vector<Range>;

TEST(MulticastReceiver, HandsOnInOrderAndOnceWhateverTheOrderOfArrival) {
  Prng prng(3);
  for (const std::uint32_t first : kFirsts) {
    Arrivals a(first, kWindowMax);
    std::vector<std::uint32_t> order(kWindowMax);
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size() - 1; i > 0; --i)
      std::swap(order[i], order[prng.below(i + 1)]);
    std::uint32_t taken = 0;
    for (const std::uint32_t number : order) {
      EXPECT_EQ(a.arrive(number), Verdict::kNew);
      EXPECT_EQ(a.arrive(number), Verdict::kDuplicate);
      taken += a.take();
    }
    EXPECT_EQ(taken, kWindowMax);
    EXPECT_EQ(a.receiver.missing(), 0U);
    EXPECT_EQ(a.receiver.ask_ns(kAskTimes), kNever);
  }
}

TEST(MulticastReceiver, RefusesWhatNoWindowPermits) {
  Arrivals a(0xfffffff8);
  EXPECT_EQ(a.arrive(16), Verdict::kForbidden);
  EXPECT_FALSE(a.receiver.hear(a.first + 17, a.now));
  EXPECT_TRUE(a.receiver.hear(a.first + 16, a.now));
  EXPECT_EQ(a.receiver.missing(), 16U);
  EXPECT_EQ(a.arrive(~std::uint32_t{0}), Verdict::kDuplicate);
}

TEST(MulticastReceiver, AsksForRangesWhenTheReorderWindowIsOver) {
  for (const std::uint32_t first : kFirsts) {
    Arrivals a(first);
    (void)a.arrive(2);
    (void)a.arrive(5);
    EXPECT_EQ(a.receiver.ask_ns(kAskTimes), a.now + 100);
    a.now += 99;
    EXPECT_EQ(a.ask(), Ranges{});
    EXPECT_EQ(a.arrive(3), Verdict::kNew);  // It was overtaken.
    ++a.now;
    EXPECT_EQ(a.ask(), (Ranges{{{0}, 2}, {{4}, 1}}));
    EXPECT_EQ(a.ask(), Ranges{}) << "one question is under way";
    EXPECT_EQ(a.receiver.missed(), 0U);
    a.now += 50;
    (void)a.arrive(0);
    EXPECT_EQ(a.receiver.missed(), 1U);
    EXPECT_EQ(a.repairs.max(), 150U);
    EXPECT_EQ(a.take(), 1U);
  }
}

TEST(MulticastReceiver, AsksAgainLaterAndLater) {
  Arrivals a(7);
  (void)a.receiver.hear(a.first + 1, a.now);
  a.now += 100;
  EXPECT_EQ(a.ask().size(), 1U);
  for (const std::uint64_t after : {1000, 2000, 4000, 8000, 8000}) {
    EXPECT_EQ(a.receiver.ask_ns(kAskTimes), a.now + after);
    a.now += after - 1;
    EXPECT_EQ(a.ask().size(), 0U);
    ++a.now;
    EXPECT_EQ(a.ask(), (Ranges{{{0}, 1}}));
  }
  // Who was asked is gone: another one is asked at once.
  a.receiver.unask_all();
  EXPECT_LE(a.receiver.ask_ns(kAskTimes), a.now);
  EXPECT_EQ(a.ask().size(), 1U);
  a.receiver.unask({a.first, 1});
  EXPECT_EQ(a.ask().size(), 1U);
}

TEST(MulticastReceiver, WhatWasAskedForLaterIsAskedForAgainLater) {
  Arrivals a(0);
  (void)a.receiver.hear(a.first + 1, a.now);
  a.now += 100;
  (void)a.ask();
  a.now += 850;
  (void)a.receiver.hear(a.first + 2, a.now);
  a.now += 100;
  EXPECT_EQ(a.ask(), (Ranges{{{1}, 1}}));
  a.now += 50;
  EXPECT_EQ(a.ask(), (Ranges{{{0}, 1}})) << "the other question has only just left";
}

TEST(MulticastReceiver, AsksForTheRestAtOnceWhereRangesAreMany) {
  Arrivals a(0);
  for (const std::uint32_t number : {1U, 3U, 5U}) (void)a.arrive(number);
  a.now += 100;
  EXPECT_EQ(a.ask(2), (Ranges{{{0}, 1}, {{2}, 1}}));
  EXPECT_LE(a.receiver.ask_ns(kAskTimes), a.now);
  EXPECT_EQ(a.ask(2), (Ranges{{{4}, 1}}));
}

TEST(MulticastReceiver, EndsWhereADeadSourceEnds) {
  Arrivals a(0);
  for (const std::uint32_t number : {0U, 1U, 3U, 6U}) (void)a.arrive(number);
  EXPECT_EQ(a.take(), 2U);
  EXPECT_TRUE(a.receiver.early().test(0));
  EXPECT_TRUE(a.receiver.early().test(3));
  EXPECT_EQ(a.receiver.early().width(), 4U);
  a.receiver.end_at(a.first + 5, a.now);
  EXPECT_EQ(a.receiver.missing(), 2U);
  EXPECT_FALSE(a.receiver.has(a.first + 6));
  (void)a.arrive(2);
  EXPECT_EQ(a.take(), 2U);
  a.receiver.end_at(a.first + 7, a.now);
  EXPECT_EQ(a.receiver.missing(), 3U);
}

TEST(MulticastSender, SlidesOnAcknowledgements) {
  for (const std::uint32_t first : kFirsts) {
    GroupSender s({first}, 4);
    for (std::uint32_t i = 0; i < 4; ++i) {
      EXPECT_TRUE(s.open());
      EXPECT_EQ(s.closing(), i == 3);
      s.sent(10 + i);
    }
    EXPECT_FALSE(s.open());
    EXPECT_EQ(s.shut_since_ns(), 13U);
    EXPECT_FALSE(s.settle({first}, 20));
    EXPECT_TRUE(s.settle({first + 1}, 20));
    EXPECT_TRUE(s.open());
    EXPECT_EQ(s.shut_since_ns(), kNever);
    EXPECT_TRUE(s.settle({first + 4}, 21));
    EXPECT_TRUE(s.idle());
    EXPECT_EQ(s.settled(), 4U);
  }
}

TEST(MulticastSender, ProbesToAllThenByMailLaterAndLater) {
  using Probe = GroupSender::Probe;
  GroupSender s({0}, 4);
  EXPECT_EQ(s.probe_ns(kProbeTimes), kNever);
  s.sent(1000);
  std::uint64_t now = 1000;
  for (const std::uint64_t after : {500, 1000, 2000, 4000, 4000}) {
    EXPECT_EQ(s.probe_ns(kProbeTimes), now + after);
    EXPECT_EQ(s.probe_due(now + after - 1, kProbeTimes), Probe::kNone);
    now += after;
    EXPECT_EQ(s.probe_due(now, kProbeTimes), after < 2000 ? Probe::kToAll : Probe::kByMail);
    s.probed(now);
  }
  // Members keep packets until they know that all have them: they are told, once.
  EXPECT_TRUE(s.settle({1}, now));
  EXPECT_EQ(s.probe_due(now + 500, kProbeTimes), Probe::kToAll);
  s.probed(now + 500);
  EXPECT_EQ(s.probe_ns(kProbeTimes), kNever);
}

TEST(MulticastSender, RepeatsHalfAWindowForAllUntilSomethingIsStable) {
  GroupSender s({0}, 4);
  s.sent(0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(s.may_repeat());
    s.repeated();
  }
  EXPECT_FALSE(s.may_repeat());
  EXPECT_TRUE(s.settle({1}, 1));
  EXPECT_TRUE(s.may_repeat());
}

TEST(MulticastHistory, HoldsPacketsUntilTheyAreStable) {
  for (const std::uint32_t first : kFirsts) {
    History history({first}, 6);
    std::vector<rdma::Packet> packets(6);
    for (const std::uint32_t i : {0U, 1U, 3U, 5U}) history.hold({first + i}, packets[i]);
    EXPECT_EQ(history.find({first + 3}), &packets[3]);
    EXPECT_EQ(history.find({first + 2}), nullptr);
    std::vector<rdma::Packet*> given;
    const auto give = [&](rdma::Packet& packet) { given.push_back(&packet); };
    history.release_before({first + 3}, give);
    EXPECT_EQ(given, (std::vector<rdma::Packet*>{&packets[0], &packets[1]}));
    EXPECT_EQ(history.find({first}), nullptr);
    EXPECT_EQ(history.take({first + 5}), &packets[5]);
    history.release_before({first + 9}, give);
    EXPECT_EQ(given.size(), 3U);
    EXPECT_EQ(history.base(), Sequence{first + 9});
  }
}

TEST(MulticastLoss, FallsBackForGoodAfterBadPeriodsInARow) {
  LossMeter meter({100, 100, 2});
  meter.note(100, 11, 3);
  meter.note(150, 40, 3);  // The period is not over.
  meter.note(200, 20, 3);  // Nine of a hundred are not too many.
  EXPECT_FALSE(meter.falls_back());
  meter.note(300, 31, 4);
  EXPECT_FALSE(meter.falls_back());
  meter.note(400, 42, 5);
  EXPECT_TRUE(meter.falls_back());
  meter.note(500, 42, 5);
  EXPECT_TRUE(meter.falls_back());
  EXPECT_EQ(meter.figures().packets, 100U);
  EXPECT_EQ(meter.figures().missed, 11U);
  EXPECT_EQ(meter.figures().worst, 5);
}

}  // namespace
}  // namespace espalier::multicast
