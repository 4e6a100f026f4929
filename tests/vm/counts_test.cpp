// What a segment costs on real ports in steady state: operations, doorbells, completions, copies
// and registrations are as few as they can be. Operations that only time decides about (signs of
// life) are counted and taken off.
#include <algorithm>
#include <vector>

#include "tests/harness/traffic.hpp"
#include "tests/vm/verbs_world.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t kSegments = 64;

// Rank 0 sends segments to rank 1, one after another, each when its receive is posted and rank 0
// has been told.
struct Stream {
  Stream(Over over, std::uint64_t bytes_)
      : world(2, over, ""), bytes(bytes_), from(bytes, std::byte{1}), to(bytes) {}

  void progress() {
    for (const Rank r : {0, 1}) (void)world.frames(r).progress();
  }
  SegmentId next(Rank peer) const { return {.peer = peer, .flow = FlowId(1, 0, count)}; }

  // `told`: operations of rank 1 that come before the segment.
  bool one(std::uint64_t told) {
    RecvProbe receive;
    SendProbe send;
    ++count;
    from.front() = from.back() = static_cast<std::byte>(count);
    receive.dst = to.data();
    receive.bytes = bytes;
    const std::uint64_t arrivals = world.port(0).arrivals + told;
    EXPECT_EQ(world.frames(1).recv(next(0), 1, receive), Posted::kPending);
    const auto know = [&] { return progress(), world.port(0).arrivals >= arrivals; };
    if (!verbs::eventually(know)) return false;
    const Send what = {.segment = next(1), .data = from.data(), .bytes = bytes};
    send.posted = world.frames(0).send(what, send);
    if (!verbs::eventually([&] { return progress(), receive.complete() && send.complete(); }))
      return false;
    return receive.status.ok() && to == from;
  }
  bool many(std::uint64_t segments, std::uint64_t told) {
    for (std::uint64_t i = 0; i < segments; ++i) {
      if (!one(told)) return false;
    }
    return true;
  }

  VerbsWorld world;
  const std::uint64_t bytes;
  std::vector<std::byte> from, to;
  std::uint64_t count = 0;
};

// What has been added since it was made.
struct Since {
  Since(VerbsWorld& world_, Rank rank_)
      : world(world_),
        rank(rank_),
        port(world.port(rank)),
        link(statistics()),
        registrations(world.connections(rank).registrations()) {}
  const rdma::ConnectionStatistics& statistics() { return world.connections(rank).statistics(); }
  std::uint64_t probes() { return statistics().probes - link.probes; }
  // Without signs of life, each of which is one of each.
  std::uint64_t sends() { return world.port(rank).sends - port.sends - probes(); }
  std::uint64_t doorbells() { return world.port(rank).doorbells - port.doorbells - probes(); }
  std::uint64_t arrivals() { return world.port(rank).arrivals - port.arrivals; }
  // A sign of life that is under way has not completed.
  std::uint64_t completions() {
    const std::uint64_t all = world.port(rank).send_completions - port.send_completions;
    return all - std::min(all, probes());
  }

  VerbsWorld& world;
  const Rank rank;
  const rdma::PortCounts port;
  const rdma::ConnectionStatistics link;
  const std::uint64_t registrations;
};

TEST(Counts, AnAnnouncedSegmentIsOneOperationAndNoCopy) {
  Stream stream(Over::kConnections, 64 << 10);
  for (const Rank r : {0, 1}) {
    auto& memory = r == 0 ? stream.from : stream.to;
    ASSERT_TRUE(stream.world.connections(r).memory().add(memory.data(), memory.size()).ok());
  }
  // The first comes before rank 0 knows where to: it makes the connection.
  ASSERT_TRUE(stream.many(1, 0) && stream.many(8, 1));
  Since sender(stream.world, 0), receiver(stream.world, 1);
  ASSERT_TRUE(stream.many(kSegments, 1));
  EXPECT_EQ(sender.sends(), kSegments);
  EXPECT_EQ(sender.doorbells(), kSegments);
  EXPECT_LE(sender.completions(), kSegments);
  EXPECT_EQ(sender.arrivals(), kSegments) << "one announcement each";
  EXPECT_EQ(sender.statistics().placed - sender.link.placed, kSegments);
  EXPECT_EQ(sender.statistics().copied_bytes, sender.link.copied_bytes);
  EXPECT_EQ(receiver.arrivals(), kSegments);
  EXPECT_EQ(receiver.sends(), kSegments);
  EXPECT_EQ(receiver.doorbells(), kSegments);
  EXPECT_LE(receiver.completions(), kSegments / 16 + 1);
  EXPECT_EQ(receiver.statistics().copied_out_bytes, receiver.link.copied_out_bytes);
  EXPECT_EQ(receiver.statistics().credit_messages, receiver.link.credit_messages);
  for (Since* side : {&sender, &receiver}) {
    EXPECT_EQ(side->world.connections(side->rank).registrations(), side->registrations);
  }
}

