// VerbsDatagramPort (net/verbs/datagram_port.hpp) between two nodes.
#include <gmock/gmock.h>

#include <atomic>
#include <cstring>

#include "tests/vm/nodes.hpp"
#include "tests/vm/queue_pairs.hpp"

namespace espalier::verbs {
namespace {

using rdma::Packet;

// Keeps what arrives.
struct Inbox final : rdma::DatagramSink {
  void arrived(Packet& packet) noexcept override { packets.push_back(&packet); }
  std::vector<Packet*> packets;
};

struct DatagramNode {
  std::unique_ptr<rdma::DatagramPort> port;
  Inbox inbox;
  rdma::PathId to_other = {};

  int poll() { return port->poll(inbox, 64); }
  void give_all() {
    for (Packet* packet : inbox.packets) port->give(*packet);
    inbox.packets.clear();
  }
};

class Datagrams : public TwoNodes {
 protected:
  void open(const DatagramOptions& options = {}) {
    for (int i = 0; i < 2; ++i) {
      auto made = adapters_[i]->open_datagrams(options);
      ASSERT_TRUE(made.ok()) << made.error().text;
      nodes_[i].port = std::move(*made);
    }
    for (int i = 0; i < 2; ++i) {
      auto path = nodes_[i].port->open_path(nodes_[1 - i].port->address());
      ASSERT_TRUE(path.ok()) << path.error().text;
      nodes_[i].to_other = *path;
    }
  }

  // A packet of `bytes` bytes that are a function of `seed`.
  static Packet* filled(DatagramNode& node, std::uint32_t bytes, unsigned seed) {
    Packet* packet = node.port->take();
    if (packet == nullptr) return nullptr;
    packet->bytes = bytes;
    for (std::uint32_t i = 0; i < bytes; ++i) packet->data[i] = pattern(seed, i);
    return packet;
  }
  static std::byte pattern(unsigned seed, std::uint32_t i) {
    return static_cast<std::byte>(seed * 37 + i * 11 + (i >> 8));
  }
  static bool holds(const Packet& packet, std::uint32_t bytes, unsigned seed) {
    if (packet.bytes != bytes) return false;
    for (std::uint32_t i = 0; i < bytes; ++i) {
      if (packet.data[i] != pattern(seed, i)) return false;
    }
    return true;
  }
  static void send_one(DatagramNode& node, std::uint32_t bytes, unsigned seed) {
    Packet* packet = filled(node, bytes, seed);
    ASSERT_NE(packet, nullptr);
    ASSERT_TRUE(node.port->send(node.to_other, *packet, false));
    node.port->give(*packet);
  }
  // Whether a packet gets through from a to b; earlier arrivals are dropped.
  ::testing::AssertionResult works(DatagramNode& a, DatagramNode& b) {
    b.give_all();
    for (unsigned attempt = 0; attempt < 50; ++attempt) {  // Datagrams may be lost.
      send_one(a, 200, 99 + attempt);
      for_a_while([&] { a.poll(), b.poll(); });
      for (const Packet* packet : b.inbox.packets) {
        if (holds(*packet, 200, 99 + attempt)) {
          b.give_all();
          return ::testing::AssertionSuccess();
        }
      }
    }
    return ::testing::AssertionFailure() << "nothing gets through";
  }

  void poll_both() {
    nodes_[0].poll();
    nodes_[1].poll();
  }

  // So many packets from one to the other, in batches of 8, of 16 bytes and up to `spread` more.
  void expect_stream(unsigned packets, unsigned spread) {
    unsigned sent = 0, received = 0;
    bool right = true;
    ASSERT_TRUE(eventually([&] {
      // Not more under way than the receiver can keep: then nothing is lost here.
      while (sent < packets && sent - received < 100) {
        Packet* packet = filled(nodes_[0], 16 + sent % spread, sent);
        if (packet == nullptr) break;
        const bool went = nodes_[0].port->send(nodes_[0].to_other, *packet, sent % 8 != 7);
        nodes_[0].port->give(*packet);
        if (!went) break;
        ++sent;
      }
      poll_both();
      for (const Packet* packet : nodes_[1].inbox.packets) {
        right = right && holds(*packet, 16 + received % spread, received);
        ++received;
      }
      nodes_[1].give_all();
      return received == packets || !right;
    })) << sent
        << " sent, " << received << " received";
    EXPECT_TRUE(right) << "packet " << received;
  }

