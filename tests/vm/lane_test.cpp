// VerbsPlacingPort (net/verbs/placing_port.hpp), and large segments over it, between four nodes.
#include <algorithm>
#include <cerrno>

#include "tests/vm/lane_nodes.hpp"
#include "tests/vm/queue_pairs.hpp"

namespace espalier::verbs {
namespace {

using multicast::kLaneHeaderBytes;
using multicast::LaneHeader;

class Lanes : public Groups {
 protected:
  struct Got final : multicast::PlacingSink {
    void placed(std::uint64_t token, LaneHeader header, std::uint32_t bytes) noexcept override {
      came.push_back({token, std::to_integer<std::uint32_t>(header[0]), bytes});
    }
    void returned(std::uint64_t token) noexcept override { back.push_back(token); }
    struct Packet {
      std::uint64_t token = 0;
      std::uint32_t header = 0, bytes = 0;
      friend bool operator==(const Packet&, const Packet&) = default;
    };
    std::vector<Packet> came;
    std::vector<std::uint64_t> back;
  };

  std::unique_ptr<PlacingPort> lane(std::size_t node, const multicast::GroupAddress& address,
                                    const PlacingOptions& options = {}) {
    auto made = adapters_[node]->open_lane(address, options);
    EXPECT_TRUE(made.ok()) << made.error().text;
    if (!made) return nullptr;
    EXPECT_TRUE(eventually([&] { return (*made)->joined() != Joined::kNotYet; }));
    EXPECT_EQ((*made)->joined(), Joined::kYes) << logged_;
    return std::move(*made);
  }
  // With the number in its header and in its payload.
  static bool send(PlacingPort& port, LaneMemory& memory, std::uint8_t number,
                   std::uint32_t bytes) {
    std::array<std::byte, kLaneHeaderBytes> header = {};
    header[0] = std::byte{number};
    std::byte* payload = memory.begin() + std::size_t{number} * port.payload_bytes();
    std::memset(payload, number, bytes);
    return port.send(header, payload, bytes, memory.region.local_key, false);
  }

  void make_nodes(const LaneNode::Options& options = {}) {
    for (std::size_t node = 0; node < kLaneNodes; ++node) {
      auto port = open(node, group(9), {});
      ASSERT_NE(port, nullptr);
      ASSERT_TRUE(eventually([&] { return port->joined() == Joined::kYes; }));
      std::array<std::unique_ptr<PlacingPort>, kLaneSources> lanes;
      for (std::size_t source = 0; source < kLaneSources; ++source) {
        lanes[source] = lane(node, group(static_cast<std::uint8_t>(10 + source)));
        ASSERT_NE(lanes[source], nullptr);
      }
      nodes_.push_back(std::make_unique<LaneNode>(static_cast<Rank>(node), std::move(port),
                                                  std::move(lanes), letters_, options));
    }
  }
  // Both sources send segments of these sizes; returns when all have everything.
  void exchange(const std::vector<std::uint64_t>& sizes) {
    std::array<std::size_t, kLaneSources> started = {};
    ASSERT_TRUE(eventually([&] {
      for (std::size_t source = 0; source < kLaneSources; ++source) {
        while (started[source] < sizes.size() && nodes_[source]->source().open()) {
          nodes_[source]->start(sizes[started[source]++]);
        }
      }
      for (auto& node : nodes_) node->progress();
      for (; !letters_.empty(); letters_.pop_front()) {
        nodes_[static_cast<std::size_t>(letters_.front().to)]->mail_arrived(letters_.front());
      }
      const bool all = std::ranges::all_of(started, [&](auto is) { return is == sizes.size(); });
      return all && std::ranges::all_of(nodes_, [](const auto& node) { return node->idle(); });
    }));
    for (std::size_t node = 0; node < kLaneNodes; ++node) {
      for (std::size_t source = 0; source < kLaneSources; ++source) {
        if (node == source) continue;
        EXPECT_EQ(nodes_[node]->right(source), sizes.size()) << source << " at " << node;
        EXPECT_EQ(nodes_[node]->sink(source).counts().refused, 0u);
      }
    }
  }

  std::deque<LaneNode::Letter> letters_;
  std::vector<std::unique_ptr<LaneNode>> nodes_;
};

TEST_F(Lanes, PacketsComeIntoTheirPlacesAtAllMembers) {
  auto from = lane(0, group(1));
  ASSERT_NE(from, nullptr);
  const std::uint32_t bytes = from->payload_bytes();
  LaneMemory sent(*from, 8 * bytes);
  std::vector<std::unique_ptr<PlacingPort>> to;
  std::vector<std::unique_ptr<LaneMemory>> memory;
  std::array<Got, 2> got;
  for (std::size_t i = 0; i < 2; ++i) {
    to.push_back(lane(1 + i, group(1)));
    memory.push_back(std::make_unique<LaneMemory>(*to[i], 8 * bytes));
    for (std::uint32_t place = 0; place < 8; ++place) {
      ASSERT_TRUE(to[i]->post_place(memory[i]->begin() + place * bytes, bytes,
                                    memory[i]->region.local_key, 100 + place));
    }
    to[i]->show_places();
  }
  Got none;
  for (std::uint8_t i = 0; i < 8; ++i) ASSERT_TRUE(send(*from, sent, i, bytes));
  EXPECT_TRUE(eventually([&] {
    EXPECT_GE(from->poll(none, 64), 0);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_GE(to[i]->poll(got[i], 64), 0);
    return from->sending() == 0 && got[0].came.size() == 8 && got[1].came.size() == 8;
  }));
  EXPECT_EQ(from->counts().sends, 8u) << "once each, not once for each member";
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::uint32_t place = 0; place < 8; ++place) {
      EXPECT_EQ(got[i].came[place], (Got::Packet{100 + place, place, bytes}));
    }
    EXPECT_TRUE(std::equal(sent.begin(), sent.begin() + 8 * bytes, memory[i]->begin()));
    EXPECT_TRUE(memory[i]->guarded());
    EXPECT_TRUE(got[i].back.empty());
  }
  EXPECT_TRUE(none.came.empty());
}

