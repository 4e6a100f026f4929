// Large segments of teams' groups that lanes put into memory of devices
// (net/groups/device_place.hpp): what adapters write, what is copied beside it, and how both end.
// What is called memory of a device is the host's here (tests/harness/two_places.hpp).
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/harness/two_places.hpp"
#include "tests/wire/lane_world.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t kTail = 700, kBytes = 200 * kLanePacket + kTail;
constexpr std::byte kLeftAlone{0xC3};

// Rank 0 publishes from memory of the host; 1 and 3 receive on devices, 2 and 4 on the host.
class DeviceLanes : public LaneWorld {
 public:
  explicit DeviceLanes(const RdmaWorldOptions& options = with_lanes())
      : LaneWorld(5, options), away_(5) {
    for (Rank r = 0; r < size(); ++r) frames(r).set_away(&away(r));
    open_lane(0);
  }
  ~DeviceLanes() override {
    for (Rank r = 0; r < size(); ++r) {
      EXPECT_TRUE(away(r).fetches.empty()) << r;
      if (is_open(r)) frames(r).set_away(nullptr);
    }
  }

  TwoPlaces& away(Rank r) { return away_[static_cast<std::size_t>(r)]; }
  ToAll& publish(std::uint64_t bytes = kBytes) {
    const FlowId flow(kTeam, 0, all_.size() + 1);
    all_.push_back(std::make_unique<ToAll>(*this, 0, flow, bytes));
    for (auto& copy : all_.back()->copies) {
      if (copy->to % 2 == 0) continue;
      places_.push_back(std::make_unique<std::vector<std::byte>>(bytes, kLeftAlone));
      away(copy->to).add(*places_.back());
      copy->received.takes_away = true;
      copy->received.place = places_.back()->data();
    }
    all_.back()->receive();
    all_.back()->post();
    return *all_.back();
  }
  void end_copies(Status status = {}) {
    for (TwoPlaces& one : away_) one.end_fetches(status);
  }
  void finish(const ToAll& m, Status of_copies = {}) {
    const auto done = [&] {
      end_copies(of_copies);
      return m.complete();
    };
    ASSERT_TRUE(step_until(*this, done));
  }
  static void expect_placed(const Message& copy) {
    ASSERT_EQ(copy.received.status.code(), ESP_OK);
    EXPECT_TRUE(copy.received.is_away);
    ASSERT_EQ(copy.received.view, copy.received.place);
    EXPECT_TRUE(holds(static_cast<std::byte*>(copy.received.place), copy.bytes, copy.seed))
        << wrong_ranges(static_cast<std::byte*>(copy.received.place), copy.bytes, copy.seed);
  }
  void expect_all(ToAll& m) {
    for (auto& copy : m.copies) {
      if (copy->to % 2 == 0) {
        copy->check();
      } else {
        expect_placed(*copy);
      }
    }
  }
  std::uint64_t stored() { return away(1).stored + away(3).stored; }
  std::uint64_t fetched() {
    return static_cast<std::uint64_t>(away(1).fetched) +
           static_cast<std::uint64_t>(away(3).fetched);
  }

 private:
  std::vector<TwoPlaces> away_;
  std::vector<std::unique_ptr<ToAll>> all_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> places_;
};

TEST(GroupsAway, OnlyWhatFillsNoPacketIsCopied) {
  DeviceLanes world;
  const std::uint64_t placed = world.placed(), before = world.copied();
  ToAll& m = world.publish();
  world.finish(m);
  world.expect_all(m);
  EXPECT_EQ(world.placed() - placed, 4u);
  EXPECT_EQ(world.stored(), 2 * kTail);
  EXPECT_EQ(world.fetched(), 0u);
  EXPECT_EQ(world.counters(1).device_direct_bytes.value(), kBytes - kTail);
  EXPECT_EQ(world.counters(2).device_direct_bytes.value(), 0u);
  EXPECT_LT(world.copied() - before, 5 * (kTail + 500));
  // Nothing at all, if all of it fills packets.
  ToAll& full = world.publish(100 * kLanePacket);
  world.finish(full);
  world.expect_all(full);
  EXPECT_EQ(world.stored(), 2 * kTail);
}

// What is lost is repaired on the host and copied; what came behind it strays by one place.
TEST(GroupsAway, LossesArePutRight) {
  DeviceLanes world(with_lanes("loss=0.01,duplicate=0.01"));
  for (int i = 0; i < 6; ++i) {
    ToAll& m = world.publish();
    world.finish(m);
    world.expect_all(m);
  }
  EXPECT_GT(world.stored(), 12 * kTail);
  EXPECT_GT(world.fetched(), 0u);
  const std::uint64_t direct = world.counters(1).device_direct_bytes.value();
  EXPECT_GT(direct, 0u);
  EXPECT_EQ(direct, 6 * kBytes - world.away(1).stored);
}

