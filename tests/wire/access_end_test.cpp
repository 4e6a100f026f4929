// How remote access ends: targets that are lost or leave, and ranks that come by a way that is not
// theirs.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <vector>

#include "access_parties.hpp"

namespace espalier::test {
namespace {

using net::RemoteAccess;
using net::RemoteKind;
using net::RemoteOp;

class AccessEnd : public ::testing::TestWithParam<WorldKind> {};

// Rank 0 has done something for rank 1.
bool answers(Parties& parties) {
  Probe first;
  first.kind = RemoteKind::kFetchAdd;
  first.target = 0;
  first.bytes = 8;
  parties.access(1).start(first);
  return parties.until([&] { return first.fired == 1; });
}

// The target goes away: everything ends once and names it, and so does what comes later.
TEST_P(AccessEnd, LostTargetsEndOperations) {
  for (const int steps : {0, 2, 20}) {
    Parties parties(GetParam(), 2, 300'000);
    ASSERT_TRUE(answers(parties));
    std::deque<Probe> ops;
    std::deque<std::vector<std::byte>> buffers;
    start_some(parties, ops, buffers, 1);
    for (int i = 0; i < steps; ++i) (void)parties.step();
    parties.at(0).access.reset();
    parties.world().close(0);
    ASSERT_TRUE(parties.until([&] { return !parties.access(1).state(0).ok(); }));
    start_some(parties, ops, buffers, 1);
    ASSERT_TRUE(parties.until([&] { return ended(ops); }));
    for (std::size_t i = 0; i < ops.size(); ++i) {
      EXPECT_EQ(ops[i].fired, 1);
      EXPECT_TRUE(ops[i].status.ok() || ops[i].status.rank() == 0);
      EXPECT_TRUE(i < 12 || !ops[i].status.ok());
    }
  }
}

// A target that has said goodbye does not answer, and goes: who waits asks for it and is told.
TEST_P(AccessEnd, TargetsThatLeaveEndOperations) {
  Parties parties(GetParam(), 2, 64);
  const auto add = [&](Probe& op) {
    op.kind = RemoteKind::kFetchAdd;
    op.target = 0;
    op.bytes = 8;
    parties.access(1).start(op);
  };
  Probe before, late;
  int looks = 0;
  add(before);
  ASSERT_TRUE(parties.until([&] { return before.fired == 1; }));
  parties.world().link(0).say_goodbye(1);
  add(late);
  ASSERT_TRUE(parties.until([&] { return parties.world().link(0).drained(); }));
  for (int i = 0; i < 20; ++i) (void)parties.step();
  parties.at(0).access.reset();
  parties.world().close(0);
  ASSERT_TRUE(parties.until([&] {
    if (late.fired == 0 && ++looks % 64 == 0) parties.access(1).probe(0);
    return late.fired == 1;
  }));
  EXPECT_FALSE(late.status.ok());
  EXPECT_EQ(late.status.rank(), 0);
}

// Tries again whenever it fails.
struct Stubborn : RemoteOp {
  explicit Stubborn(RemoteAccess& way) : RemoteOp(on_fire), access(way) {
    kind = RemoteKind::kFetchAdd;
    target = 0;
    bytes = 8;
  }
  static void on_fire(Completion& op, Status) noexcept {
    auto& self = static_cast<Stubborn&>(op);
    if (++self.fired < 20) self.access.start(self);
  }
  RemoteAccess& access;
  int fired = 0;
};

// Whoever tries again with a target that is lost gets its next failure from the next progress.
TEST_P(AccessEnd, TryingAgainIsNoEndlessProgress) {
  Parties parties(GetParam(), 2, 64);
  ASSERT_TRUE(answers(parties));
  parties.at(0).access.reset();
  parties.world().close(0);
  RemoteAccess& access = parties.access(1);
  Probe last;
  last.kind = RemoteKind::kGet;
  last.target = 0;
  last.bytes = 8;
  last.memory = parties.at(1).memory.data();
  access.start(last);
  ASSERT_TRUE(parties.until([&] { return last.fired == 1; }));
  Stubborn a(access), b(access);
  access.start(a);
  access.start(b);
  for (int turn = 1; turn <= 20; ++turn) {
    EXPECT_GE(access.progress(), 2);
    EXPECT_EQ(a.fired, turn);
    EXPECT_EQ(b.fired, turn);
  }
}

// A link on which nothing goes out, and frames come in when the test says so.
struct HandLink final : net::Link {
  net::LinkCaps caps(Rank) const noexcept override { return {}; }
  Posted post(Rank, const net::FrameHeader&, const void*, Completion&) noexcept override {
    return Posted::kDone;
  }
  void withdraw(Rank, Completion&) noexcept override {}
  void reach(Rank) noexcept override {}
  void lose(Rank peer, Error) noexcept override { given_up.push_back(peer); }
  int progress(net::FrameSink& sink) noexcept override {
    if (payload == nullptr) payload = sink.begin(0, header);
    if (payload != nullptr) std::memset(payload, value, header.bytes);
    if (payload != nullptr && ends) sink.end(0, header, payload);
    return 1;
  }
  int descriptor() const noexcept override { return -1; }
  bool arm() noexcept override { return false; }
  void say_goodbye(Rank) noexcept override {}
  void say_goodbye_to_all() noexcept override {}
  bool drained() const noexcept override { return true; }
  std::string describe(Rank) const override { return ""; }

  net::FrameHeader header;
  int value = 0;
  bool ends = true;
  std::byte* payload = nullptr;  // of the frame that has begun
  std::vector<Rank> given_up;
};

// Rank 0 lies: it is inside a message on its own way, and comes by the other one, too.
TEST(RemoteAccess, FramesByAWayThatIsNotThePeersTouchNothing) {
  struct Taker final : MessageTaker {
    bool take(Rank, const ActiveMessage& message) noexcept override {
      const auto* bytes = static_cast<const std::byte*>(message.payload);
      for (std::uint64_t i = 0; i < message.bytes; ++i) EXPECT_EQ(bytes[i], std::byte{1});
      ++taken;
      return true;
    }
    int taken = 0;
  } taker;
  Counters counters;
  HandLink own, other;
  net::FrameWire own_wire(own, {}, counters), other_wire(other, {}, counters);
  struct TwoRoutes final : net::FrameRoutes {
    net::FrameWire* frames_to(Rank rank) noexcept override {
      return rank == 1 ? nullptr : wires[static_cast<std::size_t>(rank / 2)];
    }
    std::span<net::FrameWire* const> all_frames() const noexcept override { return wires; }
    std::array<net::FrameWire*, 2> wires;
  } routes;
  routes.wires = {&own_wire, &other_wire};
  net::RemoteAccess access(routes, taker);
  std::vector<std::byte> memory(64);
  const std::uint32_t region = access.offer(memory.data(), memory.size());

  own.header.kind = net::FrameKind::kMessage;
  own.header.ordinal = 5;
  own.header.bytes = 48;
  own.value = 1;
  own.ends = false;
  (void)own_wire.progress();
  ASSERT_NE(own.payload, nullptr);

  other.header.kind = net::FrameKind::kPut;
  other.header.ordinal = region;
  other.header.bytes = 32;
  other.value = 2;
  (void)other_wire.progress();
  EXPECT_EQ(other.payload, nullptr);
  EXPECT_EQ(other.given_up, std::vector<Rank>{0});
  EXPECT_TRUE(own.given_up.empty());
  EXPECT_EQ(memory, std::vector<std::byte>(64));

  // Its own way goes on as if nothing had been.
  own.ends = true;
  (void)own_wire.progress();
  EXPECT_EQ(taker.taken, 1);
  EXPECT_TRUE(own.given_up.empty());
}

INSTANTIATE_TEST_SUITE_P(Links, AccessEnd, ::testing::ValuesIn(frame_worlds()), name_of_world);

}  // namespace
}  // namespace espalier::test
