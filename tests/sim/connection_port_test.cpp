// Simulated connections: what they cost, and each way in which they fail.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "net/sim/sim_connection_port.hpp"
#include "tests/harness/sim_bed.hpp"

namespace espalier::test {
namespace {

using rdma::ConnectionId;
using rdma::Fault;

struct Events final : rdma::ConnectionSink {
  void received(ConnectionId, rdma::Packet& packet) noexcept override {
    log.push_back("got " + std::string(reinterpret_cast<const char*>(packet.data), packet.bytes));
    at_ns = world->now_ns();
    if (!keep) port->repost(packet);
  }
  void received_immediate(ConnectionId from, rdma::Packet& packet,
                          std::uint32_t immediate) noexcept override {
    log.push_back("told " + std::to_string(immediate));
    received(from, packet);
  }
  void placed(ConnectionId, std::uint32_t immediate, std::uint32_t bytes) noexcept override {
    log.push_back("placed " + std::to_string(immediate) + " " + std::to_string(bytes));
  }
  void completed(ConnectionId, std::uint64_t cookie) noexcept override {
    log.push_back("done " + std::to_string(cookie));
  }
  void broken(ConnectionId, Fault why) noexcept override {
    log.push_back("broken " + std::to_string(static_cast<int>(why)));
  }
  void failed(ConnectionId, std::uint64_t cookie, Fault why) noexcept override {
    log.push_back("failed " + std::to_string(cookie) + " " + std::to_string(static_cast<int>(why)));
  }
  sim::World* world = nullptr;
  sim::SimConnectionPort* port = nullptr;
  bool keep = false;
  std::uint64_t at_ns = 0;
  std::vector<std::string> log;
};

using Told = std::vector<std::string>;

std::string broken(Fault why) {
  return "broken " + std::to_string(static_cast<int>(why));
}
std::string failed(int cookie, Fault why) {
  return "failed " + std::to_string(cookie) + " " + std::to_string(static_cast<int>(why));
}

// Two ranks and one connection between them.
struct Pair {
  explicit Pair(const std::string& faults = {}, const sim::ConnectionLimits& limits = {},
                std::uint64_t seed = 1)
      : bed(2, faults, seed), net(world, limits) {
    world.set_turn(on_turn, this);
    for (Rank r = 0; r < 2; ++r) {
      ports[r] = std::make_unique<sim::SimConnectionPort>(net, r);
      ports[r]->provide(ports[r]->receive_depth());
      events[r].world = &world;
      events[r].port = ports[r].get();
      ids[r] = *ports[r]->create();
    }
    EXPECT_TRUE(ports[0]->connect(ids[0], ports[1]->address(ids[1])).ok());
    EXPECT_TRUE(ports[1]->connect(ids[1], ports[0]->address(ids[0])).ok());
    memory[0].assign(1 << 16, 'a');
    memory[1].assign(1 << 16, 'b');
    for (int r = 0; r < 2; ++r) {
      for (int tries = 0; tries < 100 && regions[r].bytes == 0; ++tries) {
        auto region = ports[r]->enroll(memory[r].data(), memory[r].size());
        if (region.ok()) regions[r] = *region;
      }
    }
  }
  static void on_turn(void* self, Rank rank) {
    auto& pair = *static_cast<Pair*>(self);
    while (pair.polls && pair.ports[rank]->poll(pair.events[rank], 16) > 0) {
    }
  }
  rdma::Transfer transfer(std::uint64_t bytes, std::uint64_t cookie, bool signaled = true) {
    rdma::Transfer what;
    what.local = memory[0].data();
    what.region = &regions[0];
    what.bytes = bytes;
    what.cookie = cookie;
    what.signaled = signaled;
    return what;
  }
  rdma::RemoteMemory remote(std::uint64_t offset = 0) {
    return {reinterpret_cast<std::uint64_t>(memory[1].data()) + offset, regions[1].remote_key};
  }
  bool send(const std::string& text, std::uint64_t cookie, bool signaled = true) {
    rdma::Transfer what;
    what.local = text.data();
    what.bytes = text.size();
    what.cookie = cookie;
    what.signaled = signaled;
    return ports[0]->send(ids[0], what);
  }

