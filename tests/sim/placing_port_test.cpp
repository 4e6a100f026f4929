// Simulated lanes: packets in their places, what faults do to them, and large segments that come
// whole all the same.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "net/multicast/placed_sink.hpp"
#include "net/sim/sim_placing_port.hpp"
#include "tests/harness/sim_bed.hpp"

namespace espalier::test {
namespace {

using multicast::LaneHeader;
using multicast::PlacedMemory;
using sim::SimPlacingPort;

constexpr multicast::GroupAddress kLaneGroup = {.key = 2};

struct PlaceInbox final : multicast::PlacingSink {
  void placed(std::uint64_t token, LaneHeader header, std::uint32_t bytes) noexcept override {
    came.push_back({token, std::to_integer<std::uint64_t>(header[0]), bytes});
  }
  void returned(std::uint64_t token) noexcept override { back.push_back(token); }
  std::vector<std::array<std::uint64_t, 3>> came;
  std::vector<std::uint64_t> back;
};

struct LaneEnds {
  explicit LaneEnds(const std::string& faults = {}, const sim::PlacingPortOptions& options = {})
      : bed(2, faults, 1, device_machine()), net(bed.world) {
    for (Rank rank = 0; rank < 2; ++rank) {
      ports[static_cast<std::size_t>(rank)] =
          std::make_unique<SimPlacingPort>(net, rank, kLaneGroup, options);
    }
    bed.world.run();
  }
  bool send(std::uint8_t number, std::uint32_t bytes) {
    std::array<std::byte, multicast::kLaneHeaderBytes> header = {};
    header[0] = std::byte{number};
    const std::vector<std::byte> payload(bytes, std::byte{number});
    return ports[0]->send(header, payload.data(), bytes, 0, false);
  }
  void run() {
    bed.world.run();
    for (std::size_t i = 0; i < 2; ++i) EXPECT_GE(ports[i]->poll(inboxes[i], 64), 0);
  }
  SimBed bed;
  sim::GroupNet net;
  std::array<std::unique_ptr<SimPlacingPort>, 2> ports;
  std::array<PlaceInbox, 2> inboxes;
};

TEST(SimLanes, PacketsUseUpPlacesInTheirOrder) {
  LaneEnds ends({}, {.group = {}, .places = 3});
  std::vector<std::byte> memory(4 * 16);
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(ends.ports[1]->post_place(memory.data() + i * 16, 16, 0, 10 + i));
  }
  EXPECT_FALSE(ends.ports[1]->post_place(memory.data(), 16, 0, 13));
  ASSERT_TRUE(ends.send(5, 16) && ends.send(6, 9));
  EXPECT_EQ(ends.ports[0]->sending(), 2U);
  ends.run();
  EXPECT_EQ(ends.ports[0]->sending(), 0U);
  const std::vector<std::array<std::uint64_t, 3>> both = {{10, 5, 16}, {11, 6, 9}};
  EXPECT_EQ(ends.inboxes[1].came, both);
  EXPECT_EQ(memory[15], std::byte{5});
  EXPECT_EQ(memory[24], std::byte{6});
  EXPECT_EQ(memory[25], std::byte{0});
  ASSERT_TRUE(ends.send(7, 16));
  ends.bed.world.run();
  ends.ports[1]->flush_places(ends.inboxes[1]);
  EXPECT_EQ(ends.inboxes[1].came.size(), 3U) << "it had come";
  EXPECT_TRUE(ends.inboxes[1].back.empty());
  ASSERT_TRUE(ends.send(8, 16));
  ends.run();
  EXPECT_EQ(ends.inboxes[1].came.size(), 3U) << "it found no place";
}

TEST(SimLanes, PlacesComeBackAndDamagedPacketsDoNot) {
  LaneEnds ends("corrupt=1");
  std::vector<std::byte> memory(64);
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(ends.ports[1]->post_place(memory.data() + i * 16, 16, 0, i));
  }
  ASSERT_TRUE(ends.send(5, 16));
  ends.run();
  EXPECT_TRUE(ends.inboxes[1].came.empty());
  EXPECT_EQ(ends.net.counts().damaged, 1U);
  ends.ports[1]->flush_places(ends.inboxes[1]);
  EXPECT_EQ(ends.inboxes[1].back, (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_EQ(memory[0], std::byte{0});
}

TEST(SimLanes, MayRegisterNothing) {
  LaneEnds ends({}, {.group = {}, .places = 8, .enrolls = false});
  EXPECT_FALSE(ends.ports[0]->enroll(&ends, sizeof ends).ok());
  EXPECT_TRUE(LaneEnds().ports[0]->enroll(&ends, sizeof ends).ok());
}

// ---- segments ----

// Rank 0 sends to the others; its stream and their mail are there at once.
struct SegmentRun final : multicast::PlacedStream,
                          multicast::MemberMail,
                          multicast::PlacedSourceUser {
  static constexpr std::uint32_t kRanks = 5;
  struct Sink final : multicast::PlacedSinkUser {
    PlacedMemory announced(multicast::Sequence, std::uint64_t bytes) noexcept override {
      memory.assign(bytes, std::byte{0});
      return {memory.data(), 0, true};
    }
    void whole(multicast::Sequence) noexcept override { ++segments; }
    void lost(multicast::Sequence) noexcept override { ADD_FAILURE(); }
    std::vector<std::byte> memory;
    int segments = 0;
    std::unique_ptr<multicast::PlacedSink> half;
  };
  struct Letter {
    Rank from = 0, to = kNoRank;
    std::vector<std::byte> bytes;
  };

  explicit SegmentRun(const std::string& faults)
      : bed(kRanks, faults, 3, device_machine()), net(bed.world), memory((100 << 10) + 7) {
    multicast::PlacedOptions options;
    options.lane = {1, 1, 0, std::byte{0xB1}};
    options.packets_max = 64;
    options.degree = 2;
    for (std::size_t r = 0; r < kRanks; ++r) {
      options.rank = static_cast<Rank>(r);
      ports[r] = std::make_unique<SimPlacingPort>(net, options.rank, kLaneGroup);
      options.packet_bytes = ports[r]->payload_bytes();
      if (r == 0) {
        source = std::make_unique<multicast::PlacedSource>(ranks, *ports[0], *this, *this, options);
        continue;
      }
      sinks[r].half = std::make_unique<multicast::PlacedSink>(ranks, *ports[r], *this, clock,
                                                              sinks[r], options);
    }
    for (std::size_t at = 0; at < memory.size(); ++at) {
      memory[at] = static_cast<std::byte>(at * 31 >> 3);
    }
  }
  bool publish(std::span<const std::byte> head,
               std::span<const std::byte> payload) noexcept override {
    Letter letter;
    letter.bytes.assign(head.begin(), head.end());
    letter.bytes.insert(letter.bytes.end(), payload.begin(), payload.end());
    letters.push_back(letter);
    return true;
  }
  bool post(Rank to, std::span<const std::byte> message) noexcept override {
    letters.push_back({now, to, {message.begin(), message.end()}});
    return true;
  }
  void finished(std::uint64_t) noexcept override { done = true; }
  void deliver() {
    for (; !letters.empty(); letters.pop_front()) {
      const Letter& letter = letters.front();
      if (letter.to == 0) {
        source->mail_arrived(letter.from, letter.bytes);
      } else if (letter.to != kNoRank) {
        sinks[static_cast<std::size_t>(letter.to)].half->mail_arrived(letter.from, letter.bytes);
      } else {
        for (std::size_t r = 1; r < kRanks; ++r) sinks[r].half->stream_arrived(letter.bytes);
      }
    }
  }
  void run() {
    source->start(memory.data(), 0, memory.size(), 0);
    for (int turn = 0; turn < 10'000 && !done; ++turn) {
      clock.advance_ns(1'000);
      bed.world.run(clock.now_ns());
      (void)source->progress();
      deliver();
      for (std::size_t r = 1; r < kRanks; ++r) {
        now = static_cast<Rank>(r);
        (void)sinks[r].half->progress();
      }
      deliver();
    }
    ASSERT_TRUE(done);
    for (std::size_t r = 1; r < kRanks; ++r) {
      EXPECT_EQ(sinks[r].segments, 1);
      EXPECT_TRUE(sinks[r].memory == memory) << r;
    }
  }

  SimBed bed;
  sim::GroupNet net;
  ManualClock clock;
  const std::vector<Rank> ranks = {0, 1, 2, 3, 4};
  std::vector<std::byte> memory;
  std::array<std::unique_ptr<SimPlacingPort>, kRanks> ports;
  std::unique_ptr<multicast::PlacedSource> source;
  std::array<Sink, kRanks> sinks;
  std::deque<Letter> letters;
  Rank now = 0;
  bool done = false;
};

TEST(SimLanes, SegmentsComeWithoutACopy) {
  SegmentRun run("");
  run.run();
  for (std::size_t r = 1; r < SegmentRun::kRanks; ++r) {
    const multicast::PlacedCounts& counts = run.sinks[r].half->counts();
    EXPECT_EQ(counts.placed, run.source->counts().packets);
    EXPECT_EQ(counts.misplaced + counts.repairs + counts.flushes, 0U);
  }
  EXPECT_EQ(run.net.counts().sent, run.source->counts().packets);
}

TEST(SimLanes, SegmentsComeWholeWithFaults) {
  SegmentRun run("loss=0.1,duplicate=0.1,reorder=0.1,corrupt=0.05");
  run.run();
  EXPECT_GT(run.source->counts().repairs, 0U);
}

}  // namespace
}  // namespace espalier::test
