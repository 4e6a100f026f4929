// What ShmWire makes of a Transfer: the path, the quantum, the bound on readers; and pushes, which
// must never reach memory that its owner has back.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/harness/shm_world.hpp"
#include "tests/harness/traffic.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t kMoved = 200'000;
constexpr std::uint32_t kPieceBytes = 20'000;  // ten calls

// From rank 0 to rank 1.
struct Asked : Message {
  Asked(std::uint64_t number, const Transfer& how)
      : Message(0, 1, FlowId(1, 0, number), kMoved, number + 1) {
    transfer = how;
  }
};

class ShmTransferTest : public testing::Test {
 protected:
  void make(int ranks, ShmWorldOptions options = {}) {
    world_ = std::make_unique<ShmWorld>(ranks, options);
  }
  const Counters& counters(Rank r) { return world_->counters(r); }
  std::uint64_t pulled(Rank r) { return counters(r).cma_bytes.value(); }
  shm::ShmWire& wire(Rank r) { return world_->wire(r); }
  void expect_quiet() {
    for (Rank r = 0; r < world_->size(); ++r) EXPECT_TRUE(wire(r).quiet()) << r;
  }

  std::unique_ptr<ShmWorld> world_;
};

TEST_F(ShmTransferTest, ThePathIsTheOneAskedFor) {
  for (const bool pulls : {false, true}) {  // what the wire would choose
    ShmWorldOptions options;
    options.wire.pull.threshold = pulls ? 0 : shm::kNeverPull;
    make(2, options);
    Asked copied(0, {.path = Path::kCopy});
    carry(*world_, copied);
    EXPECT_EQ(counters(0).copy_in_bytes.value(), kMoved);
    EXPECT_EQ(pulled(0) + pulled(1), 0U);
    Asked read(1, {.path = Path::kPull});
    carry(*world_, read);
    EXPECT_EQ(counters(0).copy_in_bytes.value(), kMoved);
    EXPECT_EQ(pulled(1), kMoved);
    Asked written(2, {.path = Path::kPush});
    carry(*world_, written);
    EXPECT_EQ(written.sent.posted, Posted::kDone);
    EXPECT_EQ(counters(0).copy_in_bytes.value(), kMoved);
    EXPECT_EQ(pulled(1), kMoved);
    EXPECT_EQ(pulled(0), kMoved);
    EXPECT_EQ(counters(1).segments_received.value(), 3U);
    expect_quiet();
  }
}

TEST_F(ShmTransferTest, CapsSayWhatIsObeyed) {
  ShmWorldOptions options;
  options.pulls_allowed = {0};
  make(2, options);
  const WireCaps before = wire(0).caps(1);
  EXPECT_TRUE(before.copies && before.pulls && before.pushes && before.paces_pulls);
  Asked m(0, {.path = Path::kPush});
  carry(*world_, m);  // refused
  const WireCaps after = wire(0).caps(1);
  EXPECT_FALSE(after.pushes);
  EXPECT_TRUE(after.copies && after.pulls) << "the other reads as before";
  EXPECT_FALSE(wire(1).caps(0).pulls);
}

TEST_F(ShmTransferTest, AQuantumIsWhatOneLookPulls) {
  make(2);
  for (const std::uint32_t quantum : {0U, kPieceBytes, 2 * kPieceBytes}) {
    const std::uint64_t before = counters(1).cma_calls.value();
    Asked m(quantum, {.path = Path::kPull, .quantum_bytes = quantum});
    carry(*world_, m);
    const std::uint64_t calls = quantum == 0 ? 1 : kMoved / quantum;
    EXPECT_EQ(counters(1).cma_calls.value() - before, calls);
  }
}

// So many have begun to read and are not done, after each look of anybody.
TEST_F(ShmTransferTest, NeverMoreReadersAtOnceThanTheBound) {
  constexpr Rank kReaders = 7;
  constexpr std::uint16_t kBounds[] = {1, 2, 3, 6, 7, 20, 0};
  for (const std::uint16_t bound : kBounds) {
    for (const bool synchronous : {false, true}) {
      SCOPED_TRACE(testing::Message() << "bound " << bound << ", synchronous " << synchronous);
      make(kReaders + 1);
      std::vector<Rank> readers;
      Messages copies;
      for (Rank r = 1; r <= kReaders; ++r) {
        readers.push_back(r);
        copies.push_back(std::make_unique<Message>(0, r, FlowId(1, 0, 0), kMoved, 9));
        copies.back()->transfer.quantum_bytes = kPieceBytes;
        (void)copies.back()->receive(wire(r));
      }
      const auto group = wire(0).open_group(readers);
      Send send;
      send.segment = {kNoRank, FlowId(1, 0, 0), 0, 1, 0};
      send.data = copies[0]->source.data();
      send.bytes = send.flow_bytes = kMoved;
      send.synchronous = synchronous;
      send.transfer = {.path = Path::kPull, .readers_at_once = bound};
      SendProbe op;
      ASSERT_EQ(op.posted = wire(0).publish(send, *group, op), Posted::kPending);
      int most = 0;
      const auto done = [&] {
        int reading = 0;
        for (const Rank r : readers) reading += pulled(r) > 0 && pulled(r) < kMoved ? 1 : 0;
        most = std::max(most, reading);
        return op.complete() && received(copies);
      };
      ASSERT_TRUE(step_until(*world_, done));
      const int allowed = bound == 0 ? kReaders : std::min<int>(bound, kReaders);
      EXPECT_EQ(most, allowed);
      for (auto& m : copies) m->check();
      expect_quiet();
    }
  }
}