  SimBed bed;
  sim::World& world = bed.world;
  sim::ConnectionNet net;
  std::unique_ptr<sim::SimConnectionPort> ports[2];
  Events events[2];
  ConnectionId ids[2];
  std::string memory[2];
  rdma::Region regions[2];
  bool polls = true;
};

TEST(SimConnections, CostWhatADeviceTransferCosts) {
  Pair pair;
  ASSERT_TRUE(pair.ports[0]->send(pair.ids[0], pair.transfer(1000, 1)));
  pair.world.run();
  EXPECT_EQ(pair.events[1].at_ns, 100U + 1000 + 500 + 200);  // o + L + n G + o
  EXPECT_EQ(pair.events[0].log, Told{"done 1"});
}

TEST(SimConnections, KeepTheirOrder) {
  Pair pair("delay=0.5:500ns");
  Told expected, done;
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(pair.send(std::to_string(i), static_cast<std::uint64_t>(i), i % 10 == 9));
    expected.push_back("got " + std::to_string(i));
    if (i % 10 == 9) done.push_back("done " + std::to_string(i));
  }
  pair.world.run();
  EXPECT_EQ(pair.events[1].log, expected);
  EXPECT_EQ(pair.events[0].log, done);
  EXPECT_EQ(pair.net.under_way(), 0U);
}

TEST(SimConnections, MessagesMayHaveImmediates) {
  Pair pair;
  rdma::Transfer what;
  what.local = "text";
  what.bytes = 4;
  ASSERT_TRUE(pair.ports[0]->send_immediate(pair.ids[0], what, 0xffffffff));
  ASSERT_TRUE(pair.send("more", 1));
  what.bytes = 0;
  ASSERT_TRUE(pair.ports[0]->send_immediate(pair.ids[0], what, 0));
  pair.world.run();
  EXPECT_EQ(pair.events[1].log,
            (Told{"told 4294967295", "got text", "got more", "told 0", "got "}));
}

TEST(SimConnections, UnsignaledOperationsKeepTheirSlots) {
  sim::ConnectionLimits limits;
  limits.send_depth = 4;
  Pair pair({}, limits);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(pair.send("x", i, false));
  pair.world.run();
  EXPECT_EQ(pair.events[1].log.size(), 3U);
  EXPECT_TRUE(pair.send("y", 3, true));
  EXPECT_FALSE(pair.send("z", 4, true)) << "four slots, all in use";
  pair.world.run();
  EXPECT_EQ(pair.events[0].log, Told{"done 3"});
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(pair.send("x", i, false)) << i;
  EXPECT_FALSE(pair.send("x", 4, false));
  pair.world.run();
}

TEST(SimConnections, WritesReadsAndAtomics) {
  Pair pair;
  std::memcpy(pair.memory[0].data(), "hello", 5);
  ASSERT_TRUE(pair.ports[0]->write(pair.ids[0], pair.transfer(5, 1), pair.remote(7), false, 0));
  ASSERT_TRUE(pair.ports[0]->write(pair.ids[0], pair.transfer(5, 2), pair.remote(20), true, 42));
  pair.world.run();
  EXPECT_EQ(pair.memory[1].substr(6, 7), "bhellob");
  EXPECT_EQ(pair.memory[1].substr(20, 5), "hello");
  EXPECT_EQ(pair.events[1].log, Told{"placed 42 5"});

  rdma::Transfer read = pair.transfer(3, 3);
  read.local = pair.memory[0].data() + 100;
  ASSERT_TRUE(pair.ports[0]->read(pair.ids[0], read, pair.remote(22)));
  pair.world.run();
  EXPECT_EQ(pair.memory[0].substr(99, 5), "alloa");

  std::uint64_t value = 40;
  std::memcpy(pair.memory[1].data(), &value, 8);
  using rdma::Atomic;
  const auto atomic = [&](Atomic kind, std::uint64_t operand, std::uint64_t compare) {
    EXPECT_TRUE(pair.ports[0]->atomic(pair.ids[0], pair.transfer(8, 9), pair.remote(), kind,
                                      operand, compare));
    pair.world.run();
    std::memcpy(&value, pair.memory[0].data(), 8);
    return value;
  };
  EXPECT_EQ(atomic(Atomic::kFetchAdd, 2, 0), 40U);
  EXPECT_EQ(atomic(Atomic::kCompareSwap, 7, 41), 42U);  // not equal: unchanged
  EXPECT_EQ(atomic(Atomic::kCompareSwap, 7, 42), 42U);
  EXPECT_EQ(atomic(Atomic::kFetchAdd, 0, 0), 7U);
  EXPECT_EQ(pair.net.under_way(), 0U);
}

TEST(SimConnections, AReceiverWithoutPacketsIsWaitedForAndThenBreaks) {
  sim::ConnectionLimits limits;
  limits.receive_depth = 2;
  Pair pair({}, limits);
  pair.events[1].keep = true;
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(pair.send("x", i));
  ASSERT_TRUE(pair.send("never", 3));
  pair.world.run();
  EXPECT_EQ(pair.events[1].log, (Told{"got x", "got x"}));
  EXPECT_EQ(pair.events[0].log,
            (Told{"done 0", "done 1", broken(Fault::kReceiverNotReady),
                  failed(2, Fault::kReceiverNotReady), failed(3, Fault::kFlushed)}));
  EXPECT_EQ(pair.net.counts().not_ready, limits.rnr_retries + 1);
}

TEST(SimConnections, PacketsAreProvidedOnceAndStay) {
  Pair pair;
  pair.ports[1].reset();
  sim::SimConnectionPort port(pair.net, 1);
  EXPECT_EQ(port.packets_posted(), 0U);
  port.provide(2);
  port.provide(1);
  EXPECT_EQ(port.packets_posted(), 2U);
  port.provide(port.receive_depth() + 1);
  EXPECT_EQ(port.packets_posted(), port.receive_depth());
  EXPECT_EQ(port.packets_provided(), port.receive_depth());
}

TEST(SimConnections, ForeignMemoryBreaksBothEnds) {
  Pair pair;
  struct {
    rdma::RemoteMemory at;
    std::uint64_t bytes;
  } wrong[] = {{pair.remote(), (1 << 16) + 1},
               {{pair.remote().address - 1, pair.remote().key}, 8},
               {{pair.remote().address, pair.regions[1].local_key}, 8},
               {{pair.remote().address, 0}, 8}};
  for (const auto& at : wrong) {
    Pair other;
    other.memory[0].resize(1 << 17);
    auto region = other.ports[0]->enroll(other.memory[0].data(), other.memory[0].size());
    rdma::Transfer what = other.transfer(at.bytes, 1);
    what.local = other.memory[0].data();
    what.region = &*region;
    const auto to = rdma::RemoteMemory{
        at.at.address - pair.remote().address + other.remote().address, at.at.key};
    ASSERT_TRUE(other.ports[0]->write(other.ids[0], what, to, false, 0));
    other.world.run();
    EXPECT_EQ(other.events[0].log,
              (Told{broken(Fault::kRemoteAccess), failed(1, Fault::kRemoteAccess)}));
    EXPECT_EQ(other.events[1].log, Told{broken(Fault::kRemoteAccess)});
    EXPECT_EQ(other.memory[1], std::string(1 << 16, 'b'));
  }
}

TEST(SimConnections, LocalKeysAreChecked) {
  Pair pair;
  rdma::Transfer what = pair.transfer(8, 1);
  what.local = pair.memory[0].data() + pair.memory[0].size() - 7;
  ASSERT_TRUE(pair.ports[0]->send(pair.ids[0], what));
  pair.world.run();
  EXPECT_EQ(pair.events[0].log, (Told{broken(Fault::kLocal), failed(1, Fault::kLocal)}));
  EXPECT_TRUE(pair.events[1].log.empty());
}

TEST(SimConnections, NobodyThereBreaksAfterAWhile) {
  Pair pair;
  pair.world.crash(1);
  ASSERT_TRUE(pair.send("x", 1));
  ASSERT_TRUE(pair.send("y", 2, false));
  pair.world.run();
  EXPECT_EQ(pair.events[0].log,
            (Told{broken(Fault::kRetryExceeded), failed(1, Fault::kRetryExceeded),
                  failed(2, Fault::kFlushed)}));
  EXPECT_GE(pair.world.now_ns(), pair.net.limits().retry_ns / 2);
}

// What was under way may arrive or not, but in order and from the first one on; the ambiguity is
// the sender's.
TEST(SimConnections, ABreakLeavesAPrefix) {
  bool some = false, all_lost = false, ambiguous = false;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Pair pair({}, {}, seed);
    for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(pair.send(std::to_string(i), i));
    pair.world.run(500 + seed * 25);
    pair.net.break_path(0, 1);
    pair.world.run();
    std::size_t done = 0;
    for (const std::string& line : pair.events[0].log) done += line.starts_with("done") ? 1 : 0;
    const Told& got = pair.events[1].log;
    ASSERT_GE(got.size(), done);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], "got " + std::to_string(i));
    EXPECT_EQ(pair.events[0].log.size(), 10U + (done == 10 ? 0 : 1));
    EXPECT_EQ(pair.net.under_way(), 0U);
    some = some || (!got.empty() && got.size() < 10);
    all_lost = all_lost || got.empty();
    ambiguous = ambiguous || got.size() > done;
  }
  EXPECT_TRUE(some && all_lost && ambiguous);
}

