// Large segments over a played lane, one rule at a time; the swarm has them all at once.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <numeric>
#include <utility>

#include "net/multicast/placed_sink.hpp"
#include "tests/multicast/placed_network.hpp"

namespace espalier::multicast::played {
namespace {

constexpr std::uint32_t kPayload = 64, kPlaces = 32;

using Bytes = std::vector<std::byte>;

struct PlayedSource final : PlacedSourceUser {
  void finished(std::uint64_t cookie) noexcept override { done.push_back(cookie); }
  std::vector<std::uint64_t> done;
};

struct PlayedSink final : PlacedSinkUser {
  explicit PlayedSink(PlacingPort& to) : port(to) {}
  PlacedMemory announced(Sequence segment, std::uint64_t bytes) noexcept override {
    sizes[segment.value] = bytes;
    return hesitates ? PlacedMemory{} : memory_for(segment.value);
  }
  void whole(Sequence segment) noexcept override { over.push_back(segment.value); }
  void lost(Sequence segment) noexcept override { gone.push_back(segment.value); }
  PlacedMemory memory_for(std::uint32_t segment) {
    memory[segment].assign(sizes[segment], std::byte{0});
    if (!registers) return {memory[segment].data(), 0, false};
    const rdma::Region region = *port.enroll(memory[segment].data(), sizes[segment]);
    return {memory[segment].data(), region.local_key, true};
  }
  PlacingPort& port;
  bool hesitates = false, registers = true;
  std::map<std::uint32_t, std::uint64_t> sizes;
  std::map<std::uint32_t, Bytes> memory;
  std::vector<std::uint32_t> over, gone;
};

struct PlayedLane {
  explicit PlayedLane(std::uint32_t members, const LaneFaults& faults = {},
                      std::uint32_t degree = 2)
      : net(network(members, faults), 7), ranks(members), stopped(members) {
    std::iota(ranks.begin(), ranks.end(), 0);
    PlacedOptions options;
    options.lane = {1, 2, 0, std::byte{0xB1}};
    options.packet_bytes = kPayload;
    options.packets_max = kPlaces;
    options.degree = degree;
    options.rank = 0;
    source = std::make_unique<PlacedSource>(ranks, net.port(0), net.stream(), user, options);
    for (std::uint32_t i = 1; i < members; ++i) {
      options.rank = static_cast<Rank>(i);
      users.push_back(std::make_unique<PlayedSink>(net.port(i)));
      sinks.push_back(std::make_unique<PlacedSink>(ranks, net.port(i), net.mail(i), net,
                                                   *users.back(), options));
    }
  }
  static LaneOptions network(std::uint32_t members, const LaneFaults& faults) {
    LaneOptions options;
    options.members = members;
    options.packet_bytes = kPayload;
    options.depth = kPlaces;
    options.faults = faults;
    return options;
  }
  void start(std::uint64_t bytes) {
    const std::uint64_t number = sent.size();
    Bytes& made = sent.emplace_back(bytes);
    for (std::uint64_t at = 0; at < bytes; ++at) made[at] = static_cast<std::byte>(at * 7 + number);
    const rdma::Region region = *net.port(0).enroll(made.data(), bytes);
    source->start(made.data(), region.local_key, bytes, number);
  }
  void run(std::uint64_t for_ns = 1'000'000) {
    for (const std::uint64_t end = net.now_ns() + for_ns; net.now_ns() < end;) {
      const std::uint64_t until = net.now_ns() + 500;
      while (net.next_ns() <= until) (void)net.step();
      net.move_to(until);
      for (std::uint32_t i = 0; i < ranks.size(); ++i) {
        if (net.alive(i) && !stopped[i]) turn(i);
      }
    }
    EXPECT_EQ(net.failure(), "");
  }
  void turn(std::uint32_t i) {
    LaneNews news;
    while (net.take_news(i, news)) {
      if (news.is_end) {
        sinks[i - 1]->source_ended();
      } else if (news.from == kNoRank) {
        sinks[i - 1]->stream_arrived(news.bytes);
      } else if (i == 0) {
        ++mails;
        source->mail_arrived(news.from, news.bytes);
      } else {
        sinks[i - 1]->mail_arrived(news.from, news.bytes);
      }
    }
    (void)(i == 0 ? source->progress() : sinks[i - 1]->progress());
  }
  void bury(std::uint32_t member) {
    net.kill(member);
    if (net.alive(0)) source->member_lost(static_cast<Rank>(member));
    for (std::uint32_t i = 1; i < ranks.size(); ++i) {
      if (net.alive(i)) sinks[i - 1]->member_lost(static_cast<Rank>(member));
    }
  }
  void expect_all(std::uint32_t segments) {
    EXPECT_EQ(user.done.size(), segments);
    for (std::uint32_t i = 1; i < ranks.size(); ++i) {
      if (!net.alive(i)) continue;
      EXPECT_EQ(users[i - 1]->over.size(), segments) << i;
      for (std::uint32_t number = 0; number < segments; ++number) {
        EXPECT_TRUE(users[i - 1]->memory[number] == sent[number]) << number << " at " << i;
      }
    }
  }
  const PlacedCounts& counts(std::uint32_t member) const { return sinks[member - 1]->counts(); }