TEST(Counts, ASmallSegmentIsOneMessage) {
  Stream stream(Over::kConnections, 8);
  ASSERT_TRUE(stream.many(8, 0));
  Since sender(stream.world, 0), receiver(stream.world, 1);
  ASSERT_TRUE(stream.many(kSegments, 0));
  EXPECT_EQ(sender.sends(), kSegments);
  EXPECT_EQ(sender.doorbells(), kSegments);
  EXPECT_LE(sender.completions(), kSegments / 16 + 1);
  EXPECT_EQ(sender.statistics().copied_bytes - sender.link.copied_bytes, kSegments * 8);
  EXPECT_EQ(sender.statistics().headless - sender.link.headless, kSegments);
  EXPECT_EQ(receiver.arrivals(), kSegments);
  EXPECT_LE(receiver.sends(), kSegments / 16 + 1) << "credits, for half a window at a time";
}

// Answers a segment with several at once, from its callback.
struct Burst final : RecvOp {
  static constexpr std::uint64_t kFrames = 8, kBytes = 6000;  // several packets of 8 KiB
  explicit Burst(Stream& stream_)
      : RecvOp([](Completion& self, Status) noexcept { static_cast<Burst&>(self).answer(); }),
        stream(stream_),
        data(kBytes, std::byte{3}) {}
  void answer() noexcept {
    for (std::uint64_t i = 0; i < kFrames; ++i) {
      const SegmentId segment = {.peer = 1, .flow = FlowId(1, 0, 5000 + i)};
      const Send what = {.segment = segment, .data = data.data(), .bytes = kBytes};
      sends[i].posted = stream.world.frames(0).send(what, sends[i]);
    }
    answered = true;
  }
  Stream& stream;
  std::vector<std::byte> data;
  SendProbe sends[kFrames];
  bool answered = false;
};

TEST(Counts, WhatACallbackPostsSharesADoorbell) {
  Stream stream(Over::kConnections, 8);
  ASSERT_TRUE(stream.many(8, 0));
  Burst burst(stream);
  RecvProbe receives[Burst::kFrames];
  std::vector<std::byte> got(Burst::kFrames * Burst::kBytes);
  for (std::uint64_t i = 0; i < Burst::kFrames; ++i) {
    receives[i].dst = got.data() + i * Burst::kBytes;
    receives[i].bytes = Burst::kBytes;
    const SegmentId segment = {.peer = 0, .flow = FlowId(1, 0, 5000 + i)};
    ASSERT_EQ(stream.world.frames(1).recv(segment, 1, receives[i]), Posted::kPending);
  }
  // The other direction has its connection, too.
  std::byte question[8] = {};
  burst.dst = question;
  burst.bytes = sizeof question;
  const FlowId flow(1, 0, 4000);
  ASSERT_EQ(stream.world.frames(0).recv({.peer = 1, .flow = flow}, 1, burst), Posted::kPending);
  Since sender(stream.world, 0);
  SendProbe asked;
  const Send what = {.segment = {.peer = 0, .flow = flow}, .data = question, .bytes = 8};
  asked.posted = stream.world.frames(1).send(what, asked);
  ASSERT_TRUE(verbs::eventually([&] {
    stream.progress();
    return std::all_of(std::begin(receives), std::end(receives),
                       [](auto& r) { return r.complete(); });
  }));
  ASSERT_TRUE(verbs::eventually([&] {
    stream.progress();
    return std::all_of(std::begin(burst.sends), std::end(burst.sends),
                       [](auto& s) { return s.complete(); });
  }));
  EXPECT_TRUE(std::all_of(got.begin(), got.end(), [](std::byte b) { return b == std::byte{3}; }));
  EXPECT_GE(sender.sends(), Burst::kFrames * Burst::kBytes / 8192);
  EXPECT_LE(sender.doorbells(), 3U) << "one for all, and what acknowledges the question";
}