TEST_F(ShmTransferTest, ABoundedPublicationOfRefusedPullsIsCopied) {
  ShmWorldOptions options;
  options.pulls_allowed = {0, 3, 0, 5, 100};
  make(5, options);
  const auto group = wire(0).open_group(std::vector<Rank>{1, 2, 3, 4});
  Messages copies;
  for (Rank r = 1; r <= 4; ++r) {
    copies.push_back(std::make_unique<Message>(0, r, FlowId(1, 0, 0), kMoved, 9));
    copies.back()->transfer.quantum_bytes = kPieceBytes;
    (void)copies.back()->receive(wire(r));
  }
  Send send;
  send.segment = {kNoRank, FlowId(1, 0, 0), 0, 1, 0};
  send.data = copies[0]->source.data();
  send.bytes = send.flow_bytes = kMoved;
  send.transfer = {.path = Path::kPull, .readers_at_once = 1};
  SendProbe op;
  ASSERT_EQ(op.posted = wire(0).publish(send, *group, op), Posted::kPending);
  ASSERT_TRUE(step_until(*world_, [&] { return op.complete() && received(copies); }));
  for (auto& m : copies) m->check();
  EXPECT_EQ(counters(0).copy_in_bytes.value(), 3 * kMoved);
  settle(*world_);
  expect_quiet();
}

// ---- pushes ----

constexpr Transfer kPush = {.path = Path::kPush};

TEST_F(ShmTransferTest, WhatIsNotPostedYetIsCopied) {
  make(2);
  for (std::uint64_t i = 0; i < 100; ++i) {  // more than there are landings
    Asked m(i, kPush);
    const bool late = i % 3 == 0;
    if (late) {
      ASSERT_EQ(m.send(wire(0)), Posted::kDone);
    }
    ASSERT_EQ(m.receive(wire(1)), Posted::kPending);  // Of a late one the cell lies there.
    if (!late) {
      ASSERT_EQ(m.send(wire(0), i % 2 == 0), i % 2 == 0 ? Posted::kPending : Posted::kDone);
    }
    finish(*world_, m);
  }
  EXPECT_EQ(counters(0).copy_in_bytes.value(), 34 * kMoved);
  EXPECT_EQ(pulled(0), 66 * kMoved);
  expect_quiet();
}

TEST_F(ShmTransferTest, MoreReceivesThanLandings) {
  make(2);
  auto flow = make_flow(0, 1, FlowId(1, 0, 0), 60, 3000);
  for (auto& m : flow) {
    m->transfer = kPush;
    (void)m->receive(wire(1), 64);
  }
  settle(*world_);
  for (auto& m : flow) {
    ASSERT_TRUE(step_until(*world_, [&] { return m->send(wire(0)) != Posted::kRetry; }));
  }
  ASSERT_TRUE(step_until(*world_, [&] { return complete(flow); }));
  for (auto& m : flow) m->check();
  EXPECT_GE(pulled(0), shm::kLandings * 3000U);
}

TEST_F(ShmTransferTest, AnotherLengthIsAMismatchAndNothingIsWritten) {
  make(2);
  Asked m(0, kPush);
  m.bytes = kMoved - 1;
  ASSERT_EQ(m.receive(wire(1)), Posted::kPending);
  m.bytes = kMoved;
  ASSERT_NE(m.send(wire(0)), Posted::kRetry);
  ASSERT_TRUE(step_until(*world_, [&] { return m.complete(); }));
  EXPECT_EQ(m.received.status.code(), ESP_ERR_MISMATCH);
  EXPECT_TRUE(std::all_of(m.target.begin(), m.target.end() - 1,
                          [](std::byte b) { return b == std::byte{0}; }));
  Asked next(0, kPush);  // The landing is free again.
  carry(*world_, next);
  EXPECT_EQ(pulled(0), kMoved);
}

