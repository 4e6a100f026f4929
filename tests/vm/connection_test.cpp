// VerbsConnectionPort (net/verbs/connection_port.hpp) between two nodes.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tests/vm/nodes.hpp"

namespace espalier::verbs {
namespace {

using rdma::ConnectionId;
using rdma::Fault;
using rdma::Packet;
using rdma::RemoteMemory;
using rdma::Transfer;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Notes what a port tells.
struct Log final : rdma::ConnectionSink {
  struct Placed {
    ConnectionId from;
    std::uint32_t immediate, bytes;
  };
  struct Failed {
    std::uint64_t cookie;
    Fault why;
    friend bool operator==(const Failed&, const Failed&) = default;
  };
  void received(ConnectionId, Packet& packet) noexcept override { packets.push_back(&packet); }
  void placed(ConnectionId from, std::uint32_t immediate, std::uint32_t bytes) noexcept override {
    writes.push_back({from, immediate, bytes});
  }
  void completed(ConnectionId, std::uint64_t cookie) noexcept override {
    EXPECT_THAT(faults, IsEmpty());
    done.push_back(cookie);
  }
  void broken(ConnectionId which, Fault why) noexcept override {
    broken_ones.push_back(which);
    faults.push_back(why);
  }
  void failed(ConnectionId, std::uint64_t cookie, Fault why) noexcept override {
    lost.push_back({cookie, why});
  }

  std::vector<Packet*> packets;
  std::vector<Placed> writes;
  std::vector<std::uint64_t> done;
  std::vector<ConnectionId> broken_ones;
  std::vector<Fault> faults;
  std::vector<Failed> lost;
};

struct Node {
  std::unique_ptr<rdma::ConnectionPort> port;
  Log log;
  ConnectionId connection = {};
  std::vector<std::byte> memory;
  rdma::Region region;

  int poll() { return port->poll(log, 64); }
  RemoteMemory remote(std::size_t offset = 0) const {
    return {reinterpret_cast<std::uint64_t>(memory.data() + offset), region.remote_key};
  }
  Transfer local(std::size_t offset, std::uint64_t bytes, std::uint64_t cookie) const {
    return {.local = memory.data() + offset, .region = &region, .bytes = bytes, .cookie = cookie};
  }
  void give_all() {
    for (Packet* packet : log.packets) port->repost(*packet);
    log.packets.clear();
  }
};

class Connections : public TwoNodes {
 protected:
  static constexpr std::size_t kMemory = 1 << 20;
  // Time-outs that end in a fraction of a second.
  Options options() const override {
    Options options;
    options.ack_timeout = 10;
    options.retries = 3;
    options.not_ready_retries = 2;
    return options;
  }

  void open(const ConnectionOptions& options = {}) {
    for (int i = 0; i < 2; ++i) {
      Node& node = nodes_[i];
      auto made = adapters_[i]->open_connections(options);
      ASSERT_TRUE(made.ok()) << made.error().text;
      node.port = std::move(*made);
      node.memory.resize(kMemory);
      for (std::size_t k = 0; k < kMemory; ++k) node.memory[k] = pattern(k, i);
      auto region = node.port->enroll(node.memory.data(), node.memory.size());
      ASSERT_TRUE(region.ok()) << region.error().text;
      node.region = *region;
    }
    connect();
  }
  void connect() {
    for (Node& node : nodes_) {
      auto made = node.port->create();
      ASSERT_TRUE(made.ok()) << made.error().text;
      node.connection = *made;
    }
    for (int i = 0; i < 2; ++i) {
      const auto address = nodes_[1 - i].port->address(nodes_[1 - i].connection);
      const Outcome connected = nodes_[i].port->connect(nodes_[i].connection, address);
      ASSERT_TRUE(connected.ok()) << connected.error().text;
    }
  }
  void TearDown() override {
    for (Node& node : nodes_) {
      if (node.port == nullptr) continue;
      node.port->withdraw(node.region);
      node.port.reset();
    }
  }
  static std::byte pattern(std::size_t k, int node) {
    return static_cast<std::byte>(k * 13 + (k >> 8) + static_cast<std::size_t>(node) * 101);
  }
  void poll_both() {
    nodes_[0].poll();
    nodes_[1].poll();
  }
  // A fresh connection carries a message: the ports are usable.
  void expect_usable() {
    for (Node& node : nodes_) node.log = {};
    connect();
    Node& a = nodes_[0];
    ASSERT_TRUE(a.port->send(a.connection, a.local(0, 100, 7)));
    EXPECT_TRUE(eventually([&] {
      poll_both();
      return !a.log.done.empty() && !nodes_[1].log.packets.empty();
    }));
    EXPECT_THAT(a.log.done, ElementsAre(7));
    nodes_[1].give_all();
  }

  Node nodes_[2];
};

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
  if (!adapters_[0]->info().atomics) GTEST_SKIP() << "the device has no atomics";
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

TEST_F(Connections, AReceiverThatIsNeverReadyBreaksTheConnection) {
  open({.receive_packets = 4});
  Node& a = nodes_[0];
  for (std::uint64_t i = 1; i <= 7; ++i) {
    ASSERT_TRUE(a.port->send(a.connection, a.local(0, 100, i)));
  }
  ASSERT_TRUE(eventually([&] {
    poll_both();  // Node 1 takes four packets and gives none back.
    return a.log.lost.size() == 3;
  })) << a.log.done.size()
      << " done, " << a.log.lost.size() << " lost";
  EXPECT_THAT(a.log.done, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(a.log.faults, ElementsAre(Fault::kReceiverNotReady));
  EXPECT_THAT(a.log.lost,
              ElementsAre(Log::Failed{5, Fault::kReceiverNotReady}, Log::Failed{6, Fault::kFlushed},
                          Log::Failed{7, Fault::kFlushed}));
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
  EXPECT_THAT(a.log.lost,
              ElementsAre(Log::Failed{1, Fault::kRetryExceeded}, Log::Failed{2, Fault::kFlushed}));
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
  EXPECT_THAT(a.log.lost, ElementsAre(Log::Failed{1, Fault::kRemoteAccess}));
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
  EXPECT_THAT(a.log.lost, ElementsAre(Log::Failed{4, Fault::kFlushed}));
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

TEST_F(Connections, LossBelowIsRepaired) {
  Netem netem(0, "loss 5% duplicate 5% delay 1ms reorder 20%");
  if (!netem.works()) GTEST_SKIP() << "no netem";
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
  for (const Log::Placed& write : b.log.writes) {
    EXPECT_EQ(write.immediate, i);
    EXPECT_EQ(std::memcmp(a.memory.data() + i * 30000, b.memory.data() + i * 30000, 30000), 0);
    ++i;
  }
  EXPECT_GE(b.log.writes.size(), a.log.done.size());
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