// It stays in the group, and its memory stays as it is.
TEST_F(Lanes, PlacesAreTakenBackAndPostedAgain) {
  auto from = lane(0, group(1)), to = lane(1, group(1), {.places = 16});
  ASSERT_TRUE(from != nullptr && to != nullptr);
  EXPECT_EQ(to->depth(), 16u);
  const std::uint32_t bytes = to->payload_bytes();
  LaneMemory sent(*from, 8 * bytes), memory(*to, 16 * bytes), other(*to, 4 * bytes);
  const auto post = [&](LaneMemory& into, std::uint32_t place) {
    return to->post_place(into.begin() + place * bytes, bytes, into.region.local_key, place);
  };
  Got got, none;
  for (std::uint32_t place = 0; place < 16; ++place) ASSERT_TRUE(post(memory, place));
  EXPECT_FALSE(post(memory, 0)) << "there are as many as may be";
  to->show_places();
  ASSERT_TRUE(send(*from, sent, 1, bytes) && send(*from, sent, 2, bytes));
  EXPECT_TRUE(eventually([&] {
    (void)from->poll(none, 64);
    (void)to->poll(got, 64);
    return got.came.size() == 2;
  }));
  to->flush_places(got);
  ASSERT_EQ(got.back.size(), 14u);
  for (std::uint32_t i = 0; i < 14; ++i) EXPECT_EQ(got.back[i], 2 + i) << "in order";
  std::memset(memory.begin(), 0x33, memory.bytes());

  for (std::uint32_t place = 0; place < 4; ++place) ASSERT_TRUE(post(other, place));
  to->show_places();
  ASSERT_TRUE(send(*from, sent, 3, bytes) && send(*from, sent, 4, bytes / 2));
  EXPECT_TRUE(eventually([&] {
    (void)from->poll(none, 64);
    (void)to->poll(got, 64);
    return got.came.size() == 4;
  }));
  EXPECT_EQ(got.came[2], (Got::Packet{0, 3, bytes}));
  EXPECT_EQ(got.came[3], (Got::Packet{1, 4, bytes / 2}));
  EXPECT_EQ(other.begin()[0], std::byte{3});
  EXPECT_EQ(other.begin()[bytes], std::byte{4});
  EXPECT_TRUE(std::all_of(memory.begin(), memory.begin() + memory.bytes(),
                          [](std::byte is) { return is == std::byte{0x33}; }));
  to->flush_places(got);
  EXPECT_EQ(got.back.size(), 16u);
}

// A packet that is longer than a place may be lost, or break the queue: it goes on in either case.
TEST_F(Lanes, APacketThatIsTooLongDoesNotEndIt) {
  auto from = lane(0, group(1)), to = lane(1, group(1), {.places = 16});
  ASSERT_TRUE(from != nullptr && to != nullptr);
  const std::uint32_t bytes = to->payload_bytes() / 2;
  LaneMemory sent(*from, 8 * to->payload_bytes()), memory(*to, 16 * bytes);
  Got got, none;
  ASSERT_TRUE(to->post_place(memory.begin(), bytes, memory.region.local_key, 0));
  to->show_places();
  ASSERT_TRUE(send(*from, sent, 1, 2 * bytes));
  for_a_while([&] {
    EXPECT_GE(from->poll(none, 64), 0);
    EXPECT_GE(to->poll(got, 64), 0);
  });
  EXPECT_TRUE(memory.guarded());
  to->flush_places(got);
  EXPECT_EQ(got.came.size() + got.back.size(), 1u);
  ASSERT_TRUE(to->post_place(memory.begin(), bytes, memory.region.local_key, 1));
  to->show_places();
  ASSERT_TRUE(send(*from, sent, 2, bytes));
  EXPECT_TRUE(eventually([&] {
    (void)from->poll(none, 64);
    (void)to->poll(got, 64);
    return !got.came.empty() && got.came.back() == Got::Packet{1, 2, bytes};
  }));
}

