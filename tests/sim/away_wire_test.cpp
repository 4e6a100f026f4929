// SimWire, segments that lie on a device: they stay there for who takes them so, and come as bytes
// to all others.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "core/away_memory.hpp"
#include "tests/harness/sim_world.hpp"
#include "tests/harness/traffic.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t kDeviceBytes = 4000;

// An address is a name. Fetches end when asked.
class NamedByAddress final : public AwayMemory {
 public:
  AwayName name_of(const void* at) noexcept override {
    AwayName name;
    std::memcpy(name.bytes.data(), &at, sizeof at);
    return name;
  }
  const void* open(Rank, const AwayName& name) noexcept override {
    const void* at = nullptr;
    std::memcpy(&at, name.bytes.data(), sizeof at);
    if (opens) ++open_now;
    return opens ? at : nullptr;
  }
  void close(Rank, const void*) noexcept override { --open_now; }
  Posted fetch(std::byte* dst, const void* src, std::uint64_t bytes,
               Completion& op) noexcept override {
    fetches.push_back({dst, src, bytes, &op});
    return Posted::kPending;
  }
  void cancel(Completion& op) noexcept override {
    std::erase_if(fetches, [&](const Fetch& fetch) { return fetch.op == &op; });
  }
  std::byte* allocate(std::uint64_t bytes) noexcept override {
    ++allocated;
    return new std::byte[bytes];
  }
  void release(std::byte* memory, std::uint64_t) noexcept override {
    --allocated;
    delete[] memory;
  }
  void end_fetches() {
    for (const Fetch& fetch : std::exchange(fetches, {})) {
      std::memcpy(fetch.dst, fetch.src, fetch.bytes);
      fetch.op->complete({});
    }
  }

  struct Fetch {
    std::byte* dst;
    const void* src;
    std::uint64_t bytes;
    Completion* op;
  };
  bool opens = true;
  int open_now = 0, allocated = 0;
  std::vector<Fetch> fetches;
};

// Nodes of two.
sim::Machine with_reach() {
  sim::Machine machine = cluster_machine();
  machine.device.to_host_ns_per_byte = machine.device.to_device_ns_per_byte = 0.25;
  machine.device.peer = {.ns_per_byte = 0.25, .across_ns_per_byte = 0.25};
  return machine;
}

class SimAwayTest : public testing::Test {
 protected:
  explicit SimAwayTest(sim::Machine machine = with_reach()) : world_(4, std::move(machine)) {
    for (Rank r = 0; r < 4; ++r) wire(r).set_away(&away_[static_cast<std::size_t>(r)]);
  }
  ~SimAwayTest() override {
    for (const NamedByAddress& memory : away_) {
      EXPECT_EQ(memory.allocated, 0);
      EXPECT_EQ(memory.open_now, 0);
    }
  }
  sim::SimWire& wire(Rank r) { return static_cast<sim::SimWire&>(world_.wire(r)); }
  static Send away_send(const Message& m) {
    Send send;
    send.segment = {m.to, m.flow, m.ordinal, m.total, m.signature};
    send.data = m.source.data();
    send.bytes = send.flow_bytes = m.bytes;
    send.away = true;
    return send;
  }
  void send(Message& m) { m.sent.posted = wire(m.from).send(away_send(m), m.sent); }
  void expect_quiet() {
    for (Rank r = 0; r < 4; ++r) EXPECT_TRUE(wire(r).quiet()) << r;
    EXPECT_EQ(world_.world().under_way(), 0U);
  }

  std::array<NamedByAddress, 4> away_;
  SimWorld world_;
};

TEST_F(SimAwayTest, SaysWhoReachesIt) {
  EXPECT_TRUE(wire(0).caps(1).away && wire(1).caps(0).away);
  EXPECT_FALSE(wire(0).caps(0).away);
  EXPECT_FALSE(wire(0).caps(2).away);  // on another node
  wire(1).set_away(nullptr);
  EXPECT_FALSE(wire(0).caps(1).away || wire(1).caps(0).away);
}

TEST(SimAway, NobodyReachesItWithoutLanes) {
  NamedByAddress memory[2];
  SimWorld world(2, cluster_machine());
  for (Rank r = 0; r < 2; ++r) static_cast<sim::SimWire&>(world.wire(r)).set_away(&memory[r]);
  EXPECT_FALSE(world.wire(0).caps(1).away);
}

TEST_F(SimAwayTest, StaysWhereItLies) {
  for (const bool early : {false, true}) {
    Message m(0, 1, FlowId(1, 0, 1 + early), kDeviceBytes, 5);
    m.received.takes_away = true;
    if (!early) {
      EXPECT_EQ(m.receive(wire(1)), Posted::kPending);
    }
    send(m);
    EXPECT_EQ(m.sent.posted, Posted::kPending);
    settle(world_);
    if (early) {
      EXPECT_EQ(m.receive(wire(1)), Posted::kDone);
    }
    ASSERT_TRUE(m.received.complete());
    EXPECT_TRUE(m.received.is_away);
    EXPECT_EQ(m.received.view, m.source.data());
    settle(world_);
    EXPECT_FALSE(m.sent.complete());  // It is still read.
    wire(1).release(m.received);
    settle(world_);
    EXPECT_TRUE(m.sent.complete());
    expect_quiet();
  }
  EXPECT_EQ(world_.counters(1).device_shared_bytes.value(), 2 * kDeviceBytes);
  EXPECT_EQ(world_.counters(0).copy_in_bytes.value(), 0U);
  EXPECT_EQ(world_.counters(1).copy_out_bytes.value(), 0U);
}

