// The contract of core/wire.hpp where something ends half-way: a megabyte is under way, and after
// so and so many looks at the wires a receive or a send is cancelled, or a wire taken down. What
// the owner has back is used for something else at once. Everything is done twice: with senders
// that know of the receives (and may have been told where the bytes go), and with others.
#include <algorithm>

#include "conformance.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;
constexpr std::byte kOther{0x11};

// The next number of looks after which something ends.
int next_moment(int moment, const WorldKind& kind) {
  if (kind.slow && kind.faulty) return 6 * moment + 4;
  return moment + 1 + (kind.slow ? 2 * moment : moment / 4);
}

Message large(World& world, Rank from, Rank to, std::uint32_t channel, std::uint64_t sequence) {
  const std::uint64_t bytes = std::min(kMegabyte, world.wire(from).caps(to).segment_bytes);
  return Message(from, to, FlowId(20, channel, sequence), bytes, sequence + 1);
}

void use_for_something_else(std::vector<std::byte>& memory) {
  std::fill(memory.begin(), memory.end(), kOther);
}
bool is_untouched(const std::vector<std::byte>& memory) {
  return std::all_of(memory.begin(), memory.end(), [](std::byte b) { return b == kOther; });
}

// The sender has been told of the receive, or not.
void tell(World& world, bool told) {
  if (told) settle(world);
}

// Nothing more is written to its memory, and the segment is whole for the next receive, which is
// posted at once or later. Where receivers read from the sender's memory, it may be gone with the
// receive that had begun to: then the sender has its buffer back.
TEST_P(WireContract, AReceiveCancelledHalfWay) {
  World& world = make(2);
  std::uint64_t sequence = 0;
  for (const bool told : {true, false}) {
    bool complete = !told && GetParam().slow && GetParam().faulty;
    for (int moment = 0; !complete; moment = next_moment(moment, GetParam())) {
      SCOPED_TRACE("after " + std::to_string(moment) + " looks");
      const bool at_once = told == (moment % 3 == 0);
      meet(world, 0, 1, sequence);
      Message m = large(world, 0, 1, 1, sequence), again = large(world, 0, 1, 1, sequence);
      ++sequence;
      ASSERT_EQ(m.receive(world.wire(1)), Posted::kPending);
      tell(world, told);
      ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
      for (int i = 0; i < moment; ++i) (void)step(world);
      complete = m.received.complete();
      if (!complete) {
        world.wire(1).cancel(m.received);
        use_for_something_else(m.target);
        if (!at_once) settle(world);
        (void)again.receive(world.wire(1));
        const auto gone = [&] { return !world.gives_buffers_back() && m.sent.complete(); };
        ASSERT_TRUE(step_until(world, [&] { return again.received.complete() || gone(); }));
        if (again.received.complete()) again.check();
        world.wire(1).cancel(again.received);
        EXPECT_EQ(m.received.fired, 0);
        EXPECT_TRUE(is_untouched(m.target));
      }
      ASSERT_TRUE(step_until(world, [&] { return m.sent.complete(); }));
      ASSERT_LE(moment, 1'000'000);
    }
  }
}

// The peer gets what was in its buffer, if anything.
TEST_P(WireContract, ASendCancelledHalfWay) {
  World& world = make(2);
  std::uint64_t sequence = 0;
  for (const bool told : {true, false}) {
    bool complete = !told && GetParam().slow && GetParam().faulty;
    for (int moment = 0; !complete; moment = next_moment(moment, GetParam())) {
      SCOPED_TRACE("after " + std::to_string(moment) + " looks");
      meet(world, 0, 1, sequence);
      Message m = large(world, 0, 1, 2, sequence++);
      ASSERT_EQ(m.receive(world.wire(1)), Posted::kPending);
      tell(world, told);
      ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
      for (int i = 0; i < moment; ++i) (void)step(world);
      complete = m.sent.complete();
      const int fired = m.sent.fired;
      if (!complete) {
        world.wire(0).cancel(m.sent);
        if (world.gives_buffers_back()) use_for_something_else(m.source);
      }
      ASSERT_TRUE(step_until(world, [&] { return m.received.complete(); }));
      complete ? m.check() : check_taken_back(world, m);
      settle(world);
      EXPECT_EQ(m.sent.fired, fired);
      ASSERT_LE(moment, 1'000'000);
    }
  }
}

// Both directions are under way. What came whole is right, what did not is not waited for by the
// others, and nothing is written to the memory of the one that has ended.
TEST_P(WireContract, AWireMayEndHalfWay) {
  bool complete = false;
  for (int moment = 0; !complete; moment = next_moment(moment, GetParam())) {
    SCOPED_TRACE("after " + std::to_string(moment) + " looks");
    World& world = make(3);
    meet(world, 0, 1, 0);
    Message there = large(world, 0, 1, 3, 0), back = large(world, 1, 0, 3, 1);
    for (Message* m : {&there, &back}) (void)m->receive(world.wire(m->to));
    tell(world, moment % 2 == 0);
    for (Message* m : {&there, &back}) {
      ASSERT_NE(m->send(world.wire(m->from)), Posted::kRetry);
    }
    for (int i = 0; i < moment; ++i) (void)step(world);
    complete = there.received.complete() && back.received.complete() && there.sent.complete() &&
               back.sent.complete();
    world.close(1);
    use_for_something_else(there.target);
    if (world.gives_buffers_back()) use_for_something_else(back.source);
    for (const bool forth : {true, false}) {
      Message other = large(world, forth ? 0 : 2, forth ? 2 : 0, 3, 2);
      (void)other.receive(world.wire(other.to));
      ASSERT_NE(other.send(world.wire(other.from)), Posted::kRetry);
      for (int i = 0; i < 1'000'000 && !other.received.complete(); ++i) {
        if (world.wire(2).progress() + world.wire(0).progress() == 0) world.rest();
      }
      other.check();
    }
    EXPECT_TRUE(is_untouched(there.target));
    EXPECT_LE(there.sent.fired, 1);
    EXPECT_LE(back.received.fired, 1);
    if (back.received.complete() && back.received.status.ok()) back.check();
    // Before the messages, which are theirs while they are under way.
    world.close(0);
    world.close(2);
    ASSERT_LE(moment, 1'000'000);
  }
}

}  // namespace
}  // namespace espalier::test