  PlacedNetwork net;
  std::vector<Rank> ranks;
  PlayedSource user;
  std::unique_ptr<PlacedSource> source;
  std::vector<std::unique_ptr<PlayedSink>> users;
  std::vector<std::unique_ptr<PlacedSink>> sinks;
  std::vector<bool> stopped;
  std::deque<Bytes> sent;
  std::uint64_t mails = 0;  // to the source
};

TEST(MulticastPlaced, SegmentsAreSentOnceAndNotCopied) {
  PlayedLane p(6);
  for (std::uint32_t i = 0; i <= kSegmentsAhead; ++i) {
    EXPECT_TRUE(p.source->open());
    p.start(kPlaces * kPayload / 2 + i);
  }
  EXPECT_FALSE(p.source->open());
  p.run();
  p.expect_all(3);
  EXPECT_EQ(p.user.done, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_TRUE(p.source->idle());
  EXPECT_EQ(p.source->deadline_ns(), kNever);
  EXPECT_EQ(p.source->counts().packets, 3 * kPlaces / 2);
  EXPECT_EQ(p.net.cast(), 3 * kPlaces / 2);
  EXPECT_EQ(p.source->counts().repairs, 0U);
  for (std::uint32_t i = 1; i < 6; ++i) {
    EXPECT_EQ(p.counts(i).placed, 3 * kPlaces / 2);
    EXPECT_EQ(p.counts(i).misplaced + p.counts(i).repairs + p.counts(i).flushes, 0U);
    EXPECT_EQ(p.sinks[i - 1]->deadline_ns(), kNever);
  }
}

// What the source hears does not grow with the number of receivers.
TEST(MulticastPlaced, AcknowledgementsAreMerged) {
  PlayedLane few(3), many(31);
  for (PlayedLane* p : {&few, &many}) {
    p->start(10 * kPayload);
    p->run();
    p->expect_all(1);
  }
  EXPECT_EQ(few.mails, many.mails);
  EXPECT_EQ(many.mails, 2U * 2) << "two members below; places, and all of it";
}

TEST(MulticastPlaced, NothingIsSentBeforeAllHavePlaces) {
  PlayedLane p(4);
  p.users[2]->hesitates = true;
  p.start(5 * kPayload);
  p.start(3 * kPayload);
  p.run();
  EXPECT_EQ(p.net.cast(), 0U);
  p.sinks[2]->give({1}, p.users[2]->memory_for(1));
  p.run();
  EXPECT_EQ(p.net.cast(), 0U) << "places are in the order of segments";
  p.sinks[2]->give({0}, p.users[2]->memory_for(0));
  p.run();
  p.expect_all(2);
  EXPECT_EQ(p.counts(3).misplaced, 0U);
}

TEST(MulticastPlaced, WhatOneCannotRegisterOthersGetWithoutACopy) {
  PlayedLane p(4);
  p.users[1]->registers = false;
  p.start(8 * kPayload + 5);
  p.run();
  p.expect_all(1);
  EXPECT_EQ(p.counts(2).repairs, 8U);
  EXPECT_EQ(p.counts(1).placed, 8U);
  EXPECT_EQ(p.counts(1).misplaced + p.counts(1).repairs, 0U);
  EXPECT_EQ(p.source->counts().repairs, 8U) << "once for all";
}

TEST(MulticastPlaced, LossIsRepairedOnceForAll) {
  LaneFaults faults;
  faults.loss_of_many = 0.2;
  PlayedLane p(8, faults);
  p.start(kPlaces * kPayload);
  p.run();
  p.expect_all(1);
  const std::uint64_t missing = p.counts(1).missing;
  EXPECT_GT(missing, 0U);
  for (std::uint32_t i = 1; i < 8; ++i) {
    EXPECT_EQ(p.counts(i).missing, missing) << "it was lost on the way to all";
    EXPECT_EQ(p.counts(i).repairs, missing);
    EXPECT_EQ(p.counts(i).dropped, 0U);
    EXPECT_EQ(p.counts(i).flushes, 1U);
  }
  EXPECT_EQ(p.source->counts().repairs, missing);
}

TEST(MulticastPlaced, ACancelledReceiveGoesOnInOtherMemory) {
  PlayedLane p(3);
  p.stopped[2] = true;
  p.start(6 * kPayload + 1);
  p.run(20'000);
  Bytes before = std::move(p.users[0]->memory[0]);
  ASSERT_EQ(before.size(), 6 * kPayload + 1);
  EXPECT_TRUE(p.sinks[0]->redirect({0}, p.users[0]->memory_for(0)));
  EXPECT_FALSE(p.sinks[0]->redirect({1}, {}));
  std::ranges::fill(before, std::byte{0xEE});
  p.stopped[2] = false;
  p.run();
  p.expect_all(1);
  EXPECT_EQ(p.counts(1).placed, 6U) << "nothing had been sent";
  EXPECT_TRUE(std::ranges::all_of(before, [](std::byte is) { return is == std::byte{0xEE}; }));
}

// The source takes a segment's memory back in the middle: the rest goes by the stream.
TEST(MulticastPlaced, ASourceThatWantsItsMemoryBackSendsFromACopy) {
  for (std::uint64_t moment = 0; moment < 20'000; moment += 1'500) {
    SCOPED_TRACE(moment);
    PlayedLane p(4);
    for (int i = 0; i < 3; ++i) p.start(20 * kPayload + 1);
    p.run(moment);
    if (p.user.done.size() > 1) break;
    Bytes copy = p.sent[1];
    p.source->move(1, copy.data());
    std::ranges::fill(p.sent[1], std::byte{0xEE});
    p.run();
    p.sent[1] = copy;
    p.expect_all(3);
    EXPECT_GE(p.source->counts().packets + p.counts(1).repairs, 60U);
  }
}

TEST(MulticastPlaced, TheDeadAreLeftOut) {
  PlayedLane p(7);
  p.stopped[1] = true;  // It has members below.
  p.start(9 * kPayload);
  p.run();
  EXPECT_EQ(p.net.cast(), 0U);
  p.bury(1);
  p.run();
  p.expect_all(1);
}

TEST(MulticastPlaced, ADeadSourceLeavesErrors) {
  PlayedLane p(4);
  p.users[0]->hesitates = true;
  p.start(9 * kPayload);
  p.start(9 * kPayload);
  p.run();
  p.bury(0);
  p.run();
  for (std::uint32_t i = 1; i < 4; ++i) {
    EXPECT_EQ(p.users[i - 1]->gone, (std::vector<std::uint32_t>{0, 1})) << i;
    EXPECT_TRUE(p.users[i - 1]->over.empty());
    EXPECT_TRUE(p.sinks[i - 1]->idle());
  }
}

TEST(MulticastPlaced, WithoutAnAdapterAllIsRepaired) {
  for (const std::uint32_t whose : {0U, 2U}) {
    PlayedLane p(4);
    p.net.fail_port(whose);
    p.start(4 * kPayload + 2);
    p.run();
    p.expect_all(1);
    EXPECT_EQ(p.source->counts().repairs, 4U);
    EXPECT_EQ(p.counts(2).repairs, 4U);
  }
}

TEST(MulticastPlaced, RefusesWhatNoSourceSays) {
  PlayedLane p(3);
  const LaneName lane = {1, 2, 0, std::byte{0xB1}};
  p.sinks[0]->stream_arrived(head_of(lane, {PlacedKind::kAnnounce, {5}, 100, {}}));
  p.sinks[0]->stream_arrived(head_of(lane, {PlacedKind::kSent, {0}, 0, {}}));
  p.sinks[0]->stream_arrived(head_of(lane, {PlacedKind::kState, {0}, 0, {}}));
  p.sinks[0]->stream_arrived({});
  EXPECT_EQ(p.counts(1).refused, 4U);
  EXPECT_TRUE(p.sinks[0]->idle());
}

}  // namespace
}  // namespace espalier::multicast::played
