// Pulls that the system allows at first and then refuses (shm/shm_wire_pull.cpp): nothing is lost,
// at whatever moment it happens and whoever has given up meanwhile.
#include <sys/mman.h>

#include <algorithm>
#include <string>

#include "tests/harness/shm_world.hpp"
#include "tests/harness/traffic.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t kBytes = 200'000, kQuantum = 64 << 10;  // four calls
constexpr std::uint64_t kCalls = 4;

struct Warnings {
  static void write(void* context, LogLevel level, Rank rank, std::string_view message) noexcept {
    auto& self = *static_cast<Warnings*>(context);
    EXPECT_EQ(level, LogLevel::kWarn);
    (void)rank;
    ++self.count;
    self.last = message;
  }
  int count = 0;
  std::string last;
};

class ShmRefusedTest : public testing::Test {
 protected:
  // Rank r may pull allowed[r] times.
  void make(std::vector<std::uint64_t> allowed, std::uint64_t arena_bytes = 4 << 20) {
    ShmWorldOptions options;
    options.arena_bytes = arena_bytes;
    options.wire.pull.threshold = 0;
    options.wire.quantum_bytes = kQuantum;
    options.wire.log = Log(LogLevel::kWarn, 0, {Warnings::write, &warnings_});
    options.pulls_allowed = std::move(allowed);
    world_ = std::make_unique<ShmWorld>(static_cast<int>(options.pulls_allowed.size()), options);
  }
  // From rank 0 to rank 1, whose receive is there.
  void begin(Message& m, int looks) {
    ASSERT_EQ(m.receive(world_->wire(1)), Posted::kPending);
    ASSERT_EQ(m.send(world_->wire(0)), Posted::kPending);
    for (int i = 0; i < looks; ++i) (void)world_->wire(1).progress();
  }

  Warnings warnings_;
  std::unique_ptr<ShmWorld> world_;
};

TEST_F(ShmRefusedTest, AtAnyCallOfSeveralSegmentsAndOnlyOnce) {
  for (std::uint64_t allowed = 0; allowed <= 3 * kCalls; ++allowed) {
    SCOPED_TRACE(allowed);
    make({kCalls, allowed});
    warnings_ = {};
    auto flow = make_flow(0, 1, FlowId(1, 0, 0), 3, kBytes);
    for (auto& m : flow) {
      m->in_place = m->ordinal == 1;
      ASSERT_EQ(m->receive(world_->wire(1)), Posted::kPending);
      ASSERT_EQ(m->send(world_->wire(0), m->ordinal == 2), Posted::kPending);
    }
    settle(*world_);
    for (auto& m : flow) {
      m->check();
      EXPECT_EQ(m->sent.fired, 1);
      EXPECT_EQ(m->received.fired, 1);
      world_->wire(1).release(m->received);
    }
    const bool refused = allowed < 3 * kCalls;
    EXPECT_EQ(world_->pulls_refused() > 0, refused);
    EXPECT_EQ(warnings_.count, refused ? 1 : 0);
    EXPECT_EQ(world_->wire(1).pull_refusal(), refused ? ENOSYS : 0);
    EXPECT_EQ(world_->counters(1).segments_received.value(), 3U);
    EXPECT_EQ(world_->counters(1).bytes_received.value(), 3 * kBytes);
    EXPECT_TRUE(world_->wire(0).quiet() && world_->wire(1).quiet());
    // What comes later is not tried again, and the other direction is not concerned.
    const std::uint64_t refusals = world_->pulls_refused();
    Message next(0, 1, FlowId(1, 0, 1), kBytes, 7), back(1, 0, FlowId(1, 0, 2), kBytes, 8);
    EXPECT_EQ(next.send(world_->wire(0)), refused ? Posted::kDone : Posted::kPending);
    EXPECT_EQ(back.send(world_->wire(1)), Posted::kPending);
    (void)next.receive(world_->wire(1));
    (void)back.receive(world_->wire(0));
    settle(*world_);
    next.check();
    back.check();
    EXPECT_EQ(world_->pulls_refused(), refused ? refusals : 1U);
    EXPECT_EQ(world_->counters(0).cma_calls.value(), kCalls);
  }
  EXPECT_NE(warnings_.last.find("rank 0"), std::string::npos) << warnings_.last;
  EXPECT_NE(warnings_.last.find("ENOSYS"), std::string::npos) << warnings_.last;
}