TEST_F(Lanes, ALinkThatGoesDownComesBack) {
  if (!in_guest()) GTEST_SKIP() << "needs a network that may be broken";
  auto from = lane(0, group(1)), to = lane(1, group(1), {.places = 64});
  ASSERT_TRUE(from != nullptr && to != nullptr);
  const std::uint32_t bytes = to->payload_bytes();
  LaneMemory sent(*from, 64 * bytes), memory(*to, 64 * bytes);
  Got got, none;
  for (std::uint32_t place = 0; place < 64; ++place) {
    ASSERT_TRUE(
        to->post_place(memory.begin() + place * bytes, bytes, memory.region.local_key, place));
  }
  to->show_places();
  ASSERT_TRUE(system_works("ip link set n0 down"));
  for (std::uint8_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(
        eventually([&] { return from->poll(none, 64) >= 0 && send(*from, sent, i, bytes); }));
  }
  EXPECT_TRUE(eventually([&] { return from->poll(none, 64) >= 0 && from->sending() == 0; }))
      << "the memory of what is lost is never free";
  ASSERT_TRUE(system_works("ip link set n0 up && ip -batch /run/routes-n0"));
  EXPECT_EQ(from->joined(), Joined::kYes);
  EXPECT_TRUE(eventually([&] {
    for_a_while([&] { (void)from->poll(none, 64), (void)to->poll(got, 64); });
    if (got.came.empty()) (void)send(*from, sent, 21, bytes);
    return !got.came.empty();
  })) << "it is a member no more";
  EXPECT_TRUE(memory.guarded());
}

TEST_F(Lanes, ADeviceThatIsGoneEndsIt) {
  test::QueuePairWatch watch;
  auto port = lane(0, group(1), {.places = 16});
  ASSERT_NE(port, nullptr);
  const std::uint32_t bytes = port->payload_bytes();
  LaneMemory memory(*port, bytes);
  Got got;
  ASSERT_TRUE(port->post_place(memory.begin(), bytes, memory.region.local_key, 0));
  EXPECT_GE(port->poll(got, 64), 0);
  watch.device_gone = true;
  EXPECT_FALSE(port->arm());
  EXPECT_LT(port->poll(got, 64), 0);
  EXPECT_EQ(port->joined(), Joined::kFailed);
  EXPECT_EQ(port->fault().error_number(), ENODEV);
  port->flush_places(got);
  EXPECT_TRUE(got.back.empty() && got.came.empty());
}

TEST_F(Lanes, WhatCannotBeIsRefused) {
  auto port = lane(0, group(1), {.places = 16});
  ASSERT_NE(port, nullptr);
  EXPECT_FALSE(port->enroll(reinterpret_cast<const void*>(4096), 4096).ok()) << "no memory";
  const auto made = adapters_[0]->open_lane(multicast::group_address({10, 77, 0, 1}, kKey), {});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().text, adapters_[0]->info().name() +
                                   ": 10.77.0.1 is no multicast group: it is not in 224.0.0.0/4");
}

TEST_F(Lanes, SegmentsAreSentOnceAndNotCopied) {
  if (adapters_[0]->info().group_limits.of_one < kLaneNodes) GTEST_SKIP() << "groups are too small";
  make_nodes();
  ASSERT_FALSE(HasFatalFailure());
  const std::vector<std::uint64_t> sizes = {1 << 20, (5 << 20) + 13, 1 << 20, 1000};
  exchange(sizes);
  for (std::size_t source = 0; source < kLaneSources; ++source) {
    EXPECT_EQ(nodes_[source]->lane(source).counts().sends,
              nodes_[source]->source().counts().packets);
    for (std::size_t node = 0; node < kLaneNodes; ++node) {
      if (node == source) continue;
      const multicast::PlacedCounts& counts = nodes_[node]->sink(source).counts();
      EXPECT_EQ(counts.placed, nodes_[source]->source().counts().packets);
      EXPECT_EQ(counts.misplaced + counts.repairs + counts.missing, 0u) << "copied";
      EXPECT_EQ(counts.flushes, 0u);
    }
    EXPECT_EQ(nodes_[source]->source().counts().repairs, 0u);
  }
}

TEST_F(Lanes, WhatIsLostIsRepaired) {
  if (!in_guest()) GTEST_SKIP() << "needs a network that may be made bad";
  make_nodes({.reorder_ns = 2'000'000});
  ASSERT_FALSE(HasFatalFailure());
  Netem first(0, "loss 1%"), second(1, "loss 1%");
  ASSERT_TRUE(first.works() && second.works());
  exchange({1 << 20, (5 << 20) + 13, 1 << 20});
  EXPECT_GE(first.dropped() + second.dropped(), 10u);
  for (std::size_t source = 0; source < kLaneSources; ++source) {
    const multicast::PlacedSourceCounts& sent = nodes_[source]->source().counts();
    EXPECT_EQ(nodes_[source]->lane(source).counts().sends, sent.packets) << "once each";
    EXPECT_GT(sent.repairs, 0u);
    EXPECT_LT(sent.repairs, sent.packets / 4);
    std::printf("source %zu: %llu packets, %llu repaired\n", source,
                static_cast<unsigned long long>(sent.packets),
                static_cast<unsigned long long>(sent.repairs));
  }
}

}  // namespace
}  // namespace espalier::verbs