// What no receive was announced for goes through packets: as few as hold it, once each.
TEST(Counts, ACopiedSegmentIsAsManyMessagesAsItNeeds) {
  constexpr std::uint64_t kBytes = 8 << 10;
  Stream stream(Over::kConnections, kBytes);
  ASSERT_TRUE(stream.many(8, 0));
  Since sender(stream.world, 0), receiver(stream.world, 1);
  ASSERT_TRUE(stream.many(kSegments, 0));
  const std::uint64_t messages = sender.statistics().messages - sender.link.messages;
  EXPECT_LE(messages, kSegments * 2) << "packets of 8192 bytes, and a header";
  EXPECT_GE(sender.sends(), kSegments);
  EXPECT_LE(sender.sends(), messages + 1);
  EXPECT_LE(sender.doorbells(), kSegments);
  EXPECT_LE(sender.completions(), messages / 8 + 1);
  EXPECT_EQ(sender.statistics().copied_bytes - sender.link.copied_bytes, kSegments * kBytes);
  const std::uint64_t out = receiver.statistics().copied_out_bytes - receiver.link.copied_out_bytes;
  EXPECT_GE(out, kSegments * kBytes);
  EXPECT_LE(out, kSegments * (kBytes + net::kFrameHeaderBytes));
  EXPECT_LE(receiver.arrivals(), messages + 1);
  EXPECT_LE(receiver.sends(), messages / 8 + 1) << "credits";
  EXPECT_EQ(sender.statistics().repeated, sender.link.repeated);
  for (Since* side : {&sender, &receiver}) {
    EXPECT_EQ(side->world.connections(side->rank).registrations(), side->registrations);
  }
}

// The same of datagrams. What is repeated is repeated because a time was over.
struct DatagramsSince {
  DatagramsSince(VerbsWorld& world_, Rank rank_)
      : world(world_), rank(rank_), port(world.port(rank)), link(world.datagrams(rank)) {}
  std::uint64_t of(std::uint64_t rdma::DatagramLinkCounts::*count) {
    return world.datagrams(rank).*count - link.*count;
  }
  std::uint64_t sends() { return world.port(rank).sends - port.sends; }
  std::uint64_t doorbells() { return world.port(rank).doorbells - port.doorbells; }
  std::uint64_t arrivals() { return world.port(rank).arrivals - port.arrivals; }
  void expect_no_more_than(std::uint64_t data, std::uint64_t answers) {
    using Counts = rdma::DatagramLinkCounts;
    EXPECT_LE(of(&Counts::data_sent), data);
    EXPECT_LE(of(&Counts::answers_sent), answers);
    EXPECT_LE(of(&Counts::data_again), 32 * of(&Counts::time_outs));
    EXPECT_EQ(sends(), of(&Counts::data_sent) + of(&Counts::data_again) +
                           of(&Counts::answers_sent) + of(&Counts::probes_sent));
  }

  VerbsWorld& world;
  const Rank rank;
  const rdma::PortCounts port;
  const rdma::DatagramLinkCounts link;
};

TEST(Counts, PacketsOfADatagramSegmentShareDoorbells) {
  constexpr std::uint64_t kLarge = 16, kPackets = 17;  // 64 KiB and headers in packets of 4096
  Stream stream(Over::kDatagrams, 64 << 10);
  ASSERT_TRUE(stream.many(8, 0));
  DatagramsSince sender(stream.world, 0), receiver(stream.world, 1);
  ASSERT_TRUE(stream.many(kLarge, 0));
  EXPECT_GE(sender.sends(), kLarge * (kPackets - 1));
  sender.expect_no_more_than(kLarge * kPackets, kLarge);
  EXPECT_LE(2 * sender.doorbells(), sender.sends());
  receiver.expect_no_more_than(kLarge, kLarge * kPackets / 2);
  EXPECT_LE(receiver.arrivals(), sender.sends());
}

TEST(Counts, ASmallDatagramSegmentIsOnePacket) {
  Stream stream(Over::kDatagrams, 8);
  ASSERT_TRUE(stream.many(8, 0));
  DatagramsSince sender(stream.world, 0), receiver(stream.world, 1);
  ASSERT_TRUE(stream.many(kSegments, 0));
  sender.expect_no_more_than(kSegments, 1);
  receiver.expect_no_more_than(1, kSegments);
  EXPECT_LE(receiver.arrivals(), sender.sends());
}

}  // namespace
}  // namespace espalier::test