TEST_F(ShmRefusedTest, OneReaderOfSeveral) {
  make({0, 100, 1});
  Message m(0, 1, FlowId(1, 0, 0), kBytes, 1), other(0, 2, FlowId(1, 0, 0), kBytes, 1);
  const auto group = world_->wire(0).open_group(std::vector<Rank>{1, 2});
  const Send send = {
      .segment = {.flow = m.flow}, .data = m.source.data(), .bytes = kBytes, .flow_bytes = kBytes};
  (void)m.receive(world_->wire(1));
  (void)other.receive(world_->wire(2));
  ASSERT_EQ(m.sent.posted = world_->wire(0).publish(send, *group, m.sent), Posted::kPending);
  settle(*world_);
  m.check();
  other.check();
  EXPECT_EQ(m.sent.fired, 1);
  EXPECT_EQ(world_->counters(0).copy_in_bytes.value(), kBytes) << "for one of them";
}

// The receive is posted after the refusal, or the segment has been moved out of the sender's way.
TEST_F(ShmRefusedTest, BeforeItsReceive) {
  make({0, 0});
  Messages early;
  for (std::uint64_t i = 0; i < shm::kTickets; ++i) {
    early.push_back(std::make_unique<Message>(0, 1, FlowId(1, 0, i), 100, i));
    ASSERT_EQ(early.back()->send(world_->wire(0), i % 2 == 0), Posted::kPending) << i;
    (void)world_->wire(1).progress();
  }
  Message wanted(0, 1, FlowId(2, 0, 0), 100, 5);
  (void)wanted.receive(world_->wire(1));
  ASSERT_EQ(wanted.send(world_->wire(0)), Posted::kRetry) << "no ticket is left";
  ASSERT_TRUE(step_until(*world_, [&] { return wanted.send(world_->wire(0)) != Posted::kRetry; }));
  settle(*world_);
  wanted.check();
  for (auto& m : early) {
    EXPECT_EQ(m->sent.fired, m->ordinal == 0 && m->flow.key % 2 == 0 ? 0 : 1);
    std::fill(m->source.begin(), m->source.end(), std::byte{0});  // its owner's again
    (void)m->receive(world_->wire(1));
    settle(*world_);
    m->check();
    EXPECT_EQ(m->sent.fired, 1);
  }
  EXPECT_EQ(warnings_.count, 1);
}

// As many are refused as do not fit into the arena at once.
TEST_F(ShmRefusedTest, WithoutRoomForTheCopies) {
  make({0, 3}, 64 << 10);
  auto flow = make_flow(0, 1, FlowId(1, 0, 0), 16, 8000);
  for (auto& m : flow) {
    m->in_place = m->ordinal % 2 == 0;
    ASSERT_EQ(m->send(world_->wire(0)), Posted::kPending);
    (void)m->receive(world_->wire(1));
  }
  ASSERT_TRUE(step_until(*world_, [&] { return received(flow); }));
  settle(*world_);
  for (auto& m : flow) {
    m->check();
    EXPECT_EQ(m->sent.fired, 1);
    world_->wire(1).release(m->received);
  }
  EXPECT_TRUE(world_->wire(0).quiet() && world_->wire(1).quiet());
}