// Who wants bytes, as a copy or a view, or cannot open the place.
TEST_F(SimAwayTest, ComesAsBytesToOthers) {
  std::uint64_t sequence = 0;
  for (const bool takes : {false, true}) {
    for (const bool view : {false, true}) {
      for (const bool early : {false, true}) {
        SCOPED_TRACE(testing::Message() << takes << view << early);
        ++sequence;
        Message m(0, 1, FlowId(1, 0, sequence), kDeviceBytes, sequence);
        m.in_place = view;
        m.received.takes_away = takes;
        away_[1].opens = !takes;
        if (!early) {
          EXPECT_EQ(m.receive(wire(1)), Posted::kPending);
        }
        send(m);
        settle(world_);
        if (early) {
          EXPECT_EQ(m.receive(wire(1)), Posted::kPending);
        }
        settle(world_);
        EXPECT_FALSE(m.received.complete() || m.sent.complete());
        ASSERT_EQ(away_[0].fetches.size(), 1U);
        EXPECT_FALSE(wire(0).quiet());
        away_[0].end_fetches();
        settle(world_);
        m.check();
        EXPECT_FALSE(m.received.is_away);
        EXPECT_TRUE(m.sent.complete());
        wire(1).release(m.received);
        expect_quiet();
      }
    }
  }
  EXPECT_EQ(world_.counters(1).segments_received.value(), sequence);
  EXPECT_EQ(world_.counters(1).device_shared_bytes.value(), 0U);
}

TEST_F(SimAwayTest, WhatIsTakenBackIsNotReadAnyMore) {
  for (const bool fetching : {false, true}) {
    Message m(0, 1, FlowId(1, 0, 1 + fetching), kDeviceBytes, 5);
    EXPECT_EQ(m.receive(wire(1)), Posted::kPending);
    send(m);
    if (fetching) settle(world_);
    EXPECT_EQ(away_[0].fetches.size(), fetching ? 1U : 0U);
    wire(0).cancel(m.sent);
    settle(world_);
    EXPECT_TRUE(away_[0].fetches.empty());
    EXPECT_EQ(m.sent.fired + m.received.fired, 0);
    wire(1).cancel(m.received);
    expect_quiet();
  }
}

// The receiver lets go of what its sender does not wait for any more.
TEST_F(SimAwayTest, ASendThatIsTakenBackLeavesNothing) {
  Message m(0, 1, FlowId(1, 0, 1), kDeviceBytes, 5);
  m.received.takes_away = true;
  (void)m.receive(wire(1));
  send(m);
  settle(world_);
  wire(0).cancel(m.sent);
  wire(1).release(m.received);
  settle(world_);
  EXPECT_EQ(m.sent.fired, 0);
  expect_quiet();
}

TEST_F(SimAwayTest, WhatDoesNotFitIsToldAndLetGo) {
  Message m(0, 1, FlowId(1, 0, 1), kDeviceBytes, 5);
  m.received.takes_away = true;
  send(m);
  m.bytes -= 8;
  (void)m.receive(wire(1));
  settle(world_);
  ASSERT_TRUE(m.received.complete());
  EXPECT_EQ(m.received.status, Status(ESP_ERR_MISMATCH, 0));
  EXPECT_FALSE(m.received.is_away);
  wire(1).release(m.received);
  settle(world_);
  EXPECT_TRUE(m.sent.complete());
  expect_quiet();
}

// All in one node: some read a publication where it lies, one wants bytes.
class SimAwayGroupTest : public SimAwayTest {
 protected:
  SimAwayGroupTest() : SimAwayTest(one_node()) {}
  static sim::Machine one_node() {
    sim::Machine machine = with_reach();
    machine.levels.back().arity = 4;
    return machine;
  }
};

TEST_F(SimAwayGroupTest, ReadersOfAPublicationMayDiffer) {
  const std::vector<Rank> readers = {1, 2, 3};
  const auto group = wire(0).open_group(readers);
  Messages all;
  for (const Rank r : readers) {
    all.push_back(std::make_unique<Message>(0, r, FlowId(1, 0, 1), kDeviceBytes, 3));
    all.back()->received.takes_away = r != 2;
    (void)all.back()->receive(wire(r));
  }
  const std::vector<std::byte> source = all[0]->source;
  Send request = away_send(*all[0]);
  request.data = source.data();
  SendProbe sent;
  sent.posted = wire(0).publish(request, *group, sent);
  settle(world_);
  away_[0].end_fetches();
  settle(world_);
  EXPECT_EQ(sent.fired, 0);
  all[1]->check();
  for (const std::size_t i : {0U, 2U}) {
    EXPECT_EQ(all[i]->received.view, source.data());
    wire(static_cast<Rank>(i) + 1).release(all[i]->received);
  }
  settle(world_);
  EXPECT_EQ(sent.fired, 1);
  expect_quiet();
}

}  // namespace
}  // namespace espalier::test