TEST_F(ShmTransferTest, ARefusalIsOneWarningAndNothingIsLost) {
  struct Warnings {
    static void write(void* self, LogLevel, Rank, std::string_view) noexcept {
      ++static_cast<Warnings*>(self)->count;
    }
    int count = 0;
  };
  for (const std::uint64_t allowed : {0U, 1U, 2U}) {
    for (const bool synchronous : {false, true}) {
      Warnings warnings;
      ShmWorldOptions options;
      options.pulls_allowed = {allowed};
      options.wire.log = Log(LogLevel::kWarn, 0, {Warnings::write, &warnings});
      make(2, options);
      for (std::uint64_t i = 0; i < 4; ++i) {
        Asked m(i, kPush);
        ASSERT_EQ(m.receive(wire(1)), Posted::kPending);
        ASSERT_NE(m.send(wire(0), synchronous), Posted::kRetry);
        finish(*world_, m);
        EXPECT_LE(m.sent.fired, 1);
      }
      EXPECT_EQ(warnings.count, 1);
      EXPECT_EQ(wire(0).pull_refusal(), EPERM);
      EXPECT_EQ(pulled(0), allowed * kMoved);
      EXPECT_EQ(counters(0).copy_in_bytes.value(), (4 - allowed) * kMoved);
      EXPECT_EQ(counters(1).segments_received.value(), 4U);
      expect_quiet();
    }
  }
}

// With what has been written, or not yet.
TEST_F(ShmTransferTest, ACanceledReceiveIsNotWrittenTo) {
  for (const bool written : {false, true}) {
    make(2);
    Asked m(0, kPush), again(0, kPush), next(1, kPush);
    ASSERT_EQ(m.receive(wire(1)), Posted::kPending);
    if (written) {
      ASSERT_EQ(m.send(wire(0)), Posted::kDone);
    }
    wire(1).cancel(m.received);
    std::fill(m.target.begin(), m.target.end(), std::byte{0x11});
    if (!written) {
      ASSERT_EQ(m.send(wire(0)), Posted::kDone);
    }
    ASSERT_EQ(again.receive(wire(1)), Posted::kPending);
    settle(*world_);
    EXPECT_EQ(m.received.fired, 0);
    EXPECT_TRUE(std::all_of(m.target.begin(), m.target.end(),
                            [](std::byte b) { return b == std::byte{0x11}; }));
    // What had been written is gone with its receive.
    EXPECT_EQ(again.received.fired, written ? 0 : 1);
    if (!written) again.check();
    wire(1).cancel(again.received);
    carry(*world_, next);
    expect_quiet();
  }
}

TEST_F(ShmTransferTest, AWireThatEndsIsNotWrittenTo) {
  make(2);
  Asked m(0, kPush);
  ASSERT_EQ(m.receive(wire(1)), Posted::kPending);
  world_->close(1);
  std::fill(m.target.begin(), m.target.end(), std::byte{0x11});
  ASSERT_EQ(m.send(wire(0)), Posted::kDone);
  EXPECT_TRUE(std::all_of(m.target.begin(), m.target.end(),
                          [](std::byte b) { return b == std::byte{0x11}; }));
}

// Writes when it is let, as a process does that is slow in its system call.
class SlowKernel final : public shm::CmaKernel {
 public:
  ssize_t copy(shm::CmaDirection direction, VisiblePid pid, std::span<const iovec> local,
               std::span<const iovec> remote) noexcept override {
    entered.store(true);
    while (!go_on.load()) std::this_thread::yield();
    const ssize_t moved = shm::copy_between(direction, pid, local, remote);
    over.store(true);
    return moved;
  }
  std::atomic<bool> entered{false}, go_on{false}, over{false};
};

TEST_F(ShmTransferTest, CancelWaitsForAWriteThatHasBegun) {
  SlowKernel kernel;
  ShmWorldOptions options;
  options.wire.cma = &kernel;
  make(2, options);
  Asked m(0, kPush), next(1, kPush);
  ASSERT_EQ(m.receive(wire(1)), Posted::kPending);
  std::thread sender([&] { EXPECT_EQ(m.send(wire(0)), Posted::kDone); });
  while (!kernel.entered.load()) std::this_thread::yield();
  std::atomic<bool> canceled{false};
  std::thread receiver([&] {
    wire(1).cancel(m.received);
    EXPECT_TRUE(kernel.over.load());
    canceled.store(true);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(canceled.load());
  kernel.go_on.store(true);
  receiver.join();
  sender.join();
  std::fill(m.target.begin(), m.target.end(), std::byte{0x11});
  settle(*world_);
  EXPECT_EQ(m.received.fired, 0);
  EXPECT_EQ(m.target.front(), std::byte{0x11});
  carry(*world_, next);
  expect_quiet();
}

}  // namespace
}  // namespace espalier::test
