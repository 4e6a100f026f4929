// VerbsConnectionPort (net/verbs/connection_port.hpp) between two nodes: what it carries.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tests/vm/connection_nodes.hpp"

namespace espalier::verbs {
namespace {

using Node = ConnectionNode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(Connections, MessagesOfAllLengths) {
  open();
  Node& a = nodes_[0];
  Node& b = nodes_[1];
  EXPECT_GE(a.port->inline_bytes(), 64u);
  std::uint64_t cookie = 0;
  for (const std::uint64_t bytes : {0u, 1u, 100u, 4095u, 4096u, 4097u, 8192u}) {
    ASSERT_TRUE(a.port->send(a.connection, a.local(50, bytes, ++cookie)));
    ASSERT_TRUE(eventually([&] {
      poll_both();
      return a.log.done.size() == cookie && !b.log.packets.empty();
    })) << bytes;
    ASSERT_EQ(b.log.packets.size(), 1u);
    ASSERT_EQ(b.log.packets[0]->bytes, bytes);
    if (bytes > 0) {
      EXPECT_EQ(std::memcmp(b.log.packets[0]->data, a.memory.data() + 50, bytes), 0);
    }
    b.give_all();
  }
  EXPECT_EQ(a.log.done.back(), cookie);
}

TEST_F(Connections, MessagesWithImmediates) {
  open();
  Node& a = nodes_[0];
  Node& b = nodes_[1];
  constexpr std::uint32_t kTold[] = {0, 0x01020304, 0xffffffff};
  std::uint64_t cookie = 0;
  for (const std::uint64_t bytes : {0u, 1u, 4096u}) {
    ASSERT_TRUE(a.port->send_immediate(a.connection, a.local(50, bytes, cookie), kTold[cookie]));
    ASSERT_TRUE(a.port->send(a.connection, a.local(0, 8, 100 + cookie)));  // without one
    ++cookie;
    ASSERT_TRUE(eventually([&] {
      poll_both();
      return a.log.done.size() == 2 * cookie && b.log.packets.size() == 2;
    })) << bytes;
    ASSERT_EQ(b.log.packets[0]->bytes, bytes);
    if (bytes > 0) {
      EXPECT_EQ(std::memcmp(b.log.packets[0]->data, a.memory.data() + 50, bytes), 0);
    }
    b.give_all();
  }
  EXPECT_THAT(b.log.immediates, ::testing::ElementsAreArray(kTold));
}

TEST_F(Connections, InlineDataMayChangeAfterThePost) {
  open();
  Node& a = nodes_[0];
  Node& b = nodes_[1];
  for (unsigned i = 0; i < 10; ++i) {
    std::uint32_t words[16];
    std::fill(std::begin(words), std::end(words), i);
    const Transfer what = {
        .local = words, .bytes = sizeof words, .cookie = i, .signaled = i == 9, .more = i < 9};
    ASSERT_TRUE(a.port->send(a.connection, what));
  }
  ASSERT_TRUE(eventually([&] {
    poll_both();
    return !a.log.done.empty() && b.log.packets.size() == 10;
  }));
  EXPECT_THAT(a.log.done, ElementsAre(9));  // The others asked for nothing.
  for (std::uint32_t i = 0; i < 10; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, b.log.packets[i]->data + 60, sizeof word);
    EXPECT_EQ(word, i);
  }
}

TEST_F(Connections, WritesWithImmediateArriveInOrderAndWhole) {
  open();
  Node& a = nodes_[0];
  Node& b = nodes_[1];
  constexpr std::uint32_t kSegments = 16, kBytes = 30000;
  for (std::uint32_t i = 0; i < kSegments; ++i) {
    const Transfer what = a.local(i * kBytes, kBytes, i);
    ASSERT_TRUE(a.port->write(a.connection, what, b.remote(i * kBytes), true, 0x01020304 + i));
  }
  ASSERT_TRUE(eventually([&] {
    poll_both();
    return a.log.done.size() == kSegments && b.log.writes.size() == kSegments;
  }));
  for (std::uint32_t i = 0; i < kSegments; ++i) {
    EXPECT_EQ(b.log.writes[i].immediate, 0x01020304 + i);
    EXPECT_EQ(b.log.writes[i].bytes, kBytes);
  }
  EXPECT_EQ(std::memcmp(a.memory.data(), b.memory.data(), kSegments * kBytes), 0);
  EXPECT_EQ(b.memory[kSegments * kBytes], pattern(kSegments * kBytes, 1));
}

// What has come is handed on before its packet goes back, and no credit is given for those that may
// be late, nor for those of the least windows.
TEST_F(Connections, PacketsGoBackInAQuietRound) {
  open({.receive_packets = 64, .packets_each = 4, .connections = 3});
  Node& a = nodes_[0];
  Node& b = nodes_[1];
  EXPECT_EQ(b.port->receive_depth(), 64u - 8u);
  b.poll();
  const std::uint64_t refills = b.port->counts().refills;
  ASSERT_TRUE(a.port->write(a.connection, a.local(0, 8, 1), b.remote(), true, 7));
  ASSERT_TRUE(eventually([&] { return b.poll() > 0; }));
  ASSERT_EQ(b.log.writes.size(), 1u);
  EXPECT_EQ(b.port->counts().refills, refills);
  EXPECT_EQ(b.poll(), 0);
  EXPECT_EQ(b.port->counts().refills, refills + 1);
}

TEST_F(Connections, PlainWritesAndReads) {
  open();
  Node& a = nodes_[0];
  Node& b = nodes_[1];
  ASSERT_TRUE(a.port->write(a.connection, a.local(0, 100000, 1), b.remote(5), false, 0));
  ASSERT_TRUE(a.port->read(a.connection, a.local(200000, 50000, 2), b.remote(300000)));
  ASSERT_TRUE(eventually([&] {
    poll_both();
    return a.log.done.size() == 2;
  }));
  EXPECT_THAT(a.log.done, ElementsAre(1, 2));
  EXPECT_EQ(std::memcmp(a.memory.data(), b.memory.data() + 5, 100000), 0);
  EXPECT_EQ(std::memcmp(a.memory.data() + 200000, b.memory.data() + 300000, 50000), 0);
  EXPECT_THAT(b.log.writes, IsEmpty());  // The other side is not told.
}

TEST_F(Connections, AtomicsAnswerWhatWasThere) {
  if (!in_guest() && !adapters_[0]->info().atomics) GTEST_SKIP() << "the device has no atomics";
  open();
  Node& a = nodes_[0];
  Node& b = nodes_[1];
  const std::uint64_t begin = 1000;
  std::memcpy(b.memory.data() + 64, &begin, sizeof begin);
  const auto atomic = [&](std::size_t result, rdma::Atomic kind, std::uint64_t operand,
                          std::uint64_t compare) {
    return a.port->atomic(a.connection, a.local(result, 8, result), b.remote(64), kind, operand,
                          compare);
  };
  ASSERT_TRUE(atomic(0, rdma::Atomic::kFetchAdd, 5, 0));
  ASSERT_TRUE(atomic(8, rdma::Atomic::kCompareSwap, 7, 1005));
  ASSERT_TRUE(atomic(16, rdma::Atomic::kCompareSwap, 8, 1005));
  ASSERT_TRUE(eventually([&] {
    poll_both();
    return a.log.done.size() == 3;
  }));
  std::uint64_t results[3], end = 0;
  std::memcpy(results, a.memory.data(), sizeof results);
  std::memcpy(&end, b.memory.data() + 64, sizeof end);
  EXPECT_THAT(results, ElementsAre(1000, 1005, 7));
  EXPECT_EQ(end, 7u);
}

TEST_F(Connections, AFullQueueSaysSoAndDrainsWithoutSignals) {
  open({.send_depth = 8});
  Node& a = nodes_[0];
  Node& b = nodes_[1];
  ASSERT_EQ(a.port->send_depth(), 8u);
  Transfer what = a.local(0, 2000, 1);
  what.signaled = false;
  int posted = 0;
  while (a.port->send(a.connection, what)) ++posted;
  EXPECT_EQ(posted, 8);
  // Nobody asked for completions; the queue drains all the same.
  for (; posted < 50; ++posted) {
    ASSERT_TRUE(eventually([&] {
      poll_both();
      b.give_all();
      return a.port->send(a.connection, what);
    })) << posted;
  }
  EXPECT_THAT(a.log.done, IsEmpty());
  EXPECT_THAT(a.log.faults, IsEmpty());
}

TEST_F(Connections, ManyMessagesOnSeveralConnections) {
  open({.receive_packets = 64, .packet_bytes = 1024, .send_depth = 16});
  constexpr std::uint32_t kConnections = 4, kEach = 200;
  std::vector<std::pair<ConnectionId, ConnectionId>> pairs = {
      {nodes_[0].connection, nodes_[1].connection}};
  while (pairs.size() < kConnections) {
    connect();
    pairs.emplace_back(nodes_[0].connection, nodes_[1].connection);
  }
  std::uint32_t posted[kConnections] = {}, received = 0;
  bool right = true;
  std::uint32_t next[kConnections] = {};
  ASSERT_TRUE(eventually([&] {
    for (std::uint32_t c = 0; c < kConnections; ++c) {
      const std::uint32_t sent = std::accumulate(std::begin(posted), std::end(posted), 0u);
      if (posted[c] == kEach || sent - received >= 48) continue;
      const std::uint32_t message[2] = {c, posted[c]};
      const Transfer what = {.local = message,
                             .bytes = sizeof message,
                             .signaled = posted[c] % 4 == 3,
                             .more = posted[c] % 3 != 0};
      posted[c] += nodes_[0].port->send(pairs[c].first, what);
    }
    poll_both();
    for (const Packet* packet : nodes_[1].log.packets) {
      std::uint32_t message[2];
      std::memcpy(message, packet->data, sizeof message);
      right = right && message[0] < kConnections && message[1] == next[message[0]]++;
      ++received;
    }
    nodes_[1].give_all();
    return received == kConnections * kEach || !right;
  })) << received;
  EXPECT_TRUE(right);
  EXPECT_THAT(nodes_[0].log.faults, IsEmpty());
}

TEST_F(Connections, SleepsUntilSomethingHappens) {
  open();
  Node& a = nodes_[0];
  Node& b = nodes_[1];
  ASSERT_TRUE(eventually([&] { return b.poll() == 0 && b.port->arm(); }));
  EXPECT_FALSE(readable(b.port->descriptor(), 20));
  ASSERT_TRUE(a.port->write(a.connection, a.local(0, 10, 1), b.remote(), true, 5));
  EXPECT_TRUE(readable(b.port->descriptor(), 20000));
  EXPECT_TRUE(eventually([&] { return b.poll() > 0; }));
  EXPECT_EQ(b.log.writes.size(), 1u);

  // A break wakes, too.
  b.port->stop(b.connection);
  ASSERT_TRUE(eventually([&] { return a.poll() == 0 && a.port->arm(); }));
  ASSERT_TRUE(a.port->send(a.connection, a.local(0, 10, 2)));
  EXPECT_TRUE(readable(a.port->descriptor(), 20000));
  EXPECT_TRUE(eventually([&] {
    a.poll();
    return a.log.lost.size() == 1;
  }));
}

TEST_F(Connections, MemoryThatCannotBeWrittenIsGoodForSending) {
  open();
  Node& a = nodes_[0];
  static constexpr char kText[] = "in the read-only data of this program";
  auto region = a.port->enroll(kText, sizeof kText);
  ASSERT_TRUE(region.ok()) << region.error().text;
  ASSERT_TRUE(
      a.port->send(a.connection, {.local = kText, .region = &*region, .bytes = sizeof kText}));
  EXPECT_TRUE(eventually([&] {
    poll_both();
    return !nodes_[1].log.packets.empty() && !a.log.done.empty();
  }));
  EXPECT_STREQ(reinterpret_cast<const char*>(nodes_[1].log.packets[0]->data), kText);
  a.port->withdraw(region.value());
  EXPECT_FALSE(a.port->enroll(reinterpret_cast<void*>(16), 4096).ok());
}

TEST_F(Connections, AddressesAreChecked) {
  open();
  Node& a = nodes_[0];
  auto made = a.port->create();
  ASSERT_TRUE(made.ok());
  rdma::ConnectionAddress address = nodes_[1].port->address(nodes_[1].connection);
  address.bytes[3] = std::byte{77};
  const Outcome connected = a.port->connect(*made, address);
  ASSERT_FALSE(connected.ok());
  EXPECT_THAT(connected.error().text, ::testing::HasSubstr("MTU"));
  a.port->destroy(*made);
}

}  // namespace
}  // namespace espalier::verbs
