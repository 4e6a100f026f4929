// Simulated datagrams: what they cost, and each fault that may meet them.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "net/sim/sim_datagram_port.hpp"
#include "tests/harness/sim_bed.hpp"

namespace espalier::test {
namespace {

// Keeps what arrives, with its time, and gives the packets back at once.
struct Inbox final : rdma::DatagramSink {
  void arrived(rdma::Packet& packet) noexcept override {
    std::string bytes(reinterpret_cast<const char*>(packet.data), packet.bytes);
    all.push_back({std::move(bytes), world->now_ns()});
    if (!keep) port->give(packet);
  }
  struct Arrival {
    std::string bytes;
    std::uint64_t handled_ns;
  };
  sim::World* world = nullptr;
  sim::SimDatagramPort* port = nullptr;
  bool keep = false;
  std::vector<Arrival> all;
};

struct PortNet {
  explicit PortNet(const std::string& faults = {}, const sim::PortOptions& options = {},
                   sim::Machine machine = device_machine(), std::uint64_t seed = 1)
      : bed(3, faults, seed, std::move(machine)), net(world) {
    world.set_turn(on_turn, this);
    for (Rank r = 0; r < 3; ++r) {
      ports.push_back(std::make_unique<sim::SimDatagramPort>(net, r, options));
      inboxes[r].world = &world;
      inboxes[r].port = ports.back().get();
    }
  }
  static void on_turn(void* self, Rank rank) {
    auto& net = *static_cast<PortNet*>(self);
    const auto r = static_cast<std::size_t>(rank);
    while (net.polls && net.ports[r]->poll(net.inboxes[r], 16) > 0) {
    }
    ++net.turns;
  }
  bool send(Rank from, Rank to, const std::string& text) {
    sim::SimDatagramPort& port = *ports[static_cast<std::size_t>(from)];
    rdma::Packet* packet = port.take();
    if (packet == nullptr) return false;
    std::memcpy(packet->data, text.data(), text.size());
    packet->bytes = static_cast<std::uint32_t>(text.size());
    auto path = port.open_path(sim::SimDatagramPort::address_of(to));
    const bool sent = port.send(*path, *packet, false);
    port.give(*packet);
    return sent;
  }
  // One at a time, so that a full queue is no reason.
  void send_many(int count, const std::string& text) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(send(0, 1, text));
      world.run(world.now_ns() + 100'000);
      (void)ports[0]->poll(inboxes[0], 16);
    }
    world.run();
  }

  SimBed bed;
  sim::World& world = bed.world;
  sim::DatagramNet net;
  std::vector<std::unique_ptr<sim::SimDatagramPort>> ports;
  Inbox inboxes[3];
  bool polls = true;
  int turns = 0;
};

TEST(SimDatagrams, CostWhatADeviceTransferCosts) {
  PortNet net;
  ASSERT_TRUE(net.send(0, 1, std::string(1000, 'x')));
  net.world.run();
  ASSERT_EQ(net.inboxes[1].all.size(), 1U);
  // o + L + n G + o, as in SimPrices.ADeviceIsLogGp.
  EXPECT_EQ(net.inboxes[1].all[0].handled_ns, 100U + 1000 + 500 + 200);
}

TEST(SimDatagrams, PassTheLanesOfBothEnds) {
  sim::Machine machine = cluster_machine();
  machine.levels[2].arity = 1;  // one rank per node
  PortNet net({}, {}, machine);
  ASSERT_TRUE(net.send(0, 2, std::string(1000, 'x')));
  ASSERT_TRUE(net.send(1, 2, std::string(1000, 'y')));
  net.world.run();
  ASSERT_EQ(net.inboxes[2].all.size(), 2U);
  EXPECT_EQ(net.inboxes[2].all[0].handled_ns, 100U + 1000 + 500 + 200);
  EXPECT_EQ(net.inboxes[2].all[1].handled_ns, 100U + 1000 + 500 + 500 + 200);  // waits for the lane
}

TEST(SimDatagrams, ArriveUnchangedWithoutFaults) {
  PortNet net;
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(net.send(0, 1, "datagram " + std::to_string(i)));
  net.world.run();
  ASSERT_EQ(net.inboxes[1].all.size(), 50U);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(net.inboxes[1].all[static_cast<std::size_t>(i)].bytes,
              "datagram " + std::to_string(i));
  }
  EXPECT_EQ(net.net.under_way(), 0U);
}

