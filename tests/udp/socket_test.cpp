// The socket of a group: what it holds, and what is said where the kernel refuses it.
#include "tests/udp/members.hpp"

namespace espalier::net {
namespace {

using ::testing::HasSubstr;

TEST(UdpSizes, PacketsFillAFrame) {
  EXPECT_EQ(udp_packet_bytes(1500, false), 1472U);
  EXPECT_EQ(udp_packet_bytes(9000, false), 8972U);
  EXPECT_EQ(udp_packet_bytes(1'000'000, false), kUdpBytesMax);
  EXPECT_EQ(udp_packet_bytes(1500, true), 1472U);
  EXPECT_EQ(udp_packet_bytes(65'536, true), 7680U);
  EXPECT_EQ(udp_packet_bytes(28, false), 0U);
  EXPECT_EQ(udp_packet_bytes(0, true), 0U);
}

TEST(UdpSizes, ABufferHoldsLessThanItsBytes) {
  EXPECT_EQ(datagrams_held(0, 1472, false), 1U);
  EXPECT_EQ(datagrams_held(425'984, 1472, false), 62U);  // what Linux allows without being asked
  EXPECT_EQ(datagrams_held(425'984, 100, false), 62U);
  EXPECT_EQ(datagrams_held(425'984, 100, true), 156U);
  EXPECT_EQ(datagrams_held(8 << 20, 7680, true), 682U);
  EXPECT_LT(datagrams_held(8 << 20, 7681, true), 400U);
  EXPECT_EQ(datagrams_held(~std::uint64_t{0}, 1, true), ~0U);
}

TEST_F(UdpGroups, AskForTheMtuTheyAreNotTold) {
  EXPECT_EQ(join(options())->port->packet_bytes(), 7680U);
  UdpGroupOptions told = options();
  told.mtu_bytes = 1500;
  EXPECT_EQ(join(told)->port->packet_bytes(), 1472U);
  told.packet_bytes = 9000;
  EXPECT_EQ(join(told)->port->packet_bytes(), 9000U);
}

TEST_F(UdpGroups, StayOnTheirMachineOrNetwork) {
  const auto value_of = [](const Member& member, int option) {
    int value = -1;
    socklen_t bytes = sizeof value;
    EXPECT_EQ(::getsockopt(member.port->descriptor(), IPPROTO_IP, option, &value, &bytes), 0);
    return value;
  };
  UdpGroupOptions with = options();
  for (const bool loopback : {true, false}) {
    with.interface.loopback = loopback;
    const auto member = join(with);
    EXPECT_EQ(value_of(*member, IP_MULTICAST_TTL), loopback ? 0 : 1);
    EXPECT_EQ(value_of(*member, IP_MULTICAST_LOOP), 1);
    EXPECT_EQ(value_of(*member, IP_MULTICAST_ALL), 0);
  }
}

// Whatever the size: all that is promised waits for a port that does not look.
TEST_F(UdpGroups, HoldWhatTheySay) {
  for (const std::uint32_t bytes : {64U, 200U, 1472U, 2500U, 7680U, 7681U, 9000U, 20'000U}) {
    UdpGroupOptions with = options();
    with.packet_bytes = bytes;
    auto member = join(with), sender = join(with);
    const std::uint32_t depth = member->port->receive_depth();
    ASSERT_GE(depth, 1U);
    ASSERT_LE(depth, with.receive_packets);
    for (std::uint32_t i = 0; i < depth; ++i) ASSERT_TRUE(sender->send(i, bytes));
    EXPECT_TRUE(member->hears(depth)) << bytes << ": " << member->heard.size() << " of " << depth;
    EXPECT_EQ(member->heard, numbers_to(depth));
    EXPECT_TRUE(member->right);
  }
}

// What is read is not free at once: the kernel may count it for a while.
TEST_F(UdpGroups, HoldWhatTheySayWhileTheyRead) {
  UdpGroupOptions with = options();
  with.packet_bytes = 1472;
  with.receive_packets = 100'000;
  auto member = join(with), sender = join(with);
  const std::uint32_t depth = member->port->receive_depth();
  if (depth < with.receive_packets) {
    EXPECT_THAT(logged_, HasSubstr("net.core.rmem_max would have to be"));
  }
  std::uint32_t sent = 0, waiting = 0;
  for (const std::uint32_t tenths : {1U, 2U, 3U, 5U, 7U, 9U, 10U}) {
    for (; waiting < depth; ++waiting) ASSERT_TRUE(sender->send(sent++, with.packet_bytes));
    const auto part = static_cast<int>(depth * tenths / 10);
    EXPECT_EQ(member->poll(part), part);
    waiting -= static_cast<std::uint32_t>(part);
  }
  EXPECT_TRUE(member->hears(sent));
  EXPECT_EQ(member->heard, numbers_to(sent));
}

TEST_F(UdpGroups, DoNotMixOnOnePort) {
  auto first = join(options(1)), second = join(options(2)), also_first = join(options(1));
  for (std::uint32_t i = 0; i < 20; ++i) ASSERT_TRUE(first->send(i, 100));
  for (std::uint32_t i = 0; i < 10; ++i) ASSERT_TRUE(second->send(i, 50));
  EXPECT_TRUE(first->hears(20) && also_first->hears(20) && second->hears(10));
  EXPECT_EQ(also_first->heard, numbers_to(20));
  EXPECT_EQ(first->heard, numbers_to(20));
  EXPECT_EQ(second->heard, numbers_to(10));
  EXPECT_EQ(second->lengths, std::vector<std::uint32_t>(10, 50));
}

TEST_F(UdpGroups, HearNothingThatIsForTheMachineAlone) {
  auto member = join(options());
  sockaddr_in to = address_of(options());
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const Descriptor other = stranger();
  EXPECT_EQ(::sendto(other.fd(), "1234", 4, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to),
            4);
  ASSERT_TRUE(member->send(0, 100));
  EXPECT_TRUE(member->hears(1));
  EXPECT_EQ(member->lengths, std::vector<std::uint32_t>{100});
}

TEST_F(UdpGroups, WhoLeavesLetsTheOthersBeAndFreesThePort) {
  auto stays = join(options()), leaves = join(options());
  leaves.reset();
  ASSERT_TRUE(stays->send(0, 100));
  EXPECT_TRUE(stays->hears(1));
  const Descriptor other = stranger();
  EXPECT_FALSE(binds_alone(other, options()));
  stays.reset();
  EXPECT_TRUE(binds_alone(other, options()));
}

TEST_F(UdpGroups, WrongOptionsAreRefused) {
  const auto flaw = [&](const UdpGroupOptions& with) {
    const auto made = UdpGroupPort::create(with, log());
    if (made) return std::string("none");
    EXPECT_EQ(made.error().status.code(), ESP_ERR_ARGUMENT);
    return made.error().text;
  };
  EXPECT_EQ(flaw(options()), "none");
  UdpGroupOptions wrong = options();
  wrong.group = multicast::group_address({10, 1, 2, 3}, 0);
  EXPECT_EQ(flaw(wrong), "10.1.2.3 is no multicast group: it is not in 224.0.0.0/4");
  wrong = options();
  wrong.port = 0;
  EXPECT_THAT(flaw(wrong), HasSubstr("no port"));
  wrong = options();
  ASSERT_TRUE(parse_host("::1", wrong.interface.address));
  EXPECT_THAT(flaw(wrong), HasSubstr("IPv4 alone"));
  wrong = options();
  wrong.packet_bytes = kUdpBytesMax + 1;
  EXPECT_THAT(flaw(wrong), HasSubstr("longer than UDP's"));
  wrong.packet_bytes = kUdpBytesMax;
  EXPECT_EQ(flaw(wrong), "none");
}

class RefusedUdpGroups : public UdpGroups {
 protected:
  // A port that has failed is one that nothing passes, whatever is done with it.
  void expect_failed(UdpGroupPort* port, int failure, const std::string& text) {
    ASSERT_NE(port, nullptr);
    EXPECT_EQ(port->joined(), Joined::kFailed);
    EXPECT_FALSE(port->fault().ok());
    EXPECT_EQ(port->fault().error_number(), failure);
    EXPECT_THAT(logged_, HasSubstr(text));
    EXPECT_THAT(logged_, HasSubstr(group_text(options())));
    rdma::Packet* packet = port->take();
    ASSERT_NE(packet, nullptr);
    packet->bytes = 64;
    EXPECT_FALSE(port->send(*packet, false));
    EXPECT_EQ(packet->in_flight, 0U);
    port->flush();
    port->give(*packet);
    Member sink(nullptr);
    EXPECT_LT(port->poll(sink, 10), 0);
    EXPECT_FALSE(port->arm());
    EXPECT_EQ(port->descriptor(), -1);
    EXPECT_GE(port->packet_bytes(), 1000U);
    EXPECT_GE(port->receive_depth(), 1U);
    logged_.clear();
  }
};

TEST_F(RefusedUdpGroups, NoSuchInterface) {
  UdpGroupOptions wrong = options();
  ASSERT_TRUE(parse_host("203.0.113.9", wrong.interface.address));
  for (const std::uint32_t mtu : {0U, 1500U}) {
    wrong.mtu_bytes = mtu;
    const auto port = open(wrong);
    EXPECT_THAT(logged_, HasSubstr(group_text(wrong)));
    logged_ += group_text(options());
    expect_failed(port.get(), EADDRNOTAVAIL, "no interface has this address");
  }
}

TEST_F(RefusedUdpGroups, ThePortIsTaken) {
  const Descriptor other = stranger();
  ASSERT_TRUE(binds_alone(other, options()));
  expect_failed(open(options()).get(), EADDRINUSE, "a program keeps this port for itself");
}

TEST_F(RefusedUdpGroups, TheMtuIsTooSmall) {
  UdpGroupOptions wrong = options();
  wrong.mtu_bytes = 100;
  expect_failed(open(wrong).get(), 0, "MTU of 100 is too small");
}

TEST_F(RefusedUdpGroups, TheKernelTakesNoMoreMembers) {
  const auto expect = [&](int failure, const std::string& text) {
    std::unique_ptr<UdpGroupPort> port;
    if (!while_refused(
            SCMP_SYS(setsockopt), failure,
            {SCMP_A1(SCMP_CMP_EQ, IPPROTO_IP, 0), SCMP_A2(SCMP_CMP_EQ, IP_ADD_MEMBERSHIP, 0)},
            [&] { port = open(options()); })) {
      GTEST_SKIP() << "there can be no filter of system calls here";
    }
    expect_failed(port.get(), failure, text);
  };
  expect(ENOBUFS, "net.ipv4.igmp_max_memberships is too small");
  expect(ENOMEM, "net.core.optmem_max is too small");
  expect(EPERM, "this process is not allowed to");
  expect(ENODEV, "no interface has this address");
}

}  // namespace
}  // namespace espalier::net