TEST(GroupsAway, CopiesThatFindNoRoomAreTriedAgain) {
  DeviceLanes world(with_lanes("loss=0.01"));
  world.away(1).retries = world.away(3).retries = 50;
  ToAll& m = world.publish();
  world.finish(m);
  world.expect_all(m);
  EXPECT_EQ(world.away(1).retries, 0);
}

TEST(GroupsAway, AFailedCopyEndsItsReceive) {
  DeviceLanes world;
  ToAll& m = world.publish();
  world.finish(m, Status(ESP_ERR_DEVICE, 1));
  for (auto& copy : m.copies) {
    if (copy->to % 2 == 0) {
      copy->check();
    } else {
      EXPECT_EQ(copy->received.status.code(), ESP_ERR_DEVICE);
      EXPECT_FALSE(copy->received.is_away);
    }
  }
  ToAll& next = world.publish();
  world.finish(next);
  world.expect_all(next);
}

TEST(GroupsAway, WhatNoAdapterTakesComesToTheHost) {
  DeviceLanes world;
  world.away(1).file_error = ESP_ERR_UNSUPPORTED;
  ToAll& m = world.publish();
  world.finish(m);
  for (auto& copy : m.copies) {
    if (copy->to == 3) {
      world.expect_placed(*copy);
    } else {
      EXPECT_FALSE(copy->received.is_away);
      copy->check();
    }
  }
  EXPECT_EQ(world.away(1).stored, 0u);
}

// At any moment; nothing is written to its memory from then on, and the others have theirs.
TEST(GroupsAway, ACancelledReceiveIsLeftAlone) {
  int under_way = 0;
  for (int moment = 0; moment < 120; moment += 1 + moment / 12) {
    SCOPED_TRACE(moment);
    DeviceLanes world(with_lanes("loss=0.02"));
    ToAll &m = world.publish(), &next = world.publish();
    for (int i = 0; i < moment; ++i) {
      (void)step(world);
      if (i % 3 == 0) world.end_copies();
    }
    Message& mine = *m.copies[2];
    ASSERT_EQ(mine.to, 3);
    auto* const place = static_cast<std::byte*>(mine.received.place);
    const bool had = mine.received.complete();
    if (!had) {
      world.wire(3).cancel(mine.received);
      std::fill_n(place, kBytes, kLeftAlone);
      std::ranges::fill(mine.target, kLeftAlone);
      ++under_way;
    }
    const auto others = [&] {
      world.end_copies();
      return m.sent.complete() && next.complete() && std::ranges::all_of(m.copies, [](auto& copy) {
               return copy->to == 3 || copy->received.complete();
             });
    };
    ASSERT_TRUE(step_until(world, others));
    settle(world);
    world.expect_all(next);
    if (had) {
      world.expect_placed(mine);
    } else {
      EXPECT_TRUE(std::all_of(place, place + kBytes, [](std::byte b) { return b == kLeftAlone; }));
      EXPECT_TRUE(std::ranges::all_of(mine.target, [](std::byte b) { return b == kLeftAlone; }));
    }
  }
  EXPECT_GT(under_way, 5);
}

TEST(GroupsAway, ADeadSourceEndsIt) {
  int pending = 0, none = 0;
  for (const int moment : {5, 20, 50, 100, 400, 4'000}) {
    SCOPED_TRACE(moment);
    DeviceLanes world(with_lanes("loss=0.01"));
    for (Rank to = 1; to < 5; ++to) {
      Message hello(0, to, FlowId(99, 0, static_cast<std::uint64_t>(to)), 8, 1);
      carry(world, hello);
    }
    ToAll& m = world.publish();
    for (int i = 0; i < moment; ++i) (void)step(world);
    ++(world.away(1).fetches.empty() ? none : pending);
    world.close(0);
    for (Rank r = 1; r < 5; ++r) world.link(r).lose(0, error(ESP_ERR_PEER_DIED, "told so", 0));
    const auto ended = [&] {
      return std::ranges::all_of(m.copies, [](auto& copy) { return copy->received.complete(); });
    };
    for (int i = 0; i < 50'000 && !ended(); ++i) {
      for (Rank r = 1; r < 5; ++r) (void)world.wire(r).progress();
    }
    ASSERT_TRUE(ended());
    for (auto& copy : m.copies) {
      if (copy->to % 2 == 1) {
        EXPECT_EQ(copy->received.status.code(), ESP_ERR_PEER_DIED);
      }
    }
  }
  EXPECT_GT(pending, 0);
  EXPECT_GT(none, 0);
}

}  // namespace
}  // namespace espalier::test
