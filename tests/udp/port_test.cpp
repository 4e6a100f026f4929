// UdpGroupPort (net/udp/udp_group_port.hpp): what reaches whom, and what happens to what does not.
#include "tests/support/allocations.hpp"
#include "tests/udp/members.hpp"

namespace espalier::net {
namespace {

TEST_F(UdpGroups, WhatIsSentOnceReachesAllOnceAndComesBack) {
  constexpr std::uint32_t kPackets = 300;
  auto first = join(options()), second = join(options()), third = join(options());
  EXPECT_FALSE(first->port->intact());
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    const std::uint32_t bytes = 4 + i * 131 % (first->port->packet_bytes() - 3);
    ASSERT_TRUE(first->send(i, bytes));
    for (Member* member : {first.get(), second.get(), third.get()}) {
      ASSERT_TRUE(member->hears(i + 1));
      EXPECT_EQ(member->lengths.back(), bytes);
    }
  }
  for (Member* member : {first.get(), second.get(), third.get()}) {
    EXPECT_EQ(member->heard, numbers_to(kPackets));
    EXPECT_TRUE(member->right);
    EXPECT_EQ(member->poll(), 0);
    EXPECT_EQ(member->port->counts().arrivals, kPackets);
  }
  EXPECT_EQ(first->port->counts().sends, kPackets) << "once each, not once for each member";
  EXPECT_EQ(second->port->counts().sends, 0U);
  EXPECT_EQ(first->port->udp_counts().lost, 0U);
}

TEST_F(UdpGroups, PacketsThatFollowAtOnceShareACall) {
  auto sender = join(options()), receiver = join(options());
  for (std::uint32_t i = 0; i < 8; ++i) ASSERT_TRUE(sender->send(i, 100, true));
  EXPECT_EQ(receiver->poll(), 0);
  sender->port->flush();
  EXPECT_TRUE(receiver->hears(8));
  EXPECT_EQ(sender->port->counts().doorbells, 1U);
  for (std::uint32_t i = 8; i < 8 + 70; ++i) ASSERT_TRUE(sender->send(i, 100, true));
  EXPECT_EQ(sender->port->counts().doorbells, 3U) << "32 at once";
  EXPECT_GE(sender->poll(), 6) << "polling sends what is left";
  const std::uint64_t looks = receiver->port->counts().looks;
  EXPECT_EQ(receiver->poll(70), 70);
  EXPECT_EQ(receiver->port->counts().looks, looks + 3);
  EXPECT_EQ(receiver->heard, numbers_to(78));
}

TEST_F(UdpGroups, HandOverNoMoreThanTheBudget) {
  auto member = join(options());
  for (std::uint32_t i = 0; i < 40; ++i) ASSERT_TRUE(member->send(i, 10));
  EXPECT_EQ(member->poll(3), 3);
  EXPECT_EQ(member->poll(0), 0);
  EXPECT_EQ(member->poll(33), 33);
  EXPECT_EQ(member->poll(33), 4);
  EXPECT_EQ(member->heard, numbers_to(40));
}

// A packet may be under way several times, and given back meanwhile.
TEST_F(UdpGroups, APacketMayBeSentAgain) {
  UdpGroupOptions with = options();
  with.send_packets = 1;
  auto member = join(with);
  rdma::Packet* packet = member->port->take();
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(member->port->take(), nullptr);
  packet->bytes = 4;
  std::memset(packet->data, 0, 4);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(member->port->send(*packet, true));
  EXPECT_EQ(packet->in_flight, 3U);
  member->port->give(*packet);
  EXPECT_EQ(member->port->take(), nullptr);
  member->port->flush();
  EXPECT_TRUE(member->hears(3));
  EXPECT_EQ(member->heard, std::vector<std::uint32_t>(3, 0));
  EXPECT_EQ(member->port->take(), packet);
  EXPECT_EQ(packet->in_flight, 0U);
  member->port->give(*packet);
}

TEST_F(UdpGroups, KeepWhatTheKernelHasNoRoomFor) {
  UdpGroupOptions with = options();
  with.send_depth = 50;  // 64 are positions that wrap around
  for (const int failure : {ENOBUFS, EAGAIN, ENOMEM}) {
    auto sender = join(with), receiver = join(with);
    std::uint32_t queued = 0;
    bool awake = false;
    const auto fill = [&] {
      while (queued < 200 && sender->send(queued, 100)) ++queued;
      (void)sender->poll();
      awake = !sender->port->arm();
    };
    if (!while_refused(SCMP_SYS(sendmmsg), failure, {}, fill)) {
      GTEST_SKIP() << "there can be no filter of system calls here";
    }
    EXPECT_EQ(queued, 64U);
    EXPECT_TRUE(awake) << "something waits to be sent";
    EXPECT_EQ(receiver->poll(), 0);
    EXPECT_EQ(sender->port->counts().sends, 0U);
    ASSERT_TRUE(sender->send(queued, 100)) << "there is room as soon as the kernel has some";
    EXPECT_TRUE(receiver->hears(65));
    EXPECT_EQ(receiver->heard, numbers_to(65));
    EXPECT_TRUE(receiver->right);
    EXPECT_EQ(sender->port->udp_counts().lost, 0U);
  }
}

TEST_F(UdpGroups, LoseWhatTheKernelRefuses) {
  for (const int failure : {EPERM, ENETDOWN, ENETUNREACH, EHOSTUNREACH, EMSGSIZE}) {
    auto sender = join(options()), receiver = join(options());
    bool went = true;
    const auto send = [&] {
      for (std::uint32_t i = 0; i < 300; ++i) went = went && sender->send(i, 100, i % 5 != 0);
      sender->port->flush();
    };
    if (!while_refused(SCMP_SYS(sendmmsg), failure, {}, send)) {
      GTEST_SKIP() << "there can be no filter of system calls here";
    }
    EXPECT_TRUE(went);
    EXPECT_EQ(sender->port->udp_counts().lost, 300U);
    EXPECT_EQ(sender->port->counts().sends, 0U);
    EXPECT_EQ(sender->port->joined(), Joined::kYes);
    EXPECT_TRUE(sender->port->fault().ok());
    ASSERT_TRUE(sender->send(7, 100));
    EXPECT_TRUE(receiver->hears(1));
    EXPECT_EQ(receiver->heard, std::vector<std::uint32_t>{7});
  }
}

TEST_F(UdpGroups, StrangersBytesArriveUnlessTheyAreTooMany) {
  UdpGroupOptions with = options();
  with.packet_bytes = 500;
  auto member = join(with);
  const Descriptor other = stranger();
  ASSERT_TRUE(shout(other, with, std::vector<std::byte>(501)));
  ASSERT_TRUE(shout(other, with, std::vector<std::byte>(60'000)));
  ASSERT_TRUE(shout(other, with, std::vector<std::byte>(500)));
  ASSERT_TRUE(shout(other, with, {}));
  ASSERT_TRUE(member->send(5, 300));
  ASSERT_TRUE(shout(other, with, std::vector<std::byte>(3)));
  EXPECT_TRUE(member->hears(4));
  EXPECT_EQ(member->lengths, (std::vector<std::uint32_t>{500, 0, 300, 3}));
  EXPECT_EQ(member->heard[2], 5U);
  EXPECT_EQ(member->port->udp_counts().too_long, 2U);
  EXPECT_EQ(member->port->counts().arrivals, 4U);
}

// Their packets are used again: many more come than there are.
TEST_F(UdpGroups, TooLongOnesTakeNoPacketAway) {
  UdpGroupOptions with = options();
  with.packet_bytes = 100;
  with.receive_packets = 8;
  auto member = join(with);
  const Descriptor other = stranger();
  for (std::uint32_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(shout(other, with, std::vector<std::byte>(101)));
    ASSERT_TRUE(member->send(i, 100));
    ASSERT_TRUE(member->hears(i + 1));
  }
  EXPECT_EQ(member->heard, numbers_to(100));
  EXPECT_EQ(member->port->udp_counts().too_long, 100U);
}

TEST_F(UdpGroups, WhatFindsNoPacketWaits) {
  UdpGroupOptions with = options();
  with.receive_packets = 8;
  auto member = join(with), sender = join(with);
  EXPECT_EQ(member->port->receive_depth(), 8U);
  member->keeps = true;
  for (std::uint32_t i = 0; i < 8; ++i) ASSERT_TRUE(sender->send(i, 100));
  EXPECT_TRUE(member->hears(8));
  for (std::uint32_t i = 8; i < 16; ++i) ASSERT_TRUE(sender->send(i, 100));
  EXPECT_EQ(member->poll(), 0);
  EXPECT_FALSE(member->port->arm());
  member->port->give(*member->held.back());
  member->held.pop_back();
  EXPECT_EQ(member->poll(), 1);
  member->give_all();
  EXPECT_TRUE(member->hears(16));
  EXPECT_EQ(member->heard, numbers_to(16));
  EXPECT_TRUE(member->right);
}

TEST_F(UdpGroups, SleepUntilSomethingArrives) {
  auto sender = join(options()), receiver = join(options());
  EXPECT_TRUE(receiver->port->arm());
  EXPECT_FALSE(readable(receiver->port->descriptor(), 10));
  ASSERT_TRUE(sender->send(0, 100, true));
  EXPECT_FALSE(readable(receiver->port->descriptor(), 10));
  EXPECT_FALSE(sender->port->arm()) << "it has sent what was queued, which comes back to it";
  EXPECT_TRUE(readable(receiver->port->descriptor(), 20'000));
  EXPECT_FALSE(receiver->port->arm());
  EXPECT_TRUE(receiver->hears(1));
  EXPECT_TRUE(receiver->port->arm());
}

struct GivesBack final : rdma::DatagramSink {
  explicit GivesBack(UdpGroupPort& port_) : port(port_) {}
  void arrived(rdma::Packet& packet) noexcept override {
    ++count;
    port.give(packet);
  }
  UdpGroupPort& port;
  std::uint64_t count = 0;
};

TEST_F(UdpGroups, AskForNoMemoryOnceTheyAreMade) {
  auto member = join(options());
  GivesBack sink(*member->port);
  const std::uint64_t before = test::allocations();
  for (std::uint32_t i = 0; i < 2000; ++i) {
    ASSERT_TRUE(member->send(i, 200, i % 7 != 0));
    (void)member->port->poll(sink, 16);
    (void)member->port->arm();
  }
  EXPECT_EQ(test::allocations(), before);
  EXPECT_TRUE(eventually([&] { return member->port->poll(sink, 16), sink.count == 2000; }));
}

}  // namespace
}  // namespace espalier::net