// At any moment: its buffer is gone at once.
TEST_F(ShmRefusedTest, ASendThatIsTakenBackIsNotRead) {
  int lost = 0;
  for (int looks = 0; looks < 8; ++looks) {
    for (const bool before : {false, true}) {
      make({0, 2});
      const std::uint64_t whole = (kBytes + 4095) / 4096 * 4096;
      void* memory = ::mmap(nullptr, whole, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      ASSERT_NE(memory, MAP_FAILED);
      Message m(0, 1, FlowId(1, 0, 0), kBytes, 1);
      if (before) (void)m.receive(world_->wire(1));
      const Send send = {.segment = {.peer = 1, .flow = m.flow},
                         .data = memory,
                         .bytes = kBytes,
                         .flow_bytes = kBytes};
      ASSERT_EQ(world_->wire(0).send(send, m.sent), Posted::kPending);
      for (int i = 0; i < looks; ++i) (void)world_->wire(1).progress();
      world_->wire(0).cancel(m.sent);
      ::munmap(memory, whole);
      if (!before) (void)m.receive(world_->wire(1));
      ASSERT_TRUE(step_until(*world_, [&] { return m.received.complete(); }));
      EXPECT_EQ(m.received.status.code(), ESP_ERR_SYSTEM);
      EXPECT_EQ(m.received.status.rank(), 0);
      lost += m.received.status.error_number() == ECANCELED ? 1 : 0;
      EXPECT_EQ(m.sent.fired, 0);
      for (std::uint64_t i = 0; i < std::uint64_t{2} * shm::kTickets; ++i) {  // No ticket is kept.
        Message next(0, 1, FlowId(2, 0, i), 100, i);
        (void)next.receive(world_->wire(1));
        ASSERT_NE(next.send(world_->wire(0)), Posted::kRetry) << i;
        settle(*world_);
        next.check();
      }
    }
  }
  EXPECT_GT(lost, 0);
}

TEST_F(ShmRefusedTest, AReceiveThatIsTakenBackIsNotWrittenTo) {
  for (int looks = 0; looks < 8; ++looks) {
    make({0, 2});
    Message m(0, 1, FlowId(1, 0, 0), kBytes, 1), again(0, 1, FlowId(1, 0, 0), kBytes, 1);
    begin(m, looks);
    world_->wire(1).cancel(m.received);
    std::fill(m.target.begin(), m.target.end(), std::byte{0x11});
    settle(*world_);
    (void)again.receive(world_->wire(1));
    settle(*world_);
    again.received.complete() ? again.check() : world_->wire(1).cancel(again.received);
    EXPECT_EQ(m.sent.fired, 1) << "the sender has its buffer back";
    EXPECT_EQ(m.received.fired, 0);
    EXPECT_TRUE(std::all_of(m.target.begin(), m.target.end(),
                            [](std::byte b) { return b == std::byte{0x11}; }));
  }
}

// Whose team has been freed meanwhile.
TEST_F(ShmRefusedTest, OfATeamThatIsForgotten) {
  make({0, 0}, 64 << 10);
  for (std::uint64_t i = 0; i < 40; ++i) {
    Message m(0, 1, FlowId(3, 0, i), 8000, i);
    ASSERT_EQ(m.send(world_->wire(0)), Posted::kPending);
    (void)m.receive(world_->wire(1));
    world_->wire(1).cancel(m.received);
    world_->wire(1).forget_team(3);
    settle(*world_);
    EXPECT_EQ(m.sent.fired, 1);
  }
  EXPECT_TRUE(world_->wire(0).quiet() && world_->wire(1).quiet());
}

// These are no refusals: another way would not do.
TEST_F(ShmRefusedTest, DeathAndMissingMemoryStayWhatTheyAre) {
  struct Kernel final : shm::CmaKernel {
    ssize_t copy(shm::CmaDirection, VisiblePid, std::span<const iovec>,
                 std::span<const iovec>) noexcept override {
      errno = number;
      return -1;
    }
    int number = 0;
  } kernel;
  for (const int number : {ESRCH, EFAULT}) {
    kernel.number = number;
    ShmWorldOptions options;
    options.wire.pull.threshold = 0;
    options.wire.cma = &kernel;
    ShmWorld world(2, options);
    Message m(0, 1, FlowId(1, 0, 0), kBytes, 1);
    (void)m.receive(world.wire(1));
    ASSERT_EQ(m.send(world.wire(0)), Posted::kPending);
    settle(world);
    ASSERT_TRUE(m.received.complete());
    EXPECT_EQ(m.received.status.code(), number == ESRCH ? ESP_ERR_PEER_DIED : ESP_ERR_SYSTEM);
    EXPECT_EQ(m.received.status.rank(), 0);
    EXPECT_EQ(m.received.status.error_number(), number);
    EXPECT_EQ(world.wire(1).pull_refusal(), 0);
  }
}

}  // namespace
}  // namespace espalier::test