TEST(SimConnections, AStoppedEndTakesNothingInButHandsOverWhatItHad) {
  Pair pair;
  pair.polls = false;
  ASSERT_TRUE(pair.send("before", 1));
  pair.world.run();
  ASSERT_TRUE(pair.send("after", 2));
  pair.ports[1]->stop(pair.ids[1]);
  pair.world.run();
  EXPECT_EQ(pair.ports[1]->poll(pair.events[1], 16), 1);
  EXPECT_EQ(pair.events[1].log, Told{"got before"});
  EXPECT_EQ(pair.ports[1]->poll(pair.events[1], 16), 0);
  pair.ports[1]->destroy(pair.ids[1]);
  EXPECT_EQ(pair.ports[1]->connections(), 0U);
  pair.polls = true;
  pair.world.run();
  (void)pair.ports[0]->poll(pair.events[0], 16);
  EXPECT_EQ(pair.events[0].log,
            (Told{"done 1", broken(Fault::kRetryExceeded), failed(2, Fault::kRetryExceeded)}));
}

TEST(SimConnections, DestroyDropsWhatWasNotHandedOver) {
  sim::ConnectionLimits limits;
  limits.receive_depth = 3;
  Pair pair({}, limits);
  pair.polls = false;
  ASSERT_TRUE(pair.send("x", 1));
  pair.world.run();
  EXPECT_EQ(pair.ports[1]->packets_posted(), 2U);
  pair.ports[1]->stop(pair.ids[1]);
  pair.ports[1]->destroy(pair.ids[1]);
  EXPECT_EQ(pair.ports[1]->poll(pair.events[1], 16), 0);
  EXPECT_EQ(pair.ports[1]->packets_posted(), 3U);
}