TEST(SimDatagrams, BytesAreReadWhenTheyLeave) {
  PortNet net;
  sim::SimDatagramPort& port = *net.ports[0];
  rdma::Packet* packet = port.take();
  packet->bytes = 4;
  std::memcpy(packet->data, "soon", 4);
  ASSERT_TRUE(port.send(*port.open_path(sim::SimDatagramPort::address_of(1)), *packet, false));
  EXPECT_EQ(packet->in_flight, 1U);
  std::memcpy(packet->data, "late", 4);
  net.world.run();
  EXPECT_EQ(net.inboxes[1].all.at(0).bytes, "late");
  (void)port.poll(net.inboxes[0], 1);
  EXPECT_EQ(packet->in_flight, 0U);
  port.give(*packet);
}

TEST(SimDatagrams, AreLostAndRepeatedAtTheirShares) {
  PortNet net("loss=0.1,duplicate=0.2");
  net.send_many(2000, "x");
  const sim::DatagramCounts& counts = net.net.counts();
  EXPECT_NEAR(static_cast<double>(counts.lost), 200, 60);
  EXPECT_NEAR(static_cast<double>(counts.repeated), 360, 80);
  EXPECT_EQ(net.inboxes[1].all.size(), counts.sent - counts.lost + counts.repeated);
}

TEST(SimDatagrams, AreReordered) {
  PortNet net("reorder=0.3");
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(net.send(0, 1, std::string(1, static_cast<char>(i))));
  net.world.run();
  ASSERT_EQ(net.inboxes[1].all.size(), 100U);
  int inversions = 0;
  for (std::size_t i = 1; i < 100; ++i) {
    if (net.inboxes[1].all[i].bytes < net.inboxes[1].all[i - 1].bytes) ++inversions;
  }
  EXPECT_GT(inversions, 5);
}

TEST(SimDatagrams, AreDamaged) {
  PortNet net("corrupt=0.5");
  const std::string text(200, 'x');
  net.send_many(200, text);
  std::size_t damaged = 0, shortened = 0;
  for (const auto& arrival : net.inboxes[1].all) {
    damaged += arrival.bytes != text;
    shortened += arrival.bytes.size() < text.size();
  }
  EXPECT_LE(damaged, net.net.counts().damaged);
  EXPECT_GT(damaged, 70U);
  EXPECT_GT(shortened, 5U);
}

TEST(SimDatagrams, APartitionSwallowsOneWayOnly) {
  PortNet net;
  net.world.part(0, 1, 1'000'000);
  ASSERT_TRUE(net.send(0, 1, "lost"));
  ASSERT_TRUE(net.send(1, 0, "back"));
  net.world.run();
  EXPECT_TRUE(net.inboxes[1].all.empty());
  EXPECT_EQ(net.inboxes[0].all.size(), 1U);
  net.world.schedule_turn(0, 2'000'000);
  net.world.run();
  ASSERT_TRUE(net.send(0, 1, "healed"));
  net.world.run();
  EXPECT_EQ(net.inboxes[1].all.at(0).bytes, "healed");
  EXPECT_EQ(net.net.counts().parted, 1U);
}

TEST(SimDatagrams, NobodyIsAtACrashedRank) {
  PortNet net;
  net.world.crash(1);
  ASSERT_TRUE(net.send(0, 1, "x"));
  net.world.run();
  EXPECT_TRUE(net.inboxes[1].all.empty());
  EXPECT_EQ(net.net.counts().dropped, 1U);
}

TEST(SimDatagrams, WhatFindsNoPacketIsDropped) {
  sim::PortOptions options;
  options.receive_packets = 3;
  PortNet net({}, options);
  net.inboxes[1].keep = true;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(net.send(0, 1, "x"));
  net.world.run();
  EXPECT_EQ(net.inboxes[1].all.size(), 3U);
  EXPECT_EQ(net.net.counts().dropped, 2U);
}

