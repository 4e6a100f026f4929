// The cache of registrations on real ports: memory that goes and comes again at the same address is
// never taken for what it was, and memory that stays is registered once.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "tests/harness/traffic.hpp"
#include "tests/vm/verbs_world.hpp"

namespace espalier::test {
namespace {

constexpr std::size_t kBytes = 256 << 10;

// Pages at an address that stays the same, whatever becomes of them. A gap on both sides keeps the
// kernel from joining it with others, which another rank watches.
struct Place {
  static constexpr int kRights = PROT_READ | PROT_WRITE, kKind = MAP_PRIVATE | MAP_ANONYMOUS;

  Place() : all(static_cast<std::byte*>(::mmap(nullptr, 3 * kBytes, PROT_NONE, kKind, -1, 0))) {
    fill();
  }
  ~Place() { ::munmap(all, 3 * kBytes); }
  // Other pages come to the address, in one of several ways.
  void change(unsigned way) {
    if (way == 0) {
      ::munmap(at, kBytes);
      fill();
    } else if (way == 1) {
      fill();
    } else if (way == 2) {
      ::madvise(at, kBytes, MADV_DONTNEED);
    } else {
      // Its pages live on elsewhere, for a while.
      void* away = ::mremap(at, kBytes, 2 * kBytes, MREMAP_MAYMOVE);
      ASSERT_NE(away, MAP_FAILED);
      ASSERT_NE(away, at) << "into the gap";
      fill();
      ::munmap(away, 2 * kBytes);
    }
  }
  void fill() {
    void* made = ::mmap(at, kBytes, kRights, kKind | MAP_FIXED, -1, 0);
    ASSERT_EQ(made, at);
  }
  std::byte* const all;
  std::byte* const at = all + kBytes;
};

class Cache : public testing::Test {
 protected:
  void SetUp() override {
    rdma::DirectMemoryOptions memory;
    memory.cache_bytes = 1 << 20;
    world_ = std::make_unique<VerbsWorld>(2, Over::kConnections, "", memory);
  }
  void progress() {
    for (const Rank r : {0, 1}) (void)world_->frames(r).progress();
  }
  void send_and_check(std::uint64_t number) {
    std::memset(from_.at, static_cast<int>(number), kBytes);
    std::memset(to_.at, 0xFF, kBytes);
    RecvProbe receive;
    SendProbe send;
    receive.dst = to_.at;
    receive.bytes = kBytes;
    SegmentId segment{.peer = 0, .flow = FlowId(1, 0, number)};
    EXPECT_EQ(world_->frames(1).recv(segment, 1, receive), Posted::kPending);
    for (int i = 0; i < 100; ++i) progress();  // the place is known, mostly
    segment.peer = 1;
    const Send what = {.segment = segment, .data = from_.at, .bytes = kBytes};
    send.posted = world_->frames(0).send(what, send);
    ASSERT_TRUE(
        verbs::eventually([&] { return progress(), receive.complete() && send.complete(); }));
    ASSERT_TRUE(receive.status.ok());
    const auto wrong = std::count_if(
        to_.at, to_.at + kBytes, [&](std::byte b) { return b != static_cast<std::byte>(number); });
    ASSERT_EQ(wrong, 0) << "message " << number;
  }

  std::unique_ptr<VerbsWorld> world_;
  Place from_, to_;
};

TEST_F(Cache, MemoryThatStaysIsRegisteredOnce) {
  for (std::uint64_t number = 1; number <= 20; ++number) send_and_check(number);
  for (const Rank r : {0, 1}) {
    EXPECT_EQ(world_->connections(r).registrations(), 1U) << r;
    EXPECT_GE(world_->connections(r).cache()->counts().hits, 15U) << r;
  }
  EXPECT_GE(world_->connections(0).statistics().placed, 15U) << "and nothing of it is copied";
}

// By the adapter, out of the sender's memory into the receiver's.
TEST_F(Cache, AFrameWhoseReceiveIsLateIsRead) {
  send_and_check(1);  // the connection is up
  ASSERT_TRUE(verbs::eventually([&] { return progress(), world_->connections(0).up(1); }));
  const std::uint64_t copied = world_->connections(0).statistics().copied_bytes;
  const std::uint64_t placed = world_->connections(0).statistics().placed;
  for (std::uint64_t number = 2; number <= 9; ++number) {
    std::memset(from_.at, static_cast<int>(number), kBytes);
    RecvProbe receive;
    SendProbe send;
    receive.dst = to_.at;
    receive.bytes = kBytes;
    const SegmentId to{.peer = 1, .flow = FlowId(1, 0, number)};
    const SegmentId from{.peer = 0, .flow = to.flow};
    const Send what = {.segment = to, .data = from_.at, .bytes = kBytes};
    ASSERT_EQ(world_->frames(0).send(what, send), Posted::kPending);
    const auto told = [&] { return world_->connections(0).statistics().offered == number - 1; };
    ASSERT_TRUE(verbs::eventually([&] { return progress(), told(); }));
    for (int i = 0; i < 200; ++i) progress();
    EXPECT_FALSE(send.complete());
    ASSERT_EQ(world_->frames(1).recv(from, 1, receive), Posted::kPending);
    ASSERT_TRUE(
        verbs::eventually([&] { return progress(), receive.complete() && send.complete(); }));
    const auto right = std::count(to_.at, to_.at + kBytes, static_cast<std::byte>(number));
    ASSERT_EQ(right, std::ptrdiff_t{kBytes}) << "message " << number;
  }
  EXPECT_EQ(world_->connections(1).statistics().pulled, 8U);
  EXPECT_EQ(world_->connections(0).statistics().copied_bytes, copied);
  EXPECT_EQ(world_->connections(0).statistics().placed, placed);
}

TEST_F(Cache, MemoryThatComesAnewIsNotTakenForTheOld) {
  std::uint64_t number = 1;
  for (unsigned way = 0; way < 4; ++way) {
    for (unsigned whose = 1; whose <= 3; ++whose) {
      send_and_check(number++);
      if ((whose & 1) != 0) from_.change(way);
      if ((whose & 2) != 0) to_.change(way);
      send_and_check(number++);
      if (HasFatalFailure()) FAIL() << "way " << way << ", whose " << whose;
    }
  }
  // Each was changed eight times; who copies a frame does not ask.
  for (const Rank r : {0, 1}) EXPECT_GE(world_->connections(r).cache()->counts().gone, 6U) << r;
}

}  // namespace
}  // namespace espalier::test