  DatagramNode nodes_[2];
};

TEST_F(Datagrams, EveryLengthBothWays) {
  open();
  const std::uint32_t mtu = nodes_[0].port->packet_bytes();
  EXPECT_TRUE(!in_guest() || mtu == 4096) << mtu;
  unsigned seed = 0;
  for (const std::uint32_t bytes : {0u, 1u, 63u, 64u, 127u, 128u, 129u, 1000u, mtu - 1, mtu}) {
    for (int from = 0; from < 2; ++from) {
      DatagramNode& sender = nodes_[from];
      DatagramNode& receiver = nodes_[1 - from];
      send_one(sender, bytes, ++seed);
      ASSERT_TRUE(eventually([&] {
        sender.poll();
        receiver.poll();
        return !receiver.inbox.packets.empty();
      })) << bytes;
      ASSERT_EQ(receiver.inbox.packets.size(), 1u);
      EXPECT_TRUE(holds(*receiver.inbox.packets[0], bytes, seed)) << bytes;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(receiver.inbox.packets[0]->data) % 64, 0u);
      receiver.give_all();
    }
  }
}

TEST_F(Datagrams, ManyInOrderWithBatches) {
  open({.send_packets = 64, .receive_packets = 128, .send_depth = 64});
  expect_stream(3000, 600);
}

// A packet that had to leave its place inline is not used again before the adapter has read it.
TEST_F(Datagrams, PacketsThatAreRefusedInlineGoAllTheSame) {
  test::QueuePairWatch watch;
  watch.datagrams_inline = {.refusal = test::InlineFate::Refusal::kAtPost, .taken_max = 3};
  open({.send_packets = 16, .receive_packets = 128, .send_depth = 16});
  expect_stream(500, 200);
  EXPECT_EQ(watch.datagrams_inline.refused, 1u) << "asked again";
}

// Nothing follows that would ask for a completion.
TEST_F(Datagrams, APacketThatIsRefusedInlineComesBack) {
  test::QueuePairWatch watch;
  watch.datagrams_inline = {.refusal = test::InlineFate::Refusal::kAtPost};
  open({.send_packets = 1, .receive_packets = 16, .send_depth = 16});
  send_one(nodes_[0], 100, 7);
  EXPECT_TRUE(eventually([&] {
    poll_both();
    return nodes_[0].port->take() != nullptr;
  }));
  EXPECT_EQ(watch.datagrams_inline.refused, 1u);
}

TEST_F(Datagrams, OneCompletionPerDoorbellAndNoneForSmallOnes) {
  open();
  DatagramNode& sender = nodes_[0];
  for (int i = 0; i < 8; ++i) {
    Packet* packet = filled(sender, 1000, 1);
    ASSERT_TRUE(sender.port->send(sender.to_other, *packet, i < 7));
    sender.port->give(*packet);
  }
  int events = 0;
  ASSERT_TRUE(eventually([&] {
    events += sender.poll();
    nodes_[1].poll();
    return nodes_[1].inbox.packets.size() == 8 && events > 0;
  }));
  for_a_while([&] { events += sender.poll(); });
  EXPECT_EQ(events, 1);

  nodes_[1].give_all();
  send_one(sender, 16, 2);
  ASSERT_TRUE(eventually([&] {
    EXPECT_EQ(sender.poll(), 0);
    nodes_[1].poll();
    return nodes_[1].inbox.packets.size() == 1;
  }));
  EXPECT_TRUE(holds(*nodes_[1].inbox.packets[0], 16, 2));
}

TEST_F(Datagrams, AFullQueueSaysSoAndDrains) {
  for (const std::uint32_t bytes : {16u, 1000u}) {
    open({.send_packets = 64, .receive_packets = 256, .send_depth = 16});
    DatagramNode& sender = nodes_[0];
    int accepted = 0;
    for (Packet* packet; (packet = filled(sender, bytes, 1)) != nullptr;) {
      const bool went = sender.port->send(sender.to_other, *packet, true);
      sender.port->give(*packet);
      if (!went) break;
      ++accepted;
    }
    EXPECT_EQ(accepted, 16) << bytes;
    Packet* packet = filled(sender, bytes, 2);
    EXPECT_TRUE(eventually([&] {
      sender.poll();
      return sender.port->send(sender.to_other, *packet, false);
    })) << bytes;
    sender.port->give(*packet);
    EXPECT_TRUE(eventually([&] {
      sender.poll();
      nodes_[1].poll();
      return nodes_[1].inbox.packets.size() == 17;
    }));
    nodes_[1].give_all();
  }
}

TEST_F(Datagrams, PacketsComeBackWhenTheAdapterIsDone) {
  open({.send_packets = 8, .receive_packets = 64, .send_depth = 64});
  DatagramNode& sender = nodes_[0];
  for (unsigned i = 0; i < 8; ++i) send_one(sender, 1000, i);
  // All are in flight or on their way back; none is handed out while the adapter reads it.
  ASSERT_TRUE(eventually([&] {
    sender.poll();
    nodes_[1].poll();
    Packet* packet = sender.port->take();
    if (packet == nullptr) return false;
    EXPECT_EQ(packet->in_flight, 0u);
    sender.port->give(*packet);
    return nodes_[1].inbox.packets.size() == 8;
  }));
  for (unsigned i = 0; i < 8; ++i) EXPECT_TRUE(holds(*nodes_[1].inbox.packets[i], 1000, i)) << i;
  std::vector<Packet*> all;
  EXPECT_TRUE(eventually([&] {
    sender.poll();
    while (Packet* packet = sender.port->take()) all.push_back(packet);
    return all.size() == 8;
  }));
  EXPECT_EQ(sender.port->take(), nullptr);
}

TEST_F(Datagrams, APacketIsSentAgainWhileItIsInFlight) {
  open();
  DatagramNode& sender = nodes_[0];
  Packet* packet = filled(sender, 3000, 5);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(sender.port->send(sender.to_other, *packet, false));
  ASSERT_TRUE(eventually([&] {
    sender.poll();
    nodes_[1].poll();
    return nodes_[1].inbox.packets.size() == 3 && packet->in_flight == 0;
  }));
  for (const Packet* arrived : nodes_[1].inbox.packets) EXPECT_TRUE(holds(*arrived, 3000, 5));
}

TEST_F(Datagrams, WhatAReceiverCannotKeepIsLost) {
  open({.send_packets = 64, .receive_packets = 16, .send_depth = 64});
  for (unsigned i = 0; i < 40; ++i) send_one(nodes_[0], 500, i);
  for_a_while([&] { nodes_[0].poll(), nodes_[1].poll(); });
  EXPECT_EQ(nodes_[1].port->receive_depth(), 16u);
  EXPECT_EQ(nodes_[1].inbox.packets.size(), 16u);
  EXPECT_TRUE(holds(*nodes_[1].inbox.packets[0], 500, 0));
  EXPECT_TRUE(works(nodes_[0], nodes_[1]));
}

TEST_F(Datagrams, StrangersAreNotHeard) {
  open();
  const auto own = parse_address(nodes_[1].port->address());
  ASSERT_TRUE(own.ok());
  for (const int wrong : {0, 1}) {
    Endpoint endpoint = own.value();
    if (wrong == 0) endpoint.key ^= 1;          // The key of an earlier process, say.
    if (wrong == 1) endpoint.queue_pair += 77;  // Nobody there.
    auto path = nodes_[0].port->open_path(datagram_address(endpoint));
    ASSERT_TRUE(path.ok()) << path.error().text;
    Packet* packet = filled(nodes_[0], 200, 1);
    ASSERT_TRUE(nodes_[0].port->send(*path, *packet, false));
    nodes_[0].port->give(*packet);
    for_a_while([&] { nodes_[0].poll(), nodes_[1].poll(); });
    EXPECT_TRUE(nodes_[1].inbox.packets.empty());
    EXPECT_TRUE(works(nodes_[0], nodes_[1]));
  }
}

TEST_F(Datagrams, AddressesThatLeadNowhereAreErrorsOrLosses) {
  open();
  Endpoint endpoint = parse_address(nodes_[1].port->address()).value();
  endpoint.mtu_bytes = 1024;
  const auto small = nodes_[0].port->open_path(datagram_address(endpoint));
  ASSERT_FALSE(small.ok());
  EXPECT_THAT(small.error().text, ::testing::HasSubstr("set RDMA_MTU=1024"));

  rdma::PortAddress nonsense = nodes_[1].port->address();
  nonsense.bytes[0] ^= std::byte{0xFF};
  EXPECT_FALSE(nodes_[0].port->open_path(nonsense).ok());

  if (!in_guest()) return;
  endpoint = parse_address(nodes_[1].port->address()).value();
  endpoint.gid[12] = 192, endpoint.gid[13] = 0, endpoint.gid[14] = 2;  // No route leads there.
  const auto nowhere = nodes_[0].port->open_path(datagram_address(endpoint));
  if (nowhere.ok()) {
    Packet* packet = filled(nodes_[0], 200, 1);
    ASSERT_TRUE(nodes_[0].port->send(nowhere.value(), *packet, false));
    nodes_[0].port->give(*packet);
    for_a_while([&] { EXPECT_GE(nodes_[0].poll(), 0); });
  } else {
    EXPECT_THAT(nowhere.error().text, ::testing::HasSubstr("192.0.2"));
  }
  EXPECT_TRUE(works(nodes_[0], nodes_[1]));
}

TEST_F(Datagrams, SleepsUntilSomethingArrives) {
  open();
  DatagramNode& receiver = nodes_[1];
  ASSERT_GE(receiver.port->descriptor(), 0);
  ASSERT_TRUE(eventually([&] { return receiver.poll() == 0 && receiver.port->arm(); }));
  EXPECT_FALSE(readable(receiver.port->descriptor(), 20));
  send_one(nodes_[0], 300, 1);
  EXPECT_TRUE(readable(receiver.port->descriptor(), 20000));
  EXPECT_TRUE(eventually([&] { return receiver.poll() > 0; }));
  receiver.give_all();

  // Came before arm(): it does not let the caller sleep, and loses nothing.
  send_one(nodes_[0], 300, 2);
  for_a_while([] {});
  EXPECT_FALSE(receiver.port->arm());
  EXPECT_EQ(receiver.poll(), 1);
  ASSERT_EQ(receiver.inbox.packets.size(), 1u);
  EXPECT_TRUE(holds(*receiver.inbox.packets[0], 300, 2));
}

TEST_F(Datagrams, NoWakeUpIsLost) {
  open();
  constexpr unsigned kRounds = 200;
  std::atomic<unsigned> received = 0;  // Written by the receiver; the sender waits for it.
  std::thread sender([&] {
    for (unsigned i = 0; i < kRounds; ++i) {
      send_one(nodes_[0], 100 + i % 100, i);
      // Sometimes before the receiver arms, sometimes after.
      for (unsigned spin = 0; spin < i * 37 % 1000; ++spin) nodes_[0].poll();
      while (received.load() <= i) nodes_[0].poll();
    }
  });
  DatagramNode& receiver = nodes_[1];
  unsigned late = 0;
  while (received.load() < kRounds && late < 3) {
    if (receiver.poll() == 0 && receiver.port->arm()) {
      late += !readable(receiver.port->descriptor(), 5000);
      continue;
    }
    const auto count = static_cast<unsigned>(receiver.inbox.packets.size());
    receiver.give_all();
    received += count;
  }
  EXPECT_EQ(late, 0u) << "slept " << late << " times without being woken";
  received = kRounds;
  sender.join();
}

TEST_F(Datagrams, ALinkThatGoesDownComesBack) {
  if (!in_guest()) GTEST_SKIP() << "needs a network that may be broken";
  open();
  ASSERT_TRUE(works(nodes_[0], nodes_[1]));
  ASSERT_TRUE(system_works("ip link set n0 down"));
  for (unsigned i = 0; i < 20; ++i) {
    send_one(nodes_[0], 100 + i, i);  // Both inline and not.
    for_a_while([&] { EXPECT_GE(nodes_[0].poll(), 0); });
  }
  nodes_[0].port->arm();  // Looks at the device's events.
  EXPECT_FALSE(adapters_[0]->link_up());
  nodes_[1].poll();
  EXPECT_TRUE(nodes_[1].inbox.packets.empty());

  ASSERT_TRUE(system_works("ip link set n0 up && ip -batch /run/routes-n0"));
  EXPECT_TRUE(eventually([&] {
    nodes_[0].port->arm();
    return adapters_[0]->link_up();
  }));
  EXPECT_TRUE(works(nodes_[0], nodes_[1]));
  EXPECT_TRUE(works(nodes_[1], nodes_[0]));
}

TEST_F(Datagrams, LossLosesPacketsAndNothingElse) {
  if (!in_guest()) GTEST_SKIP() << "needs a network that may be made bad";
  Netem netem(0, "loss 20%");
  ASSERT_TRUE(netem.works());
  open();
  constexpr unsigned kPackets = 300;
  std::vector<unsigned> seen(kPackets);
  for (unsigned i = 0; i < kPackets; ++i) {
    send_one(nodes_[0], 1000 + i, i);
    nodes_[0].poll(), nodes_[1].poll();
  }
  for_a_while([&] { nodes_[0].poll(), nodes_[1].poll(); });
  for (const Packet* packet : nodes_[1].inbox.packets) {
    ASSERT_GE(packet->bytes, 1000u);
    const unsigned i = packet->bytes - 1000;
    ASSERT_LT(i, kPackets);
    EXPECT_TRUE(holds(*packet, 1000 + i, i));
    ++seen[i];
  }
  EXPECT_GT(std::count(seen.begin(), seen.end(), 0u), 10);
  EXPECT_GT(std::count(seen.begin(), seen.end(), 1u), 150);
}

}  // namespace
}  // namespace espalier::verbs
