// VerbsConnectionPort between two nodes: how connections end, and what is left of them.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "tests/vm/connection_nodes.hpp"

namespace espalier::verbs {
namespace {

using Node = ConnectionNode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(Connections, AReceiverThatIsNeverReadyBreaksTheConnection) {
  open({.receive_packets = 7}, 2);
  Node& a = nodes_[0];
  const auto send = [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i <= last; ++i) {
      ASSERT_TRUE(a.port->send(a.connection, a.local(0, 100, i)));
    }
  };
  send(1, 2);
  ASSERT_TRUE(eventually([&] {
    poll_both();
    return a.log.done.size() == 2;
  }));
  nodes_[1].port->provide(4);
  send(3, 7);
  ASSERT_TRUE(eventually([&] {
    poll_both();  // Node 1 takes the four packets that there are and gives none back.
    return a.log.lost.size() == 3;
  })) << a.log.done.size()
      << " done, " << a.log.lost.size() << " lost";
  EXPECT_THAT(a.log.done, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(a.log.faults, ElementsAre(Fault::kReceiverNotReady));
  EXPECT_THAT(a.log.lost, ElementsAre(ConnectionLog::Failed{5, Fault::kReceiverNotReady},
                                      ConnectionLog::Failed{6, Fault::kFlushed},
                                      ConnectionLog::Failed{7, Fault::kFlushed}));
  nodes_[1].give_all();
  nodes_[1].port->stop(nodes_[1].connection);
  for (Node& node : nodes_) node.port->destroy(node.connection);
  expect_usable();
}

TEST_F(Connections, APeerThatIsGoneBreaksTheConnectionInTime) {
  open();
  Node& a = nodes_[0];
  Node& b = nodes_[1];
  b.port->stop(b.connection);
  b.port->destroy(b.connection);
  ASSERT_TRUE(a.port->send(a.connection, a.local(0, 100, 1)));
  ASSERT_TRUE(a.port->write(a.connection, a.local(0, 100, 2), b.remote(), false, 0));
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(eventually([&] {
    poll_both();
    return a.log.lost.size() == 2;
  }));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  EXPECT_THAT(a.log.broken_ones, ElementsAre(a.connection));
  EXPECT_THAT(a.log.lost, ElementsAre(ConnectionLog::Failed{1, Fault::kRetryExceeded},
                                      ConnectionLog::Failed{2, Fault::kFlushed}));
  EXPECT_EQ(a.poll(), 0);
  a.port->destroy(a.connection);
  expect_usable();
}

TEST_F(Connections, AWrongKeyBreaksTheConnectionAndTouchesNothing) {
  open();
  Node& a = nodes_[0];
  Node& b = nodes_[1];
  RemoteMemory wrong = b.remote();
  wrong.key ^= 0x5A5A;
  ASSERT_TRUE(a.port->write(a.connection, a.local(0, 500, 1), wrong, true, 9));
  ASSERT_TRUE(eventually([&] {
    poll_both();
    return a.log.lost.size() == 1;
  }));
  EXPECT_THAT(a.log.lost, ElementsAre(ConnectionLog::Failed{1, Fault::kRemoteAccess}));
  for_a_while([&] { poll_both(); });
  EXPECT_THAT(b.log.writes, IsEmpty());
  EXPECT_EQ(b.memory[0], pattern(0, 1));
  // Beyond the end of the memory, and memory that is withdrawn.
  for (const bool withdrawn : {false, true}) {
    SCOPED_TRACE(withdrawn);
    for (Node& node : nodes_) {
      node.port->stop(node.connection);
      node.port->destroy(node.connection);
      node.log = {};
    }
    connect();
    const RemoteMemory where = withdrawn ? b.remote() : b.remote(kMemory - 100);
    std::vector<std::byte> other(4096);
    if (withdrawn) {
      b.port->withdraw(b.region);
      auto region = b.port->enroll(other.data(), other.size());
      ASSERT_TRUE(region.ok());
      b.region = *region;
    }
    ASSERT_TRUE(a.port->read(a.connection, a.local(0, 500, 3), where));
    ASSERT_TRUE(eventually([&] {
      poll_both();
      return a.log.lost.size() == 1;
    }));
    EXPECT_EQ(a.log.lost[0].why, Fault::kRemoteAccess);
  }
  for (Node& node : nodes_) {
    node.port->stop(node.connection);
    node.port->destroy(node.connection);
  }
  expect_usable();
}

TEST_F(Connections, AMessageLongerThanAPacketBreaksItsConnectionOnly) {
  open({.packet_bytes = 1024});
  Node& a = nodes_[0];
  const ConnectionId first = a.connection, first_at_b = nodes_[1].connection;
  connect();
  ASSERT_TRUE(a.port->send(first, a.local(0, 2000, 1)));
  ASSERT_TRUE(eventually([&] {
    poll_both();
    return a.log.lost.size() == 1;
  }));
  EXPECT_THAT(nodes_[1].log.packets, IsEmpty());
  EXPECT_THAT(a.log.broken_ones, ElementsAre(first));
  const auto broken_at_b = nodes_[1].log.broken_ones;
  EXPECT_TRUE(broken_at_b.empty() || broken_at_b == std::vector{first_at_b});
  nodes_[0].log = {};
  ASSERT_TRUE(a.port->send(a.connection, a.local(0, 1000, 2)));
  EXPECT_TRUE(eventually([&] {
    poll_both();
    return a.log.done.size() == 1;
  }));
}

TEST_F(Connections, StoppingHandsOverWhatHadComeAndFailsTheRest) {
  open();
  Node& a = nodes_[0];
  Node& b = nodes_[1];
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(a.port->send(a.connection, a.local(0, 100, i)));
  }
  ASSERT_TRUE(eventually([&] {
    a.poll();
    return a.log.done.size() == 3;
  }));
  b.port->stop(b.connection);  // Has the three, and has not looked yet.
  a.port->stop(a.connection);
  ASSERT_TRUE(a.port->send(a.connection, a.local(0, 100, 4)));  // Too late.
  while (a.poll() + b.poll() > 0) {
  }
  EXPECT_EQ(b.log.packets.size(), 3u);
  EXPECT_THAT(a.log.lost, ElementsAre(ConnectionLog::Failed{4, Fault::kFlushed}));
  EXPECT_THAT(a.log.faults, IsEmpty());  // Whoever stops knows.
  EXPECT_THAT(b.log.faults, IsEmpty());
  b.give_all();
  for (Node& node : nodes_) node.port->destroy(node.connection);
  expect_usable();
}

TEST_F(Connections, NothingIsPlacedAfterStop) {
  open();
  Node& a = nodes_[0];
  Node& b = nodes_[1];
  for (int round = 0; round < 10; ++round) {
    for (std::uint64_t i = 0; i < 8; ++i) {
      ASSERT_TRUE(a.port->write(a.connection, a.local(0, 100000, i), b.remote(), false, 0));
    }
    for (int i = 0; i < round; ++i) poll_both();
    b.port->stop(b.connection);
    std::fill(b.memory.begin(), b.memory.end(), std::byte{0});
    for_a_while([&] { poll_both(); });
    ASSERT_TRUE(std::all_of(b.memory.begin(), b.memory.end(),
                            [](std::byte byte) { return byte == std::byte{0}; }));
    ASSERT_TRUE(eventually([&] {
      poll_both();
      return a.log.done.size() + a.log.lost.size() == 8;
    }));
    a.port->stop(a.connection);
    for (Node& node : nodes_) {
      node.port->destroy(node.connection);
      node.log = {};
    }
    connect();
  }
}

TEST_F(Connections, StoppingInsideMessagesCostsNoPackets) {
  constexpr std::uint32_t kPackets = 8;
  open({.receive_packets = kPackets});
  Node& a = nodes_[0];
  Node& b = nodes_[1];
  const auto again = [&] {
    for (Node& node : nodes_) {
      node.port->stop(node.connection);
      while (node.poll() > 0) {
      }
      node.give_all();
      node.port->destroy(node.connection);
      node.log = {};
    }
    connect();
  };
  for (int round = 0; round < 40; ++round) {
    for (std::uint64_t i = 0; i < 4; ++i) {
      ASSERT_TRUE(a.port->send(a.connection, a.local(0, 8192, i)));  // Two packets each.
    }
    for (int spin = 0; spin < round * 20; ++spin) a.poll();
    b.port->stop(b.connection);
    again();
  }
  for (std::uint64_t i = 0; i < kPackets; ++i) {
    ASSERT_TRUE(a.port->send(a.connection, a.local(0, 100, i)));
  }
  EXPECT_TRUE(eventually([&] {
    poll_both();
    return b.log.packets.size() == kPackets || !a.log.faults.empty();
  }));
  EXPECT_EQ(b.log.packets.size(), kPackets);
}

TEST_F(Connections, NumbersAreUsedAgainAndLimited) {
  open({.send_depth = 8, .connections = 6});
  Node& a = nodes_[0];
  std::vector<ConnectionId> made = {a.connection};
  while (true) {
    auto next = a.port->create();
    if (!next) {
      EXPECT_EQ(next.error().status.code(), ESP_ERR_NO_MEMORY);
      break;
    }
    made.push_back(*next);
  }
  EXPECT_EQ(made.size(), 6u);
  for (const ConnectionId which : {made[5], made[3], made[4], made[2], made[1]}) {
    a.port->destroy(which);
  }
  // A number's earlier life leaves nothing behind.
  for (int i = 0; i < 20; ++i) {
    expect_usable();
    for (Node& node : nodes_) {
      node.port->stop(node.connection);
      node.port->destroy(node.connection);
    }
  }
}

TEST_F(Connections, LossBelowIsRepaired) {
  if (!in_guest()) GTEST_SKIP() << "needs a network that may be made bad";
  Netem netem(0, "loss 5% duplicate 5% delay 1ms reorder 20%");
  ASSERT_TRUE(netem.works());
  open();
  Node& a = nodes_[0];
  Node& b = nodes_[1];
  for (std::uint32_t i = 0; i < 10; ++i) {
    const Transfer what = a.local(i * 30000, 30000, i);
    ASSERT_TRUE(a.port->write(a.connection, what, b.remote(i * 30000), true, i));
  }
  ASSERT_TRUE(eventually([&] {
    poll_both();
    return a.log.done.size() + a.log.lost.size() == 10;
  }));
  // Few retries are allowed here: the connection may break, but it does not lie.
  std::uint32_t i = 0;
  for (const ConnectionLog::Placed& write : b.log.writes) {
    EXPECT_EQ(write.immediate, i);
    EXPECT_EQ(std::memcmp(a.memory.data() + i * 30000, b.memory.data() + i * 30000, 30000), 0);
    ++i;
  }
  EXPECT_GE(b.log.writes.size(), a.log.done.size());
}

// Soft-RoCE never tells that a queue pair has given back what it took: one packet for each may be
// gone. As long as there are spares that is made up for; then no more may be promised.
TEST_F(Connections, WhatMayBeLostIsNotPromised) {
  if (!in_guest()) GTEST_SKIP() << "other devices tell";
  constexpr std::uint32_t kSpares = 32, kMore = 5;
  open();
  rdma::ConnectionPort& port = *nodes_[0].port;
  const std::uint32_t depth = port.receive_depth();
  for (std::uint32_t ends = 1; ends <= kSpares + kMore; ++ends) {
    for (ConnectionNode& node : nodes_) {
      node.port->stop(node.connection);
      while (node.poll() > 0) {
      }
      node.port->destroy(node.connection);
    }
    EXPECT_EQ(port.receive_depth(), depth - (ends > kSpares ? ends - kSpares : 0));
    connect();
  }
  port.provide(port.receive_depth());
  expect_usable();
}

}  // namespace
}  // namespace espalier::verbs