TEST(SimConnections, ACompletionQueueOverruns) {
  sim::ConnectionLimits limits;
  limits.completion_depth = 4;
  Pair pair({}, limits);
  pair.polls = false;
  for (std::uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(pair.send("x", i));
  pair.world.run();
  EXPECT_EQ(pair.ports[1]->poll(pair.events[1], 16), -1);
  EXPECT_EQ(pair.ports[1]->fault(), Status(ESP_ERR_NETWORK, 1));
  EXPECT_FALSE(pair.ports[1]->create().ok());
}

TEST(SimConnections, DrawnFaultsHappen) {
  std::uint64_t breaks = 0, not_ready = 0;
  bool overrun = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Pair pair("break=5,rnr=0.2,overrun=1,heal=100us", {}, seed);
    for (std::uint64_t i = 0; i < 60; ++i) {
      pair.world.run(i * 2000);
      (void)pair.send("x", i);
    }
    pair.world.run();
    breaks += pair.net.counts().breaks;
    not_ready += pair.net.counts().not_ready;
    overrun = overrun || !pair.ports[0]->fault().ok() || !pair.ports[1]->fault().ok();
  }
  EXPECT_GT(breaks, 0U);
  EXPECT_GT(not_ready, 0U);
  EXPECT_TRUE(overrun);
}

}  // namespace
}  // namespace espalier::test
