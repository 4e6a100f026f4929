// Two processes take turns, each sleeping until the other has rung: one lost wake-up and a round
// lasts as long as the time-out.
#include "core/doorbell.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <seccomp.h>
#include <sys/resource.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "child.hpp"
#include "core/clock.hpp"

namespace espalier {
namespace {

struct SharedTable {
  SleeperCount sleepers;
  Bell bells[2];
  alignas(128) std::atomic<std::uint32_t> turn{0};
};

constexpr std::uint64_t kTimeoutNs = 2'000'000'000;

// Plays `rounds` rounds as side `me`; returns how often a sleep lasted until its time-out.
int play(SharedTable& table, std::uint32_t me, std::uint32_t rounds, bool asymmetric) {
  Doorbell bell(table.bells[me], table.sleepers, asymmetric);
  SteadyClock clock;
  int lost = 0;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const std::uint32_t wanted = 2 * round + me;
    const auto look = [&] { return table.turn.load(std::memory_order_acquire) >= wanted; };
    while (!look()) {
      const std::uint64_t begin = clock.now_ns();
      bell.sleep(look, kTimeoutNs);
      if (clock.now_ns() - begin >= kTimeoutNs) ++lost;
    }
    table.turn.store(wanted + 1, std::memory_order_release);
    if (bell.someone_sleeps()) Doorbell::ring(table.bells[1 - me]);
  }
  return lost;
}

void ping_pong(bool asymmetric, std::uint32_t rounds) {
  test::Shared<SharedTable> table;
  if (asymmetric && !asymmetric_fence_register()) GTEST_SKIP() << "no membarrier here";
  test::Child child([&] {
    if (asymmetric && !asymmetric_fence_register()) return 1;
    return play(*table, 1, rounds, asymmetric);
  });
  EXPECT_EQ(play(*table, 0, rounds, asymmetric), 0);
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(table->turn.load(), 2 * rounds);
  EXPECT_EQ(table->sleepers.value.load(), 0U);
}

TEST(Doorbell, NoWakeUpIsLostWithFences) {
  ping_pong(false, 20000);
}

TEST(Doorbell, NoWakeUpIsLostWithAsymmetricFences) {
  ping_pong(true, 5000);
}

// Stores of others become visible by themselves; whoever may not ask for it gives them time.
TEST(Doorbell, WhoIsRefusedAHeavyFenceWaits) {
  test::Child child([] {
    if (!asymmetric_fence_register()) return 77;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    const bool denied =
        filter != nullptr &&
        seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(membarrier), 0) == 0 &&
        seccomp_load(filter) == 0;
    seccomp_release(filter);
    if (!denied) return 1;
    SteadyClock clock;
    for (int i = 0; i < 10; ++i) {
      const std::uint64_t begin = clock.now_ns();
      asymmetric_fence_heavy(true);
      if (clock.now_ns() - begin < 10'000) return 2;
    }
    return 0;
  });
  const int result = child.wait();
  if (result == 77) GTEST_SKIP() << "no membarrier here";
  EXPECT_EQ(result, 0);
}

TEST(Doorbell, NobodyIsRungWhoIsAwake) {
  Bell bell;
  SleeperCount sleepers;
  Doorbell doorbell(bell, sleepers, false);
  EXPECT_FALSE(doorbell.someone_sleeps());
  EXPECT_FALSE(Doorbell::ring(bell));
  bool looked = false;
  doorbell.sleep(
      [&] {
        EXPECT_TRUE(doorbell.someone_sleeps());
        return looked = Doorbell::ring(bell);
      },
      kTimeoutNs);
  EXPECT_TRUE(looked);
  EXPECT_FALSE(doorbell.someone_sleeps());
}

// Somebody that sleeps on a descriptor.
struct Sleeper {
  Sleeper() : doorbell(bell, sleepers, false) {
    auto made = DescriptorBell::create();
    if (!made) return;
    descriptor = std::move(*made);
    doorbell.arm_descriptor(descriptor->mailbox());
  }
  bool is_woken() const {
    pollfd awaited = {descriptor->fd(), POLLIN, 0};
    return ::poll(&awaited, 1, 0) == 1;
  }
  Bell bell;
  SleeperCount sleepers;
  Doorbell doorbell;
  std::unique_ptr<DescriptorBell> descriptor;
};

TEST(Doorbell, WhoHasNoDescriptorsLeftRingsAllTheSame) {
  Sleeper sleeper;
  ASSERT_NE(sleeper.descriptor, nullptr);
  EXPECT_FALSE(sleeper.is_woken());
  prepare_to_ring();
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_TRUE(Doorbell::ring(sleeper.bell));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(sleeper.is_woken());
}

// Rings that nobody has noted fill what one socket may send.
TEST(Doorbell, WhoSleepsForLongKeepsNobodyElseAsleep) {
  std::vector<std::unique_ptr<Sleeper>> sleepers;
  for (int i = 0; i < 100; ++i) {
    sleepers.push_back(std::make_unique<Sleeper>());
    ASSERT_NE(sleepers.back()->descriptor, nullptr);
    for (int ring = 0; ring < 100; ++ring) Doorbell::ring(sleepers.back()->bell);
    EXPECT_TRUE(sleepers.back()->is_woken()) << i;
  }
}

}  // namespace
}  // namespace espalier