TEST(SimDatagrams, AFullSendQueueRefusesAndTellsOfRoom) {
  sim::PortOptions options;
  options.send_depth = 2;
  PortNet net({}, options);
  EXPECT_TRUE(net.send(0, 1, "x"));
  EXPECT_TRUE(net.send(0, 1, "x"));
  EXPECT_FALSE(net.send(0, 1, "x"));
  net.world.run();
  EXPECT_GT(net.turns, 0);
  EXPECT_TRUE(net.send(0, 1, "x"));
  net.world.run();
  EXPECT_EQ(net.inboxes[1].all.size(), 3U);
}

TEST(SimDatagrams, PacketsRunOut) {
  sim::PortOptions options;
  options.send_packets = 2;
  PortNet net({}, options);
  sim::SimDatagramPort& port = *net.ports[0];
  rdma::Packet *a = port.take(), *b = port.take();
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(port.take(), nullptr);
  port.give(*a);
  a = port.take();
  EXPECT_NE(a, nullptr);
  port.give(*a);
  port.give(*b);
}

TEST(SimDatagrams, AnOverrunBreaksThePort) {
  sim::PortOptions options;
  options.completion_depth = 2;
  PortNet net({}, options);
  net.polls = false;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(net.send(0, 1, "x"));
  net.world.run();
  EXPECT_LT(net.ports[1]->poll(net.inboxes[1], 1), 0);
  EXPECT_FALSE(net.ports[1]->fault().ok());
  EXPECT_FALSE(net.send(1, 0, "x"));
}

TEST(SimDatagrams, RefusalsComeAndGo) {
  PortNet net("retry=0.5,no-memory=0.5");
  int sent = 0;
  for (int i = 0; i < 100; ++i) sent += net.send(0, 1, "x");
  EXPECT_GT(sent, 5);
  EXPECT_LT(sent, 60);
  net.world.run();
}

TEST(SimDatagrams, StrangeAddressesAreRefused) {
  PortNet net;
  rdma::PortAddress nonsense;
  EXPECT_FALSE(net.ports[0]->open_path(nonsense));
  EXPECT_FALSE(net.ports[0]->open_path(sim::SimDatagramPort::address_of(3)));
  EXPECT_FALSE(net.ports[0]->open_path(sim::SimDatagramPort::address_of(-1)));
  EXPECT_FALSE(net.ports[0]->open_path(sim::SimDatagramPort::address_of(0)));
  EXPECT_TRUE(net.ports[0]->open_path(sim::SimDatagramPort::address_of(2)));
}

TEST(SimDatagrams, APortMayGoWhileItsDatagramsAreUnderWay) {
  PortNet net;
  ASSERT_TRUE(net.send(0, 1, "arrived"));
  net.world.run();
  ASSERT_TRUE(net.send(0, 1, "never left"));
  net.ports[0].reset();
  net.world.run();
  ASSERT_EQ(net.inboxes[1].all.size(), 1U);
  EXPECT_EQ(net.inboxes[1].all[0].bytes, "arrived");
}

TEST(SimDatagrams, EqualSeedsMakeEqualRuns) {
  const auto run = [](std::uint64_t seed) {
    PortNet net("loss=0.1,duplicate=0.1,reorder=0.2,corrupt=0.1,delay=0.2:3us", {},
                device_machine(), seed);
    for (int i = 0; i < 100; ++i) (void)net.send(i % 3, (i + 1) % 3, std::string(50, 'x'));
    net.world.run();
    return net.world.unseed();
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(SimDatagrams, TheEarliestAlarmWakes) {
  PortNet net;
  net.world.wake_at(0, 5000);
  net.world.wake_at(0, 3000);
  net.world.wake_at(0, 9000);
  while (net.turns == 0 && net.world.step()) {
  }
  EXPECT_EQ(net.world.now_ns(), 3000U);
  net.world.run();
  EXPECT_EQ(net.turns, 1);
}

}  // namespace
}  // namespace espalier::test
